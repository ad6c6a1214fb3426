"""Texts that remember what they are made of."""

import copy
import json
from pathlib import Path

import pytest

import engine.library.scan
from engine import ContextFull, FolderUnreadable, ModelFileBroken, Translatable, scan_folder
from engine.translatable import as_clause, as_sentence, packed, unpacked

INNER = Translatable("it holds {count:,} tokens", count=4096)
OUTER = Translatable("Cannot load {name}: {reason}.", name="a.gguf", reason=INNER)


def test_a_phrase_is_its_text() -> None:
    assert OUTER == "Cannot load a.gguf: it holds 4,096 tokens."
    assert (OUTER.template, OUTER.fields["reason"]) == ("Cannot load {name}: {reason}.", INNER)
    assert Translatable("{{}} {x!r}", x="a") == "{} 'a'"


def test_letters_at_the_beginning() -> None:
    assert as_sentence(INNER) == "It holds 4,096 tokens"
    assert as_clause(as_sentence(INNER)) == INNER
    assert (as_sentence("plain"), as_clause("Plain")) == ("Plain", "plain")
    assert INNER.as_sentence().template == INNER.template
    assert [text.capital for text in (INNER, INNER.as_sentence(), INNER.as_clause())] == [None, True, False]


@pytest.mark.parametrize("phrase", [INNER, OUTER, OUTER.as_clause(), INNER.as_sentence()])
def test_copies_and_json_keep_it(phrase: Translatable) -> None:
    for same in (copy.deepcopy(phrase), unpacked(json.loads(json.dumps(packed(phrase))))):
        assert isinstance(same, Translatable)
        assert same == phrase
        assert (same.template, same.fields, same.capital) == (phrase.template, phrase.fields, phrase.capital)


def test_what_was_never_packed() -> None:
    assert (packed("text"), unpacked("text")) == ("text", "text")
    kinds: list[object] = [
        None,
        3,
        {},
        {"template": "{x}", "fields": {}, "capital": None},
        {"template": "x", "fields": 3},
    ]
    for damaged in kinds:
        with pytest.raises((KeyError, ValueError, TypeError, IndexError)):
            unpacked(damaged)


def test_errors_keep_their_phrases() -> None:
    error = ModelFileBroken("a.gguf", Translatable("it is not a GGUF file."))
    assert str(error) == error.message == "Cannot load a.gguf: it is not a GGUF file."
    assert isinstance(error.message, Translatable)
    assert isinstance(ContextFull(2, 1).message, Translatable)
    assert FolderUnreadable("x", "gone").message == "Cannot read the folder x: gone. Choose another folder."


def test_a_scan_keeps_them_from_one_time_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.library.scan, "_SETTLED_NS", -1)
    (tmp_path / "junk.gguf").write_bytes(b"junk" * 99)
    for _ in range(2):
        engine.library.scan._known.clear()
        problem = scan_folder(tmp_path)[0].problem
        assert isinstance(problem, Translatable)
        assert (problem, problem.template) == ("It is not a GGUF file.", "it is not a GGUF file.")
