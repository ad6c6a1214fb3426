"""Standard streams that are closed or cannot write every character: one line, or the reply all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT, TESTS

_REPLY = ("generate", "-m", "demo", "-d", "none", "-n", "4", "--lookahead", "0")


def _run(shell: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "engine", *arguments]
    return subprocess.run(
        ["sh", "-c", f'"$@" {shell}', "sh", *command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(ROOT)])} | environment,
        capture_output=True,
        timeout=100,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
@pytest.mark.parametrize(("shell", "arguments"), [("<&-", _REPLY), (">&-", (*_REPLY, "Hi")), ("2>&-", (*_REPLY, "Hi"))])
def test_a_closed_stream_is_one_line(shell: str, arguments: tuple[str, ...]) -> None:
    done = _run(shell, *arguments)
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == (shell != "2>&-")


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
def test_a_closed_input_does_not_matter_where_a_prompt_is_given(tried_pair: None) -> None:
    assert _run("<&-", *_REPLY, "Hi").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
def test_what_the_output_cannot_write_is_replaced(tried_pair: None, tmp_path: Path) -> None:
    file = tmp_path / "grammar.lark"
    file.write_text('start: "\N{SLIGHTLY SMILING FACE}"', encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = _run("", *_REPLY[:-4], "--grammar", str(file), "Hi", **ascii_only)
    assert done.returncode == 0, done.stderr
    assert b"\\U0001f642" in done.stdout
