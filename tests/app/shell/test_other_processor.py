"""A llama.cpp that was compiled for another processor is said in the window, which goes on."""

import json
import os
import sys
from pathlib import Path

import pytest

from engine.system import processor
from helpers.children.other_processor import ELSEWHERE, SAID, deadly_llama
from helpers.paths import ROOT, TESTS
from helpers.window.window_orders import WindowUnderOrders


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what its processor has")
def test_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = deadly_llama(tmp_path, monkeypatch)
    processor.record_processor(ELSEWHERE)
    profile = tmp_path / "profile"
    profile.mkdir()
    with WindowUnderOrders(profile, {"PYTHONPATH": os.pathsep.join(map(str, (library.parent, TESTS, ROOT)))}) as window:
        window.begin()
        told = window.do("look")
        assert window.quit() == 0
    assert [SAID in each for each in told["said"]] == [True]
    assert json.loads((profile / "settings.json").read_text())
