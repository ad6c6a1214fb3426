"""The page of the local server: on or off, its address, its key, and its work."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPlainTextEdit, QWidget

from app.settings.settings import Settings
from app.system.translation import say
from app.views.settings.connect import ConnectPart
from app.views.settings.fields import mark
from app.views.widgets.boxes import in_column, in_grid
from engine.host import ServerFigures, ServerLine

_LABELS = 140
_BETWEEN = 4
_HOSTS = ("127.0.0.1", "0.0.0.0")  # noqa: S104 - a key is demanded
_LOG_LINES = 8


class ServerPage(QWidget):
    """Show the switch of the local server. Attributes: switch, hosts, port, names, key, state, apps, figures, log.

    Signals: changed(name, value) (of a setting), key_changed(key).
    """

    changed = Signal(str, object)
    key_changed = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._showing = False
        self._said = QLabel(
            self.tr(
                "Editors, agents and scripts can use the models of this window, in the form of OpenAI's or Anthropic's "
                "interface. Their requests and your messages take turns."
            ),
            self,
        )
        self._said.setObjectName("hint")
        self._said.setWordWrap(True)
        self.switch = QCheckBox(self.tr("Serve the loaded models to other programs"), self)
        self.state = QLabel(self)
        self.state.setWordWrap(True)
        self.state.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.hosts = QComboBox(self)
        self.hosts.addItems([self.tr("This computer only"), self.tr("Other computers too")])
        self.port = QLineEdit(self)
        self.port.setValidator(QIntValidator(1, 65_535, self.port))
        self.names = QLineEdit(self)
        self.key = QLineEdit(self)
        self.key.setEchoMode(QLineEdit.EchoMode.PasswordEchoOnEdit)
        self.figures = QLabel(self)
        self.figures.setObjectName("hint")
        self.figures.setWordWrap(True)
        self.figures.hide()
        self.log = QPlainTextEdit(self)
        self.log.setReadOnly(True)
        self.log.setPlaceholderText(self.tr("None yet"))
        self.log.setTabChangesFocus(True)
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.log.setFixedHeight(_LOG_LINES * self.fontMetrics().lineSpacing() + 24)
        self.apps = ConnectPart(self)
        self._put()
        self.switch.toggled.connect(lambda on: self._change("server_on", on))
        self.hosts.currentIndexChanged.connect(lambda index: self._change("server_host", _HOSTS[index]))
        self.port.editingFinished.connect(lambda: self._change("server_port", int(self.port.text())))
        self.names.editingFinished.connect(lambda: self._change("server_names", self.names.text().strip()))
        self.key.editingFinished.connect(lambda: self.key_changed.emit(self.key.text().strip()))

    def _put(self) -> None:
        grid = in_grid(across=12, down=4, stretch=2)
        grid.setColumnMinimumWidth(0, _LABELS)
        rows = (
            (self.tr("Address"), self.hosts, self.tr("Other computers need the key; what they send is not encrypted")),
            (self.tr("Port"), self.port, ""),
            (self.tr("Names"), self.names, self.tr("Names by which others reach this computer, separated by commas")),
            (self.tr("Key"), self.key, self.tr("Each request must have it; empty: none is asked for")),
        )
        for place, (name, field, meaning) in enumerate(rows):
            label, hint = QLabel(name, self), QLabel(meaning, self)
            label.setBuddy(field)
            hint.setObjectName("hint")
            hint.setWordWrap(True)
            field.setAccessibleName(name)
            field.setAccessibleDescription(meaning)
            hint.setVisible(bool(meaning))
            grid.addWidget(label, 3 * place, 0)
            grid.addWidget(field, 3 * place, 1)
            grid.addWidget(hint, 3 * place + 1, 1, 1, 2)
            grid.setRowMinimumHeight(3 * place + 2, _BETWEEN)
        requests = QLabel(self.tr("Requests"), self)
        requests.setBuddy(self.log)
        self.log.setAccessibleName(self.tr("Requests"))
        column = in_column(self._said, spacing=12, margins=(0, 12, 12, 12), parent=self)
        column.addWidget(self.switch, 0, Qt.AlignmentFlag.AlignLeading)
        column.addWidget(self.state)
        column.addLayout(grid)
        bottom: tuple[QWidget, ...] = (self.apps, self.figures, requests, self.log)
        for widget in bottom:
            column.addWidget(widget)
        column.addStretch(1)

    def _change(self, name: str, value: object) -> None:
        if not self._showing:
            self.changed.emit(name, value)

    def show_settings(self, settings: Settings) -> None:
        self._showing = True
        self.switch.setChecked(settings.server_on)
        self.hosts.setCurrentIndex(_HOSTS.index(settings.server_host))
        if not self.port.hasFocus():
            self.port.setText(str(settings.server_port))
        if not self.names.hasFocus():
            self.names.setText(settings.server_names)
        self._showing = False

    def show_key(self, key: str) -> None:
        if not self.key.hasFocus():
            self.key.setText(key)

    def show_state(self, url: str, problem: str) -> None:
        """Show the address it listens on ('': none), or the reason why it does not."""
        mark(self.state, wrong=bool(problem))
        self.state.setText(say(problem) or (self.tr("On: {url}").format(url=url) if url else self.tr("Off")))

    def show_work(self, figures: ServerFigures | None, lines: tuple[ServerLine, ...]) -> None:
        """Show the figures so far, and the last requests."""
        self.figures.setText("" if figures is None else self._figures(figures))
        self.figures.setVisible(figures is not None and (figures.running or figures.waiting or figures.replies) > 0)
        text = "\n".join(_line(line) for line in reversed(lines))
        if text != self.log.toPlainText():
            self.log.setPlainText(text)

    def _figures(self, figures: ServerFigures) -> str:
        number = QLocale().toString
        parts = [
            self.tr("{running} running, {waiting} waiting").format(running=figures.running, waiting=figures.waiting),
            self.tr("{count} replies").format(count=number(figures.replies)),
            self.tr("{count} tokens written").format(count=number(figures.emitted)),
            self.tr("{count} tokens read, {cached} more in the cache").format(
                count=number(figures.prompt_tokens - figures.cached_tokens), cached=number(figures.cached_tokens)
            ),
        ]
        if figures.proposed:
            share = round(100 * figures.accepted / figures.proposed)
            parts.append(self.tr("{share} % of the drafts accepted").format(share=share))
        return " · ".join(parts)

    def reset(self) -> None:
        """Choose the default of each setting; the key stays."""
        usual = Settings()
        for name in ("server_on", "server_host", "server_port", "server_names"):
            self.changed.emit(name, getattr(usual, name))
        self.show_settings(usual)


def _line(line: ServerLine) -> str:
    seconds = QLocale().toString(line.seconds, "f", 2)
    return f"{line.time.astimezone():%H:%M:%S}  {line.status}  {seconds} s  {line.path}"
