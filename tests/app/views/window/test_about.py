"""The About window: opened from the menu, lists what the program is made of, and survives what is missing."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import app.system.licences
from app.system.licences import Component, components, text_of, versions
from app.system.resources import ResourceDamaged
from app.views.window.about import AboutDialog, Whereabouts
from app.words.models import facts_words
from engine import ModelFacts, __version__
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

HERE = Whereabouts("none", "/a/settings.json", "/a/data", "/a/log")
LISTED = [
    {"name": "Zed", "version": "2", "licence": "MIT", "kind": "python", "files": ["zed/LICENSE", "zed/NOTICE"]},
    {"name": "Outrider", "version": "0.1.0", "licence": "MIT", "kind": "python", "files": ["own"], "url": ""},
    {"name": "llama.cpp", "version": "9.9", "licence": "MIT", "kind": "native", "files": [], "url": "https://x.org"},
]


@pytest.fixture
def frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of licences of a frozen program."""
    folder = tmp_path / "licences"
    (folder / "zed").mkdir(parents=True)
    (folder / "zed" / "LICENSE").write_text("Zed's terms", encoding="utf-8")
    (folder / "zed" / "NOTICE").write_bytes(b"a n\xf6tice")
    (folder / "own").write_text("our terms", encoding="utf-8")
    (folder / "components.json").write_text(json.dumps(LISTED), encoding="utf-8")
    monkeypatch.setattr(app.system.licences, "installation_folder", lambda: tmp_path)
    return folder


@pytest.fixture
def open_about(qtbot: QtBot) -> Callable[[], AboutDialog]:
    def open_one() -> AboutDialog:
        dialog = AboutDialog(HERE)
        # What is closed deletes itself.
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return open_one


def test_parts_as_installed() -> None:
    parts = components()
    assert parts[0] == Component("Outrider", __version__, "MIT", parts[0].url, parts[0].texts)
    names = [part.name for part in parts]
    assert {"Python", "numpy", "PySide6_Essentials", "shiboken6", "Jinja2", "MarkupSafe", "llama_cpp_python"} <= set(
        names
    )
    # What only developers need is no part of the program.
    assert not {"pytest", "ruff", "mypy"} & set(names)
    assert len(names) == len(set(names))
    jinja = next(part for part in parts if part.name == "Jinja2")
    assert "Redistribution and use" in text_of(jinja)


def test_versions_without_importing_what_is_heavy() -> None:
    script = (
        "import sys, app.system.licences as l; print(l.versions());"
        " sys.exit(bool({'torch','llama_cpp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f"('Outrider', '{__version__}')" in done.stdout
    assert "('llama-cpp-python', '" in done.stdout


def test_parts_of_a_frozen_program(frozen: Path) -> None:
    assert [part.name for part in components()] == ["Outrider", "llama.cpp", "Zed"]
    assert ("llama.cpp", "9.9") in versions()
    assert not {"torch", "numpy"} & {name for name, _ in versions()}
    text = text_of(components()[2])
    assert text.startswith("LICENSE\n\nZed's terms")
    assert "NOTICE\n\na n\ufffdtice" in text
    assert text_of(components()[0]) == "our terms"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1]",
        '{"a": 1}',
        "[" * 100_000,
        '[{"name": "x"}]',
        '[{"name": "x", "version": "", "licence": "", "files": 3}]',
    ],
)
def test_damaged_list(frozen: Path, content: str) -> None:
    (frozen / "components.json").write_text(content)
    with pytest.raises(ResourceDamaged, match="folder of licences"):
        components()
    assert [name for name, _ in versions()] == ["Outrider", "Python"]


def test_a_list_cannot_point_outside_its_folder(frozen: Path) -> None:
    (frozen.parent / "secret").write_text("secret")
    told = {"name": "x", "version": "", "licence": "", "files": ["../secret"]}
    (frozen / "components.json").write_text(json.dumps([told]))
    with pytest.raises(ResourceDamaged):
        components()


def test_window_tells_versions_and_places(open_about: Callable[[], AboutDialog]) -> None:
    dialog = open_about()
    told = {line.accessibleName(): line.text() for line in dialog.facts}
    assert told["Outrider"] == __version__
    assert told["Qt"] == qVersion()
    assert told["Settings"] == "/a/settings.json"
    assert told["Data"] == "/a/data"
    assert told["Log"] == "/a/log"


def test_copied_versions(open_about: Callable[[], AboutDialog]) -> None:
    dialog = open_about()
    dialog.copy_button.click()
    text = QGuiApplication.clipboard().text()
    assert text.startswith(f"Outrider: {__version__}\nPython: ")
    assert f"Qt: {qVersion()}" in text
    assert dialog.copy_button.text() == "Copied"


def test_it_says_where_loaded_models_compute_and_whether_rows_depend_on_the_batch(qtbot: QtBot) -> None:
    facts = ModelFacts("big", 9, 1, "vulkan0", batch_invariant=False), ModelFacts("small", 3, 1, "cpu", True)
    dialog = AboutDialog(replace(HERE, models=tuple(map(facts_words, facts))))
    qtbot.addWidget(dialog)
    told = {line.accessibleName(): line.text() for line in dialog.facts}
    assert told["Target"].startswith("big · vulkan0 · not batch-invariant: a greedy reply with a draft may differ")
    assert told["Draft"] == "small · cpu · batch-invariant"
    assert facts_words(ModelFacts("m", 3, 1, "cpu")) == "m · cpu"
    dialog.copy_button.click()
    assert "Draft: small · cpu · batch-invariant" in QGuiApplication.clipboard().text().splitlines()


def test_licences_are_shown_when_looked_at(open_about: Callable[[], AboutDialog], frozen: Path) -> None:
    dialog = open_about()
    assert dialog.list.count() == 0
    dialog.tabs.setCurrentIndex(1)
    assert [dialog.list.item(row).text() for row in range(3)] == ["Outrider 0.1.0", "llama.cpp 9.9", "Zed 2"]
    assert dialog.text.toPlainText() == "our terms"
    dialog.list.setCurrentRow(1)
    assert dialog.home.text() == "https://x.org"
    assert "No licence text" in dialog.text.toPlainText()
    (frozen / "zed" / "LICENSE").unlink()
    dialog.list.setCurrentRow(2)
    assert "is missing or damaged" in dialog.text.toPlainText()
    assert not dialog.notice.isVisible()


def test_without_its_list_the_window_opens_and_says_so(open_about: Callable[[], AboutDialog], frozen: Path) -> None:
    (frozen / "components.json").unlink()
    dialog = open_about()
    dialog.tabs.setCurrentIndex(1)
    assert "The folder of licences" in dialog.notice.text()
    assert dialog.notice.isVisible()
    assert not dialog.splitter.isVisible()


def test_keyboard(open_about: Callable[[], AboutDialog], frozen: Path) -> None:
    dialog = open_about()
    assert dialog.focusWidget() is dialog.close_button
    dialog.tabs.setCurrentIndex(1)
    dialog.tabs.tabBar().setFocus()
    order = []
    for _ in range(4):
        dialog.focusNextChild()
        order.append(dialog.focusWidget())
    assert order == [dialog.list, dialog.text, dialog.copy_button, dialog.close_button]
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_it_fits_a_small_screen(open_about: Callable[[], AboutDialog]) -> None:
    least = open_about().minimumSizeHint()
    assert least.width() <= 720
    assert least.height() <= 480


def test_from_the_menu(open_window: OpenWindow) -> None:
    window = open_window(Script())
    actions = {action.text(): action for action in window.main.bar.menu_button.menu().actions()}
    actions["About Outrider…"].trigger()
    dialog = window.main.findChild(AboutDialog)
    assert dialog is not None
    assert dialog.isVisible()
    told = {line.accessibleName(): line.text() for line in dialog.facts}
    assert [told.get("Target"), told.get("Draft")] == [facts_words(each) for each in window.program.bridge.facts]
    assert told["Settings"] == str(window.program.settings_file.path)
    dialog.close()
    window.wait(lambda: window.main.findChild(AboutDialog) is None)


def test_nothing_of_it_is_loaded_at_the_start() -> None:
    late = "{'app.views.window.about', 'app.system.licences'}"
    script = f"import sys, app.shell.bootstrap; sys.exit(bool({late} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", script], check=True)
