"""Files that go with a question: read or refused, quoted whatever is in them, kept, shown folded, edited, sent."""

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from app.control.replies import PendingReply
from app.settings.settings import Settings
from app.state.chat.attachments import (
    LARGEST,
    MOST,
    Attachment,
    NotAttached,
    decode,
    join_question,
    plain_name,
    read_attachment,
    split_question,
)
from app.state.conversations.conversation import title_from
from app.views.chat.question import QuotedFile
from app.views.window.file_dialogs import ask_what_to_attach, ask_what_to_import
from app.words.context import refusal
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

TEXTS = ["a", "```\nx\n```", "  ````py", "a\n\nb", "`" * 9, "\n\n```\n\nx", "File: n\n```\nx\n```\n\nq", "x" * 5_000]
TYPED = ["", "hi", "  spaced ", "\nfoo", "File: zz", "```\nopen", "> ````\n"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("typed", TYPED)
def test_a_question_is_taken_apart_as_it_was_put_together(text: str, typed: str) -> None:
    files = (Attachment("one.py", text), Attachment("two", text + "z"))
    question = join_question(typed, files)
    assert split_question(question) == (typed, files)
    assert join_question(*split_question(question)) == question


@pytest.mark.parametrize(
    "question", ["", "Hello", "File: x", "File: x\n```\nq", "File: x\n`````\nq\n`````", *TEXTS[:6]]
)
def test_what_is_no_file_stays_as_it_is(question: str) -> None:
    assert split_question(question) == (question, ())


def test_any_text_is_taken_apart_and_put_together() -> None:
    """Texts of what fences, names and gaps are made of: all come back, as files or as what was typed."""
    choose = random.Random(1).choice
    for _ in range(4_000):
        files = tuple(
            Attachment(choose(["a.py", "b", "c.md"]), "".join(choose("`\n aF") for _ in range(9)).rstrip("\n") or "z")
            for _ in range(choose([1, 2, 3]))
        )
        typed = choose(["", "hi", "```\nx", "\nq", "File: x"])
        assert split_question(join_question(typed, files)) == (typed, files)
        question = "".join(choose(["File: x\n", "```", "\n", "a", "````", "\n\n"]) for _ in range(9))
        assert join_question(*split_question(question)) == question


def test_the_fence_is_longer_than_any_in_the_file() -> None:
    block = Attachment("a.md", "````\n```\n").block
    assert block.startswith("File: a.md\n`````markdown\n")
    assert block.endswith("\n`````")


def test_the_title_is_of_what_was_typed() -> None:
    files = [Attachment("notes.txt", "First of all.")]
    assert title_from(join_question("What is this? Tell me.", files)) == "What is this?"
    assert title_from(join_question("", files)) == "notes.txt"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\r\ntext\rhere\n\n", "plain\ntext\nhere"),
        ("\ufeffmärk".encode(), "märk"),
        ("sixteen ä".encode("utf-16"), "sixteen ä"),
        ("thirty-two ä".encode("utf-32"), "thirty-two ä"),
        (b"\x1b[31mred\x1b[0m log", "red log"),
        ("Grüße".encode("latin-1"), "Grüße"),
        ("café".encode("latin-1"), "café"),
        ("50 € für das „Buch“".encode("cp1252"), "50 € für das „Buch“"),
        ("Привет, как дела? Сегодня хорошая погода.".encode("koi8-r"), "Привет, как дела? Сегодня хорошая погода."),
        ("日本語のテキストです。".encode("shift_jis"), "日本語のテキストです。"),
        ("sixteen ä, no mark".encode("utf-16-le"), "sixteen ä, no mark"),
    ],
)
def test_what_can_be_read(data: bytes, text: str) -> None:
    assert decode(data, "x") == text


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\x7fELF\x02\x01\0\0", "binary"),
        (bytes(range(1, 32)) * 9, "binary"),
        (bytes(range(256))[1:], "binary"),
    ],
)
def test_what_cannot(data: bytes, trouble: str) -> None:
    with pytest.raises(NotAttached) as caught:
        decode(data, "x.txt")
    assert caught.value.trouble == trouble
    assert "x.txt" in refusal(caught.value)


def test_the_byte_that_is_no_text_is_named() -> None:
    with pytest.raises(NotAttached) as caught:
        decode(b"\xef\xbb\xbfabc\xff", "x.txt")
    assert (caught.value.trouble, caught.value.detail) == ("encoding", "0xFF")


def test_files_that_cannot_be_read_at_all(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_bytes(b"x" * (LARGEST + 1))
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\n")
    places = {"missing": tmp_path / "no", "folder": tmp_path, "large": large, "document": tmp_path / "a.pdf"}
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        places["special"] = tmp_path / "pipe"
    for trouble, path in places.items():
        with pytest.raises(NotAttached) as caught:
            read_attachment(path)
        assert caught.value.trouble == trouble
        assert str(tmp_path) not in refusal(caught.value), "no paths, only the name"


def test_names() -> None:
    assert plain_name("a`b\nc\u202etxt") == "a\ufffdb\ufffdc\ufffdtxt"
    assert len(plain_name("x" * 500)) == 120
    assert plain_name("  ") == "file"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("A fox lives\nin the forest.\n", encoding="utf-8")
    return path


def test_a_file_goes_with_the_question_and_stays_with_it(open_window: OpenWindow, notes: Path) -> None:
    script = Script()
    window = open_window(script)
    window.attach(notes)
    chip = window.prompt.chips.chips[0]
    assert chip.text().startswith("notes.txt · ")
    assert chip.text().endswith(" tokens")
    window.type("Where is it?")
    window.key(Qt.Key.Key_Return)
    exchange = window.first()
    window.ended(exchange)
    question = "File: notes.txt\n```\nA fox lives\nin the forest.\n```\n\nWhere is it?"
    assert script.prompts[-1][-1].content == question == exchange.question
    assert window.prompt.chips.isHidden(), "the next question begins without files"
    conversation = window.program.conversations.open
    assert conversation is not None
    assert conversation.title == "Where is it?"
    box = window.view(exchange).question
    assert box.text.toPlainText() == "Where is it?"
    (file,) = box.files
    assert isinstance(file, QuotedFile)
    assert file.folded
    file.header.click()
    assert file.body is not None
    assert file.body.toPlainText() == "A fox lives\nin the forest."
    window.key(Qt.Key.Key_Up)
    assert window.prompt.question == question, "Up brings back the files too"


def test_editing_keeps_the_files_unless_they_are_taken_away(open_window: OpenWindow, notes: Path) -> None:
    script = Script()
    window = open_window(script)
    window.attach(notes)
    window.type("Where?")
    window.key(Qt.Key.Key_Return)
    window.ended(window.first())
    box = window.view(window.first()).question
    box.edit()
    assert box.editor is not None
    assert box.editor.edit.toPlainText() == "Where?"
    box.editor.edit.setPlainText("When?")
    box.editor.edit.submitted.emit()
    window.ended(window.first())
    assert script.prompts[-1][-1].content == "File: notes.txt\n```\nA fox lives\nin the forest.\n```\n\nWhen?"
    box = window.view(window.first()).question
    box.edit()
    assert box.editor is not None
    box.editor.chips.chips[0].setFocus()
    window.qtbot.keyClick(box.editor.chips.chips[0], Qt.Key.Key_Delete)  # type: ignore[no-untyped-call]
    assert box.editor.edit.hasFocus()
    box.editor.edit.submitted.emit()
    window.ended(window.first())
    assert script.prompts[-1][-1].content == "When?"


def test_chips_go_by_keyboard(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    paths = [tmp_path / f"{name}.txt" for name in "abc"]
    for path in paths:
        path.write_text(path.name, encoding="utf-8")
    window.attach(*paths)
    window.type("Now")
    chips = window.prompt.chips
    assert sorted(each.name for each in window.program.attachments.attachments) == ["a.txt", "b.txt", "c.txt"]
    chips.chips[0].setFocus()
    for stop in (*chips.chips[1:], window.prompt.attach, window.prompt.edit, window.prompt.button):
        window.qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)  # type: ignore[no-untyped-call]
        assert stop.hasFocus()
    for key in (Qt.Key.Key_Delete, Qt.Key.Key_Return, Qt.Key.Key_Space):
        count = len(chips.chips)
        chips.chips[-1].setFocus()
        window.qtbot.keyClick(chips.chips[-1], key)  # type: ignore[no-untyped-call]
        assert len(chips.chips) == count - 1
    assert window.prompt.edit.hasFocus()


def test_after_a_file_was_taken_away_with_the_mouse_one_types_on(open_window: OpenWindow, tmp_path: Path) -> None:
    """Space and Return are for the question, and take no other file away."""
    window = open_window(Script("Fine."))
    paths = [tmp_path / f"{name}.txt" for name in "abcd"]
    for path in paths:
        path.write_text(path.name, encoding="utf-8")
    window.attach(*paths)
    for place in (1, 0):
        window.click(window.prompt.chips.chips[place])
        assert window.prompt.edit.hasFocus()
        window.qtbot.keyClicks(QApplication.focusWidget(), " a b")  # type: ignore[no-untyped-call]
    assert [each.name for each in window.program.attachments.attachments] == ["c.txt", "d.txt"]
    assert window.prompt.edit.toPlainText() == " a b a b"
    window.wait(lambda: window.program.context.settled)
    window.qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert [each.name for each in split_question(window.first().question)[1]] == ["c.txt", "d.txt"]
    window.ended(window.first())


def test_pasted_files_are_attached_and_models_are_not(open_window: OpenWindow, notes: Path, tmp_path: Path) -> None:
    window = open_window(Script())
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(notes))])
    QGuiApplication.clipboard().setMimeData(data)
    window.prompt.edit.paste()
    QGuiApplication.clipboard().clear()  # Off the screen Qt deletes its contents after Python has ended.
    window.wait(lambda: window.program.attachments.attachments)
    assert window.prompt.edit.toPlainText() == ""
    model = QMimeData()
    model.setUrls([QUrl.fromLocalFile(str(tmp_path / "a.gguf"))])
    assert not window.prompt.edit.canInsertFromMimeData(model), "the window takes it"


def test_refusals_are_told_in_the_window(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    window.attach(tmp_path / "a.bin")
    assert "a.bin is not a text file" in window.main.notice.text.text()
    assert window.prompt.chips.isHidden()
    for number in range(MOST + 1):
        (tmp_path / f"{number}.txt").write_text(f"file {number}", encoding="utf-8")
    window.attach(*(tmp_path / f"{number}.txt" for number in range(MOST + 1)))
    assert len(window.program.attachments.attachments) == MOST
    assert f"{MOST}.txt was not attached" in window.main.notice.text.text()


def test_a_refusal_goes_with_the_next_file_and_stays_in_its_chat(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script("Fine."))
    window.ask("One")
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    (tmp_path / "good.txt").write_text("good", encoding="utf-8")
    notice = window.main.notice
    leaves: list[Callable[[], None]] = [lambda: window.attach(tmp_path / "good.txt"), window.main.new_chat_wanted.emit]
    for leave in leaves:
        window.attach(tmp_path / "a.bin")
        assert "a.bin is not a text file" in notice.text.text()
        assert notice.isVisible()
        leave()
        assert not notice.isVisible()


def test_the_dialog_begins_where_a_file_was_chosen_last(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    folder = tmp_path / "notes"
    folder.mkdir()

    def choose(_parent: object, _title: str, start: str, *_more: str) -> tuple[list[str], str]:
        begun.append(start)
        return [str(folder / name) for name in ("b.txt", "a.txt")], ""

    monkeypatch.setattr(QFileDialog, "getOpenFileNames", staticmethod(choose))
    settings, parent = Settings(), QWidget()
    for _time in range(2):
        assert ask_what_to_attach(parent, settings) == [folder / "b.txt", folder / "a.txt"]
    folder.rmdir()
    ask_what_to_import(parent, settings)
    assert begun[1] == str(folder)
    assert begun[0] == begun[2] != str(folder), "the documents, where it is not there any more"


def test_what_is_still_being_read_is_waited_for(
    open_window: OpenWindow, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def slow(path: Path, **_: object) -> Attachment:
        go.wait(10)
        return read_attachment(path)

    monkeypatch.setattr("app.control.attachments.read_file", slow)
    window = open_window(Script())
    window.program.attachments.add([notes, notes])
    window.type("Now")
    window.key(Qt.Key.Key_Return)
    assert not window.controller.transcript.entries
    assert not window.prompt.button.isEnabled()
    window.prompt.chips.chips[0].click()
    assert len(window.prompt.chips.chips) == 1, "nobody must wait for a slow disk"
    go.set()
    window.wait(lambda: not window.program.attachments.pending)
    assert len(window.program.attachments.attachments) == 1
    assert window.prompt.button.isEnabled()


def test_files_stand_in_the_order_in_which_they_were_chosen(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever is read first: those behind it on a slow disk are not put before it."""
    names = [f"{number}.txt" for number in (3, 9, 1, 7, 0, 8, 2, 6, 4, 5)]
    last = threading.Event()

    def slow(path: Path, **_: object) -> Attachment:
        if path.name == names[-1]:
            last.set()
        elif path.name in names[:3]:
            last.wait(10)
        return read_attachment(path)

    monkeypatch.setattr("app.control.attachments.read_file", slow)
    window = open_window(Script())
    for name in names:
        (tmp_path / name).write_text(f"file {name}", encoding="utf-8")
    window.attach(*(tmp_path / name for name in names))
    assert [each.name for each in window.program.attachments.attachments] == names
    assert [each.text().split(" ")[0] for each in window.prompt.chips.chips] == names
    assert [each.name for each in split_question(window.prompt.question)[1]] == names


def test_a_real_model_reads_the_file(open_window: OpenWindow, demo_pair: tuple[Path, Path], notes: Path) -> None:
    """The tokens of chip and meter are the model's own, and the reply is what the whole text gives."""
    window = open_window(pair=demo_pair)
    window.attach(notes)
    window.prompt.set_text("What lives in the forest?")
    window.wait(lambda: window.program.context.settled)
    use = window.program.context.use
    assert use is not None
    counted = window.program.attachments.attachments[0].tokens
    assert counted is not None
    assert 8 < counted < use.typed < use.used
    turns: list[PendingReply] = []
    window.controller.replies.ended.connect(turns.append)
    window.key(Qt.Key.Key_Return)
    exchange = window.first()
    window.ended(exchange, 60_000)
    assert exchange.status == "done"
    assert exchange.reply
    assert turns[0].result is not None
    assert turns[0].result.prompt_tokens == use.used
    footer = window.view(exchange).summary.text()
    assert " tokens · " in footer
    assert footer.rstrip("0123456789.× ·").endswith(" s")
