"""Documents in a chat: dropped, given to the model, cited, opened at the place, kept with the chat."""

import json
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from PySide6.QtCore import QMimeData, QObject, Qt, QUrl, Signal

from app.settings.settings import Settings
from app.state.chat.citations import cited_in, sources_in
from app.state.chat.documents import attached, compose
from app.state.chat.stored_documents import ChatDocument, StoredDocument, document_from_json, documents_to_json
from app.state.chat.transcript import Exchange
from app.state.tools.choice import ToolChoice
from app.views.chat.sent_picture import SentPicture
from app.views.window.large_picture import LargePicture
from app.views.window.reader import Reader
from engine import CancelToken, Document, LoadConfig, Section, ToolCall
from engine.host import Embedder, PartVectors, open_embedder, picture_part, read_quoted
from helpers import written_documents as written
from helpers.decoding.scripted_decoder import Script
from helpers.models.random_bert import write_random_bert
from helpers.window.app_window import OpenWindow, Window

CITED = "The keeper of the lighthouse lit the lamp at dusk [1]. He was glad of it [2, 9]."


def reader_of(window: Window) -> Reader:
    return next(each for each in window.main.findChildren(Reader) if each.isVisible())


def test_a_pdf_is_given_cited_opened_and_kept(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.pdf"
    path.write_bytes(written.pdf(pages=2))
    script = Script(CITED, context=16_000)
    window = open_window(script)
    window.attach(path)
    chip = window.prompt.chips.chips[0]
    assert chip.text().startswith("people.pdf · 2 pages · ")
    assert chip.text().endswith(" tokens")
    window.type("When was the lamp lit?")
    window.key(Qt.Key.Key_Return)
    exchange = window.first()
    window.ended(exchange)
    # What the model reads: the text as it is, each page a part with its number.
    parts = sources_in(exchange.question)
    assert [(each.number, each.place, each.page) for each in parts] == [(1, "page 1", 1), (2, "page 2", 2)]
    assert script.prompts[-1][-1].content == exchange.question
    assert written.PARAGRAPHS[0] in exchange.question
    assert exchange.question.endswith("\n\nWhen was the lamp lit?")
    path.unlink()
    _check_citations(window)
    _check_read_aloud(window, monkeypatch)
    # It comes back with the chat, and from an export.
    conversation = window.program.conversations.open
    assert conversation is not None
    window.export(conversation.id, "json", tmp_path / "chat.json")
    assert json.loads((tmp_path / "chat.json").read_text(encoding="utf-8"))["documents"][0]["name"] == "people.pdf"
    window.controller.new_chat()
    assert window.program.documents.held == {}
    window.import_(tmp_path / "chat.json")
    window.wait(lambda: window.program.documents.held)
    _check_citations(window)
    window.close()
    again = open_window(script)
    again.wait(lambda: again.program.documents.held)
    _check_citations(again)


def test_a_document_is_cited_behind_a_tools_result(open_window: OpenWindow, tmp_path: Path) -> None:
    path = tmp_path / "people.pdf"
    path.write_bytes(written.pdf(pages=2))
    script = Script(
        lambda prompt: CITED if prompt[-1].role == "tool" else "Let me look at the clock.",
        tool_calls=lambda prompt: () if prompt[-1].role == "tool" else (ToolCall("1", "current_time", {}),),
        context=16_000,
    )
    window = open_window(script, settings=Settings(tools=ToolChoice(frozenset({"clock"})).to_mapping()))
    window.attach(path)
    window.type("When was the lamp lit?")
    window.key(Qt.Key.Key_Return)
    window.ended(window.first())
    assert [each["function"]["name"] for each in script.options[-1]["tools"]] == ["current_time"]
    assert written.PARAGRAPHS[0] in script.prompts[-1][-1].content
    window.wait(lambda: window.view(window.first()).card is not None)
    window.press("Once", window.view(window.first()))
    window.wait(lambda: len(window.controller.transcript.entries) == 2 and not window.controller.busy)
    assert [each.role for each in script.prompts[-1]] == ["user", "assistant", "tool"]
    reply = window.last()
    _check_citations(window, reply)


def _check_citations(window: Window, exchange: Exchange | None = None) -> None:
    """Look at the chips and the marks of a reply, the first one by default, and open what it cites."""
    view = window.view(exchange or window.first())
    window.wait(lambda: view.reply.is_settled)
    assert [chip.text() for chip in view.citations.chips] == ["[1] people.pdf · page 1", "[2] people.pdf · page 2"]
    assert "word for word" in view.citations.chips[0].accessibleName()
    assert "word for word" not in view.citations.chips[1].accessibleName()
    assert written.PARAGRAPHS[0] in view.citations.chips[1].toolTip()
    page = view.reply.texts[0].page
    cursor = page.document().find("[1]")
    assert cursor.charFormat().anchorHref() == "source:1"
    assert cursor.charFormat().toolTip().startswith("[1] people.pdf")
    assert page.document().find("lamp").charFormat().underlineStyle().value
    assert not page.document().find("glad").charFormat().underlineStyle().value
    page.anchorClicked.emit(QUrl("source:2"))
    reader = reader_of(window)
    assert (reader.place, reader.windowTitle()) == ("page 2", "people.pdf · page 2 of 2")
    window.wait(lambda: not reader.page.pixmap().isNull())
    assert written.PARAGRAPHS[1] in reader.text.toPlainText()
    marked = [each.cursor.selectedText() for each in reader.text.extraSelections()]
    assert any(written.PARAGRAPHS[0] in each for each in marked)
    reader.back.click()
    assert reader.place == "page 1"
    reader.close()
    # With the keys.
    view.citations.chips[0].click()
    assert reader_of(window).place == "page 1"
    reader_of(window).close()


def _check_damaged_pictures(window: Window, folder: Path) -> None:
    """Attach pictures that cannot be read: each is refused in one sentence."""
    told = list[str]()
    window.program.attachments.refused.connect(lambda _error: told.append(window.main.notice.text.text()))
    for number, data in enumerate(written.damaged_pictures()[:8]):
        (folder / f"{number}.png").write_bytes(data)
    window.attach(*(folder / f"{number}.png" for number in range(8)))
    assert sorted(each.partition(" ")[0] for each in told) == [f"{number}.png" for number in range(8)]
    assert all(" cannot be read: " in each and each.endswith(".") and "\n" not in each for each in told)
    assert not window.prompt.chips.chips


class Voice(QObject):
    """Qt's text to speech, as far as it is used."""

    State = Enum("State", ["Ready", "Speaking", "Error"])
    stateChanged = Signal(object)  # noqa: N815 - Qt's name
    said: ClassVar[list[str]] = []
    engines: ClassVar[list[str]] = ["mock"]

    @classmethod
    def availableEngines(cls) -> list[str]:  # noqa: N802 - Qt's name
        return cls.engines

    def say(self, text: str) -> None:
        self.said.append(text)
        self.stateChanged.emit(self.State.Speaking)

    def stop(self) -> None:
        self.stateChanged.emit(self.State.Ready)


def _check_read_aloud(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a reply read: by nothing where nothing is installed, then sentence by sentence, each marked."""
    view = window.view(window.first())
    button, page = view.reply_actions.button("aloud"), view.reply.texts[0].page
    for module, said in ((None, "Install the Python package"), (SimpleNamespace(QTextToSpeech=Voice), "needs a voice")):
        monkeypatch.setitem(sys.modules, "PySide6.QtTextToSpeech", module)
        button.click()
        assert said in window.main.notice.text.text()
        assert not page.extraSelections()
    monkeypatch.setattr(Voice, "engines", ["mock", "speechd"])
    button.click()
    first, second = "The keeper of the lighthouse lit the lamp at dusk [1].", "He was glad of it [2, 9]."
    voice = window.main.findChild(Voice)
    assert voice is not None
    for sentence in (first, second):
        assert voice.said[-1] == sentence
        assert [each.cursor.selectedText().strip() for each in page.extraSelections()] == [sentence]
        voice.stop()
    assert not page.extraSelections()
    button.click()
    button.click()
    assert voice.said == [first, second, first]
    assert not page.extraSelections()


def test_a_picture_is_shown_kept_once_and_given_back(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(png := written.picture())
    script = Script("A cat.", context=16_000)
    window = open_window(script)
    window.attach(path)
    window.key(Qt.Key.Key_Return)
    assert "cannot see pictures" in window.main.context_notice.text.text(), "nothing is sent to a model without eyes"
    assert not script.prompts
    monkeypatch.setattr("app.shell.connections.projector_beside", lambda target: target)
    window.program.models.selection_changed.emit()
    path.unlink()
    # The same picture out of another program: of the clipboard.
    copied = QMimeData()
    copied.setData("image/png", png)
    window.prompt.edit.insertFromMimeData(copied)
    window.wait(lambda: not window.program.attachments.pending)
    window.wait(lambda: window.program.context.settled)
    assert [chip.text() for chip in window.prompt.chips.chips] == ["cat.png · 64 tokens", "picture.png · 64 tokens"]
    window.type("What is it?")
    window.key(Qt.Key.Key_Return)
    window.ended(window.first())
    asked = script.prompts[-1][-1]
    assert [part.url for part in asked.pictures] == [picture_part(png).url] * 2
    assert asked.content == "What is it?"
    _check_picture(window)
    _check_another_theme(window)
    _check_large(window)
    conversation = window.program.conversations.open
    assert conversation is not None
    window.export(conversation.id, "json", tmp_path / "chat.json")
    _check_markdown(window, conversation.id, tmp_path / "chat.md", picture_part(png).url)
    store = window.program.conversations.store.store
    assert store.connection.execute("SELECT count(*) FROM sources").fetchone() == (1,)
    window.import_(tmp_path / "chat.json")
    _check_picture(window)
    window.program.conversations.delete(conversation.id)
    window.close()
    again = open_window(script)
    _check_picture(again)


def _pictures(window: Window) -> list[SentPicture]:
    return [each for each in window.view(window.first()).question.files if isinstance(each, SentPicture)]


def _check_markdown(window: Window, conversation: int, path: Path, url: str) -> None:
    window.export(conversation, "markdown", path)
    text = path.read_text(encoding="utf-8")
    assert f"![cat.png](<{url}>)\n\n![picture.png](<{url}>)\n\nWhat is it?" in text
    assert "[picture " not in text
    assert window.controller.last_question() == "What is it?", "what is compared has no pictures"


def _check_large(window: Window) -> None:
    window.click(_pictures(window)[0])
    large = next(each for each in window.main.findChildren(LargePicture) if each.isVisible())
    window.wait(lambda: not large.picture.pixmap().isNull())
    large.close()


def _check_another_theme(window: Window) -> None:
    seen = _pictures(window)[0].icon().pixmap(64, 48).toImage()
    window.program.settings.theme = "dark"
    assert _pictures(window)[0].icon().pixmap(64, 48).toImage() == seen, "another theme has other icons, not pictures"


def _check_picture(window: Window) -> None:
    """Check that the pictures of the first question are shown."""
    window.wait(lambda: len(_pictures(window)) == 2)
    window.wait(lambda: all(shown.iconSize().width() > 32 for shown in _pictures(window)))


def test_what_cannot_be_read_is_said_in_the_window(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script())
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("a.txt", "This can be read.")
        archive.writestr("../b.txt", "This cannot.")
    window.attach(tmp_path / "some.zip")
    told = "some.zip: ../b.txt was left out: its name leads out of the archive."
    assert window.main.notice.text.text() == told
    assert "its name leads out of the archive." in window.prompt.question, "the model is told too"
    window.prompt.chips.chips[0].click()
    (tmp_path / "secret.pdf").write_bytes(written.encrypted_pdf())
    window.attach(tmp_path / "secret.pdf")
    assert window.main.notice.text.text() == (
        "secret.pdf cannot be read: it is encrypted: open it with its password and save it without one."
    )
    _check_damaged_pictures(window, tmp_path)
    (tmp_path / "scan.pdf").write_bytes(written.scan(5))
    window.attach(tmp_path / "scan.pdf")
    assert "a model that sees could read them as pictures." in window.main.notice.text.text()
    assert not window.prompt.chips.chips
    monkeypatch.setattr("app.shell.connections.projector_beside", lambda target: target)
    window.program.models.selection_changed.emit()
    window.attach(tmp_path / "scan.pdf")
    assert window.main.notice.text.text() == "scan.pdf has no text. Its pages are attached as pictures (1, 2, 3, 4 …)."
    assert [chip.text() for chip in window.prompt.chips.chips] == [
        f"scan.pdf ({page}).png · 64 tokens" for page in range(1, 5)
    ]


def test_parts_are_found_by_an_embedding_model_of_the_library(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made in the background, kept with the document, and used once the vector of what is typed is there."""
    made = list[Path]()

    def opened(config: LoadConfig, *, cancel: CancelToken) -> Embedder:
        made.append(config.path)
        return open_embedder(replace(config, trusted=True), cancel=cancel)

    monkeypatch.setattr("engine.host.open_embedder", opened)
    (tmp_path / "models").mkdir()
    write_random_bert(tmp_path / "models" / "bert.gguf")
    pages = [f"{'time fox once ' * 60} {n}" for n in range(60)]
    (tmp_path / "long.txt").write_text("\n\n".join([*pages, *["a " * 600] * 6, *pages[20:]]))
    script = Script("I see.", context=1_000)
    window = open_window(script)
    window.models.add_folder(tmp_path / "models")
    window.ready()
    window.attach(tmp_path / "long.txt")
    (held,) = window.program.documents.held.values()
    window.wait(lambda: held.ready.vectors)
    first, asked = held.ready.parts[0].text, "a " * 60
    files = window.program.attachments.attachments
    assert first in window.program.documents.question(asked, files), "no word says anything: the beginning is given"
    window.prompt.set_text(asked)
    window.wait(lambda: first not in window.prompt.question)
    assert asked * 2 in window.prompt.question
    window.close()
    again = open_window(script)
    again.wait(lambda: again.program.documents.held)
    (held,) = again.program.documents.held.values()
    assert held.kept.vectors
    again.wait(lambda: held.ready.vectors)
    assert isinstance(held.ready.vectors, PartVectors)
    assert held.ready.vectors.rows.tobytes() == held.kept.vectors
    assert len(made) <= 2
    _check_project(again, replace(held.kept, vectors=b"", vectors_of=""), first, asked)


def _check_project(window: Window, kept: StoredDocument, first: str, asked: str) -> None:
    """Share the file in a project: every question of its chats finds the part by what it means."""
    program = window.program
    store, project = program.conversations.store, program.conversations.add_project("Garden")
    store.save_document(project, kept)
    store.writer.flush(5.0)
    window.main.left.project_chosen.emit("chat", project.id)
    window.wait(lambda: program.documents.shared)
    (held,) = program.documents.shared.values()
    window.wait(lambda: held.ready.vectors)
    window.prompt.set_text(asked)
    window.wait(lambda: first not in program.documents.question(asked, []))
    assert asked * 2 in program.documents.question(asked, [])


def held(name: str, pages: Sequence[str]) -> ChatDocument:
    sections = tuple(Section(text, "page", str(number)) for number, text in enumerate(pages, 1))
    document = Document(name, "PDF", sections, len(pages))
    return ChatDocument.of(document, StoredDocument.of(document, b"%PDF"))


def test_a_long_document_is_given_by_parts_and_asked_again() -> None:
    filler = "Nothing of interest happened on this day, and nobody wrote anything down. " * 20
    pages = [f"{filler}\n\nThe harbour of town {n} was built in {1700 + n}." for n in range(200)]
    book = held("book.pdf", pages)
    first = compose("When was the harbour of town 77 built?", [attached(book).counted(20)], {}, (), 4_096)
    given = sources_in(first)
    assert any("town 77 was built in 1777" in each.part.text for each in given)
    assert sum(len(each.part.text) for each in given) < 8_000
    assert "of its 4" in first.partition("\n\n")[0]
    # Another question in the chat gets other parts, with numbers of their own; what was given is not given again.
    second = compose("And of town 150?", [], {"book.pdf": book}, given, 4_096)
    new = sources_in(second)
    assert any("town 150 was" in each.part.text for each in new)
    assert min(each.number for each in new) == max(each.number for each in given) + 1
    assert not {each.part.text for each in new} & {each.part.text for each in given}
    assert compose("Thanks!", [], {"book.pdf": book}, given, 4_096) == "Thanks!"
    # A question of which the book has no word gets its beginning and a selection.
    assert len(read_quoted(book.ready.quoted(book.ready.chosen_for("Zusammenfassung?", 4_096)))) > 3


def test_documents_are_packed_and_told() -> None:
    kept = held("a.pdf", ["one", "two"]).kept
    assert document_from_json(documents_to_json([kept])[0]) == kept
    assert kept.read().pages == 2


def test_numbers_are_found_where_they_are_cited() -> None:
    text = "So [3], and [4, 12]; not [x] nor [0.5]."
    assert [(text[each.start : each.end], each.number) for each in cited_in(text)] == [
        ("[3]", 3),
        ("[4", 4),
        ("12]", 12),
    ]
