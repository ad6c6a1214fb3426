"""The search in the store: what is found, and how it is shown."""

import pytest

from app.store.store import Store
from helpers.children.stores import fill


def test_words_are_found_by_their_beginnings_in_any_order(store: Store) -> None:
    fill(store, 1, "How does the ferry cross?", "Slowly, by *lantern* light at Café Zürich.", title="Harbour talk")
    fill(store, 2, "Something else", "entirely", title="Ferry times")
    assert [(hit.conversation, hit.message) for hit in store.search("fer")] == [(2, None), (1, 1000)]
    assert [hit.message for hit in store.search("light LANT")] == [1001]
    assert [hit.message for hit in store.search("cafe zurich")] == [1001]
    assert [hit.conversation for hit in store.search("harbour")] == [1]
    assert store.search("ferry light") == []
    assert store.search("erry") == []


def test_a_snippet_shows_the_words_and_where_they_are(store: Store) -> None:
    fill(store, 1, "word " * 200 + "before\n\n the   Café and a lantern after " + "word " * 200)
    (hit,) = store.search("cafe lan")
    assert "before the Café and a lantern after" in hit.snippet
    assert hit.snippet.startswith("… ")
    assert hit.snippet.endswith("…")
    assert [hit.snippet[start : start + length] for start, length in hit.marks] == ["Café", "lan"]
    assert len(hit.snippet) < 160


def test_scripts_without_spaces_are_searched_within(store: Store) -> None:
    fill(store, 1, "投机解码很快", "แม่น้ำสายใหญ่", title="关于解码")
    assert [hit.message for hit in store.search("解码")] == [1000]
    assert [hit.message for hit in store.search("น้ำ")] == [1001]
    assert [hit.conversation for hit in store.search("于解")] == [1]
    assert store.search("解码 missing") == []


@pytest.mark.parametrize(
    "typed",
    ["", " ", '"', '""', "*", "a*", "NOT", "a OR b", "NEAR(a b)", "text:a", "^a", "(a", "a)", "-a", "a + b",
     "'; DROP", "\0", "a\0b", "%", "_", "\\", "{a}", "\ud800", "🚢", "--", "a" * 99_999, "a " * 9_000, "\u202e",
     "e\u0301", "हिन्दी"],
)  # fmt: skip
def test_whatever_is_typed_is_no_failure(store: Store, typed: str) -> None:
    fill(store, 1, "some text a b", title="a title")
    assert isinstance(store.search(typed), list)


def test_signs_separate_words_as_in_the_text(store: Store) -> None:
    fill(store, 1, "See llama.cpp, snake_case and C++ or हिन्दी.")
    for typed in ("llama.cpp", "llama.c", "snake_case", "c++", "cpp, snake", "हिन्दी", "-- llama"):
        (hit,) = store.search(typed)
        assert hit.marks, typed


def test_search_follows_what_changes(store: Store) -> None:
    ids = fill(store, 1, "alpha", "beta", title="gamma")
    with store.changes():
        store.rename(1, "delta")
        store.delete_messages(ids[1:])
    assert store.search("gamma") == store.search("beta") == []
    assert len(store.search("delta")) == len(store.search("alpha")) == 1
    store.connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
