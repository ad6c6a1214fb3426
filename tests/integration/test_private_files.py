"""Whatever the umask, what the program makes is for its owner alone: files 0600, folders 0700."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.processes import run_python
from helpers.window.window_orders import WindowUnderOrders

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders of a profile are private there")
UMASKS = (0o000, pytest.param(0o022, marks=pytest.mark.soak))
LONGEST_S = 60.0


def _environment(profile: Path) -> dict[str, str]:
    homes = {f"XDG_{kind}_HOME": str(profile / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
    return os.environ | homes | {"HOME": str(profile), "QT_QPA_PLATFORM": "offscreen"}


def _open_to_others(profile: Path) -> list[str]:
    """Everything below the profile that others than its owner may use, with its mode."""
    wrong = []
    for path in profile.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if not path.is_symlink() and mode != (0o700 if path.is_dir() else 0o600):
            wrong.append(f"{mode:o} {path.relative_to(profile)}")
    return wrong


def _names(profile: Path) -> set[str]:
    return {path.name for path in profile.rglob("*") if path.is_file()}


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_a_window_that_is_used(umask: int, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir(0o700)
    with WindowUnderOrders(profile, {"HOME": str(profile)}, umask) as window:
        window.begin()
        window.do("ask", "Hello")
        window.do("set", "theme", "dark")
        window.do("export", "json", str(profile / "chat.json"))
        window.do("export", "markdown", str(profile / "chat.md"))
        window.do("import", str(profile / "chat.json"))
        window.until_saved()
        at_work, wrong = _names(profile), _open_to_others(profile)
        assert window.quit() == 0
    store = "conversations.sqlite3"
    made = {"settings.json", "chat.json", "chat.md", store, f"{store}-wal", f"{store}-shm", f"{store}-lock"}
    assert made | {f"{store}.lock", "outrider.log"} <= at_work
    assert not wrong
    assert not _open_to_others(profile)


def _start(profile: Path, umask: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "app"], cwd=ROOT, env=_environment(profile), stdin=subprocess.DEVNULL, umask=umask
    )


def _until_opened(profile: Path, window: "subprocess.Popen[bytes]") -> None:
    limit = time.monotonic() + LONGEST_S
    while not {"conversations.sqlite3-wal", "outrider.log"} <= _names(profile):
        assert time.monotonic() < limit, _names(profile)
        assert window.poll() is None
        time.sleep(0.05)


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_the_program_takes_back_what_an_earlier_one_left_open(umask: int, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    (profile / "cache").mkdir(parents=True)
    (profile / "data").mkdir()
    profile.chmod(0o755)
    for folder in ("config/outrider", "data/outrider", "state/outrider/log", "cache/outrider/costs"):
        place = profile / folder
        place.mkdir(parents=True)
        (place / "of an earlier version").touch()
        place.chmod(0o777)
        (place / "of an earlier version").chmod(0o666)
    (profile / "config/outrider/settings.json").write_text('{"theme": "dark"}')
    parents = [profile, *(profile / name for name in ("config", "data", "cache"))]
    modes = [path.stat().st_mode for path in parents]
    window = _start(profile, umask)
    try:
        _until_opened(profile, window)
        second = _start(profile, umask)
        assert second.wait(LONGEST_S) == 0
        wrong = _open_to_others(profile)
    finally:
        window.terminate()
        assert window.wait(LONGEST_S) == 0
    assert [path.stat().st_mode for path in parents] == modes, "folders of others"
    ours = [line for line in wrong + _open_to_others(profile) if "outrider" in line.partition(" ")[2]]
    assert not ours


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_the_command_line(umask: int, tmp_path: Path, bundled_target: Path, bundled_draft: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    pair = ("--target", str(bundled_target), "--draft", str(bundled_draft))
    short = ("--lookaheads", "2", "--repeats", "1", "--max-tokens", "6")
    for command in (
        ("generate", *pair, "--max-tokens", "8", "Hello"),
        ("models", str(bundled_target.parent)),
        ("calibrate", *pair),
        ("bench", *pair, *short, "--plot", str(profile / "plot.png")),
    ):
        done = run_python("-m", "engine", *command, env=_environment(profile), umask=umask)
        assert done.returncode == 0, done.stderr
    assert {"plot.png", "passed.json"} <= _names(profile)
    assert {path.name for path in (profile / "cache/outrider").iterdir() if path.is_dir()} >= {"library", "costs"}
    assert not _open_to_others(profile)
