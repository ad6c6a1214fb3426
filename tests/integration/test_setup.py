"""The set-up: what it finds, what it says, and how it shows a compilation."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cards
import llama_build
import pip_runner
import pytest
import set_up
import system
from messages import SetupError

from helpers.paths import ROOT

FIND_PYTHON = ROOT / "packaging" / "setup" / "find_python.sh"


def _fake_python(folder: Path, name: str, version: str) -> None:
    script = folder / name
    script.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
    script.chmod(0o755)


def _find_python(folder: Path, wanted: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(folder)}
    command = ["/bin/sh", str(FIND_PYTHON), wanted]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20, check=False)


def test_takes_the_plain_python_where_it_fits(tmp_path: Path) -> None:
    _fake_python(tmp_path, "python3", "3.11")
    _fake_python(tmp_path, "python3.13", "3.13")
    assert _find_python(tmp_path).stdout.strip() == str(tmp_path / "python3")


def test_passes_over_pythons_that_do_not_fit(tmp_path: Path) -> None:
    _fake_python(tmp_path, "python3", "3.14")
    _fake_python(tmp_path, "python3.12", "3.12")
    assert _find_python(tmp_path).stdout.strip() == str(tmp_path / "python3.12")


def test_says_which_python_is_wanted(tmp_path: Path) -> None:
    _fake_python(tmp_path, "old", "3.9")
    done = _find_python(tmp_path, "old")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "needs Python 3.11, 3.12 or 3.13 (found only 3.9)" in done.stderr
    assert "'none' is not a Python that runs" in _find_python(tmp_path, "none").stderr


def test_ordinary_person_is_told_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = system.Missing(("libegl1", "g++"), ("xvfb",), ("libEGL.so.1", "a compiler"))
    monkeypatch.setattr(system, "find_missing", lambda: missing)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError) as caught:
        system.prepare()
    commands = [line for line in str(caught.value).splitlines() if line.startswith("    ")]
    assert len(commands) == 1
    assert commands[0].strip().startswith("sudo sh -c 'apt-get update && apt-get install")
    assert all(package in commands[0] for package in ("libegl1", "g++", "xvfb"))


def test_what_only_tests_want_stops_nobody(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(system, "find_missing", lambda: system.Missing((), ("xvfb",), ()))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    system.prepare()
    assert "xvfb" in capsys.readouterr().out


def test_other_systems_are_told_what_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = system.Missing(("libegl1",), (), ("libEGL.so.1",))
    monkeypatch.setattr(system, "find_missing", lambda: missing)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(SetupError, match=r"libEGL\.so\.1"):
        system.prepare()


def test_a_missing_library_is_found_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LIBRARIES", {"libno-such-thing.so.7": "libno-such-thing7"})
    assert "libno-such-thing7" in system.find_missing().needed
    assert "libno-such-thing.so.7" in system.find_missing().words


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("NewConnectionError('... Temporary failure in name resolution')", "cannot be downloaded"),
        ("ninja: build stopped: subcommand failed.", "pip failed; its last lines"),
    ],
)
def test_failures_are_explained(line: str, sentence: str) -> None:
    assert sentence in pip_runner.explain_failure(["something else", line], Path("setup.log"))


def test_compilation_shows_its_progress(capsys: pytest.CaptureFixture[str]) -> None:
    progress = pip_runner.Progress(live=False)
    for step in range(1, 201):
        progress.see(f"  [{step}/200] /usr/bin/c++ -c ggml.cpp\n")
    progress.end()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    assert lines[0].startswith("    compiling llama.cpp:   0 %")
    assert lines[-1].startswith("    compiling llama.cpp: 100 %")


def test_steps_of_a_part_are_not_those_of_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    progress = pip_runner.Progress(live=False)
    for step in ("[0/2] Re-checking", "[1/40] a.cpp", "[1/2] vulkan-shaders-gen.cpp", "[2/2] Linking", "[20/40] b.cpp"):
        progress.see(f"  {step}\n")
    progress.end()
    shown = capsys.readouterr().out
    assert " 50 %" in shown
    assert "100 %" not in shown


def test_live_line_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    progress = pip_runner.Progress(live=True)
    progress.see("  Downloading torch-2.13.0-cp311.whl (190.5 MB)\n")
    progress.see("Progress 95 of 190\n")
    progress.see("Installing collected packages: torch, numpy\n")
    progress.end()
    shown = capsys.readouterr().out
    assert "\n" not in shown
    assert "downloading torch-2.13.0-cp311.whl (190.5 MB)  50 %" in shown
    assert "installing 2 packages" in shown


def test_failing_pip_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'ERROR: No space left on device'\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    with pytest.raises(SetupError, match="the disk is full"):
        pip_runner.pip_install(python, "thing", log=tmp_path / "log")
    assert "No space left" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what its processor has")
def test_the_processor_is_what_a_compiler_may_use(tmp_path: Path) -> None:
    script, told = ROOT / "packaging" / "setup" / "processor.sh", tmp_path / "cpuinfo"
    told.write_text(
        "processor\t: 0\nflags\t\t: fpu mmx avx2 avx512_vnni pni smep ibrs fma bmi2\n\nprocessor\t: 1\nflags\t\t: avx\n"
    )
    done = subprocess.run(["/bin/sh", script, told], capture_output=True, text=True, timeout=20, check=False)
    assert done.stdout.split() == ["avx2", "avx512_vnni", "bmi2", "fma", "pni"]
    here = llama_build.processor()
    assert here
    assert set(here.split()) <= set(Path("/proc/cpuinfo").read_text().split())


def test_another_processor_is_set_up_for_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tmp_path / ".ready"
    monkeypatch.setattr(set_up, "READY", ready)
    ready.write_text(set_up._stamp(), encoding="utf-8")
    assert set_up._is_ready()
    before = llama_build.digest_for_here()
    portable = llama_build.digest()
    monkeypatch.setattr(llama_build, "processor", lambda: "avx avx512f")
    assert not set_up._is_ready()
    assert llama_build.digest_for_here() != before, "the compiled wheel of another processor must not be taken"
    assert llama_build.digest() == portable, "what runs on all processors does not depend on this one"
    ready.write_text(f"{ROOT}\n", encoding="utf-8")
    assert not set_up._is_ready(), "made by an earlier version"


def test_the_processor_is_recorded_beside_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llama_cpp"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(set_up, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(llama_build, "processor", lambda: "fma avx")
    set_up._record_processor()
    assert json.loads((package / "lib" / "outrider-processor.json").read_text())["features"] == ["avx", "fma"]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_looks_at_the_processor_too(tmp_path: Path) -> None:
    ready = tmp_path / ".ready"

    def wanted() -> str:
        command = ["make", "-n", "setup", f"READY={ready}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    assert "set_up.py" in wanted()
    ready.write_text(set_up._stamp(), encoding="utf-8")
    assert "set_up.py" not in wanted()
    ready.write_text(f"{ROOT}\navx512f\n", encoding="utf-8")
    assert "set_up.py" in wanted()


def test_a_build_for_graphics_cards_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tmp_path / ".ready"
    monkeypatch.setattr(set_up, "READY", ready)
    monkeypatch.setattr(set_up, "KIND", tmp_path / ".llama-kind")
    ready.write_text(set_up._stamp(), encoding="utf-8")
    assert set_up._kind() == "cpu"
    monkeypatch.setenv("LLAMA_KIND", "vulkan")
    assert set_up._kind() == "vulkan"
    assert not set_up._is_ready()
    set_up.KIND.write_text("vulkan\n", encoding="utf-8")
    assert set_up._is_ready()
    monkeypatch.delenv("LLAMA_KIND")
    assert set_up._kind() == "vulkan"
    monkeypatch.setenv("LLAMA_KIND", "abacus")
    with pytest.raises(SetupError, match="no llama"):
        set_up._kind()
    assert len({llama_build.digest_for_here(kind) for kind in llama_build.KINDS}) == len(llama_build.KINDS)
    assert llama_build.settings("vulkan") == {**llama_build.settings(), "GGML_VULKAN": "ON"}


def test_what_cmake_was_told_is_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build for Debian 12's Vulkan or for one card of CUDA's would fail when llama.cpp is compiled anew."""
    monkeypatch.setattr(set_up, "KIND", tmp_path / ".llama-kind")
    monkeypatch.setattr(set_up, "ARGUMENTS", tmp_path / ".llama-cmake-args")
    monkeypatch.setenv("CMAKE_ARGS", "")
    assert cards.mark("vulkan") == ""
    set_up._recall_arguments("vulkan")
    assert os.environ["CMAKE_ARGS"] == ""
    set_up.KIND.write_text("vulkan\n", encoding="utf-8")
    set_up.ARGUMENTS.write_text("-DA=1 -DB=2\n", encoding="utf-8")
    set_up._recall_arguments("cpu")
    assert os.environ["CMAKE_ARGS"] == ""
    set_up._recall_arguments("vulkan")
    assert os.environ["CMAKE_ARGS"] == "-DA=1 -DB=2"
    assert cards.mark("vulkan") != ""
    monkeypatch.setenv("CMAKE_ARGS", "-DA=2")
    set_up._recall_arguments("vulkan")
    assert os.environ["CMAKE_ARGS"] == "-DA=2"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_sets_up_for_a_graphics_card_where_it_is_asked_to(tmp_path: Path) -> None:
    ready = tmp_path / ".ready"
    ready.write_text(set_up._stamp(), encoding="utf-8")

    def wanted(*asked: str) -> str:
        command = ["make", "-n", "setup", f"READY={ready}", f"VENV={tmp_path}", *asked]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    assert "set_up.py" not in wanted()
    assert "set_up.py" not in wanted("LLAMA=cpu")
    assert 'LLAMA_KIND="vulkan"' in wanted("LLAMA=vulkan")
    (tmp_path / ".llama-kind").write_text("vulkan\n", encoding="utf-8")
    assert "set_up.py" not in wanted()
    assert "set_up.py" not in wanted("LLAMA=vulkan")
    assert 'LLAMA_KIND="cpu"' in wanted("LLAMA=cpu")


@pytest.mark.parametrize("package", ["llama_cpp_python", "PySide6_Essentials", "torch", "pip", "hatchling"])
def test_is_pinned(package: str) -> None:
    assert set_up._pin_of(package).startswith(f"{package}==")


def test_the_environment_is_the_pinned_one() -> None:
    frozen = subprocess.run(
        [sys.executable, "-m", "pip", "freeze", "--exclude-editable"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.split()
    installed = {line.split("==")[0] for line in frozen if "==" in line}
    pinned = {line.split("==")[0] for line in set_up.CONSTRAINTS.read_text(encoding="utf-8").split() if "==" in line}
    extra = {name for name in installed - pinned if not name.startswith(("nvidia", "cuda", "triton"))}
    assert not extra, "installed, but not in constraints.txt"


def test_a_library_that_is_not_found_is_named_in_a_sentence() -> None:
    said = "Traceback…\nRuntimeError: Failed to load 'libllama.so': libcublas.so.13: cannot open shared object file"
    told = set_up.why_not(said)
    assert "the library libcublas.so.13." in told
    assert "LD_LIBRARY_PATH" in told
    assert "Traceback" not in told
    assert "Traceback" in set_up.why_not("Traceback…\nValueError: another")
