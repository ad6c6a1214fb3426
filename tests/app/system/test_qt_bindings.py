"""What the Qt bindings must not do: some releases lose references, and the window aborts after a while."""

import sys

from PySide6.QtCore import QObject, Signal


class _Source(QObject):
    happened = Signal(int)


def test_a_signal_takes_no_reference(qapp: QObject) -> None:
    source = _Source()
    heard: list[int] = []
    source.happened.connect(heard.append)
    before = sys.getrefcount(True), sys.getrefcount(False), sys.getrefcount(None)
    for number in range(200):
        source.happened.emit(number)
    after = sys.getrefcount(True), sys.getrefcount(False), sys.getrefcount(None)
    assert len(heard) == 200
    lost = [old - new for old, new in zip(before, after, strict=True)]
    assert max(lost) < 100, f"references lost to True, False, None: {lost}"
