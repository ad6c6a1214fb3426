"""Draw a model's picture code, in a child process without files, network and scripts."""

from __future__ import annotations

import base64
import contextlib
import threading
from collections.abc import Mapping
from typing import Literal

from PySide6.QtCore import QObject, Signal

from engine import Cancelled, CancelToken, ChatTemplateFailed, Translatable
from engine.host import DRAWING, OutOfTime, ask_child, unpacked

Kind = Literal["svg", "html", "mermaid"]
_SECONDS = 5.0
_MEMORY_BYTES = 1_000 * 2**20
"""All of the child, where it cannot limit itself."""


class Drawing(QObject):
    """Draw one picture beside everything else. Signal: done(PNG, reason) ("": it was drawn)."""

    done = Signal(bytes, object)

    def __init__(self, kind: Kind, source: str, width: int, scale: float, parent: QObject) -> None:
        """Begin. `width`: pixels at most, each of which is `scale` of the screen's."""
        super().__init__(parent)
        cancel = CancelToken()
        self.destroyed.connect(cancel.cancel)
        request = {"kind": kind, "width": width, "scale": scale, "seconds": _SECONDS}

        def work() -> None:
            picture, reason = draw(request, source, cancel)
            # Nobody may want it any more.
            with contextlib.suppress(RuntimeError):
                self.done.emit(picture, reason)

        threading.Thread(target=work, name="outrider-drawing", daemon=True).start()


def draw(request: Mapping[str, object], source: str, cancel: CancelToken | None = None) -> tuple[bytes, str]:
    """Return a PNG picture, or the reason why there is none."""
    try:
        data = source.encode("utf-8", "replace")
        with contextlib.closing(ask_child(DRAWING, request, data, _MEMORY_BYTES, cancel)) as answers:
            said = next(answers)
    except OutOfTime:
        return b"", Translatable("drawing it takes too long")
    except Cancelled:
        return b"", Translatable("it was cancelled")
    except ChatTemplateFailed:
        return b"", Translatable("the program that draws it crashed")
    if "reason" in said:
        return b"", unpacked(said["reason"])
    return base64.b64decode(said["picture"]), ""
