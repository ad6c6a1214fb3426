"""Let every test of the library begin with nothing remembered."""

import pytest

from engine.library import scan


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    scan._known.clear()
    monkeypatch.setattr(scan, "extra_installed", lambda: True)
