"""The smoke test of frozen programs: it passes a program that behaves, and names each way in which one does not."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep

import pytest
import smoke_test
from smoke_run import Command, Outcome, Sandbox, name_of_crash, program_process

from helpers import xvfb
from helpers.children import fake_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the program that is tested here is a POSIX script")


def _test(tmp_path: Path, faults: tuple[str, ...], *options: str) -> int:
    program = fake_program.install(tmp_path / "program", *faults)
    quick = ("--offscreen", "--stay", "0.4", "--timeout", "20")
    return smoke_test.main([*quick, *options, str(program)])


def test_a_program_that_behaves_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "a.gguf").touch()
    report = tmp_path / "report.json"
    assert _test(tmp_path, (), "--models", str(models), "--json", str(report)) == 0, capsys.readouterr().out
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["ok"]
    assert found["figures"]["version"] == fake_program.VERSION
    assert found["figures"]["folder_model"] == "a.gguf"
    assert len(found["steps"]) == 11
    assert not any(step["problems"] for step in found["steps"])


@pytest.mark.parametrize(
    "said_of",
    [
        {
            "noise": "unexpected on stderr: qt.qpa.plugin: Could not find the Qt platform plugin",
            "versions": "--version printed 'Outrider 1.0\\n'",
            "talk": "not one line of JSON",
            "child": "it left processes behind",
            "traceback": "stderr is not one line that names the model",
            "writes": "changed in the program's folder: resources",
        },
        {
            "no window": "the window did not stay",
            "wrong sum": "the tokens do not add up: emitted 6, accepted 3",
            "other text": "the replies are not one and the same",
            "no text": "the reply is empty",
        },
        {"crash": "it crashed: SIGSEGV", "mute": "it wrote nothing: ''"},
    ],
)
def test_each_fault_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], said_of: dict[str, str]) -> None:
    assert _test(tmp_path, tuple(said_of)) == 1
    shown = capsys.readouterr().out
    assert [said for said in said_of.values() if said not in shown] == [], shown


def test_what_hangs_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smoke_test, "END_S", 0.3)
    assert _test(tmp_path, ("hang", "deaf"), "--timeout", "2") == 1
    shown = capsys.readouterr().out
    assert "it hung and was killed after 2 s; its last line was: loading the model" in shown
    assert "it had printed nothing" in shown


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler for the decoy")
def test_a_library_from_the_current_directory_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # -S and -I keep Python's own modules out, so that only the library is tried.
    assert _test(tmp_path, ("loads",)) == 1
    assert "it loaded ['a', 'library'] from the current directory" in capsys.readouterr().out


def test_a_program_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke_test.main(["--offscreen", "--stay", "0", str(tmp_path / "outrider")]) == 1
    assert f"{tmp_path / 'outrider'} cannot be started: No such file or directory" in capsys.readouterr().out


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are told apart on Linux only")
def test_the_program_is_told_from_what_runs_it() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "/bin/sleep 60; true"]) as shell:
        ends = perf_counter() + 10.0
        while (found := program_process(shell.pid, "/bin/sleep")) == shell.pid and perf_counter() < ends:
            sleep(0.01)
        os.kill(found, signal.SIGKILL)
        assert shell.wait(10) == 0
        assert found != shell.pid


@pytest.mark.skipif(not xvfb.available(), reason="Xvfb is not installed")
def test_a_display_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = fake_program.install(tmp_path / "program")
    assert smoke_test.main(["--stay", "0.4", str(program)]) == 0
    assert "outrider: Xvfb on :" in capsys.readouterr().out


def test_every_line_on_stderr_is_a_problem() -> None:
    said = list(Outcome(0, "", "known: a\n\n", 1.0).problems())
    assert said == ["unexpected on stderr: known: a", "unexpected on stderr: "]


def test_ends_are_told_apart() -> None:
    assert list(Outcome(0, "", "", 1.0).problems()) == []
    assert list(Outcome(3, "", "", 1.0).problems()) == ["it ended with exit code 3, not 0"]
    assert name_of_crash(-signal.SIGABRT) == "SIGABRT"
    assert name_of_crash(128 + signal.SIGSEGV) == "SIGSEGV"
    assert name_of_crash(2) is None


def test_links_are_followed_as_behind_a_chroot(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in ("tmp", "usr/bin", "usr/lib/outrider"):
        (root / folder).mkdir(parents=True)
    (root / "usr/lib/outrider/outrider").touch()
    (root / "usr/bin/outrider").symlink_to("../lib/outrider/outrider")
    (root / "usr/bin/other").symlink_to("/usr/bin/outrider")
    sandbox = Sandbox(root / "tmp", root)
    for name in ("outrider", "other"):
        assert sandbox.follow(f"/usr/bin/{name}") == root / "usr/lib/outrider/outrider"
    assert sandbox.environment["HOME"] == f"/{sandbox.home.relative_to(root)}"
    assert sandbox.real(sandbox.environment["HOME"]) == sandbox.home


def test_commands_are_understood(tmp_path: Path) -> None:
    chroot = Command.parse(("chroot", "/r", "/usr/bin/outrider"), "outrider", in_root=True)
    engine = chroot.engine()
    assert engine is not None
    assert engine.words == ("chroot", "/r", "/usr/bin/outrider-engine")
    assert engine.within("/empty") == ("chroot", "/r", "env", "-C", "/empty", "/usr/bin/outrider-engine")
    source = Command.parse(("python3", "-m", "app"), "outrider", in_root=False).engine()
    assert source is not None
    assert source.words == ("python3", "-m", "engine")
    assert Command.parse(("something",), "outrider", in_root=False).engine() is None


def test_a_relative_program_is_found_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_program.install(tmp_path / "program")
    monkeypatch.chdir(tmp_path)
    command = Command.parse((os.path.join("program", "outrider"),), "outrider", in_root=False)  # noqa: PTH118
    assert command.name == str(tmp_path / "program" / "outrider")


@pytest.mark.parametrize("arguments", [[], ["--models", "/no/such/folder", "outrider"]])
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        smoke_test.main(arguments)
    assert caught.value.code == 2
