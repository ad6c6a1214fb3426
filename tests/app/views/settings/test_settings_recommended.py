"""Sampling as the model recommends: chosen by itself for a model that thinks, offered for others, kept as chosen."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.settings.settings import Settings
from app.views.settings.generation import GenerationPage
from engine import ModelFile
from helpers.decoding.scripted_decoder import Script
from helpers.models.gguf_writer import Entry, GgufDraft
from helpers.window.app_window import OpenWindow, Window
from helpers.window.settings_window import open_settings, put, saved, windows

THINKER = ModelFile(
    Path("/models/thinker.gguf"), "thinker", recommended=(("temperature", 0.6), ("top_k", 20)), thinks=True
)
PLAIN = replace(THINKER, path=Path("/models/plain.gguf"), name="plain", recommended=(), thinks=False)
QUIET = replace(THINKER, path=Path("/models/quiet.gguf"), name="quiet", thinks=False)


def page_of(window: Window) -> GenerationPage:
    dialog = windows(window).dialog
    return (open_settings(window) if dialog is None or not dialog.isVisible() else dialog).generation


def choose(window: Window, model: ModelFile) -> None:
    """Choose a target that was opened by itself."""
    models = window.controller.models
    models.list.set_alone(model)
    models.list.choose(target=model.path)
    models.selection_changed.emit()


def asked(window: Window, script: Script) -> tuple[object, object]:
    """Temperature and top-k that the engine is asked with."""
    window.ask("Hello")
    return script.options[-1]["temperature"], script.options[-1]["top_k"]


def pick(window: Window, name: str) -> None:
    page_of(window).presets.chosen.emit(name)


def shown(window: Window) -> str:
    return page_of(window).presets.picker.currentText()


def test_a_model_that_thinks_is_sampled_as_it_recommends(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    choose(window, THINKER)
    assert shown(window) == "As the model recommends"
    assert asked(window, script) == (0.6, 20)
    # What else is chosen leaves that alone, and another model has its own.
    put(page_of(window), system="Be brief.")
    assert asked(window, script) == (0.6, 20)
    choose(window, PLAIN)
    assert asked(window, script) == (0.0, 0)
    assert shown(window) == "Greedy"
    choose(window, THINKER)
    assert asked(window, script) == (0.6, 20)
    line = next(line for line in window.controller.models.list.targets() if line.path == THINKER.path)
    assert line.hint.endswith("recommended sampling applies unless you choose otherwise: temperature 0.6, top_k 20")


def test_what_a_person_chooses_counts(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    choose(window, THINKER)
    pick(window, "Greedy")
    assert asked(window, script) == (0.0, 0)
    first = window.program.conversations.open
    assert first is not None
    window.controller.new_chat()
    assert asked(window, script) == (0.6, 20), "a new chat begins anew"
    window.controller.open(first.id)
    assert asked(window, script) == (0.0, 0)
    put(page_of(window), temperature="0.3")
    assert asked(window, script) == (0.3, 0)
    pick(window, "As the model recommends")
    assert asked(window, script) == (0.6, 20)
    pick(window, "Greedy")
    page_of(window).reset()
    assert asked(window, script) == (0.6, 20), "as new chats are"


def test_what_new_chats_begin_with_counts(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    choose(window, THINKER)
    page = page_of(window)
    page.new.setChecked(True)
    assert shown(window) == "Greedy"
    pick(window, "Balanced")
    pick(window, "Greedy")
    assert asked(window, script) == (0.0, 0)
    assert saved(window).sampling["chosen"] is True


def test_other_models_are_not_sampled_by_themselves(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script, settings=Settings())
    choose(window, QUIET)
    assert asked(window, script) == (0.0, 0)
    pick(window, "As the model recommends")
    assert asked(window, script) == (0.6, 20)
    choose(window, PLAIN)
    names = [item.name for item in page_of(window).presets.saved]
    assert "As the model recommends" not in names
    assert asked(window, script) == (0.6, 20), "it was chosen"


def test_new_chats_with_a_model_begin_as_was_chosen_for_it(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    choose(window, PLAIN)
    page = page_of(window)
    assert page.model.text() == "New chats with plain"
    page.model.setChecked(True)
    put(page, system="Be brief.", temperature="0.5")
    window.models.set_variables(PLAIN.path, {"enable_thinking": False})
    assert asked(window, script) == (0.5, 0)
    assert script.prompts[-1][0].content == "Be brief."
    assert script.options[-1]["template_options"] == {"enable_thinking": False}
    page.own.setChecked(True)
    put(page, system="")
    asked(window, script)
    assert script.prompts[-1][0].content == "Hello", "this chat is another matter"
    window.controller.new_chat()
    choose(window, QUIET)
    assert asked(window, script) == (0.0, 0)
    assert "template_options" not in script.options[-1]
    choose(window, PLAIN)
    window.controller.new_chat()
    kept = Settings.from_mapping(window.program.settings.to_mapping())
    assert set(kept.model_choices) == set(kept.template_variables) == {str(PLAIN.path)}
    assert asked(window, script) == (0.5, 0)
    page.model.setChecked(True)
    page.reset()
    assert window.program.settings.model_choices == {}


@pytest.mark.timeout(120)
def test_a_real_model_that_thinks(open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path) -> None:
    draft = GgufDraft.of_file(demo_pair[0])
    template = draft.entries["tokenizer.chat_template"]
    draft.entries["tokenizer.chat_template"] = Entry(template.kind, "{# <think> #}" + str(template.value))
    draft.entries["general.sampling.temp"] = Entry(6, 0.75)
    thinker = tmp_path / "thinker.gguf"
    draft.write(thinker)
    window = open_window(pair=(thinker, demo_pair[1]))
    window.wait(lambda: window.controller.choices.own.temperature == 0.75, 60_000)
    exchange = window.ask("Hello", 60_000)
    conversation = window.program.conversations.open
    assert conversation is not None
    assert exchange.reply_id is not None
    assert conversation[exchange.reply_id].settings["temperature"] == 0.75
