"""Define the commands of the window: everything that it can do, with its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtGui import QKeySequence

from app.control.dictation import Dictation
from app.shell.files import CHAT_PROGRAMS, attach, chats_of, export, export_everything, import_, import_from
from app.shell.program import Program
from app.shell.projects import ProjectWindows
from app.shell.windows import Windows
from app.state.conversations.formats import FORMATS
from app.state.conversations.list import ConversationItem
from app.state.models.targets import Server
from app.system.translation import say
from app.views.commands.commands import CHAT, CONVERSATIONS, MODELS, PROGRAM, SPECULATION, VIEW, Keys

_LONGEST = 40
"""Characters of a title in the name of a command."""


def register(program: Program, windows: Windows) -> None:
    program.window.commands.destructive = {"conversations.delete"}
    _register_chat(program, windows)
    _register_conversations(program)
    _register_projects(program, windows.projects)
    _register_models(program, windows)
    _register_proof(program, windows)
    _register_view(program)
    _register_program(program, windows)


def _register_chat(program: Program, windows: Windows) -> None:
    window, controller = program.window, program.controller
    add, tr = window.commands.add, window.tr
    new = QKeySequence.StandardKey.New
    add("chat.new", tr("New chat"), window.new_chat_wanted.emit, shortcut=new, section=CHAT)
    add("chat.prompt", tr("Go to the prompt"), window.prompt.setFocus, shortcut="Ctrl+L", section=CHAT)
    add("chat.transcript", tr("Go to the chat"), window.enter_transcript, shortcut="Ctrl+R", section=CHAT)
    add(
        "chat.cancel",
        tr("Cancel the current task"),
        window.cancel_wanted.emit,
        shortcut="Esc",
        section=CHAT,
        enabled=lambda: controller.activity.work != "idle" or controller.busy,
    )
    add(
        "chat.undo",
        tr("Undo deleting messages"),
        controller.restore_messages,
        section=CHAT,
        enabled=lambda: program.conversations.can_restore_messages and not controller.busy,
    )
    add(
        "chat.attach",
        tr("Attach documents, pictures and text files…"),
        lambda: attach(program),
        shortcut="Ctrl+Shift+A",
        section=CHAT,
    )
    dictation = Dictation(program.documents.aside, lambda: program.models.list.folders, window)
    dictation.listening.connect(window.notice.show_trouble)  # It stays as long as the microphone is open.
    dictation.writing.connect(window.notice.show_good_news)
    dictation.failed.connect(window.notice.show_passing_trouble)
    dictation.heard.connect(window.notice.let_pass)
    dictation.heard.connect(window.prompt.insert)
    add("chat.dictate", tr("Dictate"), dictation.toggle, shortcut="Ctrl+Shift+D", section=CHAT)
    words = tr("Sampling and system prompt for this chat…")
    answer = tr("Answer the question about a tool")
    asks = window.transcript.asks_about_tool
    add("chat.tool", answer, window.transcript.enter_question, shortcut="Ctrl+J", section=CHAT, enabled=asks)
    add("chat.generation", words, windows.settings.open_generation, shortcut="Ctrl+G", section=CHAT)


def _register_conversations(program: Program) -> None:
    window, conversations = program.window, program.conversations
    add, tr = window.commands.add, window.tr

    def is_open() -> bool:
        return conversations.open is not None

    def step(by: int) -> None:
        number = neighbour(conversations.list.rows, conversations.list.open_id, by)
        if number is not None:
            program.controller.open(number)

    def save(kind: str) -> None:
        if conversations.open is not None:
            export(program, conversations.open.id, kind)

    def rename() -> None:
        if conversations.open is not None:
            window.show_left()
            window.left.rename(conversations.open.id)

    def delete() -> None:
        if conversations.open is not None:
            conversations.delete(conversations.open.id)

    find: Sequence[Keys] = [QKeySequence.StandardKey.Find, "Ctrl+Shift+F"]
    section = CONVERSATIONS
    add("conversations.search", tr("Search chats"), window.search, shortcut=find, section=section)
    following, before = tr("Next chat"), tr("Previous chat")
    add("conversations.next", following, lambda: step(1), shortcut="Ctrl+PgDown", section=section)
    add("conversations.previous", before, lambda: step(-1), shortcut="Ctrl+PgUp", section=section)
    add("conversations.rename", tr("Rename this chat"), rename, section=section, enabled=is_open)
    add("conversations.delete", tr("Delete this chat"), delete, section=section, enabled=is_open)
    add(
        "conversations.undo",
        tr("Undo deleting a chat"),
        program.controller.undelete,
        section=section,
        enabled=lambda: conversations.can_undelete,
        words=lambda: undo_words(conversations.deleted_title, tr("Undo deleting “{title}”")),
    )
    for each in FORMATS.values():
        add(
            f"conversations.export-{each.name}",
            say(each.menu),
            lambda kind=each.name: save(kind),  # type: ignore[misc]
            section=section,
            enabled=is_open,
        )
    add("conversations.export-all", tr("Export all chats…"), lambda: export_everything(program), section=section)
    add("conversations.import", tr("Import a chat…"), lambda: import_(program), section=section)
    _register_imports(program)


def _register_imports(program: Program) -> None:
    for name in CHAT_PROGRAMS:
        program.window.commands.add(
            f"conversations.import-{name}",
            program.window.tr("Import from {program}").format(program=name),
            lambda name=name: import_from(program, name),  # type: ignore[misc]
            section=CONVERSATIONS,
            enabled=lambda name=name: bool(chats_of(name)),  # type: ignore[misc]
        )


def _register_projects(program: Program, projects: ProjectWindows) -> None:
    add, tr, conversations = program.window.commands.add, program.window.tr, program.conversations
    new, edit = tr("New project…"), tr("Project of this chat…")
    add("projects.new", new, projects.begin, section=CONVERSATIONS)
    add(
        "projects.edit",
        edit,
        projects.edit_open,
        section=CONVERSATIONS,
        enabled=lambda: conversations.project is not None,
    )


def undo_words(title: str, pattern: str) -> str:
    """Return the name of the command that brings this chat back; "" for one without a title, or for none."""
    shown = title if len(title) <= _LONGEST else f"{title[:_LONGEST]}…"
    return pattern.format(title=shown) if shown else ""


def neighbour(rows: object, open_id: int | None, by: int) -> int | None:
    """Return the conversation `by` rows below (negative: above) the open one; without one, the first or the last."""
    numbers = [row.id for row in rows if isinstance(row, ConversationItem)]  # type: ignore[attr-defined]
    if not numbers:
        return None
    if open_id not in numbers:
        return numbers[0 if by > 0 else -1]
    place = numbers.index(open_id) + by
    return numbers[place] if 0 <= place < len(numbers) else None


def _register_models(program: Program, windows: Windows) -> None:
    window, bar, models = program.window, program.window.bar, program.models
    add, tr = window.commands.add, window.tr

    def show(picker: str) -> Callable[[], None]:
        def open_picker() -> None:
            widget = getattr(bar, picker)
            widget.setFocus()
            widget.showPopup()

        return open_picker

    add("models.target", tr("Choose a target…"), show("target"), shortcut="Alt+T", section=MODELS)
    add("models.draft", tr("Choose a draft…"), show("draft"), shortcut="Alt+D", section=MODELS)
    add("models.lookahead", tr("Choose the lookahead…"), show("lookahead"), shortcut="Alt+L", section=MODELS)
    add("models.rescan", tr("Rescan the model folders"), models.scan_again, shortcut="F5", section=MODELS)
    add("models.library", tr("Models…"), windows.library.open_library, shortcut="Ctrl+Shift+M", section=MODELS)
    add("models.get", tr("Get models…"), windows.get_models.open, section=MODELS)
    add("models.folder", tr("Add a model folder…"), windows.library.add_folder, section=MODELS)
    add("models.server", tr("Add a server as a target…"), windows.servers.open, section=MODELS)
    add(
        "models.remove-server",
        tr("Remove the server that is the target"),
        windows.servers.remove,
        section=MODELS,
        enabled=lambda: isinstance(models.list.selection.target, Server),
    )
    add(
        "models.options",
        tr("Options for the target…"),
        lambda: windows.library.open_options(models.list.selection.target),
        section=MODELS,
        enabled=lambda: models.list.by_path(models.list.selection.target) is not None,
    )
    load, unload = tr("Load the chosen models"), tr("Unload the models")
    add("models.load", load, models.load_now, section=MODELS, enabled=lambda: not models.is_loaded)

    def unload_models() -> None:
        later = program.controller.replies.running is not None
        models.unload()
        then = tr("The models are unloaded once the reply is written.") if later else tr("The models are unloaded.")
        window.notice.show_word(f"{then} {tr('The next message loads them again.')}")

    add("models.unload", unload, unload_models, section=MODELS, enabled=lambda: models.list.loaded.target is not None)


def _register_proof(program: Program, windows: Windows) -> None:
    window = program.window
    add, tr = window.commands.add, window.tr
    compare, sweep = tr("Compare plain and speculative decoding…"), tr("Lookahead sweep…")
    add("proof.compare", compare, windows.compare.open_compare, shortcut="Ctrl+Shift+C", section=SPECULATION)
    add("proof.sweep", sweep, windows.compare.open_sweep, shortcut="Ctrl+Shift+L", section=SPECULATION)
    add(
        "proof.replay",
        tr("Replay the last reply"),
        windows.replay.open_last,
        shortcut="Ctrl+Shift+R",
        section=SPECULATION,
        enabled=lambda: any(getattr(entry, "reply", "") for entry in program.controller.transcript.entries),
    )


def _register_themes(program: Program) -> None:
    window, tr = program.window, program.window.tr
    words = {
        "system": tr("Theme: follow system"),
        "light": tr("Theme: light"),
        "dark": tr("Theme: dark"),
        "contrast": tr("Theme: high contrast"),
    }
    for mode, word in words.items():
        window.commands.add(
            f"view.theme-{mode}",
            word,
            lambda mode=mode: window.choose_theme(mode),  # type: ignore[misc]
            section=VIEW,
            checked=lambda mode=mode: program.theme.mode == mode,  # type: ignore[misc]
        )


def _register_view(program: Program) -> None:
    window = program.window
    add, tr = window.commands.add, window.tr
    add(
        "view.left",
        tr("Show the chat list"),
        lambda: window.show_left(window.left.isHidden()),
        shortcut="Ctrl+B",
        section=VIEW,
        checked=lambda: not window.left.isHidden(),
    )
    add(
        "view.right",
        tr("Show the Speculation panel"),
        lambda: window.show_right(window.panel.isHidden()),
        shortcut="Ctrl+Shift+B",
        section=VIEW,
        checked=lambda: not window.panel.isHidden(),
    )
    add(
        "view.tokens",
        tr("Colour tokens"),
        window.bar.tokens_button.click,
        shortcut="Ctrl+T",
        section=VIEW,
        checked=window.bar.tokens_button.isChecked,
    )
    add(
        "view.unsure",
        tr("Mark where the model was unsure"),
        lambda: window.mark_doubt(not window.marks_doubt),
        shortcut="Ctrl+Shift+T",
        section=VIEW,
        checked=lambda: window.marks_doubt,
    )
    _register_themes(program)
    larger: Sequence[Keys] = [QKeySequence.StandardKey.ZoomIn, "Ctrl+="]
    smaller = QKeySequence.StandardKey.ZoomOut
    sizes: Sequence[tuple[str, str, int, Keys | Sequence[Keys]]] = (
        ("larger", tr("Zoom in"), 1, larger),
        ("smaller", tr("Zoom out"), -1, smaller),
        ("usual", tr("Reset zoom"), 0, "Ctrl+0"),
    )
    for key, text, step, shortcut in sizes:
        add(
            f"view.{key}",
            text,
            lambda step=step: window.change_font(step),  # type: ignore[misc]
            shortcut=shortcut,
            section=VIEW,
            everywhere=True,
        )


def _register_program(program: Program, windows: Windows) -> None:
    window, add = program.window, program.window.commands.add
    palette, sheet = window.tr("All commands…"), window.tr("Keyboard shortcuts…")
    add("program.palette", palette, windows.help.open_palette, shortcut="Ctrl+K", section=PROGRAM, quiet=True)
    add("program.shortcuts", sheet, windows.help.open_sheet, shortcut="F1", section=PROGRAM, everywhere=True)
    add("program.about", window.tr("About Outrider…"), windows.help.open_about, section=PROGRAM)
    quit_keys = "Ctrl+Q"
    add("program.quit", window.tr("Quit"), window.close, shortcut=quit_keys, section=PROGRAM, everywhere=True)
    add(
        "program.introduction",
        window.tr("How the two models work together"),
        windows.introduction.show,
        section=PROGRAM,
    )
    add("program.log", window.tr("Open the log folder"), windows.reports.open_log_folder, section=PROGRAM)
    settings = window.tr("Settings…")
    add("program.settings", settings, windows.settings.open, shortcut="Ctrl+,", section=PROGRAM, everywhere=True)
