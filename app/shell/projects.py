"""Make, change, export and delete projects."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from app.control.projects import Projects
from app.shell.program import Program
from app.state.conversations.conversation import Conversation
from app.state.conversations.files import file_name
from app.state.settings.project import ProjectChoice
from app.views.window.file_dialogs import ask_for_folder, ask_what_to_attach, ask_where_to_put_archive

if TYPE_CHECKING:
    from app.views.conversations.project import ProjectDialog


class ProjectWindows:
    """Connect the list with its projects, and open the dialog of one. Attribute: dialog (the open one, or None)."""

    def __init__(self, program: Program) -> None:
        self.dialog: ProjectDialog | None = None
        self._program = program
        self._desk = Projects(program.conversations, program.models, program.controller.choices, program.documents)
        self._shown: Conversation | None = None
        window, conversations = program.window, program.conversations
        panel = window.left
        panel.moved.connect(conversations.move)
        panel.folded.connect(conversations.fold)
        panel.project_wanted.connect(self.begin)
        panel.project_chosen.connect(self.act)
        for changed in (conversations.open_changed, conversations.project_changed):
            changed.connect(self._show_project)
        self._desk.files_changed.connect(self._show_files)
        self._desk.reported.connect(window.notice.show_trouble)
        window.closed.connect(self._close)
        window.closed.connect(self._desk.stop)

    def begin(self, conversations: Iterable[int] = ()) -> None:
        """Make a project of these conversations, and ask for its name and the rest; Esc at once leaves none."""
        project = self._program.conversations.add_project(self._program.window.tr("New project"), conversations)
        untouched = (project.title, self._desk.choice_of(project))
        # Not `rejected`, which comes before what was typed last.
        self._edit(project).finished.connect(lambda result: None if result else self._give_up(project, untouched))

    def _give_up(self, project: Conversation, untouched: tuple[str, ProjectChoice]) -> None:
        """Delete a new project that nothing was put into."""
        conversations = self._program.conversations
        has_chats = any(each.project == project.id for each in conversations.summaries())
        has_files = self._desk.file_names(project)
        if not has_chats and not has_files and untouched == (project.title, self._desk.choice_of(project)):
            conversations.delete_project(project.id)

    def edit_open(self) -> None:
        """Change the project of the chat on the screen."""
        if (project := self._program.conversations.project) is not None:
            self._edit(project)

    def act(self, what: str, number: int) -> None:
        """Run an action (one of PROJECT_ACTIONS) on a project."""
        program = self._program
        project = program.conversations.projects.get(number)
        if project is None:
            return
        if what == "chat":
            program.controller.new_chat(number)
            program.window.prompt.setFocus()
        elif what == "edit":
            self._edit(project)
        elif what == "export":
            path = ask_where_to_put_archive(program.window, program.settings, file_name(project, ".zip"))
            if path is not None:
                program.conversations.export_project(number, path)
        elif what == "delete":
            self._close()
            program.conversations.delete_project(number)

    def _edit(self, project: Conversation) -> ProjectDialog:
        from app.views.conversations.project import ProjectDialog  # noqa: PLC0415 - not before it is asked for

        self._close()
        desk, program = self._desk, self._program
        dialog = ProjectDialog(project.title, desk.choice_of(project), desk.model_words(project), program.window)
        self.dialog, self._shown = dialog, project
        dialog.changed.connect(lambda title, words, own: desk.change(project, title, words, own_models=own))
        dialog.files_wanted.connect(self._add_files)
        dialog.file_removed.connect(partial(desk.remove_file, project))
        dialog.folder_wanted.connect(self._follow_folder)
        dialog.folder_left.connect(lambda: self._set_folder(""))
        dialog.finished.connect(self._forget)
        self._show_files(project.id)
        dialog.show()
        return dialog

    def _add_files(self) -> None:
        if self._shown is not None:
            paths = ask_what_to_attach(self._program.window, self._program.settings)
            self._desk.add_files(self._shown, paths)

    def _follow_folder(self) -> None:
        title = self._program.window.tr("Follow the files of a folder")
        folder = ask_for_folder(self._program.window, self._program.settings, title)
        if folder is not None:
            self._set_folder(str(folder))

    def _set_folder(self, folder: str) -> None:
        if self._shown is not None:
            self._desk.set_folder(self._shown, folder)
            self._show_files(self._shown.id)

    def _show_files(self, number: int) -> None:
        if self.dialog is not None and self._shown is not None and self._shown.id == number:
            folder = self._desk.choice_of(self._shown).folder
            self.dialog.show_files(self._desk.file_names(self._shown), folder)

    def _show_project(self, _number: int = 0) -> None:
        project = self._program.conversations.project
        self._program.window.prompt.show_project("" if project is None else project.title)

    def _forget(self) -> None:
        self.dialog = self._shown = None

    def _close(self) -> None:
        if self.dialog is not None:
            self.dialog.close()
