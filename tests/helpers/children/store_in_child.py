"""Keep conversations until killed. Run as `python -m helpers.children.store_in_child FILE SEED`.

It tells what it does, a JSON line each: `{"step": …}` before a step is handed over, `{"done": seconds}` after it (the
system's monotonic clock). Lines about trouble: `{"trouble": class name or null}`.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from app.state.conversations.conversation import Conversation
from app.store.conversations import ConversationStore
from app.store.errors import StoreError
from app.store.store import Store

_WORDS = ["tide", "river", "lantern", "ferry", "harbour", "salt", "gull", "rope", "mist", "tower", "bell", "island"]


def _tell(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Person:
    """Act at random as a person does, and a model."""

    def __init__(self, keeper: ConversationStore, seed: int) -> None:
        self._keeper = keeper
        self._random = random.Random(seed)
        self._next = keeper.store.first_free_id()
        self._conversations = [head.id for head in keeper.conversations()]
        self._open: Conversation = self._opened()
        self._deleted: list[int] = []
        self._writing: int | None = None

    def _opened(self) -> Conversation:
        if self._conversations and self._random.random() < 0.7:
            found = self._keeper.load(self._random.choice(self._conversations))
            if found is not None:
                return found
        _tell(step=["new", self._next])
        self._next += 1
        fresh = self._keeper.new()
        _tell(done=time.monotonic())
        self._conversations.append(fresh.id)
        return fresh

    def step(self) -> None:
        """One of the things, chosen at random."""
        if self._writing is not None:
            return self._write()
        choices = [self._ask, self._ask, self._edit, self._rename, self._pin, self._choose, self._delete, self._remove]
        return self._random.choice([*choices, self._answer, self._answer, self._answer, self._move])()

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=words)) + f" {self._random.random():.12f} "

    def _ask(self) -> None:
        leaf = self._open.leaf
        self._question(None if leaf is None else leaf.id)

    def _edit(self) -> None:
        questions = [message for message in self._open if message.role == "user"]
        if questions:
            self._question(self._random.choice(questions).parent)

    def _question(self, parent: int | None) -> None:
        text = self._text(6)
        _tell(step=["ask", self._open.id, self._next, parent, text])
        self._keeper.ask(self._open, text, parent, first=parent is None)
        self._next += 1
        _tell(done=time.monotonic())

    def _answer(self) -> None:
        questions = [message.id for message in self._open.path if message.role == "user"]
        if not questions:
            return
        question = self._random.choice(questions)
        self._writing = self._next
        _tell(step=["begin", self._open.id, self._next, question])
        self._keeper.begin_reply(self._open, question, target="t", draft="d", settings={"temperature": 0.5})
        self._next += 1
        _tell(done=time.monotonic())

    def _write(self) -> None:
        reply = self._writing
        assert reply is not None
        if self._random.random() < 0.015:
            text = self._open[reply].text + "the end"
            _tell(step=["finish", self._open.id, reply, text])
            self._keeper.finish(self._open, reply, text, "done", stats={"rounds": reply}, finish_reason="stop")
            self._keeper.save_trace(reply, b"trace of %d" % reply)
            self._writing = None
        else:
            text = self._text(4)
            _tell(step=["append", self._open.id, reply, text])
            self._keeper.append(self._open, reply, text)
        _tell(done=time.monotonic())

    def _rename(self) -> None:
        title = self._text(2).strip()
        _tell(step=["rename", self._open.id, title])
        self._keeper.rename(self._open.id, title)
        _tell(done=time.monotonic())

    def _pin(self) -> None:
        pinned = not self._open.pinned
        _tell(step=["pin", self._open.id, pinned])
        self._keeper.pin(self._open.id, pinned)
        _tell(done=time.monotonic())

    def _choose(self) -> None:
        if not len(self._open):
            return
        message = self._random.choice([message.id for message in self._open])
        _tell(step=["choose", self._open.id, message])
        self._keeper.choose(self._open, message)
        _tell(done=time.monotonic())

    def _remove(self) -> None:
        if len(self._open) < 6:
            return
        message = self._random.choice([message.id for message in self._open.path][-3:])
        _tell(step=["remove", self._open.id, message])
        self._keeper.delete_message(self._open, message)
        _tell(done=time.monotonic())

    def _delete(self) -> None:
        if self._deleted and self._random.random() < 0.5:
            back = self._deleted.pop()
            _tell(step=["undelete", back])
            self._keeper.undelete(back)
            self._conversations.append(back)
        else:
            if len(self._conversations) < 12:
                return
            gone = self._random.choice([each for each in self._conversations if each != self._open.id])
            _tell(step=["delete", gone])
            self._keeper.delete(gone)
            self._conversations.remove(gone)
            self._deleted.append(gone)
        _tell(done=time.monotonic())

    def _move(self) -> None:
        self._open = self._opened()


def main() -> None:
    path, seed = Path(sys.argv[1]), int(sys.argv[2])
    person = Person(ConversationStore(Store.open(path), _told, retry_s=0.2), seed)
    pause = random.Random(seed)
    while True:
        person.step()
        time.sleep(pause.choice((0.0, 0.002, 0.016, 0.03)))


def _told(error: StoreError | None) -> None:
    _tell(trouble=None if error is None else type(error).__name__)


if __name__ == "__main__":
    main()
