"""Brings resources/translations up to date with the sources: `make translations`.

Each `outrider_<language>.ts` gets the texts that are new, as unfinished ones, and loses those that are gone; then
PySide6's lrelease makes the `.qm` of it, which the program reads. Qt Linguist opens and writes the same files.

The texts are found here and not by lupdate, which sees neither plural forms nor the right context in much Python.
"""

import ast
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter

from app.system.translation import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "resources" / "translations"
SOURCE_LANGUAGE = "en"
"""Only the words that depend on a number are in its file: all others are as in the sources."""
_ENGINE = "engine"
_FROM_DATA = frozenset({_ENGINE, "Starters"})
"""Contexts of texts known only at run time: found as `Translatable`, and in a file."""
_OWNERS = {"window": "MainWindow"}
"""Whose `tr` is called outside of a class."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the sources. `plural`: it has a form for each kind of number."""

    context: str
    source: str
    plural: bool = False


@dataclass(slots=True)
class Found:
    """All texts, in the order of the sources, and unreadable calls (`file:line: reason`)."""

    texts: dict[Text, None] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)


def find_texts(root: Path = ROOT) -> Found:
    """Every text that the program can show and that goes through translation."""
    found = Found()
    for package in ("app", "engine"):
        for path in sorted((root / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            _Reader(found, path.relative_to(root).as_posix()).visit(tree)
    for name in ("starter_prompts.json", "general_prompts.json"):
        for prompt in json.loads((root / "resources" / name).read_text(encoding="utf-8")):
            found.texts[Text("Starters", prompt["title"])] = None
            if name.startswith("general"):
                found.texts[Text("Starters", prompt["prompt"])] = None
    return found


class _Reader(ast.NodeVisitor):
    """Reads one file."""

    def __init__(self, found: Found, name: str) -> None:
        self._found = found
        self._name = name
        self._classes: list[str] = []
        self._constants: dict[str, str] = {}
        self._short: dict[str, ast.expr] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        """A context may be a constant of the file, and `tr` may be somebody's under a short name."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            self._constants |= {each.id: node.value.value for each in node.targets if isinstance(each, ast.Name)}
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for name, value in pairs:
                if isinstance(name, ast.Name) and isinstance(value, ast.Attribute) and value.attr == "tr":
                    self._short[name.id] = value.value
        self.generic_visit(node)

    def _constant(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._constants.get(node.id)
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its name is the context of `self.tr`."""
        self._classes.append(node.name)
        self.generic_visit(node)
        self._classes.pop()

    def visit_Call(self, node: ast.Call) -> None:
        """Perhaps one that gives a text."""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "tr" and isinstance(node.func, ast.Attribute):
            self._take(node, self._owner(node.func.value), node.args[:1], plural=len(node.args) > 2)
        elif isinstance(node.func, ast.Name) and called in self._short:
            self._take(node, self._owner(self._short[called]), node.args[:1], plural=len(node.args) > 2)
        elif called in {"tr", "translate", "QT_TRANSLATE_NOOP"} and len(node.args) > 1:
            context = self._constant(node.args[0])
            if context is None:
                if isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str):  # else it moves
                    self._mistake(node, "the context is not written out")
            elif context not in _FROM_DATA:
                self._take(node, context, node.args[1:2], plural=len(node.args) > 3)
        elif called in {"Translatable", "Phrase"} and node.args and self._name != "engine/translatable.py":
            self._take(node, _ENGINE, node.args[:1], plural=False)
        else:  # An error, whose words are a template that its keywords fill.
            self._take(node, _ENGINE, [each for each in node.args if _is_filled(each, node)], plural=False)
        self.generic_visit(node)

    def _owner(self, owner: ast.expr) -> str | None:
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if name == "self" and self._classes:
            return self._classes[-1]
        return _OWNERS.get(name)

    def _take(self, node: ast.Call, context: str | None, texts: list[ast.expr], *, plural: bool) -> None:
        if context is None:
            self._mistake(node, "it cannot be told whose tr this is: use QCoreApplication.translate(context, text)")
            return
        for text in texts:
            for source in _strings(text):
                if source is None:
                    self._mistake(node, "the text is not written out")
                elif any(letter.isalpha() for letter in _without_fields(source)):
                    self._found.texts[Text(context, source, plural)] = None

    def _mistake(self, node: ast.AST, why: str) -> None:
        self._found.mistakes.append(f"{self._name}:{getattr(node, 'lineno', 0)}: {why}")


def _is_filled(text: ast.expr, call: ast.Call) -> bool:
    """Return True if a text has fields, and the call has a keyword for each of them."""
    if not call.keywords or not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return False
    try:
        fields = {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(text.value) if name}
    except ValueError:
        return False
    return bool(fields) and fields <= {each.arg for each in call.keywords}


def _strings(node: ast.expr) -> Iterator[str | None]:
    """The texts that an expression may give; None: one that only the running program knows."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _strings(node.body)
        yield from _strings(node.orelse)
    else:
        yield None


def _without_fields(source: str) -> str:
    parts = source.replace("{{", "").replace("}}", "").split("{")
    return "".join([parts[0], *(part.partition("}")[2] for part in parts[1:])])


# Files --------------------------------------------------------------------------------------------------------------


def read_ts(path: Path) -> dict[Text, list[str]]:
    """The translations of a file, as many as there are forms; an unfinished one is empty."""
    translations: dict[Text, list[str]] = {}
    if not path.exists():
        return translations
    for context in ET.parse(path).getroot().iter("context"):  # noqa: S314 - it is our own
        for message in context.iter("message"):
            plural = message.get("numerus") == "yes"
            text = Text(context.findtext("name", ""), message.findtext("source", ""), plural)
            told = message.find("translation")
            if told is None or told.get("type") in {"vanished", "obsolete"}:
                continue
            forms = [form.text or "" for form in told.iter("numerusform")] if plural else [told.text or ""]
            translations[text] = [] if told.get("type") == "unfinished" else forms
    return translations


def write_ts(path: Path, language: str, translations: dict[Text, list[str]]) -> None:
    """Write a file as Linguist does, without the places in the sources: they change with every line."""
    root = ET.Element("TS", version="2.1", language=language, sourcelanguage=SOURCE_LANGUAGE)
    contexts: dict[str, ET.Element] = {}
    for name in sorted({text.context for text in translations}):
        contexts[name] = ET.SubElement(root, "context")
        ET.SubElement(contexts[name], "name").text = name
    for text, forms in translations.items():
        message = ET.SubElement(contexts[text.context], "message", {"numerus": "yes"} if text.plural else {})
        ET.SubElement(message, "source").text = text.source
        told = ET.SubElement(message, "translation", {} if forms else {"type": "unfinished"})
        if text.plural:
            for form in forms or [""] * LANGUAGES[language].plural_forms:
                ET.SubElement(told, "numerusform").text = form
        elif forms:
            told.text = forms[0]
    ET.indent(root, "    ")
    body = ET.tostring(root, encoding="unicode", short_empty_elements=False)
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n', encoding="utf-8")


def update(language: str, texts: dict[Text, None]) -> int:
    """Bring the file of a language up to date; return the count of untranslated texts."""
    path = FOLDER / f"outrider_{language}.ts"
    before = read_ts(path)
    wanted = [text for text in texts if text.plural or language != SOURCE_LANGUAGE]
    # A text that has moved to another context, and is not in its old one any more, keeps its translation.
    moved = {(text.source, text.plural): forms for text, forms in before.items() if text not in texts}
    after = {text: before.get(text) or moved.get((text.source, text.plural), []) for text in wanted}
    write_ts(path, language, after)
    return sum(not forms for forms in after.values())


def release(language: str) -> None:
    """Make the file that the program reads, with the lrelease of the installed PySide6."""
    import PySide6  # noqa: PLC0415 - finding the texts needs no Qt

    path = FOLDER / f"outrider_{language}.ts"
    folder = Path(str(PySide6.__file__)).parent
    tool = folder / ("lrelease.exe" if sys.platform == "win32" else "lrelease")
    subprocess.run([tool, "-silent", "-nounfinished", path, "-qm", path.with_suffix(".qm")], check=True)


def main() -> int:
    """Update all languages; 1 where something in the sources cannot be translated."""
    found = find_texts()
    for mistake in found.mistakes:
        print(mistake)
    for language in LANGUAGES:
        waiting = update(language, found.texts)
        release(language)
        print(f"{language}: {len(found.texts)} texts, {waiting} to be translated")
    return 1 if found.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
