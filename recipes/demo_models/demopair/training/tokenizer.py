"""One byte-level BPE vocabulary for both models, and their chat template."""

from __future__ import annotations

import itertools
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from demopair import corpus

VOCAB_SIZE = 4096
BEGIN, SYSTEM, USER, ASSISTANT, END, PAD = (
    "<|begin|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<|pad|>",
)
SPECIAL = [BEGIN, SYSTEM, USER, ASSISTANT, END, PAD]
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
SAMPLE_CONVERSATIONS = 30_000
# Text that the corpus hardly holds but people type: it only shapes the vocabulary.
_EXTRA = [
    "can't won't don't I'm you're it's we'll they've isn't doesn't didn't",
    "0 1 2 3 4 5 6 7 8 9 10 2024 2025 2026",
] * 50


def train_tokenizer(seed: int, sample: int = SAMPLE_CONVERSATIONS) -> Tokenizer:
    """A tokenizer of `VOCAB_SIZE` entries with GPT-2's splitting into words; the control tokens come first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=SPECIAL,
        show_progress=False,
        min_frequency=2,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    drawn = itertools.islice(corpus.conversations(seed, long_share=0.0), sample)
    texts = (text for made in drawn for _, text in made.messages)
    tokenizer.train_from_iterator(itertools.chain(_EXTRA, texts), trainer)
    return tokenizer


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """The ids of the control tokens. Raises ValueError if the tokenizer lacks one."""
    found = {name: tokenizer.token_to_id(name) for name in SPECIAL}
    ids = {name: token for name, token in found.items() if token is not None}
    if len(ids) < len(SPECIAL):
        raise ValueError(f"The tokenizer lacks {set(SPECIAL) - set(ids)}: it was not made by this recipe.")
    return ids


def save(tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))


def load(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))
