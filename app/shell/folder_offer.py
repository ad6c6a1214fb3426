"""Describe a newly added folder, and offer its best pair."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.control.folder_pairs import FolderPair
from app.shell.program import Program
from app.state.models.names import label
from app.system.translation import say
from app.words.get_models import expected
from engine.host import download_folder


class FolderOffer(QObject):
    """Offer a pair when a folder was added, unless one of its models is in use already."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._program = program
        self._offered: FolderPair | None = None
        program.models.folder_added.connect(self._offer)
        program.models.selection_changed.connect(program.window.pair_notice.hide)
        program.window.pair_notice.accepted.connect(self._use)

    def _offer(self, found: FolderPair) -> None:
        # What was just downloaded is offered where it was downloaded.
        own = found.folder.is_relative_to(download_folder())
        if not found.count or (own and found.target is None):
            return
        self._offered = found
        words = self.tr("%n model(s) can be used here.", "", found.count)
        if found.target is not None and found.draft is not None:
            words += " " + self.tr("The best pair: {target} with {draft} as its draft. {expectation}").format(
                target=say(label(found.target)), draft=say(label(found.draft)), expectation=say(found.expectation)
            )
        if found.speed is not None:
            words += " " + expected(found.speed.plain, found.speed.drafted)
        self._program.window.pair_notice.announce(words, pair=found.target is not None)

    def _use(self) -> None:
        found, models = self._offered, self._program.models
        if found is not None and found.target is not None and found.draft is not None:
            models.choose_target(found.target.path)
            models.choose_draft(found.draft.path)
