"""Read one document in the child: bytes come in, JSON goes out; no file and no connection can be opened."""

from __future__ import annotations

import base64
from typing import Any

from engine.documents import kinds
from engine.documents.refused import NotReadable
from engine.system.child_side import answer_parent, close_doors
from engine.translatable import Translatable, packed

_MEMORY_BYTES = 640 * 2**20
"""The memory of reading beside the process itself and the file."""
_DAMAGED = Translatable("it is damaged")


def run(_argument: str) -> int:
    """Answer one request, and give the exit code 0."""
    return answer_parent(lambda asked, data, tell: tell(_answer(asked, data)), _MEMORY_BYTES)


def _answer(asked: dict[str, Any], data: bytes) -> dict[str, Any]:
    try:
        if asked["work"] == "picture":
            render = kinds.picture_renderer()
            close_doors()
            return {"picture": base64.b64encode(render(data, asked["page"], asked["width"])).decode()}
        if asked["work"] in ("pixels", "shown"):
            images = kinds.image_reader()
            close_doors()
            return dict(images.pixels(data) if asked["work"] == "pixels" else images.shown(data, asked["most"]))
        read = kinds.reader_of(data, asked["name"])
        close_doors()
        budget = kinds.Budget(0.75 * asked["seconds"])
        return {"document": read(data, asked["name"], budget).bounded().to_dict()}
    except NotReadable as refused:
        return {"reason": packed(refused.reason), "scanned": refused.scanned}
    except ImportError:
        return {"reason": packed(Translatable("what reads it is not installed: install the extra “documents”"))}
    except MemoryError:
        raise
    except RecursionError:
        return {"reason": packed(Translatable("it nests too deeply"))}
    except Exception:  # noqa: BLE001 - libraries raise whatever Python can over what is damaged
        return {"reason": packed(_DAMAGED)}
