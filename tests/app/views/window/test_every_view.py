"""In every view and dialog, small and large, light and dark: nothing is cut and nothing scrolls sideways.

`make screenshots` keeps the pictures.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from helpers.gallery.cut import cut_parts
from helpers.gallery.gallery import DIALOGS, looks
from helpers.paths import ROOT, TESTS

PICTURES = os.environ.get("OUTRIDER_SCREENSHOTS", "")
SCREEN = {"name": "one", "width": 3840, "height": 2160, "logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
LOOKS = [pytest.param(*look, scale, "en", id=f"{look[0]}-{look[1]}-{scale}x") for scale in (1, 2) for look in looks()]
LOOKS.append(pytest.param("light", 720, 480, 1, "de", id="light-720-1x-de"))
"""Words of another language are longer."""


@pytest.mark.soak
@pytest.mark.usefixtures("demo_pair")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("theme", "width", "height", "scale", "language"), LOOKS)
def test_nothing_is_cut(theme: str, width: int, height: int, scale: int, language: str, tmp_path: Path) -> None:
    out = ROOT / PICTURES / "views" if PICTURES else tmp_path
    screen = tmp_path / "screen.json"
    screen.write_text(json.dumps({"screens": [SCREEN]}), encoding="utf-8")
    environment = os.environ | {
        "QT_QPA_PLATFORM": f"offscreen:configfile={screen}",
        "QT_SCALE_FACTOR": str(scale),
        "QT_API": "pyside6",
        "PYQTGRAPH_QT_LIB": "PySide6",
        "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}",
    }
    command = [sys.executable, "-m", "helpers.gallery.gallery", str(out), theme, str(width), str(height), language]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-2_000:]
    seen = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(seen) > 60 + len(DIALOGS)
    assert not [each for each in seen if each["cut"]]
    assert len(list(out.glob("*.png"))) >= len(seen)


def test_what_is_cut_is_found(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    area, page = QScrollArea(), QLabel("wide")
    page.setFixedWidth(900)
    area.setWidget(page)
    row.addWidget(area)
    narrow, button, far = (
        QLabel("A text without room", window),
        QPushButton("And a button", window),
        QLabel("x", window),
    )
    narrow.setGeometry(0, 0, 30, 20)
    button.setGeometry(0, 30, 20, 20)
    far.setGeometry(390, 40, 50, 20)
    window.resize(400, 200)
    window.show()
    found = "\n".join(cut_parts(window))
    for words in ("'A text without room': 30 wide", "'And a button': 20 x 20 instead", "'x': ", "scrolls sideways by"):
        assert words in found
    narrow.resize(300, 20)
    assert "A text without room" not in "\n".join(cut_parts(window))
