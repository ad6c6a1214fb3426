"""Two texts line by line: what changed, what is kept of both, and a text that still grows."""

from hypothesis import given
from hypothesis import strategies as st

from app.state.chat.changes import compare, put_together

_TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", " x"]), max_size=8).map("\n".join)


def test_one_line_changed() -> None:
    pieces = compare("one\ntwo\nthree", "one\n2\nthree")
    assert [(piece.old, piece.new) for piece in pieces if piece.changed] == [(("two",), ("2",))]
    assert put_together(pieces, {1}) == "one\ntwo\nthree"
    assert put_together(pieces, ()) == "one\n2\nthree"


@given(_TEXTS, _TEXTS)
def test_all_kept_is_the_new_text_and_none_the_old_one(old: str, new: str) -> None:
    pieces = compare(old, new)
    assert put_together(pieces, ()) == new
    undone = {n for n, piece in enumerate(pieces) if piece.changed}
    assert put_together(pieces, undone) == old


@given(_TEXTS, st.integers(0, 20))
def test_what_is_not_written_yet_is_not_taken_away(old: str, cut: int) -> None:
    assert not any(piece.changed for piece in compare(old, old[:cut], ended=False))
