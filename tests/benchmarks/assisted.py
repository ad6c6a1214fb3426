"""Our loop against transformers' assisted generation: the same pair, prompts, lookahead and threads, in turns.

    make bench ARGS="assisted [--pairs tiny,middle,…] [--lookaheads 4] [--tokens 64] [--turns 5] [--threads 1] [--json]"

Each side has the pair loaded for itself in float32 and writes the same greedy replies one after the other, whole calls
timed from prompt ids to the last token, the order rotating, after a warm-up. transformers drafts a constant number of
tokens a round, as we do. Replies must be equal; where they are not, the target's two best logits must lie too close to
tell. A ratio is transformers' time through ours for the same prompt in the same turn; the must is a median of 1.0.

With one thread the clock is the processor time of the thread that works, so that other programs hardly count.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import transformers

from benchmarks.grow import grown_target
from benchmarks.growth import GrownShape, SmallModel
from benchmarks.machine import describe_machine
from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.chat import encode_prompt
from engine.config import freeze_prompt
from engine.cores import default_threads
from helpers.pairs import CLOSE, held_out_prompts
from helpers.paths import ROOT, SHARED_MODELS

MUST = 1.0
FOLDER = ROOT / "build" / "bench"
GROWN = {
    "small": GrownShape(4, 512, 1408),
    "middle": GrownShape(8, 768, 2048),
    "large": GrownShape(12, 1536, 4096),
}
"""Sizes of the target, 16 to 350 million weights; the draft is the demo draft. `tiny` is the demo target itself."""
SHARED = {
    "stories": ("stories260K", "stories-draft43K"),
    "babyllama": ("babyllama361", "babyllama105as361"),
}


@dataclass(frozen=True)
class Run:
    """One prompt in one turn: seconds of each side, and the tokens that both wrote alike."""

    ours: float
    theirs: float
    ours_plain: float
    theirs_plain: float
    tokens: int


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

    def ours(self, prompt: Sequence[int], lookahead: int, tokens: int) -> tuple[float, list[int]]:
        """Seconds and tokens of our loop. The cache is emptied first, as a call of transformers begins with none."""
        assert self.decoder.target is not None
        for backend in (self.decoder.target, self.decoder.draft):
            if backend is not None:
                backend.truncate(0)
        began = self.clock()
        result = self.decoder.generate(prompt, lookahead=lookahead, max_tokens=tokens, overlap="off")
        return self.clock() - began, list(result.tokens)

    def theirs(self, prompt: Sequence[int], lookahead: int, tokens: int) -> tuple[float, list[int]]:
        """Seconds and tokens of transformers' loop, assisted where the lookahead is above 0."""
        torch.set_num_threads(self.threads)
        settings = self.draft.generation_config
        settings.num_assistant_tokens = lookahead
        settings.num_assistant_tokens_schedule = "constant"
        settings.assistant_confidence_threshold = 0.0
        ids = torch.tensor([prompt])
        options: dict[str, Any] = {"max_new_tokens": tokens, "do_sample": False}
        if lookahead:
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


def main() -> int:
    """Measure and print: 0 if the must is met, 1 if not."""
    args = _parse()
    switches: Any = transformers.utils.logging
    switches.set_verbosity_error()
    switches.disable_progress_bar()
    report: dict[str, Any] = {"machine": describe_machine() | {"transformers": transformers.__version__}, "pairs": []}
    for name in args.pairs:
        _say(f"{name}…")
        target, draft = _files(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pair = Pair(target, draft, args.threads)
            for lookahead in args.lookaheads:
                runs = _measure(pair, lookahead, args)
                report["pairs"].append(_summary(name, pair, lookahead, runs))
                _say("  " + _line(report["pairs"][-1]))
            pair.decoder.close()
    print(json.dumps(report) if args.json else "\n".join(map(_line, report["pairs"])))
    return 0 if min(pair["ratio"] for pair in report["pairs"]) >= MUST else 1


def _parse() -> argparse.Namespace:
    known = ["tiny", *GROWN, *(name for name in SHARED if SHARED_MODELS.is_dir())]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pairs",
        type=lambda text: text.split(","),
        default=[name for name in known if name != "large"],
        metavar="NAME,…",
        help=f"of {', '.join(known)} (all but large)",
    )
    parser.add_argument("--lookaheads", type=lambda text: [int(k) for k in text.split(",")], default=[4], metavar="N,…")
    parser.add_argument("--prompts", type=int, default=4, metavar="N")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="of each reply at most (64)")
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    parser.add_argument("--threads", type=int, metavar="N", help="for both sides (what we would choose)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not set(args.pairs) <= set(known):
        parser.error(f"pairs are {', '.join(known)}")
    return args


def _files(name: str) -> tuple[Path, Path]:
    """The folders of target and draft, made if they are not there yet."""
    if name in SHARED:
        target, draft = SHARED[name]
        return SHARED_MODELS / "hf" / target, SHARED_MODELS / "hf" / draft
    small_target, small_draft = bundled_pair()
    shape = GROWN.get(name) or _own_shape(small_target)
    target_folder = grown_target("transformers", shape, folder=FOLDER, say=_say)
    return target_folder, grown_target("transformers", _own_shape(small_draft), folder=FOLDER, target=small_draft)


def _own_shape(path: Path) -> GrownShape:
    model = SmallModel(path)
    return GrownShape(model.layers, model.width, model.feed_forward)


def _load(folder: Path) -> Any:
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    return model.eval()


def _measure(pair: Pair, lookahead: int, args: argparse.Namespace) -> list[Run]:
    prompts = pair.prompts(args.prompts)
    sides: dict[str, Callable[[Sequence[int]], tuple[float, list[int]]]] = {
        "ours": lambda prompt: pair.ours(prompt, lookahead, args.tokens),
        "theirs": lambda prompt: pair.theirs(prompt, lookahead, args.tokens),
        "ours_plain": lambda prompt: pair.ours(prompt, 0, args.tokens),
        "theirs_plain": lambda prompt: pair.theirs(prompt, 0, args.tokens),
    }
    for measured in sides.values():
        measured(prompts[0])
    runs = []
    names = list(sides)
    for turn in range(args.turns):
        for prompt in prompts:
            found = {name: sides[name](prompt) for name in names[turn % 4 :] + names[: turn % 4]}
            for name in ("ours", "theirs", "ours_plain"):
                if not pair.too_close(prompt, found["theirs_plain"][1], found[name][1]):
                    raise SystemExit(f"{name} wrote other tokens than transformers' plain decoding: no comparison.")
            runs.append(Run(**{name: seconds for name, (seconds, _) in found.items()}, tokens=len(found["ours"][1])))
    return runs


def _summary(name: str, pair: Pair, lookahead: int, runs: list[Run]) -> dict[str, Any]:
    assert pair.decoder.target is not None
    ratios = [run.theirs / run.ours for run in runs]
    low, _, high = quantiles(ratios, n=4)
    speeds = {
        side: median(run.tokens / getattr(run, side) for run in runs)
        for side in ("ours", "theirs", "ours_plain", "theirs_plain")
    }
    return {
        "pair": name,
        "parameters": pair.decoder.target.parameters,
        "threads": pair.threads,
        "lookahead": lookahead,
        "tokens_per_second": speeds,
        "ratio": median(ratios),
        "quartiles": [low, high],
        "range": [min(ratios), max(ratios)],
        "plain_ratio": median(run.theirs_plain / run.ours_plain for run in runs),
        "runs": len(runs),
    }


def _line(found: dict[str, Any]) -> str:
    speed = found["tokens_per_second"]
    return (
        f"{found['pair']:10} {found['parameters'] / 1e6:7.1f} M  threads {found['threads']}  lookahead "
        f"{found['lookahead']:2}  ours {speed['ours']:7.1f} tok/s  assisted {speed['theirs']:7.1f} tok/s  ratio "
        f"{found['ratio']:.2f} (quartiles {found['quartiles'][0]:.2f} to {found['quartiles'][1]:.2f}, "
        f"{found['runs']} runs)  plain {speed['ours_plain']:.1f} and {speed['theirs_plain']:.1f}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
