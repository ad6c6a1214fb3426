"""A folder of models of every kind, good and not, for tests of what is said about them: headers only."""

import os
from dataclasses import replace
from pathlib import Path

from engine.formats.gguf import types
from helpers.models.gguf_writer import Entry
from helpers.models.header_models import PLAIN, SPECIAL, HeaderModel, Tokens

_MORE = tuple(f"more{number}" for number in range(200))
_EDITED = tuple(f"edited{text}" if text in {"piece7", "piece9", "piece300"} else text for text in PLAIN.texts)

MODELS = {
    "lama-8b": HeaderModel("Lama 8B", 8_000_000_000, "Q4_K_M"),
    "lama-8b-exact": HeaderModel("Lama 8B exact", 8_000_000_000, "Q8_0"),
    "lama-7b": HeaderModel("Lama 7B", 6_500_000_000, "Q4_K_M"),
    "lama-3b": HeaderModel("Lama 3B", 3_000_000_000, "Q4_0"),
    "lama-half": HeaderModel("Lama 0.5B", 500_000_000, "Q8_0"),
    "lama-base": HeaderModel("Lama 0.5B base", 500_000_000, "Q8_0", chat=False),
    "lama-coarse": HeaderModel("Lama 0.5B coarse", 500_000_000, "Q2_K"),
    "lama-tiny": HeaderModel("Lama 40M", 40_000_000, "Q8_0"),
    "padded": HeaderModel("Padded", 500_000_000, "Q8_0", replace(PLAIN, unused=16)),
    "plus": HeaderModel("Plus", 500_000_000, "Q8_0", replace(PLAIN, texts=(*PLAIN.texts, *_MORE[:64]))),
    "wide": HeaderModel("Wide", 500_000_000, "Q8_0", replace(PLAIN, texts=(*PLAIN.texts, *_MORE))),
    "edited": HeaderModel("Edited", 500_000_000, "Q8_0", replace(PLAIN, texts=_EDITED)),
    "strange": HeaderModel(
        "Strange", 500_000_000, "Q8_0", replace(PLAIN, texts=(*SPECIAL, *(f"odd{number}" for number in range(400))))
    ),
    "pairs-7b": HeaderModel("Pairs 7B", 7_000_000_000, "Q4_K_M", Tokens("gpt2", PLAIN.texts, None), "qwen2"),
    "pairs-half": HeaderModel("Pairs 0.5B", 500_000_000, "Q8_0", Tokens("gpt2", PLAIN.texts, None), "qwen2"),
    "unbegun": HeaderModel("Unbegun", 500_000_000, "Q8_0", replace(PLAIN, begin=None)),
    "few": HeaderModel("Few", 500_000_000, "Q8_0", replace(PLAIN, texts=(*SPECIAL, "x", "y", "z"))),
}
"""Those that can be used, by the stem of their file."""


def _kind(kind: str) -> dict[str, Entry | None]:
    return {"general.type": Entry(types.STRING, kind)}


PARTS = {
    "projector": HeaderModel("Eye", 400_000_000, "F16", architecture="clip", more=_kind("mmproj")),
    "head": HeaderModel("Head", 200_000_000, "F16", architecture="eagle3"),
    "adapter": HeaderModel("Adapter", 50_000_000, "F16", more=_kind("adapter")),
    "embedding": HeaderModel("Embedding", 100_000_000, "F16", architecture="nomic-bert"),
    "matrix": HeaderModel("Matrix", 50_000_000, "F32", more=_kind("imatrix")),
    "diffusion": HeaderModel("Dream", 7_000_000_000, "Q4_0", architecture="dream"),
    "wordless": HeaderModel("Wordless", more={"tokenizer.ggml.model": Entry(types.STRING, "none")}),
    "klingon": HeaderModel("Klingon", more={"tokenizer.ggml.model": Entry(types.STRING, "klingon")}),
}
"""Sound files that are no models that write text, or cannot be used."""


def write_model(folder: Path, stem: str) -> Path:
    return (MODELS | PARTS)[stem].write(folder / f"{stem}.gguf")


def write_cut(path: Path, model: HeaderModel) -> Path:
    """A file that was not downloaded to its end."""
    model.write(path)
    os.truncate(path, path.stat().st_size // 2)
    return path


def write_torn(path: Path, model: HeaderModel) -> Path:
    """A file that ends within its header."""
    model.write(path)
    os.truncate(path, 900)
    return path


def write_split(folder: Path, stem: str, parts: int, *, without: int | None = None) -> Path:
    """A model in several files; `without`: one of them is missing. Gives the first there is."""
    name, written = stem.title(), []
    for part in range(1, parts + 1):
        if part == without:
            continue
        model = replace(MODELS["lama-3b"], name=name, more={"split.count": Entry(types.UINT16, parts)})
        written.append(model.write(folder / f"{stem}-{part:05}-of-{parts:05}.gguf"))
    return written[0]


def write_zoo(folder: Path) -> dict[str, Path]:
    """Every model and every other thing once, by its stem."""
    made = {stem: write_model(folder, stem) for stem in MODELS | PARTS}
    made["cut"] = write_cut(folder / "cut.gguf", MODELS["lama-half"])
    made["torn"] = write_torn(folder / "torn.gguf", MODELS["lama-half"])
    made["garbage"] = folder / "garbage.gguf"
    made["garbage"].write_bytes(bytes(range(256)) * 8)
    made["empty"] = folder / "empty.gguf"
    made["empty"].touch()
    made["gap"] = write_split(folder, "gap", 3, without=2)
    made["stray"] = write_split(folder, "stray", 2, without=1)
    return made
