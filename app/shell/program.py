"""Hold the parts of the running program."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.bridge.bridge import EngineBridge
from app.bridge.serving import ServerSwitch
from app.control.attachments import Attachments
from app.control.chat import ChatController
from app.control.compare import CompareController
from app.control.context import ContextController
from app.control.conversations import ConversationController
from app.control.documents import ChatDocuments
from app.control.downloads import Downloads
from app.control.models import ModelController
from app.control.unsent import UnsentTexts
from app.control.vectors import DocumentVectors
from app.settings.autosave import Autosave
from app.settings.settings import Settings, SettingsFile
from app.system.call_watcher import CallWatcher
from app.system.log_file import ProgramLog
from app.system.places import log_folder
from app.views.widgets.theme import Theme
from app.views.window.main_window import MainWindow
from engine import InstallationDamaged
from engine.host import Installation


@dataclass(slots=True)
class Program:
    """Hold the parts of the running program.

    `installation`: None unless it is frozen; `damage`: what is wrong with it; `watcher`: None if nobody can call.
    """

    settings: Settings
    settings_file: SettingsFile
    autosave: Autosave
    theme: Theme
    bridge: EngineBridge
    server: ServerSwitch
    models: ModelController
    conversations: ConversationController
    controller: ChatController
    window: MainWindow
    compare: CompareController
    attachments: Attachments
    context: ContextController
    unsent: UnsentTexts
    documents: ChatDocuments
    vectors: DocumentVectors
    downloads: Downloads
    installation: Installation | None = None
    damage: InstallationDamaged | None = None
    watcher: CallWatcher | None = None
    log: ProgramLog = field(default_factory=lambda: ProgramLog(log_folder()))
