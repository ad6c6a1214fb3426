"""How long a scan takes: a folder of two thousand model headers of true size, cold and from the cache.

    make bench ARGS="library [--models N] [--runs N] [--folder DIR]"

The headers have the vocabularies, merges and tensor tables that well-known families have, with made-up texts; each file
is as long as such a model is, with a hole in place of the weights. "Cold" is a scan that remembers nothing; the files
were just written, so they are in the machine's memory. Needs some gigabytes of disk where temporary files are.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from engine.formats.gguf import types
from helpers.models.gguf_writer import Entry, GgufDraft, TensorData
from helpers.paths import ROOT

PLACEHOLDER = "a name of thirty-two characters."


@dataclass(frozen=True)
class Family:
    """Sizes of a model, and how many of a thousand headers are of it."""

    name: str
    share: int
    tokens: int
    merges: int
    layers: int
    width: int
    inner: int
    heads: int
    shared_heads: int
    kinds: tuple[int, ...] = (12, 8)


FAMILIES = (
    Family("llama-2", 400, 32_000, 0, 32, 4096, 11008, 32, 32, (12, 8, 2, 14)),
    Family("mistral", 200, 32_768, 0, 32, 4096, 14336, 32, 8, (12, 8, 14)),
    Family("phi", 100, 32_064, 0, 32, 3072, 8192, 32, 32),
    Family("smollm", 100, 49_152, 48_900, 24, 2048, 8192, 32, 32),
    Family("llama-3", 80, 128_256, 280_147, 32, 4096, 14336, 32, 8, (12, 8, 13, 14)),
    Family("qwen", 100, 151_936, 151_387, 28, 3584, 18944, 28, 4, (12, 8, 14)),
    Family("gemma", 20, 256_000, 0, 26, 2304, 9216, 8, 4),
)


def write_folder(folder: Path, models: int) -> int:
    """Write so many headers below `folder`; gives their bytes."""
    written = 0
    for family in FAMILIES:
        count = round(models * family.share / 1000)
        for which, kind in enumerate(family.kinds):
            header, weights = _header(family, kind)
            place = header.index(PLACEHOLDER.encode())
            below = folder / family.name / types.TENSOR_TYPES[kind].name
            below.mkdir(parents=True)
            for index in range(which, count, len(family.kinds)):
                name = f"{family.name} {index}".ljust(len(PLACEHOLDER), ".")
                with (below / f"{family.name}-{index:05}.gguf").open("wb") as file:
                    file.write(header[:place] + name.encode() + header[place + len(name) :])
                    file.truncate(len(header) + weights)
                written += len(header)
    return written


def _header(family: Family, kind: int) -> tuple[bytes, int]:
    draft = GgufDraft(_entries(family))
    sizes: dict[str, int] = {}
    for name, shape in _shapes(family).items():
        layout = types.TENSOR_TYPES[kind if len(shape) > 1 else 0]
        number = kind if len(shape) > 1 else 0
        elements = 1
        for length in shape:
            elements *= length
        sizes[name] = elements // layout.block * layout.size
        draft.tensors[name] = TensorData(shape, number, b"", offset=sum(-(-size // 32) * 32 for size in sizes.values()))
        draft.tensors[name].offset -= -(-sizes[name] // 32) * 32  # type: ignore[operator]
    return draft.header_bytes(), sum(-(-size // 32) * 32 for size in sizes.values())


def _entries(family: Family) -> dict[str, Entry]:
    def number(value: int) -> Entry:
        return Entry(types.UINT32, value)

    texts = ["<unk>", "<s>", "</s>", *(f"\u2581{family.name[:2]}{index:x}" for index in range(family.tokens - 3))]
    entries = {
        "general.architecture": Entry(types.STRING, "llama"),
        "general.name": Entry(types.STRING, PLACEHOLDER),
        "llama.context_length": number(8192),
        "llama.embedding_length": number(family.width),
        "llama.block_count": number(family.layers),
        "llama.feed_forward_length": number(family.inner),
        "llama.attention.head_count": number(family.heads),
        "llama.attention.head_count_kv": number(family.shared_heads),
        "llama.attention.layer_norm_rms_epsilon": Entry(types.FLOAT32, 1e-5),
        "tokenizer.ggml.model": Entry(types.STRING, "gpt2" if family.merges else "llama"),
        "tokenizer.ggml.tokens": Entry(types.STRING, texts),
        "tokenizer.ggml.token_type": Entry(types.INT32, [2, 3, 3] + [1] * (family.tokens - 3)),
        "tokenizer.ggml.bos_token_id": number(1),
        "tokenizer.ggml.eos_token_id": number(2),
        "tokenizer.chat_template": Entry(
            types.STRING, "{% for message in messages %}{{ message.content }}{% endfor %}"
        ),
    }
    if family.merges:
        merges = [f"{family.name[:2]}{index:x} {index % 999:x}" for index in range(family.merges)]
        entries["tokenizer.ggml.merges"] = Entry(types.STRING, merges)
    else:
        entries["tokenizer.ggml.scores"] = Entry(types.FLOAT32, [-float(index) for index in range(family.tokens)])
    return entries


def _shapes(family: Family) -> dict[str, tuple[int, ...]]:
    width, inner = family.width, family.inner
    shared = width // family.heads * family.shared_heads
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (width, family.tokens),
        "output_norm.weight": (width,),
        "output.weight": (width, family.tokens),
    }
    for layer in range(family.layers):
        for name, shape in {
            "attn_norm": (width,),
            "attn_q": (width, width),
            "attn_k": (width, shared),
            "attn_v": (width, shared),
            "attn_output": (width, width),
            "ffn_norm": (width,),
            "ffn_gate": (width, inner),
            "ffn_up": (width, inner),
            "ffn_down": (inner, width),
        }.items():
            shapes[f"blk.{layer}.{name}.weight"] = shape
    return shapes


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def _command(folder: Path, environment: dict[str, str]) -> int:
    """The command line, as anybody would run it; gives the number of models that it lists as usable."""
    done = subprocess.run(
        [sys.executable, "-m", "engine", "models", str(folder), "--json"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return sum(model["usable"] for model in json.loads(done.stdout)["models"])


_API = """
import sys, time
from engine.library.scan import scan_folder
began = time.perf_counter()
models = scan_folder(sys.argv[1])
print(time.perf_counter() - began, sum(model.usable for model in models))
"""


def _api(folder: Path, environment: dict[str, str]) -> float:
    """Seconds of a scan in a new process, its start and the imports not counted."""
    done = subprocess.run(
        [sys.executable, "-c", _API, str(folder)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True
    )
    return float(done.stdout.split()[0])


def _report(name: str, seconds: list[float]) -> None:
    print(f"| {name} | {median(seconds):.2f} ({min(seconds):.2f}–{max(seconds):.2f}) | {len(seconds)} |")


def measure(folder: Path, cache: Path, runs: int) -> None:
    """Print the times of the scan, as a function and as a command, cold and from the cache."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}

    def forgotten() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    cold_api, cold_command = [], []
    for _ in range(runs):
        forgotten()
        cold_api.append(_api(folder, environment))
        forgotten()
        cold_command.append(_timed(lambda: _command(folder, environment)))
    usable = _command(folder, environment)
    cached_api, cached_command = [], []
    for _ in range(3 * runs):
        cached_api.append(_api(folder, environment))
        cached_command.append(_timed(lambda: _command(folder, environment)))
    print(f"{usable:,} usable models with headers of true size; medians (least to most).\n")
    print("| scan | seconds | runs |\n|---|---|---|")
    _report("scan_folder, cold", cold_api)
    _report("scan_folder, cached", cached_api)
    _report("`python -m engine models`, cold", cold_command)
    _report("`python -m engine models`, cached", cached_command)
    print(
        f"\nThe cache takes {sum(path.stat().st_size for path in cache.rglob('*') if path.is_file()) / 2**20:.1f} MiB."
    )


def main() -> None:
    """Make the folder, measure, and remove it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the models are, or are to be written; it is kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="outrider-library-") as temporary:
        folder = args.folder or Path(temporary) / "models"
        if not folder.is_dir():
            print(f"{write_folder(folder, args.models) / 2**30:.1f} GiB of headers", file=sys.stderr)
        print("## How long a scan of a large folder takes\n")
        measure(folder, Path(temporary) / "cache", args.runs)


if __name__ == "__main__":
    main()
