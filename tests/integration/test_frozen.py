"""The program as a whole, from outside, by the smoke test: from source, and frozen where that is built."""

import sys
from collections.abc import Sequence

import pytest
import smoke_test

from helpers import xvfb
from helpers.paths import ROOT, SHARED_MODELS

PROGRAM = ROOT / "dist" / "outrider" / ("outrider.exe" if sys.platform == "win32" else "outrider")


def _passes(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke_test.main(arguments) == 0, capsys.readouterr().out


@pytest.mark.soak
def test_source(capsys: pytest.CaptureFixture[str]) -> None:
    _passes(["--source", "--offscreen", "--stay", "1", sys.executable, "-m", "app"], capsys)


@pytest.mark.soak
@pytest.mark.skipif(not PROGRAM.exists(), reason="no frozen program in dist; `make dist` builds it")
@pytest.mark.parametrize("display", ["Xvfb", "offscreen"])
def test_frozen_program(capsys: pytest.CaptureFixture[str], display: str) -> None:
    if display == "Xvfb" and not xvfb.available():
        pytest.skip("Xvfb is not installed")
    folder = SHARED_MODELS / "gguf"
    models = ["--models", str(folder)] if folder.is_dir() else []
    _passes([*models, *["--offscreen"] * (display == "offscreen"), str(PROGRAM)], capsys)
