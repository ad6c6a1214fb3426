"""A damaged search: its indexes are built again, with their tables, and nothing that is written is refused."""

from contextlib import closing, suppress
from pathlib import Path

import pytest

from app.store.conversations import ConversationStore
from app.store.errors import SearchDamaged, StoreError
from app.store.store import Store
from app.store.writer import rebuild_search
from helpers.children.stores import fill


def test_a_damaged_search_says_so_and_is_built_again(store: Store) -> None:
    fill(store, 1, "an old lantern")
    store.connection.execute("UPDATE messages_fts_data SET block = x'ffffffffffff'")
    with pytest.raises(SearchDamaged, match="building it again"):
        store.search("lantern")
    with store.changes():
        rebuild_search(store.connection)
    assert len(store.search("lantern")) == 1


@pytest.mark.parametrize(("name", "damaged"), [(b"pgno, PRIMARY", b"pgoo, PRIMARY"), (b"sz BLOB", b"sx BLOB")])
def test_a_search_whose_tables_are_damaged_is_made_again(path: Path, name: bytes, damaged: bytes) -> None:
    """SQLite describes these tables itself, and finds out when they are used."""
    with closing(Store.open(path)) as store:
        fill(store, 1, "an old lantern")
    data = path.read_bytes()
    assert name in data
    path.write_bytes(data.replace(name, damaged, 1))
    troubles: list[StoreError | None] = []
    keeper = ConversationStore(Store.open(path), troubles.append)
    try:
        keeper.ask(keeper.new(), "a new lantern")
        assert keeper.writer.flush(5.0)
        with suppress(SearchDamaged):
            keeper.search("lantern")
        assert keeper.writer.flush(5.0)
        assert len(keeper.search("lantern")) == 2
        assert not troubles
    finally:
        keeper.close(5.0)
