"""Find the projector with which a GGUF model sees: an mmproj file beside it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from engine.errors import LoadFailed, ModelNotSupported
from engine.formats.gguf.reader import GgufFile, read_gguf
from engine.translatable import Translatable

_NAMED = re.compile(r"mmproj|projector", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_NO_NAMES = frozenset(
    {"mmproj", "projector", "model", "f", "bf", "fp", "q", "k", "m", "s", "gguf", "vision", "ud", "iq"}
)
_FORMATS = ("f16", "bf16", "q8_0", "f32")
_MOST = 50


def projector_beside(model: Path) -> Path | None:
    """Return the projector file beside a model that reads pictures, None if there is none: by its header.

    It has the model's width, or is called like it. Of several the one that is called most like the model comes first.
    """
    found = list[tuple[bool, int, int, str, Path]]()
    with suppress(LoadFailed, OSError):
        files = [path for path in sorted(model.parent.glob("*.[gG][gG][uU][fF]")) if _NAMED.search(path.name)]
        if not files or model in files:
            return None
        header = read_gguf(model)
        width, words = header.number(f"{header.text('general.architecture')}.embedding_length"), _words(model, header)
        for path in files[:_MOST]:
            with suppress(LoadFailed, OSError):
                other = read_gguf(path)
                if not _sees(other):
                    continue
                fits = other.number("clip.vision.projection_dim") == width
                alike = len(words & _words(path, other))
                if alike or (fits and not _words(path, None)):
                    name = path.stem.lower()
                    format_of = next(
                        (place for place, each in enumerate(_FORMATS) if name.endswith(each)), len(_FORMATS)
                    )
                    found.append((not fits, -alike, format_of, name, path))
    return min(found)[-1] if found else None


def check_projector(path: Path) -> None:
    """Pass if a file is a projector for pictures. Raises ModelFileBroken, ModelNotSupported."""
    if not _sees(read_gguf(path)):
        raise ModelNotSupported(path, Translatable("it is no projector (mmproj) for pictures."))


def _sees(header: GgufFile) -> bool:
    return header.text("general.architecture") == "clip" and bool(header.flag("clip.has_vision_encoder"))


def _words(path: Path, header: GgufFile | None) -> frozenset[str]:
    """Return the words of a model's name that may tell it from others."""
    names = [path.stem] + ([] if header is None else [header.text("general.name") or ""])
    return frozenset(word.lower() for name in names for word in _WORD.findall(name)) - _NO_NAMES
