"""A person's own texts: found again, kept, taken away without a trace, and no file of them is trusted."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.cancel import CancelToken
from engine.corpus.corpus import LONGEST_TEXT, Corpus, files_of
from engine.errors import Cancelled


def _encode(text: str) -> Sequence[int]:
    return list(text.encode())


def _hold(corpus: Corpus, texts: Mapping[str, str]) -> None:
    corpus.update(((key, str(len(text)), partial(str, text)) for key, text in texts.items()), _encode)


def _goes_on(corpus: Corpus, end: str, most: int = 40) -> str | None:
    found = corpus.search(_encode(end))
    return None if found is None else bytes(found.passage(most)).decode()


def test_the_longest_match_is_found_and_ends_with_its_text() -> None:
    corpus = Corpus()
    _hold(corpus, {"a": "The pump is in the cellar.", "b": "A pump is in the shed."})
    assert _goes_on(corpus, "The pump is in the ") == "cellar."
    assert _goes_on(corpus, "A pump is in the ") == "shed."
    assert _goes_on(corpus, "Where is the cel") == "lar."
    assert _goes_on(corpus, "xyz") is None
    assert _goes_on(corpus, "zzzzzzz") is None
    assert _goes_on(corpus, "the cellar.") is None  # Nothing comes behind a text's end.


def test_a_passage_is_followed_token_by_token() -> None:
    corpus = Corpus()
    _hold(corpus, {"a": "one two three four", "b": "one two three five"})
    found = corpus.search(_encode("one two three f"))
    assert found is not None
    assert found.evidence == "split"
    first = found.coming[0]
    after = found.follow(first)
    assert after is not None
    assert after.length == found.length + 1
    assert after.evidence == "alone"
    assert found.follow(0) is None


def test_many_documents_in_many_segments_are_all_found() -> None:
    chance = np.random.default_rng(3)
    texts = {str(n): "".join(chr(c) for c in chance.integers(97, 123, 300)) for n in range(40)}
    corpus = Corpus()
    held: dict[str, str] = {}
    for key, text in texts.items():  # A segment each time, put together now and then.
        held[key] = text
        _hold(corpus, held)
    assert corpus.documents == len(texts)
    assert corpus.tokens == sum(map(len, texts.values()))
    for text in texts.values():
        assert _goes_on(corpus, text[:20]) == text[20:60]


def test_it_is_kept_and_what_is_deleted_is_in_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    texts = {"a": "A secret is under the third stone.", "b": "Bread needs flour and water."}
    _hold(Corpus(folder), texts)
    again = Corpus(folder)
    assert _goes_on(again, "Bread needs ") == "flour and water."
    read: list[str] = []

    def read_again(key: str) -> str:
        read.append(key)
        return texts[key]

    again.update(((key, str(len(text)), partial(read_again, key)) for key, text in texts.items()), _encode)
    assert read == []  # What has not changed is not read again.
    assert all(path.stat().st_mode & 0o77 == 0 for path in (folder, *folder.iterdir()))
    _hold(again, {"b": texts["b"]})
    secret = np.array(_encode("secret"), dtype="<u4").tobytes()
    assert all(secret not in path.read_bytes() and b"secret" not in path.read_bytes() for path in folder.iterdir())
    assert _goes_on(again, "A secret is ") is None
    assert _goes_on(again, "Bread needs ") is not None
    again.clear()
    assert list(folder.iterdir()) == []


def test_a_changed_text_takes_the_place_of_the_one_before() -> None:
    corpus = Corpus()
    _hold(corpus, {"a": "The code is 1234."})
    _hold(corpus, {"a": "The code is 98765."})
    assert _goes_on(corpus, "The code is ") == "98765."
    assert corpus.documents == 1


def test_its_size_is_bounded_and_the_latest_come_first() -> None:
    corpus = Corpus(most_bytes=12 * 100)
    _hold(corpus, {"new": "n" * 60, "middle": "m" * 30, "old": "o" * 60})
    assert corpus.documents == 2
    assert corpus.tokens == 90


def test_of_a_very_long_text_the_beginning_is_read() -> None:
    lengths: list[int] = []

    def encode(text: str) -> Sequence[int]:
        lengths.append(len(text))
        return _encode(text[:10])

    corpus, texts = Corpus(), [("long", "1", lambda: "x" * (LONGEST_TEXT + 1))]
    corpus.update(texts, encode)
    corpus.put([("long", "2", lambda: "y" * (LONGEST_TEXT + 1))], encode)
    assert lengths == [LONGEST_TEXT, LONGEST_TEXT]


def test_what_cannot_be_read_is_left_out() -> None:
    def lost() -> str:
        raise OSError

    corpus = Corpus()
    corpus.update([("a", "1", lost), ("b", "1", partial(str, "still here"))], _encode)
    assert _goes_on(corpus, "still ") == "here"


def test_a_cancelled_update_keeps_what_it_read() -> None:
    cancel, corpus = CancelToken(), Corpus()

    def second() -> str:
        cancel.cancel()
        return "second text"

    texts: list[tuple[str, str, Callable[[], str]]] = [
        ("a", "1", partial(str, "first text")),
        ("b", "1", second),
        ("c", "1", partial(str, "third")),
    ]
    with pytest.raises(Cancelled):
        corpus.update(texts, _encode, cancel=cancel)
    assert _goes_on(corpus, "first ") == "text"


@pytest.mark.parametrize("damage", ["cut", "places", "header", "unsorted", "documents"])
def test_a_damaged_file_is_removed_and_read_anew(tmp_path: Path, damage: str) -> None:
    texts = {"a": "Nothing of this is trusted.", "b": "Nor of that."}
    folder = tmp_path / "own"
    _hold(Corpus(folder), texts)
    (path,) = folder.iterdir()
    data = bytearray(path.read_bytes())
    count = sum(len(text) + 1 for text in texts.values()) - 4
    if damage == "cut":
        del data[-8:]
    elif damage == "places":
        data[-4:] = b"\xff\xff\xff\x7f"
    elif damage == "unsorted":
        data[-8 * count : -8 * count + 4] = b"\xff\xff\xff\xff"
    elif damage == "documents":
        data = bytearray(bytes(data).replace(b', "12", ', b', "99", '))
    else:
        data[:4] = b"[][]"
    path.write_bytes(data)
    corpus = Corpus(folder)
    if damage != "documents":  # There a text is of another version.
        assert corpus.documents == 0
        assert not path.exists()
    _hold(corpus, texts)
    assert _goes_on(corpus, "Nothing of this is ") == "trusted."


def test_files_are_found_the_latest_first_without_links(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "note.txt").write_text("A note.", encoding="utf-8")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "no.txt").write_text("no", encoding="utf-8")
    (tmp_path / "picture.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "link.txt").symlink_to(tmp_path / "in" / "note.txt")
    (tmp_path / "loop").symlink_to(tmp_path)
    corpus = Corpus()
    corpus.update(files_of([tmp_path]), _encode)
    assert corpus.documents == 1
    assert _goes_on(corpus, "A no") == "te."


def test_a_text_that_changed_takes_the_place_of_its_version(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, most_bytes=12 * 60)
    _hold(corpus, {"a": "The pump is in the cellar.", "b": "A pump is in the shed."})
    corpus.put([("b", "2", lambda: "A pump is in the barn.")], _encode)
    assert _goes_on(corpus, "A pump is in the ") == "barn."
    assert (corpus.documents, _goes_on(corpus, "The pump is in the ")) == (2, "cellar.")
    assert not any("shed".encode("utf-32-le") in path.read_bytes() for path in tmp_path.glob("*.own"))
    corpus.put([("c", "1", lambda: "Where there is no room the oldest goes.")], _encode)
    assert (corpus.documents, _goes_on(corpus, "Where there is ")) == (1, "no room the oldest goes.")
    corpus.put([("d", "1", lambda: "x" * 100)], _encode)
    assert corpus.documents == 1, "too long by itself"
