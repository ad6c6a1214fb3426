"""The screen of the first start: when it is shown, and what comes of it."""

from __future__ import annotations

from app.shell.program import Parts
from app.views.commands.commands import PROGRAM

_COMMAND = "program.introduction"


def begin(parts: Parts, *, used_before: bool) -> None:
    """Before the window is shown: at the first start of all it begins with this screen."""
    if parts.settings.first_launch and used_before:
        parts.settings.first_launch = False
    elif parts.settings.first_launch:
        parts.window.commands.run(_COMMAND)


class Introduction:
    """Explains the two models, at the first start and whenever it is asked for; made when it is first shown."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        text = parts.window.tr("How the two models work together")
        parts.window.commands.add(_COMMAND, text, self.show, section=PROGRAM)
        parts.window.introduction_left.connect(self._note)
        parts.window.folder_chosen.connect(lambda _folder: parts.window.end_introduction())
        parts.window.new_chat_wanted.connect(parts.window.end_introduction)

    def show(self) -> None:
        """Show it in the place of the conversation."""
        from app.views.window.first_launch import FirstLaunchView  # noqa: PLC0415 - most starts do without

        parts, window = self._parts, self._parts.window
        view = FirstLaunchView(parts.theme, has_demo=parts.desk.models.bundled is not None)
        view.demo_wanted.connect(self._try_demo)
        view.folder_wanted.connect(window.ask_for_folder)
        view.left.connect(self._leave)
        window.introduce(view)
        view.begin()

    def _try_demo(self) -> None:
        parts = self._parts
        bundled = parts.desk.models.bundled
        if bundled is not None and parts.desk.models.selection.target != bundled[0]:
            parts.desk.choose_target(bundled[0])
            parts.desk.choose_draft("automatic")
        self._leave()

    def _leave(self) -> None:
        self._parts.window.end_introduction()
        self._parts.window.enter_prompt()

    def _note(self) -> None:
        self._parts.settings.first_launch = False
