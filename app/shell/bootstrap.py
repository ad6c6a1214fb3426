"""Build everything, connect it, run it, and take it down again: the only wiring."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

import qasync
from PySide6 import __version__ as qt_version
from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QApplication

from app.bridge.bridge import EngineBridge
from app.bridge.serving import ServerSwitch
from app.bridge.worker import Worker
from app.control.attachments import Attachments
from app.control.chat import ChatController
from app.control.choices import Choices
from app.control.compare import CompareController
from app.control.context import ContextController
from app.control.conversations import ConversationController
from app.control.documents import ChatDocuments
from app.control.downloads import Downloads
from app.control.models import ModelController
from app.control.problems import describe
from app.control.tools import ToolDesk
from app.control.unsent import UnsentTexts
from app.control.vectors import DocumentVectors
from app.settings.autosave import Autosave
from app.settings.settings import Settings, SettingsFile
from app.shell.chat_exports import ChatExports
from app.shell.connections import answer, connect, leave_out
from app.shell.kept_caches import KeptCaches
from app.shell.own_texts import OwnTexts
from app.shell.program import Program
from app.shell.windows import begin_introduction
from app.state.chat.transcript import Problem
from app.state.markdown import code_colors
from app.state.markdown import parser as markdown_parser
from app.state.models.models import ModelList
from app.state.models.selection import MODEL_FREE, Selection
from app.state.models.targets import read_servers, read_target
from app.system.application import Application
from app.system.call_watcher import CallWatcher
from app.system.damage_dialog import report
from app.system.folder_watch import is_there
from app.system.log_file import LOGGER, ProgramLog, note_error
from app.system.places import forget_qt_paths, log_folder
from app.system.qt_messages import listen, stop_listening
from app.system.resources import ResourceDamaged, read_text, starter_prompts
from app.system.single_instance import Claim
from app.system.translation import install
from app.views.widgets.theme import Theme
from app.views.window.main_window import MainWindow
from app.words.settings import trouble_words
from engine import EngineError, InstallationDamaged, PairWarning, bundled_pair
from engine.host import Installation, check_processor, expanded

if TYPE_CHECKING:
    from engine import SpeculativeDecoder

CLOSE_S = 1.4
"""The seconds for the engine to stop when the window closes; with the rest this stays below two seconds."""
SERVER_S = 0.2
"""The seconds for the local server to stop listening then; its work goes on in the background."""
SAVE_S = 0.5
"""The seconds for saving the last of the conversations then."""
SWITCH_S = 0.001
"""The interpreter's switch interval: the window must not wait long for the engine's thread."""
_SLICE_S = 0.008
"""The longest slice of the installation check that may hold up the window."""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Hold the command line's options for this run: the model folder and a target (absolute paths)."""

    models_folder: Path | None = None
    model: Path | None = None


Script = Callable[[Program, asyncio.AbstractEventLoop], Any]


def build(
    app: QApplication,
    loop: asyncio.AbstractEventLoop,
    settings_file: SettingsFile,
    *,
    models_folder: Path | None = None,
    model: Path | None = None,
    store: Path | None = None,
    make_decoder: Callable[[], SpeculativeDecoder] | None = None,
) -> Program:
    """Build everything and connect it. The window is not shown yet.

    `store`: the file of the conversations, which is opened when the window is on screen; None: keep nothing.
    """
    settings = _read_settings(settings_file, models_folder)
    install(app, settings.language)
    problems = [Problem(trouble_words(each)) for each in (settings_file.trouble,) if each is not None]
    autosave = Autosave(settings, settings_file, Worker(loop, contextlib.nullcontext, "outrider-settings"))
    bundled, starters = _or_none(bundled_pair, problems), _or_none(starter_prompts, problems)
    theme = _build_theme(app, settings, problems)
    autosave.changed.connect(theme.refresh)
    bridge = EngineBridge(loop, trusted=bundled or (), make_decoder=make_decoder)
    models = _build_models(loop, bridge, bundled, settings)
    if model is not None:
        models.open_model(model)
    conversations = ConversationController(loop, store)
    kept_in = None if settings_file.path is None else settings_file.path.parent
    choices = Choices(settings, conversations)
    tools = ToolDesk(loop, settings, conversations, kept_in)
    controller = ChatController(loop, bridge, models, conversations, choices, tools)
    window = MainWindow(theme, settings, controller.metrics, conversations.list, starters or ())
    compare = CompareController(loop, bridge, models, controller.last_question)
    attachments = Attachments(loop)
    context = ContextController(loop, bridge, controller, attachments, lambda: window.prompt.question)
    unsent = UnsentTexts(conversations, attachments, controller.waiting, window.prompt.edit.toPlainText)
    documents = ChatDocuments(loop, conversations, attachments, controller)
    window.prompt.compose, typed = documents.question, window.prompt.edit.toPlainText
    vectors = DocumentVectors(loop, bridge.embedding, documents, lambda: models.list.models, typed)
    program = Program(
        settings,
        settings_file,
        autosave,
        theme,
        bridge,
        ServerSwitch(bridge),
        models,
        conversations,
        controller,
        window,
        compare,
        attachments=attachments,
        context=context,
        unsent=unsent,
        documents=documents,
        vectors=vectors,
        downloads=Downloads(loop),
    )
    connect(program)
    _begin_when_painted(program, store, problems)
    return program


def _begin_when_painted(program: Program, store: Path | None, problems: list[Problem]) -> None:
    """Schedule the work that begins once the window is on screen."""
    window, controller = program.window, program.controller
    # What the window begins with is there in a moment: no greeting that vanishes at once.
    before = program.settings.conversation if store is not None and store.exists() else 0
    window.show_chat(empty=before == 0)
    window.painted.connect(lambda: controller.restore(before))
    window.painted.connect(KeptCaches(program, store).begin)
    if store is not None:
        window.painted.connect(OwnTexts(program, store).begin)
        window.painted.connect(ChatExports(program).begin)
    window.painted.connect(program.unsent.begin)
    window.painted.connect(program.documents.begin)
    window.painted.connect(lambda: _begin(program, problems))


def _read_settings(file: SettingsFile, models_folder: Path | None) -> Settings:
    """Read the settings, with the folder of this run first among those of models."""
    settings = file.load()
    if models_folder is not None:
        first = str(models_folder)
        settings.models_folders = [first, *(folder for folder in settings.models_folders if folder != first)]
    return settings


def _build_theme(app: QApplication, settings: Settings, problems: list[Problem]) -> Theme:
    sheet = _or_none(lambda: read_text("styles", "window.qss"), problems)
    icons = str(files("resources").joinpath("icons")).replace("\\", "/")
    return Theme(app, sheet or "", icons, settings)


def _build_models(
    loop: asyncio.AbstractEventLoop, bridge: EngineBridge, bundled: tuple[Path, Path] | None, settings: Settings
) -> ModelController:
    listed = ModelList(bundled)
    listed.servers = read_servers(settings.servers)
    lost = _choose_as_before(listed, settings)
    models = ModelController(loop, bridge, listed, settings)
    if lost is not None:
        models.wish(lost)
    return models


def _or_none(give: Callable[[], Any], problems: list[Problem]) -> Any:
    try:
        return give()
    except (EngineError, ResourceDamaged) as error:
        problems.append(describe(error))
        return None


def _choose_as_before(models: ModelList, settings: Settings) -> Selection | None:
    """Restore the selection of the last run. Returns it if a part of it is missing at present."""
    own, kept = models.bundled_files, settings.sources
    drafting: Any = settings.drafting or ("automatic" if kept is None else "model" if kept else "none")
    target = read_target(settings.target, models.servers) if settings.target else own.target
    sources = own.sources if kept is None else tuple(map(Path, kept))
    if drafting in (*MODEL_FREE, "none") or (drafting == "automatic" and settings.target and kept is None):
        sources = ()
    chosen = Selection(target, sources, settings.lookahead, drafting)
    here = (None, own.target, *own.sources, *models.servers)
    lost = [each for each in (target, *sources) if each not in here and not (isinstance(each, Path) and is_there(each))]
    if target in lost:
        models.choose(lookahead=settings.lookahead)
    else:
        models.selection = replace(chosen, sources=(), drafting="automatic") if lost else chosen
    return chosen if lost else None


def _begin(program: Program, problems: list[Problem]) -> None:
    """Finish the check of a frozen program, now that its window is on screen, before a model of it is loaded."""
    steps = iter(()) if program.installation is None else program.installation.check_contents()

    def continue_() -> None:
        began = perf_counter()
        try:
            for _ in steps:
                if perf_counter() - began > _SLICE_S:
                    QTimer.singleShot(0, program.window, continue_)
                    return
        except InstallationDamaged as damage:
            program.damage = damage
            program.window.close()
            return
        if program.window.isVisible():
            _begin_work(program, problems)

    continue_()


def _begin_work(program: Program, problems: list[Problem]) -> None:
    """Begin the heavy work."""
    _or_none(check_processor, problems)
    for problem in problems:
        program.controller.report(problem)
    program.models.begin([expanded(folder) for folder in program.settings.models_folders])
    program.compare.begin()
    QTimer.singleShot(0, program.window, program.window.panel.build_plots)
    QTimer.singleShot(0, program.window, lambda: program.log.open(qt_version))
    threading.Thread(target=_load_readers, name="outrider-imports", daemon=True).start()
    # What lives by then is not garbage: later collections are short, and nothing is late because of them.
    QTimer.singleShot(2_000, program.window, leave_out)


def _load_readers() -> None:
    """Prepare the Markdown readers on another thread: on the window's thread it would freeze the window."""
    markdown_parser.prepare()
    code_colors.prepare_usual()


def _report_surprises(program: Program, loop: asyncio.AbstractEventLoop) -> None:
    """Report whatever goes wrong unexpectedly as a message in the window."""

    def show(error: BaseException) -> None:
        program.controller.report(describe(error))

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            program.window.close()
        else:
            show(error.with_traceback(trace))

    def thread_hook(given: threading.ExceptHookArgs) -> None:
        if given.exc_value is not None:
            loop.call_soon_threadsafe(show, given.exc_value)

    def loop_hook(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception") or RuntimeError(str(context.get("message")))
        show(error)

    sys.excepthook = hook
    threading.excepthook = thread_hook
    loop.set_exception_handler(loop_hook)


def run(
    arguments: list[str],
    settings_file: SettingsFile,
    *,
    options: StartOptions = StartOptions(),
    installation: Installation | None = None,
    claim: Claim | None = None,
    script: Script | None = None,
) -> int:
    """Show the window and stay until it is closed; return the exit code.

    `claim`: the lock of the store (see app.system.single_instance), None to store nothing; released at the end.
    `installation`: of a frozen program, the rest of which is checked here. `script`: a coroutine function that drives
    the window (the smoke test).
    """
    sys.setswitchinterval(SWITCH_S)
    # The pickers say it; and it is said too of a target that is loaded while the draft of the last one is still there.
    warnings.simplefilter("ignore", PairWarning)
    log = ProgramLog(log_folder())
    log.begin()
    listen(before_the_end=log.open)
    try:
        app = Application(arguments)
        forget_qt_paths()
        app.setQuitOnLastWindowClosed(False)
        loop = qasync.QEventLoop(app)
        asyncio.set_event_loop(loop)
        store = None if claim is None else claim.store
        used_before = options.model is not None or (store is not None and store.exists())
        program = build(app, loop, settings_file, models_folder=options.models_folder, model=options.model, store=store)
        program.installation, program.log = installation, log
        begin_introduction(program, used_before=used_before)
        if claim is not None:
            _hear_calls(program, claim)
        app.file_opened.connect(lambda path: program.models.choose_target(Path(path)))
        code, ended = _run(app, loop, program, script)
    except Exception as error:
        note_error(error)
        raise
    finally:
        stop_listening()
        log.close()
        if claim is not None:
            claim.release()
    if program.damage is not None:
        code = report(program.damage, attended=script is None)
    sys.stdout.flush()
    if not ended:
        # Native code that does not come back: leaving in the ordinary way would wait for it, or crash in it.
        os._exit(code)
    return code


def _hear_calls(program: Program, claim: Claim) -> None:
    watcher = program.watcher = CallWatcher(claim)
    watcher.called.connect(lambda call: answer(program, call))
    program.window.painted.connect(watcher.begin)
    program.window.closed.connect(watcher.stop)


def _run(app: QApplication, loop: qasync.QEventLoop, program: Program, script: Script | None) -> tuple[int, bool]:
    """Run the life of the window; return the exit code, and True if the engine has ended."""
    _report_surprises(program, loop)
    with loop:
        code: int = loop.run_until_complete(_live(program, loop, script))
        ended = _end(program)
    program.window.deleteLater()
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
    return code, ended


async def _live(program: Program, loop: asyncio.AbstractEventLoop, script: Script | None) -> int:
    closed: asyncio.Future[int] = loop.create_future()

    def close() -> None:
        if not closed.done():
            closed.set_result(0)

    program.window.closed.connect(close)
    with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, program.window.close)
        loop.add_signal_handler(signal.SIGTERM, program.window.close)
    if script is not None:
        task = asyncio.ensure_future(script(program, loop))
        await asyncio.sleep(0)  # so that it waits for the first paint before there is one
        program.window.show()
        await asyncio.wait({task, closed}, return_when=asyncio.FIRST_COMPLETED)
        code = int(task.result()) if task.done() else 1
        task.cancel()
        program.window.close()
    else:
        program.window.show()
        code = await closed
    await program.controller.stop()
    return code


def _end(program: Program) -> bool:
    program.autosave.close()
    program.server.turn_off(SERVER_S)
    program.controller.tools.close()
    ended = program.bridge.close(CLOSE_S)
    if not program.conversations.close(SAVE_S):
        LOGGER.warning("the last changes of the conversations could not be saved")
    return ended
