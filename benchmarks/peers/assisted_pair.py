"""A pair loaded by both sides of the comparison with transformers' assisted generation: ours, and transformers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import torch
import transformers

from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.chat.template import encode_prompt
from engine.config import Lookahead, freeze_prompt
from engine.growth.arithmetic import FULL, GrownShape, SmallModel
from engine.growth.grown import grown_target
from engine.system.machine import default_threads
from helpers.models.pairs import CLOSE, held_out_prompts
from helpers.paths import ROOT, SHARED_MODELS

FOLDER = ROOT / "build" / "bench"
GROWN = {
    "small": GrownShape(4, 512, 1408),
    "middle": GrownShape(8, 768, 2048),
    "large": GrownShape(12, 1536, 4096),
    "full": FULL,
}
"""Sizes of the target, 16 million to 1.1 billion weights; the draft is the demo draft. `tiny` is the demo target."""
SHARED = {
    "stories": ("stories260K", "stories-draft43K"),
    "babyllama": ("babyllama361", "babyllama105as361"),
}


@dataclass(frozen=True)
class Assistance:
    """How transformers' assisted generation drafts.

    `tokens` a round, the same in all rounds, or None: its defaults; a draft ends below the confidence `threshold` (0:
    never; None: the default).
    """

    tokens: int | None = None
    threshold: float | None = None

    def __str__(self) -> str:
        if self.tokens is None:
            return "defaults"
        return f"{self.tokens}" if self.threshold == 0.0 else f"{self.tokens}, default threshold"


class Pair:
    """A target and a draft, loaded by both sides."""

    def __init__(self, target: Path, draft: Path, threads: int | None) -> None:
        self.decoder = SpeculativeDecoder()
        self.decoder.attach_target(LoadConfig(target, threads=threads, device="cpu", dtype="float32"))
        self.decoder.attach_draft(LoadConfig(draft, threads=threads, device="cpu", dtype="float32"))
        assert self.decoder.target is not None
        self.threads = threads or default_threads(self.decoder.target.weight_bytes)
        self.target, self.draft = _load(target), _load(draft)
        self.clock: Callable[[], float] = thread_time if self.threads == 1 else perf_counter

    def prompts(self, count: int) -> list[list[int]]:
        """Prompts as token ids, of chats where the model has a template for them."""
        assert self.decoder.target is not None
        tokenizer = self.decoder.target.tokenizer
        if tokenizer.chat_template is None:
            texts = ["Once upon a time", "One day, a little dog", "Lily and Tom went", "She was very happy because"]
            return [tokenizer.encode(text, add_special=True, parse_special=False) for text in texts[:count]]
        return [encode_prompt(freeze_prompt(prompt), tokenizer, raw=False) for prompt in held_out_prompts(count)]

    def ours(self, prompt: Sequence[int], lookahead: Lookahead, tokens: int) -> tuple[float, list[int]]:
        """Seconds and tokens of our loop. The cache is emptied first, as a call of transformers begins with none."""
        assert self.decoder.target is not None
        for backend in (self.decoder.target, self.decoder.draft):
            if backend is not None:
                backend.truncate(0)
        began = self.clock()
        result = self.decoder.generate(prompt, lookahead=lookahead, max_tokens=tokens, overlap="off")
        return self.clock() - began, list(result.tokens)

    def theirs(self, prompt: Sequence[int], how: Assistance | None, tokens: int) -> tuple[float, list[int]]:
        """Seconds and tokens of transformers' loop, plain where `how` is None."""
        torch.set_num_threads(self.threads)
        ids = torch.tensor([prompt])
        options: dict[str, Any] = {"max_new_tokens": tokens, "do_sample": False}
        if how is not None:
            settings = self.draft.generation_config
            settings.num_assistant_tokens = how.tokens
            settings.num_assistant_tokens_schedule = None if how.tokens is None else "constant"
            settings.assistant_confidence_threshold = how.threshold
            options["assistant_model"] = self.draft
        began = self.clock()
        written = self.target.generate(ids, attention_mask=torch.ones_like(ids), **options)
        return self.clock() - began, written[0, len(prompt) :].tolist()

    def too_close(self, prompt: Sequence[int], one: list[int], other: list[int]) -> bool:
        """Whether two replies part only where the target's two best logits can hardly be told apart."""
        alike = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
        if alike is None:
            return len(one) == len(other)
        with torch.inference_mode():
            row = self.target(torch.tensor([[*prompt, *one[:alike]]])).logits[0, -1]
        best, second = row.topk(2).values.tolist()
        return bool(best - second < CLOSE)


def pair_files(name: str, say: Callable[[str], None]) -> tuple[Path, Path]:
    """The folders of target and draft, made if they are not there yet. Raises GrowthError."""
    if name in SHARED:
        target, draft = SHARED[name]
        return SHARED_MODELS / "hf" / target, SHARED_MODELS / "hf" / draft
    small_target, small_draft = bundled_pair()
    shape = GROWN.get(name) or _own_shape(small_target)
    target_folder = grown_target("transformers", shape, folder=FOLDER, say=say)
    return target_folder, grown_target("transformers", _own_shape(small_draft), folder=FOLDER, target=small_draft)


def _own_shape(path: Path) -> GrownShape:
    model = SmallModel(path)
    return GrownShape(model.layers, model.width, model.feed_forward)


def _load(folder: Path) -> Any:
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    return model.eval()
