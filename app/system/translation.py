"""Translate the window: our own texts, Qt's, and the format of numbers.

English is the language of the sources. A file for it exists all the same, for the words that depend on a number.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from engine import Translatable


@dataclass(frozen=True, slots=True)
class Language:
    """Describe a language.

    `name`: its own, which is not translated, since whoever looks for it reads it. `plural_forms`: how many forms a noun
    has in it by the number before it, as Qt counts them.
    """

    name: str
    plural_forms: int


LANGUAGES = {"en": Language("English", 2), "de": Language("Deutsch", 2)}
"""The register of the languages, by code."""
FALLBACK = "en"
_OURS = "outrider"
_ENGINE = "engine"
_TOO_LARGE = 2**63
tr = QCoreApplication.translate
"""Translate a text in a context, where there is no object whose `tr` does."""


def install(app: QCoreApplication, language: str = "") -> str:
    """Set the language, "" for the system's; return the one in use.

    What is on screen already stays as it is. A language that there is no translation into is English.
    """
    code = choose(language)
    for old in app.findChildren(QTranslator, _OURS):
        app.removeTranslator(old)
        old.deleteLater()
    QLocale.setDefault(_locale(code))
    # The last one that is installed is asked first.
    _add(app, _qt_file(code))
    # By its path: Qt would not keep the bytes that it is given.
    with as_file(files("resources").joinpath("translations", f"outrider_{code}.qm")) as path:
        _add(app, path)
    return code


def choose(language: str, wanted: Sequence[str] | None = None) -> str:
    """Return the language to be used.

    `language`: a code, "" for the system's; `wanted`: those that the system prefers.
    """
    if language in LANGUAGES:
        return language
    if language == "":
        for name in QLocale.system().uiLanguages() if wanted is None else wanted:
            code = name.replace("_", "-").partition("-")[0].lower()
            if code in LANGUAGES:
                return code
    return FALLBACK


def say(text: str) -> str:
    """Return a text of the engine in the language of the window, if it is translatable."""
    if not isinstance(text, Translatable):
        return text
    fields = {name: say(value) if isinstance(value, str) else value for name, value in text.fields.items()}
    said = fill(QCoreApplication.translate(_ENGINE, text.template), **fields)
    if text.capital is None:
        return said
    return (said[:1].upper() if text.capital else said[:1].lower()) + said[1:]


def say_error(error: BaseException) -> str:
    """Return the message of one of our errors in the language of the window."""
    message = error.args[0] if error.args else ""
    return say(message) if isinstance(message, Translatable) else str(error)


def fill(template: str, /, **fields: object) -> str:
    """Fill the template as `template.format(**fields)` does, but write numbers as people here write them."""
    return _FORMATTER.vformat(template, (), fields)


def number(value: float, digits: int = 0) -> str:
    """Return a number as people here write it, with so many digits behind the point; rounded as on the command line."""
    return QLocale().toString(round(float(value), digits), "f", digits)


class _Formatter(string.Formatter):
    """Format numbers in the forms that our texts use: none, `,`, and `.1f` or `,.1f`."""

    def format_field(self, value: Any, form: str) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return str(super().format_field(value, form))
        digits = form.removeprefix(",").removeprefix(".").removesuffix("f")
        # A damaged file may claim a number that is larger than any of Qt's.
        if isinstance(value, int) and abs(value) < _TOO_LARGE and form in {"", ","}:
            return _grouped(form).toString(value)
        if form.endswith("f") and digits.isdigit():
            return _grouped(form).toString(round(float(value), int(digits)), "f", int(digits))
        return str(super().format_field(value, form))


def _grouped(form: str) -> QLocale:
    locale = QLocale()
    if not form.startswith(","):
        locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
    return locale


_FORMATTER = _Formatter()


def _locale(code: str) -> QLocale:
    """Return the locale for numbers and dates: the system's country if it speaks the language."""
    system = QLocale.system()
    return system if choose("", [system.name()]) == code and system.language() != QLocale.Language.C else QLocale(code)


def _add(app: QCoreApplication, file: Path) -> None:
    translator = QTranslator(app)
    translator.setObjectName(_OURS)
    if translator.load(str(file)):
        app.installTranslator(translator)


def _qt_file(code: str) -> Path:
    return Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)) / f"qtbase_{code}.qm"
