"""`python -m app`, as its users run it: in a process of its own."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from engine import __version__
from helpers import xvfb
from helpers.processes import run_python


def offscreen() -> dict[str, str]:
    """The environment for a window that nobody sees."""
    return os.environ | {"QT_QPA_PLATFORM": "offscreen"}


_TRAP = """
import sys
from pathlib import Path

def trap(event, args):
    places = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1, "socket.sendto": 1}
    places |= {"socket.bind": 1, "subprocess.Popen": 0, "os.exec": 0, "os.posix_spawn": 0, "os.system": 0}
    if event in places:
        asked = args[places[event]]
        with Path(sys.argv[1]).open("a") as file:
            file.write(f"{event} {asked!r}\\n")

sys.addaudithook(trap)
from app.__main__ import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.usefixtures("demo_pair")
def test_smoke_test_offscreen(tmp_path: Path) -> None:
    """A whole run, from the start over a reply of the bundled pair to the end, connects to nobody.

    It listens nowhere, and starts no program but itself.
    """
    picture, asked = tmp_path / "window.png", tmp_path / "asked.txt"
    arguments = (str(asked), "--smoke-test", "--screenshot", str(picture))
    done = run_python("-c", _TRAP, *arguments, env=offscreen())
    check_smoke(done.returncode, done.stdout, done.stderr)
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = asked.read_text().splitlines() if asked.exists() else []
    started = [line for line in told if line.split()[0] in ("subprocess.Popen", "os.posix_spawn")]
    own = {repr(sys.executable), "'uname'"}  # With the latter Python finds out which processor there is.
    assert {line.split(maxsplit=1)[1] for line in started} <= own, started
    others = [line for line in told if line not in started]
    assert [line for line in others if line.split()[0] != "socket.connect" or "127.0.0.1" not in line] == []


@pytest.mark.usefixtures("demo_pair")
def test_smoke_test_in_a_real_x_window(x_display: str) -> None:
    done = run_python("-m", "app", "--smoke-test", "--prompt", "Hello!", env=xvfb.environment(x_display))
    check_smoke(done.returncode, done.stdout, done.stderr)


def check_smoke(code: int, out: str, err: str) -> None:
    """One line of JSON, and nothing else."""
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    report = json.loads(out)
    assert report["text"].strip()
    assert report["finish_reason"] == "stop"
    stats = report["stats"]
    assert stats["emitted"] > 0
    assert 0.0 < stats["acceptance_rate"] <= 1.0
    assert 0.0 < report["first_paint_ms"] < 30_000.0
    assert 0.0 < report["first_token_ms"] < 60_000.0


def test_a_smoke_test_that_fails_says_why_in_one_line(tmp_path: Path) -> None:
    code = (
        "import app.shell.bootstrap, engine, sys\n"
        "def missing(): raise engine.LoadFailed('demo-target.gguf', 'it is missing.')\n"
        "app.shell.bootstrap.bundled_pair = missing\n"
        "from app.__main__ import main\n"
        "sys.exit(main(['--smoke-test']))\n"
    )
    done = run_python("-c", code, env=offscreen())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "outrider: the smoke test failed: Cannot load demo-target.gguf: it is missing.\n"


def test_help_and_version() -> None:
    done = run_python("-m", "app", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"Outrider {__version__}\n", "")
    done = run_python("-m", "app", "--help")
    assert done.returncode == 0
    assert "--smoke-test" in done.stdout


def test_wrong_usage_is_one_line() -> None:
    done = run_python("-m", "app", "--nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="about X11 and Wayland")
def test_no_display_is_one_line() -> None:
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    done = run_python("-m", "app", env={name: value for name, value in os.environ.items() if name not in hidden})
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no display" in done.stderr
    assert done.stderr.count("\n") == 1


def test_starting_imports_no_model_library_and_no_qt_for_hidden_commands() -> None:
    assert imported_by("app.__main__", {"PySide6", "llama_cpp", "torch", "transformers"}) == "[]\n"
    assert imported_by("app.shell.bootstrap", {"pyqtgraph", "llama_cpp", "torch", "transformers"}) == "[]\n"


def imported_by(module: str, heavy: set[str]) -> str:
    """Which of these modules come in with another."""
    code = f"import {module}, sys; print(sorted({heavy!r} & set(sys.modules)))"
    return run_python("-c", code, env=offscreen()).stdout


STUCK = """
import asyncio, functools, sys, time
from pathlib import Path
import app.shell.bootstrap as bootstrap
from app.settings.settings import SettingsFile
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder

class Stuck(ScriptedDecoder):
    def stream(self, prompt, **more):
        if "Hello" in repr(prompt):  # Not the reply that the first start shows.
            time.sleep(60)
        yield from super().stream(prompt, **more)

bootstrap.bundled_pair = lambda: (Path("big.gguf"), Path("small.gguf"))
bootstrap.build = functools.partial(bootstrap.build, make_decoder=lambda: Stuck(Script()))

async def script(program, loop):
    while not program.models.settled:
        await asyncio.sleep(0.02)
    program.window.prompt_sent.emit("Hello")
    await asyncio.sleep(0.3)
    print(time.monotonic(), flush=True)
    return 0

sys.exit(bootstrap.run(["outrider"], SettingsFile(None), script=script))
"""


def test_closing_does_not_wait_for_an_engine_that_hangs() -> None:
    done = run_python("-c", STUCK, env=offscreen(), timeout=50)
    ended = time.monotonic()
    assert (done.returncode, done.stderr) == (0, "")
    assert ended - float(done.stdout) < 2.5, "two seconds, and some for this test's own process"
