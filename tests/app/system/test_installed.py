"""The program as an installed one: where things are, what it does when it is damaged, and what it opens."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import app.system.console
from app.settings.settings import Settings
from app.system.console import spoken
from app.system.damage_dialog import explanation
from app.system.places import (
    describe,
    forget_qt_paths,
    log_folder,
    outside_environment,
    restore_environment,
    settings_path,
)
from engine import InstallationDamaged, __version__
from engine.host import cache_folder
from helpers.children.bundle import make_bundle, run_frozen
from helpers.processes import run_python
from helpers.window.app_window import OpenWindow

MODEL = "resources/models/demo.gguf"
STYLE = "resources/styles/window.qss"
PLUGIN = "PySide6/plugins/platforms/libqxcb.so"
KEYS = ["version", "frozen", "flavour", "program", "resources", "settings", "data", "logs", "cache", "python"]
NO_SCREEN = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
ZENITY = """#!/bin/sh
printf '%s\\n' "$@" > "$0.said"
env > "$0.environment"
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    files = {MODEL: bytes(2_000_000), STYLE: b"QWidget {}", "resources/icons/outrider.svg": b"<svg/>"}
    return make_bundle(tmp_path / "_internal", files, {PLUGIN: b"\x7fELF"})


@pytest.fixture
def frozen(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "_MEIPASS", str(bundle), raising=False)
    return bundle


@pytest.fixture
def zenity(tmp_path: Path) -> Path:
    """A program of the system that shows dialogs, and notes what it is asked to show."""
    path = tmp_path / "bin" / "zenity"
    path.parent.mkdir()
    path.write_text(ZENITY, encoding="utf-8")
    path.chmod(0o755)
    return path


def with_zenity(zenity: Path, platform: str) -> dict[str, str]:
    return os.environ | {"PATH": f"{zenity.parent}:{os.environ['PATH']}", "QT_QPA_PLATFORM": platform}


def log_text() -> str:
    return (log_folder() / "outrider.log").read_text(encoding="utf-8")


def told(text: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in text.splitlines())


def test_paths_are_told_without_a_display_and_without_qt(isolated_home: Path) -> None:
    code = "import sys; from app.__main__ import main; main(['--paths']); assert 'PySide6' not in sys.modules"
    bare = {name: value for name, value in os.environ.items() if name not in NO_SCREEN}
    done = run_python("-c", code, env=bare)
    assert (done.returncode, done.stderr) == (0, "")
    paths = told(done.stdout)
    assert list(paths) == KEYS
    assert (paths["version"], paths["frozen"], paths["flavour"]) == (__version__, "no", "none")
    assert Path(paths["program"]).is_file()
    assert (Path(paths["resources"]) / "models").is_dir()
    assert paths["settings"] == str(settings_path())
    assert paths["cache"] == str(cache_folder())
    for key in ("settings", "data", "logs", "cache"):
        assert Path(paths[key]).is_relative_to(isolated_home)
    assert not list(isolated_home.iterdir()), "telling makes nothing"


def test_a_frozen_program_tells_its_flavour(frozen: Path, tmp_path: Path) -> None:
    paths = told(describe(tmp_path / "mine.json"))
    assert (paths["frozen"], paths["flavour"]) == ("yes", "standard")
    assert paths["program"] == sys.executable
    assert paths["settings"] == str(tmp_path / "mine.json")
    (frozen / "manifest.json").write_bytes(b"?")
    assert told(describe())["flavour"] == "unknown"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the library path is a variable only on other systems")
def test_programs_that_are_started_get_their_own_library_path_back(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYINSTALLER_RESET_ENVIRONMENT", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{frozen}:/opt/lib")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/opt/lib")
    restore_environment()
    assert os.environ["LD_LIBRARY_PATH"] == "/opt/lib"
    assert "LD_LIBRARY_PATH_ORIG" not in os.environ
    assert os.environ["PYINSTALLER_RESET_ENVIRONMENT"] == "1", "another start of ours must set its path anew"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(frozen))
    restore_environment()
    assert "LD_LIBRARY_PATH" not in os.environ


def test_a_source_run_leaves_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of/the/user")
    monkeypatch.setenv("QT_PLUGIN_PATH", "/of/the/user")
    before = dict(os.environ)
    restore_environment()
    forget_qt_paths()
    assert dict(os.environ) == before == outside_environment()


def test_our_qt_plugins_are_not_for_others(frozen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_PLUGIN_PATH", str(frozen / "PySide6" / "plugins"))
    monkeypatch.setenv("QML2_IMPORT_PATH", "/of/the/user")
    assert "QT_PLUGIN_PATH" not in outside_environment()
    forget_qt_paths()
    assert "QT_PLUGIN_PATH" not in os.environ
    assert os.environ["QML2_IMPORT_PATH"] == "/of/the/user"


def test_without_a_console_it_is_said_in_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[str] = []
    monkeypatch.setattr(app.system.console, "message_box", boxes.append)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with spoken():
        print("Outrider 1.2.3")
    assert boxes == ["Outrider 1.2.3\n"]
    assert isinstance(sys.stdout, io.TextIOBase)
    with spoken():
        print("nobody hears this")
    sys.stderr.flush()
    assert len(boxes) == 1, "what follows is not for a box"
    sys.stdout.close()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["--paths"], ["--nonsense"]])
def test_no_streams_do_not_crash_the_program(arguments: list[str]) -> None:
    code = f"import sys; sys.stdout = sys.stderr = None\nfrom app.__main__ import main\nsys.exit(main({arguments!r}))\n"
    done = run_python("-W", "ignore::ResourceWarning", "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (2 if arguments == ["--nonsense"] else 0, "", "")


def check_report(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 3, one line on stderr, the same in the log."""
    first, *rest = done.stderr.splitlines()
    assert (done.returncode, done.stdout, rest) == (3, "", [])
    assert first.startswith("outrider: Outrider cannot start")
    assert first.endswith("Reinstall Outrider from where you got it.")
    log = log_text()
    assert "ERROR damaged" in log
    for word in words:
        assert word in first
        assert word.removesuffix(" is missing").removesuffix(" is damaged") in log


def test_a_lost_style_sheet_is_told_in_a_dialog_that_ends(bundle: Path) -> None:
    (bundle / STYLE).unlink()
    (bundle / "resources/icons/outrider.svg").write_bytes(b"<SVG/>")
    check_report(run_frozen("app.__main__", bundle), f"{STYLE} is missing", "resources/icons/outrider.svg is damaged")


def test_a_changed_model_is_found_after_the_first_paint_and_never_loaded(bundle: Path) -> None:
    (bundle / MODEL).write_bytes(bytes(1_999_999) + b"!")
    check_report(run_frozen("app.__main__", bundle, "--smoke-test"), f"{MODEL} is damaged")


@pytest.mark.usefixtures("demo_pair")
def test_nothing_is_loaded_while_the_files_are_checked(tmp_path: Path) -> None:
    # So large that the first start has its time to load what is replayed there.
    folder = make_bundle(tmp_path / "_internal", {MODEL: bytes(100_000_000), STYLE: b"QWidget {}"})
    with (folder / MODEL).open("r+b") as file:
        file.write(b"!")
    done = run_frozen("app.__main__", folder, "--smoke-test", env=os.environ | {"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 3
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "app.shell.bootstrap" in loaded
    assert not {"llama_cpp", "engine.backends.llama_cpp.backend"} & loaded


def test_without_qt_the_system_shows_it(bundle: Path, zenity: Path) -> None:
    (bundle / PLUGIN).unlink()
    env = with_zenity(zenity, "offscreen")
    env |= {"QT_PLUGIN_PATH": f"{bundle}/PySide6/plugins", "LD_LIBRARY_PATH": str(bundle)}
    check_report(run_frozen("app.__main__", bundle, env=env), f"{PLUGIN} is missing")
    said = Path(f"{zenity}.said").read_text(encoding="utf-8")
    assert "--title=Outrider" in said
    assert f"{PLUGIN} is missing\n\nReinstall Outrider" in said
    inherited = Path(f"{zenity}.environment").read_text(encoding="utf-8")
    assert "QT_PLUGIN_PATH" not in inherited
    assert "\nLD_LIBRARY_PATH=" not in f"\n{inherited}"


def test_where_qt_would_abort_the_system_shows_it(bundle: Path, zenity: Path) -> None:
    (bundle / STYLE).unlink()
    done = run_frozen("app.__main__", bundle, env=with_zenity(zenity, "no-such-platform"))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("outrider: Outrider cannot start")
    assert f"{STYLE} is missing" in Path(f"{zenity}.said").read_text(encoding="utf-8")


def test_without_a_screen_it_is_one_line(bundle: Path) -> None:
    (bundle / "manifest.json").unlink()
    bare = {name: value for name, value in os.environ.items() if name not in NO_SCREEN}
    check_report(run_frozen("app.__main__", bundle, env=bare), "manifest.json is missing")
    done = run_frozen("app.__main__", bundle, "--version", env=bare)
    assert (done.returncode, done.stdout) == (0, f"Outrider {__version__}\n")


def test_the_dialog_names_a_few_and_counts_the_rest() -> None:
    text = explanation(InstallationDamaged([f"f{number}" for number in range(9)], ["g"]))
    assert text.splitlines()[-3:] == ["and 5 more", "", "Reinstall Outrider from where you got it."]


@pytest.mark.usefixtures("demo_pair")
def test_a_whole_frozen_program_chats(bundle: Path) -> None:
    done = run_frozen("app.__main__", bundle, "--smoke-test")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["frozen"], report["version"], report["finish_reason"]) == (True, __version__, "stop")
    assert "frozen: yes" in log_text()
    assert report["text"][:20] not in log_text()
    assert "What is Outrider" not in log_text()


@pytest.fixture
def story(shared_gguf: Callable[[str], Path]) -> Path:
    return shared_gguf("stories260K-F32")


@pytest.mark.usefixtures("demo_pair")
def test_a_model_is_opened_for_this_run(open_window: OpenWindow, story: Path, demo_pair: tuple[Path, Path]) -> None:
    mine = Settings(target=str(demo_pair[0]), sources=[str(demo_pair[1])])
    window = open_window(settings=mine, model=story)
    assert window.notices() == []
    exchange = window.ask("Once upon a time")
    assert exchange.reply.strip()
    loaded = window.models.list.loaded
    assert (loaded.target, loaded.sources) == (story, ())
    window.wait(lambda: window.main.bar.target.currentText() == "stories260K · 293K F32")
    window.models.choose_lookahead(2)
    remembered = window.program.settings
    assert (remembered.target, remembered.sources, remembered.lookahead) == (mine.target, mine.sources, 2)
    window.models.choose_target(story)
    window.wait(lambda: window.models.settled)
    assert (remembered.target, remembered.sources) == (str(story), []), "picked, so it is remembered"


@pytest.mark.parametrize("content", [None, b"", b"not a model at all"])
@pytest.mark.usefixtures("demo_pair")
def test_a_file_that_is_no_model_loses_nothing(open_window: OpenWindow, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mine.gguf"
    if content is not None:
        path.write_bytes(content)
    window = open_window(model=path)
    window.wait(window.notices)
    assert window.notices()[0].startswith("Cannot load mine.gguf: ")
    window.wait(lambda: window.models.settled and window.controller.activity.work == "idle", 30_000)
    bundled = window.models.list.bundled
    assert bundled is not None
    assert (window.models.list.loaded.target, *window.models.list.loaded.sources) == bundled
    assert replace(window.program.settings, recent_models=[]) == Settings()
    assert window.ask("What is Outrider?").status == "done"


def test_a_file_and_a_smoke_test_do_not_go_together() -> None:
    done = run_python("-m", "app", "--smoke-test", "mine.gguf")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.usefixtures("demo_pair")
def test_the_smoke_test_takes_the_smallest_model_of_a_folder(
    shared_gguf: Callable[[str], Path], tmp_path: Path
) -> None:
    for name in ("stories260K-F32", "stories-draft43K-F32"):
        shutil.copy(shared_gguf(name), tmp_path)
    (tmp_path / "a.gguf").write_bytes(b"GGUF and nothing else")
    done = run_python("-m", "app", "--smoke-test", "--models-folder", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["frozen"], report["finish_reason"]) == (False, "stop")
    folder = report["folder"]
    assert folder["model"] == "stories-draft43K-F32.gguf"
    assert folder["text"].strip()
    assert folder["finish_reason"] in ("cancelled", "stop", "context")
    assert folder["stats"]["emitted"] > 0


@pytest.mark.usefixtures("demo_pair")
def test_the_smoke_test_fails_where_there_is_nothing_to_load(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF and nothing else")
    done = run_python("-m", "app", "--smoke-test", "--models-folder", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "outrider: the smoke test failed: there is no usable GGUF model in "
        f"{tmp_path}; of the 1 there, none can be used.\n"
    )


OPENED = """
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent
from app.system.application import Application

app = Application(["outrider"])
app.file_opened.connect(lambda path: print("opened", path))
app.sendEvent(app, QFileOpenEvent(QUrl.fromLocalFile("/models/a model.gguf")))
print(app.desktopFileName(), app.windowIcon().isNull())
"""


def test_a_file_that_the_system_hands_over() -> None:
    done = run_python("-c", OPENED, env={"QT_QPA_PLATFORM": "offscreen"})
    assert done.stdout.splitlines() == ["opened /models/a model.gguf", "outrider False"]
