"""What makes up the running program."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.attachment_desk import AttachmentDesk
from app.bridge import EngineBridge
from app.call_watcher import CallWatcher
from app.context_desk import ContextDesk
from app.controller import ChatController
from app.conversation_desk import ConversationDesk
from app.log_file import ProgramLog
from app.model_desk import ModelDesk
from app.places import log_folder
from app.proof_desk import ProofDesk
from app.settings import Settings, SettingsFile
from app.settings_keeper import SettingsKeeper
from app.views.main_window import MainWindow
from app.views.theme import Theme
from engine import Installation, InstallationDamaged


@dataclass(slots=True)
class Parts:
    """What makes up the running program.

    `installation`: None unless it is frozen; `damage`: what is wrong with it; `watcher`: None where nobody can call.
    """

    settings: Settings
    settings_file: SettingsFile
    keeper: SettingsKeeper
    theme: Theme
    bridge: EngineBridge
    desk: ModelDesk
    conversations: ConversationDesk
    controller: ChatController
    window: MainWindow
    proof: ProofDesk
    attachments: AttachmentDesk
    context: ContextDesk
    installation: Installation | None = None
    damage: InstallationDamaged | None = None
    watcher: CallWatcher | None = None
    log: ProgramLog = field(default_factory=lambda: ProgramLog(log_folder()))
