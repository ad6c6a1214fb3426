"""`serve` as a process: it answers, says where it is, ends on a signal, and refuses what is not safe."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.processes import run_engine


def test_it_answers_and_ends_on_a_signal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "engine", "serve", "--port", "0", "--target", "demo", "--draft", "demo"]
    command += ["--cache-folder", str(tmp_path / "caches")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "Ctrl+C ends it" in line)
            found = re.search(r"http://127\.0\.0\.1:\d+/v1", line)
            assert found is not None
            body = json.dumps({"messages": [{"role": "user", "content": "Hello! " * 60}], "max_tokens": 5}).encode()
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{found[0]}/chat/completions", body, headers)  # noqa: S310
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                assert json.load(response)["usage"]["completion_tokens"] == 5
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    assert list(tmp_path.glob("caches/*/*.kv")), "what was read outlasts it, where that is asked for"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--host", "0.0.0.0"), "Other machines could use 0.0.0.0: name a key with --api-key-file"),  # noqa: S104
        (("--host", "999.1.1.1"), "999.1.1.1 is no address"),
        (("--host", ""), "An empty text is no address"),
        (("--host", "example.org"), "name a key with --api-key-file"),
        (("--port", "70000"), "The port must be a whole number from 0 to 65535."),
        (("--api-key-file", "none.txt"), "Cannot read none.txt"),
        (("--cache-folder", "pyproject.toml"), "pyproject.toml cannot hold caches: File exists."),
    ],
)
def test_what_is_not_safe_is_refused(options: tuple[str, ...], said: str) -> None:
    done = run_engine("serve", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_key_is_none(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("\n", "utf-8")
    done = run_engine("serve", "--api-key-file", str(path))
    assert done.returncode == 2
    assert "holds no key" in done.stderr
