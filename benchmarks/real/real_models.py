"""Find the published models and their prompts; open them, with fresh caches, beside busy loops."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from time import sleep

from engine import LoadConfig, SpeculativeDecoder
from engine.bench.prompts import BenchPrompt, read_prompts

FOLDER = "REAL_MODELS"
"""The variable of the environment that names the folder of models."""
CONTEXT = 4096
"""Tokens, on both sides: a prompt of 2,800 and its reply fit."""
_PLACE = "~/.cache/real-models"
_PROMPTS = Path(__file__).with_name("real_prompts.json")
_QWEN, _QWEN_DRAFT = "qwen2.5-coder-1.5b-instruct*q4_k_m.gguf", "qwen2.5-coder-0.5b-instruct*q4_k_m.gguf"
_SMOLLM2, _GEMMA = "smollm2-135m-instruct*.gguf", "gemma-3-270m*.gguf"
_PAIRS = (
    ("qwen", "Qwen2.5-Coder 1.5B", _QWEN, "0.5B", _QWEN_DRAFT),
    ("smollm2", "SmolLM2 135M", _SMOLLM2, "", ""),
    ("gemma", "Gemma 3 270M", _GEMMA, "SmolLM2 135M", _SMOLLM2),
)
"""Name, the target's title and file, the draft's title and file."""
NAMES = tuple(name for name, *_ in _PAIRS)
_LOOP = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@dataclass(frozen=True)
class RealPair:
    """A target and its draft; None: there is none, or its file is missing."""

    name: str
    target_title: str
    target: Path
    draft_title: str = ""
    draft: Path | None = None

    @property
    def title(self) -> str:
        """Return the name for tables."""
        return f"{self.target_title} with {self.draft_title}" if self.draft else f"{self.target_title} alone"

    @property
    def size(self) -> int:
        """Return the bytes of both files."""
        return sum(path.stat().st_size for path in (self.target, self.draft) if path is not None)


def models_folder() -> Path:
    """Return the folder of models: that of the environment, or one in the user's cache."""
    return Path(os.environ.get(FOLDER) or _PLACE).expanduser()


def find_pairs(folder: Path) -> list[RealPair]:
    """Return the pairs whose target is in a folder, in their order."""
    files = sorted(folder.glob("*.gguf")) if folder.is_dir() else []

    def found(pattern: str) -> Path | None:
        return next((path for path in files if fnmatch(path.name.lower(), pattern)), None)

    return [
        RealPair(name, title, target, draft_title, found(draft))
        for name, title, file, draft_title, draft in _PAIRS
        if (target := found(file)) is not None
    ]


def real_prompts(sets: Sequence[str], count: int) -> tuple[BenchPrompt, ...]:
    """Return so many prompts of each of these sets."""
    return tuple(prompt for prompt in read_prompts(_PROMPTS, count) if prompt.category in sets)


SETS = tuple(dict.fromkeys(prompt.category for prompt in read_prompts(_PROMPTS)))


@contextmanager
def opened(pair: RealPair) -> Iterator[SpeculativeDecoder]:
    """Open a decoder of the pair with default settings. Raises LoadFailed and its kinds."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(pair.target, CONTEXT, trusted=True))
        if pair.draft is not None:
            decoder.attach_draft(LoadConfig(pair.draft, CONTEXT, trusted=True))
        yield decoder


@contextmanager
def fresh_caches() -> Iterator[Path]:
    """Give this program and its children an empty cache folder, removed afterwards."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep `count` other programs computing. They end with this one, even if it is killed."""
    loops: list[subprocess.Popen[bytes]] = []
    try:
        loops.extend(subprocess.Popen([sys.executable, "-c", _LOOP]) for _ in range(count))
        sleep(0.5)
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()
