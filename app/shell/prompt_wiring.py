"""Wire the prompt: its files and the context meter; the first launch; error reports."""

from __future__ import annotations

from app.control.attachments import AttachmentDesk
from app.control.context import ContextDesk
from app.shell.introduction import Introduction
from app.shell.program import Parts
from app.shell.report_windows import ReportWindows
from app.state.chat.attachments import NotAttached
from app.state.chat.context_use import last_dropped
from app.state.compare.compare import ProofKind
from app.views.commands.commands import CHAT
from app.views.window.file_dialogs import ask_what_to_attach
from app.words.context import refusal


def connect_prompt(parts: Parts) -> None:
    """Connect the prompt box, its files and the context meter."""
    _connect_files(parts, parts.attachments)
    _connect_meter(parts, parts.context)
    parts.proof.changed.connect(lambda kind: _note_plain_speed(parts, kind))
    Introduction(parts)
    ReportWindows(parts)
    add, tr = parts.window.commands.add, parts.window.tr
    add("chat.attach", tr("Attach text files…"), lambda: _attach(parts), shortcut="Ctrl+Shift+A", section=CHAT)


def _connect_files(parts: Parts, files: AttachmentDesk) -> None:
    window, prompt = parts.window, parts.window.prompt

    def show() -> None:
        prompt.show_files(files.attachments, files.pending)

    def refuse(error: NotAttached) -> None:
        window.notice.show_trouble(refusal(error))

    prompt.attach_wanted.connect(lambda: _attach(parts))
    prompt.files_given.connect(files.add)
    prompt.file_removed.connect(files.remove)
    prompt.recalled.connect(files.bring_back)
    prompt.send.connect(files.sent)
    files.changed.connect(show)
    files.counted.connect(show)
    files.refused.connect(refuse)
    window.closed.connect(files.stop)


def _connect_meter(parts: Parts, context: ContextDesk) -> None:
    window, controller = parts.window, parts.controller

    def show() -> None:
        use = context.use
        window.meter.show_use(use)
        dropped = last_dropped(controller.transcript.entries, 0 if use is None else use.dropped)
        window.transcript.mark_dropped(dropped)

    window.prompt.edited.connect(context.note_typed)
    context.changed.connect(show)
    window.closed.connect(context.stop)


def _note_plain_speed(parts: Parts, kind: ProofKind) -> None:
    """Compare the replies of this target with the measured plain speed."""
    run = parts.proof.runs[kind]
    if run.running or run.report is None or run.request is None:
        return
    plain = run.report.way("plain")
    same = run.request.models.target == parts.desk.models.selection.target
    if same and plain is not None and plain.tokens_per_second is not None:
        parts.controller.metrics.note_plain_speed(plain.tokens_per_second.median)
        parts.controller.metrics_changed.emit()


def _attach(parts: Parts) -> None:
    paths = ask_what_to_attach(parts.window)
    if paths:
        parts.attachments.add(paths)
    parts.window.prompt.setFocus()
