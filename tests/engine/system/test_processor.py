"""A llama.cpp that was compiled for another processor is refused in one sentence, before it can end the program."""

import json
import os
import sys
from pathlib import Path

import pytest

from engine import NotAvailable, check_processor
from engine.system import processor
from helpers.paths import ROOT, TESTS
from helpers.processes import run_python
from helpers.window_orders import WindowUnderOrders

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what its processor has")
DEADLY = "import os\nos.kill(os.getpid(), 4)\n"
HERE, ELSEWHERE = ("avx", "fma"), ("avx512_future", "amx_future", "avx", "sve9", "sve99")
SAID = "for a processor with instructions that this one lacks (amx_future, avx512_future, sve9, …)"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed llama.cpp that ends whoever imports it, on a processor with little."""
    package = tmp_path / "elsewhere" / "llama_cpp"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text(DEADLY)
    (package / "lib" / "libggml-cpu.so").write_bytes(b"\x7fELF")
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx fma\n")
    monkeypatch.setattr(processor, "_library_folder", lambda: package / "lib")
    monkeypatch.setattr(processor, "_CPUINFO", cpuinfo)
    return package


def test_the_same_processor(library: Path) -> None:
    check_processor()
    processor.record_processor(HERE)
    check_processor()


def test_one_that_has_less(library: Path) -> None:
    processor.record_processor(ELSEWHERE)
    with pytest.raises(NotAvailable) as caught:
        check_processor()
    assert SAID in str(caught.value)


def test_a_library_that_was_installed_since(library: Path) -> None:
    processor.record_processor(ELSEWHERE)
    (library / "lib" / "libggml-cpu.so").write_bytes(b"\x7fELF, another one")
    check_processor()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"features": 7}', b'{"features": 7, "library": []}', b"\xff"])
def test_a_record_that_makes_no_sense(library: Path, content: bytes) -> None:
    (library / "lib" / processor.RECORD).write_bytes(content)
    check_processor()


def test_a_system_that_does_not_tell(library: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    processor.record_processor(ELSEWHERE)
    for content in (b"", b"cpu: 750FX\n"):
        (tmp_path / "cpuinfo").write_bytes(content)
        check_processor()
    monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "nothing")
    check_processor()


def _path(library: Path) -> str:
    return os.pathsep.join(map(str, (library.parent, TESTS, ROOT)))


def test_the_command_line(library: Path) -> None:
    processor.record_processor(ELSEWHERE)
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from engine.__main__ import main; sys.exit(main())"
    for command, status in ((("generate", "Hello"), 2), (("calibrate",), 2), (("bench",), 2), (("--version",), 0)):
        done = run_python("-c", code, str(library.parent), *command)
        assert done.returncode == status, done
        said = done.stderr if status else done.stdout
        assert SAID in said
        assert SAID in said.splitlines()[-1]
        assert "Traceback" not in done.stderr


def test_the_window(library: Path, tmp_path: Path) -> None:
    processor.record_processor(ELSEWHERE)
    profile = tmp_path / "profile"
    profile.mkdir()
    with WindowUnderOrders(profile, {"PYTHONPATH": _path(library)}) as window:
        window.begin()
        told = window.do("look")
        assert window.quit() == 0
    assert [SAID in each for each in told["said"]] == [True]
    assert json.loads((profile / "settings.json").read_text())
