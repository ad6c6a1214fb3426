"""The file of the store is taken away while it is in use: it is written again, and that is said."""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.store.conversations import ConversationStore
from app.store.errors import NotWritable, StoreError, StoreRestored
from app.store.store import FILE_NAME, Store

SOON_S = 60.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _replace(path: Path) -> None:
    path.unlink()
    path.write_text("something else", "utf-8")


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("take_away", "aside"),
    [
        (Path.unlink, None),
        (lambda path: _log(path).unlink(), None),
        (lambda path: _replace_by_folder(_log(path)), None),
        (lambda path: shutil.rmtree(path.parent), None),
        (_replace, f"{FILE_NAME}.replaced-1"),
        (_replace_by_folder, f"{FILE_NAME}.replaced-1"),
    ],
)
@pytest.mark.parametrize("idle", [False, True])
def test_a_store_that_is_taken_away_is_written_again(
    tmp_path: Path, take_away: Callable[[Path], None], aside: str | None, idle: bool
) -> None:
    path = tmp_path / "data" / FILE_NAME
    told: list[StoreError | None] = []
    keeper = ConversationStore(Store.open(path), told.append)
    conversation = keeper.new()
    keeper.ask(conversation, "before")
    assert keeper.writer.flush(SOON_S)
    take_away(path)
    if not idle:
        keeper.ask(conversation, "after")
    limit = time.monotonic() + SOON_S
    while not told and time.monotonic() < limit:
        time.sleep(0.01)
    (said,) = told
    assert isinstance(said, StoreRestored)
    assert said.aside == (None if aside is None else path.with_name(aside))
    assert len(keeper.search("before")) == 1
    keeper.ask(conversation, "and then")
    assert keeper.writer.flush(SOON_S)
    assert [head.messages for head in keeper.conversations()] == [2 if idle else 3]
    assert keeper.close(SOON_S)
    store = Store.open(path)
    loaded = store.load(conversation.id)
    store.close()
    assert loaded is not None
    assert [message.text for message in loaded] == ["before", *([] if idle else ["after"]), "and then"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(told) == 1


@pytest.mark.logs("conversations cannot be saved: NotWritable")
def test_where_it_cannot_be_written_again_that_is_said_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data" / FILE_NAME
    told: list[StoreError | None] = []
    keeper = ConversationStore(Store.open(path), told.append, retry_s=0.05)
    conversation = keeper.new()
    keeper.ask(conversation, "before")
    assert keeper.writer.flush(SOON_S)
    shutil.rmtree(path.parent)
    path.parent.touch()
    keeper.ask(conversation, "after")
    assert not keeper.writer.flush(0.5)
    assert [type(each) for each in told] == [NotWritable]
    path.parent.unlink()
    keeper.ask(conversation, "at last")
    assert keeper.writer.flush(SOON_S)
    assert keeper.close(SOON_S)
    assert [type(each) for each in told] == [NotWritable, StoreRestored, type(None)]
    store = Store.open(path)
    loaded = store.load(conversation.id)
    store.close()
    assert loaded is not None
    assert [message.text for message in loaded] == ["before", "after", "at last"]


@pytest.mark.logs("conversations cannot be saved: NotWritable")
def test_what_cannot_be_written_again_at_the_end_is_not_said_to_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "data" / FILE_NAME
    keeper = ConversationStore(Store.open(path), lambda _: None, retry_s=0.05)
    keeper.ask(keeper.new(), "before")
    assert keeper.writer.flush(SOON_S)
    shutil.rmtree(path.parent)
    path.parent.touch()
    assert not keeper.close(SOON_S)
