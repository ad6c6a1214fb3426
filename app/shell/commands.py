"""The commands of the window: everything that it can do, with its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtGui import QKeySequence

from app.shell.program import Parts
from app.state.conversations.formats import FORMATS
from app.state.conversations.list import ConversationItem
from app.system.translation import say
from app.views.commands.commands import CHAT, CONVERSATIONS, MODELS, PROGRAM, SPECULATION, VIEW, Keys

if TYPE_CHECKING:
    from app.views.commands.palette import CommandPalette, Title

ExportOpen = Callable[[int, str], None]


def register(parts: Parts, *, export: ExportOpen, bring_in: Callable[[], None], about: Callable[[], None]) -> None:
    """Give the window its commands."""
    help_windows = HelpWindows(parts)
    _register_chat(parts)
    _register_conversations(parts, export, bring_in)
    _register_models(parts)
    _register_view(parts)
    window, add = parts.window, parts.window.commands.add
    palette, sheet = window.tr("All commands…"), window.tr("Keyboard shortcuts…")
    add("program.palette", palette, help_windows.open_palette, shortcut="Ctrl+K", section=PROGRAM, quiet=True)
    add("program.shortcuts", sheet, help_windows.open_sheet, shortcut="F1", section=PROGRAM, everywhere=True)
    add("program.about", window.tr("About Outrider…"), about, section=PROGRAM)
    quit_keys = "Ctrl+Q"
    add("program.quit", window.tr("Quit"), window.close, shortcut=quit_keys, section=PROGRAM, everywhere=True)


class HelpWindows:
    """Open the command palette and the shortcut sheet, each made at first use. Attribute: palette."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.palette: CommandPalette | None = None

    def open_palette(self) -> None:
        """Show the command palette."""
        from app.views.commands.palette import CommandPalette  # noqa: PLC0415 - not before it is asked for

        window = self._parts.window
        if self.palette is None:
            self.palette = CommandPalette(window.commands, self._titles, self._parts.theme, window)
        self.palette.open()

    def open_sheet(self) -> None:
        """Show the shortcut sheet."""
        from app.views.commands.shortcut_sheet import ShortcutSheet  # noqa: PLC0415 - not before it is asked for

        window = self._parts.window
        there = [sheet for sheet in window.findChildren(ShortcutSheet) if sheet.isVisible()]
        sheet = there[0] if there else ShortcutSheet(window.commands, window)
        sheet.show()
        sheet.activateWindow()

    def _titles(self) -> list[Title]:
        from app.views.commands.palette import Title  # noqa: PLC0415 - with the palette

        show = self._parts.controller.open
        return [
            Title(each.title, lambda number=each.id: show(number))  # type: ignore[misc]
            for each in self._parts.conversations.summaries()
            if each.title
        ]


def _register_chat(parts: Parts) -> None:
    window, controller = parts.window, parts.controller
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
        enabled=lambda: controller.activity.work != "idle",
    )


def _register_conversations(parts: Parts, export: ExportOpen, bring_in: Callable[[], None]) -> None:
    window, conversations = parts.window, parts.conversations
    add, tr = window.commands.add, window.tr

    def is_open() -> bool:
        return conversations.open is not None

    def step(by: int) -> None:
        number = neighbour(conversations.list.rows, conversations.list.open_id, by)
        if number is not None:
            parts.controller.open(number)

    def save(kind: str) -> None:
        if conversations.open is not None:
            export(conversations.open.id, kind)

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
    undo = parts.controller.undelete
    taken_back = tr("Undo deleting a chat")
    add("conversations.undo", taken_back, undo, section=section, enabled=lambda: conversations.can_undelete)
    for each in FORMATS.values():
        add(
            f"conversations.export-{each.name}",
            say(each.menu),
            lambda kind=each.name: save(kind),  # type: ignore[misc]
            section=section,
            enabled=is_open,
        )
    add("conversations.import", tr("Import a chat…"), bring_in, section=section)


def neighbour(rows: object, open_id: int | None, by: int) -> int | None:
    """The conversation `by` rows below (negative: above) the open one; without one, the first or the last."""
    numbers = [row.id for row in rows if isinstance(row, ConversationItem)]  # type: ignore[attr-defined]
    if not numbers:
        return None
    if open_id not in numbers:
        return numbers[0 if by > 0 else -1]
    place = numbers.index(open_id) + by
    return numbers[place] if 0 <= place < len(numbers) else None


def _register_models(parts: Parts) -> None:
    window, bar = parts.window, parts.window.bar
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
    add("models.rescan", tr("Rescan the model folders"), bar.rescan_wanted.emit, shortcut="F5", section=MODELS)
    compare, sweep = tr("Compare plain and speculative decoding…"), tr("Lookahead sweep…")
    add("proof.compare", compare, bar.compare_wanted.emit, shortcut="Ctrl+Shift+C", section=SPECULATION)
    add("proof.sweep", sweep, bar.sweep_wanted.emit, shortcut="Ctrl+Shift+L", section=SPECULATION)


def _register_view(parts: Parts) -> None:
    window, theme = parts.window, parts.theme
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
    words = {"system": tr("Theme: follow system"), "light": tr("Theme: light"), "dark": tr("Theme: dark")}
    for mode, word in words.items():
        add(
            f"view.theme-{mode}",
            word,
            lambda mode=mode: window.choose_theme(mode),  # type: ignore[misc]
            section=VIEW,
            checked=lambda mode=mode: theme.mode == mode,  # type: ignore[misc]
        )
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
