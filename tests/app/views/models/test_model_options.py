"""How a model is loaded: what is typed is checked at once."""

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.models.load_options import LoadChoice, read_value, show_value
from app.system.resources import read_text
from app.views.models.options import ModelOptionsDialog
from app.views.widgets.theme import Theme
from engine import ModelFile, scan_folder

AUTOMATIC = LoadChoice()
Open = Callable[..., ModelOptionsDialog]


@pytest.fixture
def model(bundled_target: Path) -> ModelFile:
    """The demo target, as a scan reads it."""
    return next(model for model in scan_folder(bundled_target.parent) if model.path.name == bundled_target.name)


@pytest.fixture
def open_options(qapp: QApplication, qtbot: QtBot, model: ModelFile) -> Open:
    theme = Theme(
        qapp, read_text("styles", "window.qss"), str(files("resources").joinpath("icons")), Settings(theme="light")
    )

    def open_one(options: LoadChoice = AUTOMATIC, free: int = 4 * 10**9, **more: object) -> ModelOptionsDialog:
        dialog = ModelOptionsDialog(replace(model, **more), options, free, theme)  # type: ignore[arg-type]
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return open_one


def test_what_was_chosen_is_shown_and_kept(open_options: Open) -> None:
    options = LoadChoice(context=1_024, threads=2, cache_type="q8_0")
    dialog = open_options(options)
    assert dialog.edits["context"].text() == "1,024"
    assert dialog.edits["threads"].text() == "2"
    assert dialog.edits["gpu_layers"].text() == ""
    assert dialog.cache.currentText() == "8 bits (q8_0)"
    assert dialog.options == options
    told: list[LoadChoice] = []
    dialog.chosen.connect(told.append)
    dialog.save.click()
    assert told == [], "nothing has changed"
    assert not dialog.isVisible()


def test_what_makes_no_sense_is_said_while_it_is_typed(open_options: Open, qtbot: QtBot) -> None:
    dialog = open_options()
    edit, problem = dialog.edits["threads"], dialog.problems["threads"]
    qtbot.keyClicks(edit, "9000")  # type: ignore[no-untyped-call]
    assert problem.isVisible()
    assert problem.text() == "Threads must be a whole number from 1 to 512, not 9000."
    assert not dialog.save.isEnabled()
    assert dialog.options is None
    edit.setText("4")
    assert not problem.isVisible()
    assert dialog.save.isEnabled()
    context = dialog.edits["context"]
    for text, words in (("3", "8 tokens or more"), ("1e9", "8 tokens or more"), ("99999", "trained for 2,048 tokens")):
        context.setText(text)
        assert words in dialog.problems["context"].text()
        assert not dialog.save.isEnabled()
    context.setText("")
    told: list[LoadChoice] = []
    dialog.chosen.connect(told.append)
    dialog.save.click()
    assert told == [LoadChoice(threads=4)]


def test_machines_are_addresses(open_options: Open) -> None:
    dialog = open_options(free=1)
    edit, problem = dialog.edits["rpc"], dialog.problems["rpc"]
    assert dialog.needs.property("bad"), "it does not fit here"
    edit.setText("attic")
    assert problem.text().startswith("Machines must be addresses such as 192.168.1.20:50052")
    assert dialog.options is None
    edit.setText("attic:50052, 10.0.0.7:1")
    assert dialog.options == LoadChoice(rpc="attic:50052, 10.0.0.7:1")
    assert not dialog.needs.property("bad"), "nor does it have to"
    assert LoadChoice(rpc="attic:50052, 10.0.0.7:1").config(Path("x")).rpc == ("attic:50052", "10.0.0.7:1")
    assert LoadChoice.from_mapping({"rpc": "attic:50052", "threads": "x"}) == LoadChoice(rpc="attic:50052")
    assert LoadChoice.from_mapping({"rpc": "attic"}) == LoadChoice()


def test_reset_makes_all_of_it_automatic(open_options: Open) -> None:
    dialog = open_options(LoadChoice(context=64, threads=2, cache_type="q4_0"))
    dialog.reset.click()
    assert dialog.options == LoadChoice()
    assert dialog.cache.currentText() == "automatic"
    assert {name: edit.placeholderText() for name, edit in dialog.edits.items() if name != "rpc"} == dict.fromkeys(
        ("context", "threads", "gpu_layers"), "automatic"
    )


def test_the_memory_that_it_needs_follows(open_options: Open) -> None:
    dialog = open_options(free=10**9)
    dialog.edits["context"].setText("2048")
    much = dialog.needs.text()
    assert much.endswith("; 1.0 GB are free.")
    dialog.edits["context"].setText("64")
    assert dialog.needs.text() != much
    assert not dialog.needs.property("bad")
    assert open_options(free=10**6).needs.property("bad")


def test_a_long_context_offers_bytes(open_options: Open) -> None:
    dialog = open_options(LoadChoice(context=4_096), context_length=32_768)
    assert "perplexity" not in dialog.cache.accessibleDescription()
    dialog.edits["context"].setText("8,192")
    assert "half of its memory" in dialog.cache.accessibleDescription()
    assert "perplexity up by" in dialog.cache.accessibleDescription()


def test_a_template_and_a_form_of_its_variables(open_options: Open) -> None:
    dialog = open_options()
    form = dialog.template
    form.show_names("of the file", ("effort", "enable_thinking"), "")
    assert [edit.text() for edit in form.edits.values()] == ["", ""]
    form.edits["enable_thinking"].setText("false")
    form.edits["effort"].setText("high")
    form.fill_button.click()
    assert form.template.toPlainText() == "of the file"
    assert dialog.options == AUTOMATIC, "it is the file's own"
    form.template.setPlainText("{% if")
    form.show_names("", (), "Its chat template cannot be used.")
    assert form.problem.isVisible()
    assert list(form.edits) == ["effort", "enable_thinking"], "not gone while something is typed"
    assert not dialog.save.isEnabled()
    form.template.setPlainText("mine {{ effort }}")
    form.show_names("", ("effort",), "")
    assert dialog.options == LoadChoice(template="mine {{ effort }}")
    told: list[object] = []
    dialog.chosen.connect(told.append)
    dialog.variables_chosen.connect(told.append)
    dialog.save.click()
    assert told == [LoadChoice(template="mine {{ effort }}"), {"effort": "high", "enable_thinking": False}]
    assert [read_value(show_value(each)) for each in ("true", True, 3, [1], "NaN", "a b")] == [
        *("true", True, 3, [1], "NaN", "a b")
    ]


def test_what_a_model_cannot_have_is_switched_off(open_options: Open) -> None:
    dialog = open_options(file_format="safetensors")
    assert not dialog.cache.isEnabled()
    assert not dialog.edits["threads"].isEnabled()
    assert not dialog.edits["gpu_layers"].isEnabled()
    assert dialog.edits["context"].isEnabled()
