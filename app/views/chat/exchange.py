"""Show a question with its reply, as an entry of the transcript."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QTextEdit, QVBoxLayout, QWidget

from app.state.chat.intents import (
    AnswerCall,
    AnswerNow,
    CancelCall,
    ChooseToken,
    Continue,
    Delete,
    DeleteReply,
    Edit,
    EditReply,
    ExportProof,
    GoOn,
    KeepDraft,
    LoadSources,
    LoadTrace,
    MarkDoubt,
    MoreCalls,
    ReadAloud,
    Regenerate,
    ShowPrompt,
    ShowReplay,
    ShowRewrite,
    ShowSource,
    ShowVersion,
)
from app.state.chat.tool_use import ToolQuestion, open_calls
from app.state.chat.transcript import Exchange
from app.system.translation import number, say
from app.views.chat.actions import ActionRow, HoverButton, question_row, reply_row
from app.views.chat.citations import Citations
from app.views.chat.entry import Ask, DamageLine, EntryView, ProblemView
from app.views.chat.question import QuestionBox, QuestionEditor
from app.views.chat.tool_call import ToolCallView
from app.views.chat.tool_card import ToolCard, ToolPicture, plot_of
from app.views.markdown.reply import ReplyView
from app.views.tokens.reply import TokenReply
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme
from app.words.figures import summary

__all__ = ["Ask", "EntryView", "ExchangeView", "ProblemView"]

_QUESTION_SHARE = 0.85


class ExchangeView(EntryView):
    """Show a question and the reply to it.

    Attribute: tokens, what colours the tokens of the reply, None if they are not coloured.
    Signal: pointed(QRect) (the keys went to what stands in this rectangle).
    """

    pointed = Signal(QRect)

    def __init__(
        self, exchange: Exchange, theme: Theme, ask: Ask, budget: PaintBudget, parent: QWidget | None = None
    ) -> None:
        super().__init__(ask, parent)
        self.exchange = exchange
        self._damaged = exchange.damaged
        self._finished: str | None = None
        self._folds: tuple[bool, ...] = ()
        self._calls: list[ToolCallView] = []
        self._pictures: list[ToolPicture] = []
        self.card: ToolCard | None = None
        self.tokens: TokenReply | None = None
        self.reply_editor: QuestionEditor | None = None
        self._fed = 0
        self._theme = theme
        self._busy = self._doubt = False
        self.question = QuestionBox(exchange.question, theme, self)
        self.reply = ReplyView(theme, budget, self)
        self.reply.setAccessibleName(self.tr("Reply"))
        self.reply.setMinimumHeight(0)
        self.reply.hide()
        self.problem: ProblemView | None = None
        self.question_actions, self.reply_actions = self._make_actions()
        self.citations = Citations(self.reply, theme, self)
        self.citations.opened.connect(lambda source: self.ask(ShowSource(source)))
        self._footer = self._make_footer()
        self._rows = self._lay_out()
        self.question.sent.connect(self._edited)
        self.question.picture_asked.connect(self.ask)
        self.question.typed.connect(lambda text: self.ask(KeepDraft(self.exchange, "question", text)))
        self.question.closed.connect(self._show_actions)
        self.reply.grew.connect(self.resized)
        self.reply.settled.connect(self._show_end)
        self.reply.answer_wanted.connect(self._ask_to_answer)
        if exchange.question_draft:
            self.question.open_editor(exchange.question_draft)
        self._show_actions()

    # Building ---------------------------------------------------------------------------------------------------------

    def _lay_out(self) -> QVBoxLayout:
        layout = in_column(spacing=4, margins=(0, 0, 0, 0), parent=self)
        layout.addWidget(self.question, 0, Qt.AlignmentFlag.AlignRight)
        if "question" in self._damaged:
            layout.addWidget(DamageLine(self))
        layout.addWidget(self.question_actions)
        layout.addWidget(self.reply)
        layout.addWidget(self.citations)
        if "reply" in self._damaged:
            layout.addWidget(DamageLine(self))
        layout.addWidget(self._footer)
        if self.exchange.goes_on:
            self.question.hide()
            self.question_actions.hide()
        return layout

    def _make_actions(self) -> tuple[ActionRow, ActionRow]:
        question, reply = question_row(self._theme, self), reply_row(self._theme, self)
        question.action_wanted.connect(self._act_on_question)
        question.stepped.connect(self._step_question)
        reply.action_wanted.connect(self._act_on_reply)
        reply.stepped.connect(self._step_reply)
        return question, reply

    def _make_footer(self) -> QWidget:
        footer = QWidget(self)
        self.summary = QLabel(footer)
        self.summary.setObjectName("summary")
        self.summary.setWordWrap(True)
        self.summary.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.continue_button = QPushButton(self.tr("Continue"), footer)
        self.continue_button.clicked.connect(self._ask_to_continue)
        self.again_button = QPushButton(footer)
        self.again_button.clicked.connect(self._ask_again)
        for button in (self.continue_button, self.again_button):
            button.hide()
        line = in_row(wide(self.summary), spacing=12)
        for button in (self.continue_button, self.again_button):
            line.addWidget(button, 0, Qt.AlignmentFlag.AlignTrailing)
        in_column(line, self.reply_actions, spacing=0, margins=(0, 4, 0, 0), parent=footer)
        footer.hide()
        return footer

    @property
    def copy_button(self) -> HoverButton:
        return self.reply_actions.button("copy")

    @property
    def pinned(self) -> bool:
        """Return True if it must not be removed: it grows, is being edited, has the focus, or a selection."""
        focus = QApplication.focusWidget()
        focused = focus is not None and self.isAncestorOf(focus)
        selected = any(text.textCursor().hasSelection() for text in self.findChildren(QTextEdit))
        edited = self.question.editor is not None or self.reply_editor is not None
        return not self.exchange.ended or edited or focused or selected

    @property
    def is_drawn(self) -> bool:
        """Return True if its visible part is drawn."""
        return self.reply.isHidden() or self.reply.is_settled or self._finished is None

    def shows(self, exchange: Exchange) -> bool:
        """Return True if it shows the current state of an exchange."""
        if exchange.question != self.exchange.question or exchange.problem is not self.exchange.problem:
            return False
        if exchange.damaged != self._damaged:
            return False
        if exchange.ended:
            return exchange.reply == self._finished
        return exchange is self.exchange and self._finished is None

    # The reply --------------------------------------------------------------------------------------------------------

    def grow(self) -> None:
        more = self.exchange.shown[self._fed :]
        self._fed += len(more)
        if self._fed:
            self.reply.show()
            self.reply.grow(more)
        if self.tokens is not None:
            self.tokens.show()
            self._feed_tokens(self.tokens)

    def end(self) -> None:
        """End the reply, whatever way it went."""
        self._finished, self.floor = self.exchange.reply, 0
        self._show_actions()
        self.show_calls()
        if not self.exchange.shown:
            self._show_end()
        else:
            self.reply.setVisible(self.reply_editor is None)
            self.reply.finish(self.exchange.shown)
        self._finish_tokens()
        if self.exchange.reply_draft:
            self._open_reply_editor(self.exchange.reply_draft)

    def show_tokens(self, on: bool) -> None:
        if on == (self.tokens is not None):
            return
        if self.tokens is not None:
            self.tokens.end()
            self.tokens = None
        else:
            self.tokens = TokenReply(self.reply, self._theme, self)
            self.tokens.hide()
            self.tokens.mark_doubt(self._doubt)
            self._rows.insertWidget(self._rows.indexOf(self.reply) + 1, self.tokens)
            self.tokens.layer.pointed.connect(lambda place: self.pointed.emit(place.translated(self.reply.pos())))
            self.tokens.layer.chosen.connect(self._offer_road)
            self.tokens.doubt_wanted.connect(lambda on: self.ask(MarkDoubt(on)))
            if self._finished is not None:
                self._finish_tokens()
            elif self.exchange.reply:
                self.tokens.show()
                self._feed_tokens(self.tokens)
        self.resized.emit()

    def mark_doubt(self, on: bool) -> None:
        """Colour tokens by the target's certainty, or else by their origin."""
        self._doubt = on
        if self.tokens is not None:
            self.tokens.mark_doubt(on)
            self.resized.emit()

    def choose_token(self) -> None:
        """Let the keys walk through the coloured tokens of the reply."""
        if self.tokens is not None and self.reply.texts:
            self.reply.texts[-1].page.setFocus(Qt.FocusReason.TabFocusReason)

    def _offer_road(self, index: int, by_keys: bool) -> None:
        """Offer to go on from a token, where that can be done now."""
        if self._busy or self.tokens is None or not self.exchange.ended or self.exchange.reply_id is None:
            return
        road = self.tokens.layer.offer(index, by_keys=by_keys)
        road.wanted.connect(lambda given: self.ask(GoOn(self.exchange, index, given)))

    def _feed_tokens(self, tokens: TokenReply) -> None:
        """Show the record so far."""
        if self.exchange.trace is None:
            self.ask(LoadTrace(self.exchange))
        tokens.follow(self.exchange.trace, self.exchange.reply, self.exchange.shown)

    def _finish_tokens(self) -> None:
        if self.tokens is not None and self.exchange.reply:
            self.tokens.show()
            self._feed_tokens(self.tokens)
            self.tokens.finish()

    @property
    def folds(self) -> tuple[bool, ...]:
        """Return the folded thoughts of the reply."""
        return tuple(thought.folded for thought in self.reply.thoughts) if self.reply.is_settled else self._folds

    def fold_as(self, folds: tuple[bool, ...]) -> None:
        """Fold the thoughts as they were before, once they are there."""
        self._folds = folds

    def refresh(self, exchange: Exchange) -> None:
        """Switch to this exchange, which has the same text but maybe other branches or figures."""
        self.exchange = exchange
        self._show_actions()
        if exchange.ended:
            self.show_calls()
        if not self._footer.isHidden():
            self._fill_footer()

    def _show_end(self) -> None:
        for thought, folded in zip(self.reply.thoughts, self._folds, strict=False):
            if thought.folded != folded:
                thought.header.click()
        self._folds = ()
        self._show_sources()
        if self._footer.isHidden():
            self._fill_footer()
            self._footer.show()
        self.resized.emit()

    def _show_sources(self) -> None:
        """Mark the reply's citations of documents, and show its sources below it."""
        if self.exchange.reply:
            self.ask(LoadSources(self.exchange))
            self.citations.show_sources(self.exchange.sources)

    def _fill_footer(self) -> None:
        exchange = self.exchange
        words = "\n".join(filter(None, (summary(exchange), *map(say, exchange.notes))))
        self.summary.setText(words)
        self.summary.setToolTip(exchange.models)
        self.summary.setVisible(bool(words))
        self.continue_button.setVisible(exchange.status == "interrupted" and exchange.unfinished)
        if (context := self._longer) is None:
            self.again_button.setText(self.tr("Ask again"))
        else:
            self.again_button.setText(self.tr("Use {length} and ask again").format(length=number(context)))
        self.again_button.setVisible(exchange.ended and not exchange.answered and exchange.question_id is not None)

    def show_calls(self) -> None:
        """Show the reply's tool calls and their results below it, folded, and the question about the next one."""
        parts, question = self.exchange.calls, self.exchange.tools
        waiting = open_calls(self.exchange.reply_messages)
        if question is not None and question.stage in ("asking", "running") and waiting:
            hidden = next(each for each in reversed(parts) if each is waiting[0])
            parts = tuple(each for each in parts if each is not hidden)  # The card shows it.
        if parts != tuple(view.part for view in self._calls):
            _take_away(self._calls)
            place = self._rows.indexOf(self.reply) + 1
            for offset, part in enumerate(parts):
                view = ToolCallView(part, self._theme, self)
                self._rows.insertWidget(place + offset, view)
                self._calls.append(view)
            self._show_pictures(place + len(parts))
        self._show_card(question)
        self.resized.emit()

    def _show_pictures(self, place: int) -> None:
        _take_away(self._pictures)
        for address in reversed(self.exchange.pictures):
            if (svg := plot_of(address)) is not None:
                picture = ToolPicture(svg, self)
                self._rows.insertWidget(place, picture)
                self._pictures.append(picture)

    def _show_card(self, question: ToolQuestion | None) -> None:
        if self.card is not None and self.card.question != question:
            old = [self.card]
            focus = QApplication.focusWidget()
            if focus is not None and self.card.isAncestorOf(focus):
                self.setFocus(Qt.FocusReason.OtherFocusReason)  # Hidden with it, it would go to whatever is next.
            self.card = None
            _take_away(old)
        if self.card is None and question is not None:
            card = self.card = ToolCard(question, self._theme, self)
            card.answered.connect(lambda given, changed: self.ask(AnswerCall(self.exchange, given, changed)))
            card.cancelled.connect(lambda: self.ask(CancelCall(self.exchange)))
            card.more_wanted.connect(lambda: self.ask(MoreCalls(self.exchange)))
            self._rows.insertWidget(self._rows.indexOf(self._footer), card)

    def show_problem(self, view: ProblemView) -> None:
        self.problem = view
        self._rows.insertWidget(self._rows.indexOf(self._footer), view)

    # Actions ----------------------------------------------------------------------------------------------------------

    def set_busy(self, busy: bool) -> None:
        """Prevent changes while a reply is being written."""
        self._busy = busy
        self.question.set_busy(busy)
        self._show_actions()

    def build_actions(self) -> bool:
        """Create the buttons of the actions; return True if they were missing."""
        if self.question_actions.is_built and self.reply_actions.is_built:
            return False
        self.question_actions.build()
        self.reply_actions.build()
        return True

    def refresh_actions(self) -> None:
        """Refresh the actions: the mouse or the focus has come or gone."""
        self.question_actions.refresh()
        self.reply_actions.refresh()

    def _show_actions(self) -> None:
        exchange, busy = self.exchange, self._busy or not self.exchange.ended
        offered = {"edit", "copy", "prompt", "delete"} if self.question.editor is None else set()
        self.question_actions.show_state(frozenset(offered), exchange.question_branch, busy=busy)
        offered = {"regenerate"} | ({"copy"} if exchange.reply else set())
        if exchange.reply_id is not None and exchange.answered and self.reply_editor is None:
            offered |= {"edit", "delete"}
        offered |= {"continue"} if exchange.unfinished else set()
        offered |= {"prompt"} if exchange.answered else set()
        offered |= {"rewrite"} if exchange.answered and exchange.reply else set()
        offered |= {"replay", "proof", "aloud"} if exchange.reply else set()
        offered |= {"road"} if exchange.reply_id is not None and exchange.answered else set()
        self.reply_actions.show_state(frozenset(offered), exchange.reply_branch, busy=busy)
        self.continue_button.setEnabled(not busy)
        self.again_button.setEnabled(not busy)

    def _act_on_question(self, name: str) -> None:
        if name == "edit":
            self.question.edit()
            self._show_actions()
        elif name == "copy":
            QGuiApplication.clipboard().setText(self.exchange.question)
            self.question_actions.say_copied()
        elif name == "prompt":
            self.ask(ShowPrompt(self.exchange, "question"))
        else:
            self.ask(Delete(self.exchange))

    def _act_on_reply(self, name: str) -> None:
        if name == "copy":
            QGuiApplication.clipboard().setText(
                self.exchange.shown if self.exchange.reply_messages else self.exchange.reply
            )
            self.reply_actions.say_copied()
        elif name == "continue":
            self._ask_to_continue()
        elif name == "edit":
            self._edit_reply()
        elif name == "delete":
            self.ask(DeleteReply(self.exchange))
        elif name == "prompt":
            self.ask(ShowPrompt(self.exchange, "reply"))
        elif name == "road":
            self.ask(ChooseToken(self.exchange))
        elif name == "aloud":
            self.ask(ReadAloud(self.exchange))
        elif name == "rewrite":
            self.ask(ShowRewrite(self.exchange))
        elif name == "replay":
            self.ask(LoadTrace(self.exchange))
            self.ask(ShowReplay(self.exchange))
        elif name == "proof":
            self.ask(LoadTrace(self.exchange))
            self.ask(ExportProof(self.exchange))
        else:
            self.ask(Regenerate(self.exchange))

    def _edit_reply(self) -> None:
        editor = self._open_reply_editor(self.exchange.shown)
        editor.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _open_reply_editor(self, typed: str) -> QuestionEditor:
        """Open an editor in place of the reply, unless there is one; `typed` is its text."""
        if self.reply_editor is not None:
            return self.reply_editor
        editor = self.reply_editor = QuestionEditor(typed, self._theme, self, is_reply=True)
        editor.set_busy(self._busy)
        editor.sent.connect(self._reply_edited)
        editor.cancelled.connect(self._leave_reply)
        editor.changed.connect(self._keep_reply)
        self.reply.hide()
        self._rows.insertWidget(self._rows.indexOf(self.reply), editor)
        self._show_actions()
        editor.show()
        self.resized.emit()
        return editor

    def _keep_reply(self, text: str) -> None:
        self.ask(KeepDraft(self.exchange, "reply", text if text != self.exchange.shown else ""))

    def _leave_reply(self) -> None:
        editor, self.reply_editor = self.reply_editor, None
        if editor is None:
            return
        self._rows.removeWidget(editor)
        self.reply.show()
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        editor.hide()
        editor.deleteLater()
        self._keep_reply("")
        self._show_actions()
        self.resized.emit()

    def _reply_edited(self, text: str) -> None:
        self._leave_reply()
        self.ask(EditReply(self.exchange, text))

    @property
    def _longer(self) -> int | None:
        """Return the context in which the question fits, where that was too short."""
        return None if self.exchange.problem is None else self.exchange.problem.context

    def _ask_again(self) -> None:
        self.ask(Regenerate(self.exchange, self._longer))

    def _ask_to_continue(self) -> None:
        self.ask(Continue(self.exchange))

    def _ask_to_answer(self) -> None:
        self.ask(AnswerNow(self.exchange))

    def _step_question(self, step: int) -> None:
        self.ask(ShowVersion(self.exchange, "question", step))

    def _step_reply(self, step: int) -> None:
        self.ask(ShowVersion(self.exchange, "reply", step))

    def _edited(self, text: str) -> None:
        self.ask(Edit(self.exchange, text))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the question within its share of the column."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.question.fit_into(int(event.size().width() * _QUESTION_SHARE))

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        super().enterEvent(event)
        self.build_actions()
        self.refresh_actions()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().leaveEvent(event)
        self.refresh_actions()


def _take_away(views: list[Any]) -> None:
    while views:
        view = views.pop()
        view.hide()
        view.deleteLater()
