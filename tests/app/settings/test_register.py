"""The registers of settings: whatever is entered there is described, checked, kept, and on its page."""

from dataclasses import fields

import pytest

from app.settings.settings import SETTINGS, Settings
from app.state.settings.generation import CONVERSATION, FIELDS, GENERATION, SAMPLING, SPECULATION, GenerationChoice
from app.state.settings.typed import check, show
from app.system.translation import say
from engine import SamplingConfig, Translatable
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.settings_window import open_settings, put, saved

SHOWN = [name for name, each in SETTINGS.items() if each.page is not None]
TYPED = [name for name in CONVERSATION if GENERATION[name].kind != "option"]
NONSENSE = "\0"


def test_every_field_is_in_the_register() -> None:
    assert [each.name for each in fields(Settings)] == [*SETTINGS, "listener"]
    assert [each.name for each in fields(GenerationChoice) if each.init] == [*FIELDS, "thinking", "variables"]
    assert set(SAMPLING) <= {each.name for each in fields(SamplingConfig)}
    assert {name: getattr(Settings(), name) for name in SPECULATION} == {
        name: getattr(GenerationChoice(), name) for name in SPECULATION
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_reads_its_default_and_refuses_nonsense(name: str) -> None:
    usual = getattr(Settings(), name)
    assert SETTINGS[name].read(usual) == usual
    try:
        read = SETTINGS[name].read(NONSENSE)
    except ValueError:
        return
    assert read == usual, "what can be mended is, down to the default"


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_shown_can_be_named_and_nothing_else_is(name: str) -> None:
    entry = SETTINGS[name]
    if entry.page is None:
        assert (entry.label, entry.hint, entry.choices()) == ("", "", ())
        return
    assert isinstance(entry.label, Translatable)
    values = [option.value for option in entry.choices()]
    assert len(values) > 1
    assert getattr(Settings(), name) in values
    assert all(option.label for option in entry.choices())
    assert [entry.read(value) for value in values] == values


@pytest.mark.parametrize("name", SHOWN)
def test_each_value_on_a_page_is_saved_and_loaded(open_window: OpenWindow, name: str) -> None:
    window = open_window(Script())
    dialog = open_settings(window, "program.settings")
    page = {"general": dialog.general, "speculation": dialog.speculation}[str(SETTINGS[name].page)]
    picker = page.fields[name].picker
    options = [*enumerate(SETTINGS[name].choices())]
    for row, option in options if len(options) < 6 else (options[0], options[1], options[-1]):
        picker.setCurrentIndex(row)
        picker.activated.emit(row)
        assert getattr(window.program.settings, name) == option.value
        window.program.autosave.save()
        assert getattr(saved(window), name) == option.value


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_the_generation_is_described(name: str) -> None:
    entry = GENERATION[name]
    assert entry.name == name
    assert isinstance(entry.label, Translatable)
    usual = GenerationChoice()
    if entry.kind == "option":
        values = [option.value for option in entry.options]
        assert getattr(usual, name) in values
        assert all(option.label and option.hint for option in entry.options)
        assert all(usual.with_value(name, value) is not None for value in values)
        assert SETTINGS[name].page == "speculation"
    else:
        assert isinstance(entry.hint, Translatable)
        # What is wrong with a schema is said of the one that was typed.
        assert not entry.rule if name == "schema" else isinstance(entry.rule, Translatable)
        assert check(name, show(name, usual)) is None
        assert (check(name, "") is None) == (entry.optional or entry.kind in ("lines", "text"))


def test_each_of_them_is_on_the_page_and_says_its_rule(open_window: OpenWindow) -> None:
    page = open_settings(open_window(Script())).generation
    assert list(page.fields) == list(TYPED)
    for name in TYPED:
        kind = GENERATION[name].kind
        assert page.fields[name].label.text() == GENERATION[name].label
        put(page, **{name: ("x" * 99 + "\n") * 3_000 if kind in ("lines", "text") else "x"})
        assert page.fields[name].error is not None
        assert page.fields[name].hint.text() == (GENERATION[name].rule or say(page.fields[name].error or ""))
