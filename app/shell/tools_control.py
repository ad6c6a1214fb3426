"""Switch tools on and off by the settings, and show their state."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QFileDialog, QMenu

from app.control.problems import describe
from app.shell.program import Program
from engine import EngineError, Permission
from engine.host import ServerConfig

if TYPE_CHECKING:
    from app.views.settings.tools import ToolsPage
    from engine.host import ServersElsewhere


class ToolsControl(QObject):
    """Connect the page of tools with the desk that has them."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._desk = program.controller.tools
        self._page: ToolsPage | None = None

    def attach(self, page: ToolsPage) -> None:
        """Show the tools on this page."""
        self._page, desk = page, self._desk
        page.builtin_switched.connect(lambda name, on: desk.switch_builtin(name, on=on))
        page.folders_changed.connect(lambda folders: desk.choose(replace(desk.choice, folders=tuple(folders))))
        page.folder_wanted.connect(self._ask_for_folder)
        page.limit_changed.connect(lambda limit: desk.choose(replace(desk.choice, limit=limit)))
        page.server_switched.connect(lambda name, on: desk.switch_server(name, on=on))
        page.server_added.connect(self._add)
        page.pasted.connect(self._paste)
        page.elsewhere_wanted.connect(lambda: desk.look_elsewhere(self._offer))
        page.server_removed.connect(desk.remove)
        page.log_wanted.connect(lambda name: desk.read_log(name, partial(page.show_log, name)))
        page.tool_switched.connect(lambda key, on: desk.switch_tool(key, on=on))
        page.permission_chosen.connect(self._choose_permission)
        page.writing_allowed.connect(lambda key, on: desk.allow_writing_always(key, allowed=on))
        desk.changed.connect(self.show)

    def show(self) -> None:
        """Show the choice of tools, and their hosts."""
        page = self._page
        if page is not None:
            page.show_choice(self._desk.choice)
            page.show_hosts(self._desk.hosts())
            if self._desk.problem:
                page.say(self._desk.problem, wrong=True)

    def _ask_for_folder(self) -> None:
        words = QCoreApplication.translate("Tools", "A folder whose files may be read")
        page = self._page
        folder = "" if page is None else QFileDialog.getExistingDirectory(page.window(), words, str(Path.home()))
        if folder and page is not None:
            page.add_folder(folder)

    def _add(self, name: str, where: str) -> None:
        page = self._page
        if page is None:
            return
        try:
            if where.startswith(("http://", "https://")):
                config = ServerConfig(name or where.split("/")[2][:64], url=where)
            else:
                command, *rest = shlex.split(where)
                config = ServerConfig(name or Path(command).stem[:64], command, tuple(rest))
        except ValueError:  # A quotation mark that is not closed.
            page.say(QCoreApplication.translate("Tools", "Check the quotation marks in the command."), wrong=True)
        except EngineError as error:
            page.say(describe(error).text, wrong=True)
        else:
            page.clear_fields()
            page.say("")
            self._desk.add([config])

    def _paste(self, text: str) -> None:
        try:
            added = self._desk.add_text(text)
        except EngineError as error:
            self._say(describe(error).text, wrong=True)
        else:
            self._tell_added(added)

    def _offer(self, found: tuple[ServersElsewhere, ...]) -> None:
        """Offer the servers of other programs in a menu."""
        if self._page is None or not self._page.isVisible():
            return
        if not found:
            self._say(QCoreApplication.translate("Tools", "No other program with tool servers was found."))
            return
        menu = QMenu(self._page)
        for each in found:
            names = ", ".join(server.name for server in each.servers)
            words = f"{each.program}: {names}"[:100].replace("&", "&&")
            action = menu.addAction(words)
            action.setEnabled(bool(each.servers))
            action.triggered.connect(lambda _on=False, each=each: self._tell_added(self._desk.add(each.servers)))
        menu.popup(QCursor.pos())

    def _tell_added(self, names: tuple[str, ...]) -> None:
        words = QCoreApplication.translate("Tools", "Added, and not started: {names}. Tick those that you want.")
        self._say(words.format(names=", ".join(names)))

    def _say(self, words: str, *, wrong: bool = False) -> None:
        if self._page is not None:
            self._page.say(words, wrong=wrong)

    def _choose_permission(self, key: str, permission: Permission | None) -> None:
        try:
            self._desk.set_permission(key, permission)
        except EngineError as error:
            self._say(describe(error).text, wrong=True)
        self.show()
