"""Show beside the prompt which tools this chat may use: a button with a menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.state.tools.shown import HostShown
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme

_LONGEST = 60
_MOST = 30
"""Tools of one host that stand in the menu by themselves."""


class ToolsButton(QToolButton):
    """Choose tools; hidden where none is switched on at all. Signals: switched(keys, on), settings_wanted()."""

    switched = Signal(object, bool)
    settings_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("thinking")
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFixedSize(36, 36)
        self._theme = theme
        self._hosts: Sequence[HostShown] = ()
        self._off: frozenset[str] = frozenset()
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self._menu.aboutToShow.connect(self._fill)
        self.setMenu(self._menu)
        self.show_tools((), frozenset())

    def show_tools(self, hosts: Sequence[HostShown], off: frozenset[str]) -> None:
        """Offer these; `off`: the keys of those that this chat may not use."""
        self._hosts, self._off = hosts, off
        keys = [tool.key for host in hosts for tool in host.tools]
        used = sum(key not in off for key in keys)
        self.setVisible(bool(keys))
        said = self.tr("Tools: {used} of {all} can be used in this chat").format(used=used, all=len(keys))
        self.setToolTip(said)
        self.setAccessibleName(said)
        keep_icon(self, self._theme, "wrench", "accent" if used else "muted")

    def _fill(self) -> None:
        self._menu.clear()
        for host in self._hosts:
            self._menu.addSection(_plain(host.name))
            keys = [tool.key for tool in host.tools]
            if len(keys) > 1:
                every = all(key not in self._off for key in keys)
                self._add(self.tr("All of them"), keys, on=every)
            for tool in host.tools[:_MOST] if len(keys) > 1 else host.tools:
                self._add(tool.title, [tool.key], on=tool.key not in self._off)
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Tools…"), self.settings_wanted.emit)

    def _add(self, words: str, keys: list[str], *, on: bool) -> None:
        action = self._menu.addAction(_plain(words))
        action.setCheckable(True)
        action.setChecked(on)
        action.triggered.connect(lambda now, keys=keys: self.switched.emit(keys, now))


def _plain(words: str) -> str:
    """Return words of a server as a menu shows them: short, and no letter of them a shortcut."""
    short = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    return short.replace("&", "&&")
