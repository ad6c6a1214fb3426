"""The translations that come with the program: complete, fitting the sources, compiled, and used."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication
from update_translations import FOLDER, SOURCE_LANGUAGE, Text, find_texts, read_ts

from app.control.problems import describe
from app.settings.settings import Settings
from app.system.translation import LANGUAGES, choose, fill, install, number, say
from app.words import figures as words
from engine import FolderUnreadable, ModelFileBroken, Translatable
from engine.host import BuiltinChoice, builtin_host
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

TRANSLATED = [language for language in LANGUAGES if language != SOURCE_LANGUAGE]
FIELDS = re.compile(r"\{[^{}]*\}|%L?n|%[1-9]|\\[nt]|<[^<>]+>")
ENDS = ("…", ":", ".", "!", "?")


@pytest.fixture
def german(qapp: QApplication) -> Iterator[None]:
    """The window speaks German in this test."""
    install(qapp, "de")
    yield
    install(qapp, "en")


def _ts(language: str) -> dict[Text, list[str]]:
    return read_ts(FOLDER / f"outrider_{language}.ts")


def test_every_text_can_be_found_in_the_sources() -> None:
    assert not find_texts().mistakes


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_file_has_exactly_the_texts_of_the_sources(language: str) -> None:
    wanted = {text for text in find_texts().texts if text.plural or language != SOURCE_LANGUAGE}
    there = set(_ts(language))
    assert not wanted - there, "new texts: run `make translations`, and translate what it adds"
    assert not there - wanted, "texts that are gone: run `make translations`"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_is_unfinished(language: str) -> None:
    unfinished = [text for text, forms in _ts(language).items() if not forms or not all(forms)]
    assert not unfinished


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_keep_what_is_filled_in(language: str) -> None:
    for text, forms in _ts(language).items():
        for form in forms:
            wanted, there = sorted(FIELDS.findall(text.source)), sorted(FIELDS.findall(form))
            # One thing may be named without its number.
            assert wanted == there or (text.plural and set(there) <= set(wanted)), (text.source, form)


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_begin_and_end_as_the_source_does(language: str) -> None:
    for text, forms in _ts(language).items():
        for form in forms:
            for space in (" ", "\n"):
                assert text.source.startswith(space) == form.startswith(space), form
                assert text.source.endswith(space) == form.endswith(space), form
            for end in ENDS:
                assert text.source.endswith(end) == form.endswith(end), (text.source, form)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_file_says_what_the_translator_wrote(qapp: QApplication, language: str) -> None:
    translator = QTranslator()
    assert translator.load(str(FOLDER / f"outrider_{language}.qm")), "run `make translations`"
    for text, forms in _ts(language).items():
        if text.plural:
            said = [translator.translate(text.context, text.source, "", count) for count in (1, 2)]
        else:
            said = [translator.translate(text.context, text.source)]
        assert said == forms, "run `make translations`"


def test_the_language_follows_the_system_unless_one_is_chosen() -> None:
    assert choose("de", ["en-GB"]) == "de"
    assert choose("", ["fr-FR", "fr", "de-Latn-AT", "de"]) == "de"
    assert choose("", ["C"]) == "en"
    assert choose("", ["tlh"]) == "en"
    assert choose("nonsense", ["de"]) == "en"


def test_qt_speaks_the_language_too(german: None) -> None:
    if not Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath), "qtbase_de.qm").is_file():
        pytest.skip("this Qt came without translations")
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"


def test_numbers_and_counted_words(german: None) -> None:
    assert QLocale().language() == QLocale.Language.German
    assert words.tokens(1) == "1 Token"
    assert words.tokens(1234) == "1.234 Tokens"
    assert words.speed(4.25) in {"4,2 Tok/s", "4,3 Tok/s"}
    assert number(1234.5, 1) == "1.234,5"
    assert fill("{a:,} {b:.1f} {c} {d!r}", a=1234, b=1234.5, c=1234, d="x") == "1.234 1234,5 1234 'x'"


def test_numbers_larger_than_those_of_qt_are_said_too(german: None) -> None:
    large = 2**64 - 1
    damaged = Translatable(
        "its header claims an impossible number of tensors ({tensor_count}) or entries ({value_count}).",
        tensor_count=large,
        value_count=2,
    )
    assert str(large) in say(damaged)
    assert fill("{n:,}", n=2**70) == f"{2**70:,}"


def test_errors_of_the_engine_are_said_in_the_language_of_the_window(german: None, tmp_path: Path) -> None:
    assert describe(FolderUnreadable(tmp_path, Translatable("it is not a folder"))).text == (
        f"Der Ordner {tmp_path} kann nicht gelesen werden: das ist kein Ordner. Wählen Sie einen anderen."
    )
    # A reason that somebody else gave stays as it is.
    assert describe(ModelFileBroken(tmp_path / "x.gguf", "strange")).text == "x.gguf kann nicht geladen werden: strange"
    assert say(Translatable("it is not a GGUF file.").as_sentence()) == "Das ist keine GGUF-Datei."


def test_why_a_folder_cannot_be_read_is_said_in_german(german: None, open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(), settings=Settings(language="de", models_folders=[str(tmp_path / "gone")]))
    window.wait(window.notices)
    assert "diesen Ordner gibt es nicht" in window.notices()[0]


def test_the_window_in_german(german: None, open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(language="de"))
    assert window.prompt.edit.placeholderText() == "Fragen Sie etwas…"
    assert window.ask("Hallo").reply == "All right."


@pytest.mark.usefixtures("german")
def test_the_tools_that_come_along_have_german_titles(tmp_path: Path) -> None:
    host = builtin_host(BuiltinChoice(True, True, True, (tmp_path,), lambda _words, _most: ()))
    for tool in host.tools():
        asked = tool.asked_about({"url": "https://example.org/a"})
        assert say(tool.title) != tool.title
        assert say(asked.title).startswith(say(tool.title))
