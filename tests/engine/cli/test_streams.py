"""The command line at its edges: Ctrl+C at any moment, pipes that end, disks that are full, narrow encodings, notes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine import __version__
from engine.backends.llama_cpp import library
from engine.cli.main import main
from helpers.paths import BUNDLED_MODELS, ROOT
from helpers.processes import run_engine

CANCELLED = "outrider-engine: The request was cancelled.\n"
MODELS = str(BUNDLED_MODELS)
_INTERRUPT_AT = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""


def _start(*arguments: str, folder: Path | None = None, **options: object) -> subprocess.Popen[bytes]:
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([*([str(folder)] if folder else []), str(ROOT)])
    environment |= {str(name): str(value) for name, value in options.items() if name.isupper()}
    process: subprocess.Popen[bytes] = subprocess.Popen(
        [sys.executable, "-m", "engine", *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=options.get("stdout", subprocess.PIPE),  # type: ignore[call-overload]
        stderr=subprocess.PIPE,
    )
    return process


@pytest.mark.parametrize(
    ("command", "module"),
    [
        *(
            (("models", MODELS), name)
            for name in ("engine.cli.main", "rich.console", "engine.cli.models", "rich.table")
        ),
        *((("presets",), name) for name in ("engine.cli.presets", "engine.library.presets")),
        *((("generate", "Hello"), name) for name in ("engine.cli.generate", "numpy", "engine.decoder", "llama_cpp")),
    ],
)
def test_ctrl_c_at_any_moment(command: tuple[str, ...], module: str, tmp_path: Path) -> None:
    """One line, wherever it comes: here in the middle of the imports, in which a short command spends its time."""
    (tmp_path / "sitecustomize.py").write_text(_INTERRUPT_AT.format(name=module))
    process = _start(*command, folder=tmp_path)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode() in (CANCELLED, CANCELLED.replace("The request", "Loading the model"))


def test_ctrl_c_twice_says_so_too(tmp_path: Path) -> None:
    """Who presses it again does not wait for a model that is being loaded: the library is asked for and never comes."""
    once = "os.kill(os.getpid(), signal.SIGINT)"
    twice = _INTERRUPT_AT.format(name="llama_cpp").replace(once, f"[({once}, time.sleep(1)) for _ in range(2)]")
    (tmp_path / "sitecustomize.py").write_text("import time\n" + twice)
    process = _start("generate", "Hello", folder=tmp_path)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode()) == (130, CANCELLED)


def test_ctrl_c_inside_this_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.cli.main._run", interrupted)
    assert main(["models", MODELS]) == 130
    assert capsys.readouterr().err == CANCELLED


def test_who_ignores_ctrl_c_goes_on_ignoring_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + _INTERRUPT_AT.format(name="rich.table")
    )
    process = _start("models", MODELS, folder=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"demo-target" in out


@pytest.mark.parametrize("command", [("models", MODELS), ("presets",), ("--help",)])
def test_narrow_encodings(command: tuple[str, ...]) -> None:
    process = _start(*command, PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert out.decode("ascii").strip()


@pytest.mark.parametrize(
    "command", [("models", MODELS), ("presets",), ("presets", "--json"), ("models", MODELS, "--json")]
)
def test_nobody_reads_on(command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = _start(*command, stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command", [("models", MODELS), ("presets", "--json"), ("generate", "--max-tokens", "4", "Hi")]
)
def test_a_full_disk(command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = _start(*command, stdout=full)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.decode().splitlines()[-1] == "outrider-engine: Cannot write the output: No space left on device."
    assert "Traceback" not in err.decode()


def test_what_is_ignored_beside_messages(tmp_path: Path) -> None:
    turns = tmp_path / "turns.json"
    turns.write_text(json.dumps([{"role": "user", "content": "Hello"}]))
    done = run_engine(
        *("generate", "--json", "--max-tokens", "2", "--messages", str(turns), "--raw", "--folder", "x", "Hello")
    )
    assert done.returncode == 0
    for note in ("PROMPT is ignored beside --messages.", "--raw is ignored beside", "--folder is ignored without"):
        assert f"outrider-engine: {note}" in done.stderr


def test_options_that_do_nothing(bundled_target: Path) -> None:
    done = run_engine(
        *("generate", "--json", "--max-tokens", "2", "--target", str(bundled_target), "--ctx", "999999", "Hello")
    )
    assert done.returncode == 0
    assert f"outrider-engine: {bundled_target.stem} was trained with a context of " in done.stderr


@pytest.mark.parametrize("compiled", [True, False])
def test_the_version_tells_of_a_stock_build(
    compiled: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(library, "has_kernels", lambda: compiled)
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    lines = [f"Outrider {__version__}"] + ([] if compiled else [library.STOCK_BUILD])
    assert capsys.readouterr().out.splitlines() == lines
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
