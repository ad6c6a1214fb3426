"""A llama.cpp that was compiled for another processor is refused in one sentence, before it can end the program."""

import sys
from pathlib import Path

import pytest

from engine import NotAvailable
from engine.host import check_processor
from engine.system import processor
from helpers.children.other_processor import ELSEWHERE, SAID, deadly_llama
from helpers.processes import run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what its processor has")
HERE = ("avx", "fma")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return deadly_llama(tmp_path, monkeypatch)


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
