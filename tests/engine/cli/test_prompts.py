"""Where `generate` takes its prompt from, short options, several replies, and the scripts for shells."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.generation import sources
from helpers.decoding.ngram import two_core_cost
from helpers.paths import ROOT

Run = Callable[..., list[dict[str, Any]]]
SHORT = ("-t", "1", "-n", "6", "-c", "512")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `generate --json` in this process with a standard input, and give the replies."""

    def generate(*arguments: str, given: str = "") -> list[dict[str, Any]]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        assert main(["generate", "--json", *SHORT, *arguments]) == 0, capsys.readouterr().err
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return generate


def test_a_prompt_from_standard_input_and_from_a_file(run: Run, tmp_path: Path, bundled_target: Path) -> None:
    path = tmp_path / "question.txt"
    path.write_text("Tell me a joke.\n", "utf-8")
    told = run("Tell me a joke.")[0]["tokens"]
    assert run("-", given="Tell me a joke.\n")[0]["tokens"] == told
    assert run(f"@{path}")[0]["tokens"] == told
    assert run("-p", "Tell me a joke.")[0]["tokens"] == told
    (as_it_is,) = run("-p", f"@{path}")
    assert as_it_is["tokens"] != told


def test_a_system_message_and_messages_from_standard_input(run: Run, tmp_path: Path, bundled_target: Path) -> None:
    style = tmp_path / "style.txt"
    style.write_text("You are a pirate.\n", "utf-8")
    messages = [{"role": "system", "content": "You are a pirate."}, {"role": "user", "content": "Hello!"}]
    told = run("--messages", "-", given=json.dumps(messages))[0]
    for system in ("You are a pirate.", f"@{style}"):
        reply = run("--system", system, "Hello!")[0]
        assert (reply["tokens"], reply["prompt_tokens"]) == (told["tokens"], told["prompt_tokens"])
    assert run("--system", "-", "Hello!", given="You are a pirate.")[0]["tokens"] == told["tokens"]
    assert run("Hello!")[0]["prompt_tokens"] < told["prompt_tokens"]


def test_several_replies_have_their_own_seeds(run: Run, bundled_target: Path) -> None:
    drawn = ("--temperature", "1.2", "-s", "7", "Tell me a joke.")
    replies = run("--replies", "3", *drawn)
    assert [reply["seed"] for reply in replies] == [7, 8, 9]
    assert run("--temperature", "1.2", "-s", "8", "Tell me a joke.")[0]["tokens"] == replies[1]["tokens"]
    assert len({reply["seed"] for reply in run("--replies", "2", "--temperature", "1", "Hello!")}) == 2


def test_the_ends_of_replies(run: Run, bundled_target: Path) -> None:
    (reply,) = run("--top", "2", "--min-tokens", "3", "--max-time", "60", "--stop", "nice", "-n", "30", "Hello!")
    assert (reply["finish_reason"], reply["stop_reason"]) == ("stop", "nice")
    assert len(reply["logprobs"]) == len(reply["top"]) == len(reply["tokens"])
    assert reply["top"][0][0]["token"] == reply["tokens"][0]
    (whole,) = run("--ignore-eos", "-n", "40", "Hello!")
    assert (len(whole["tokens"]), whole["finish_reason"]) == (40, "length")


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str], bundled_target: Path) -> None:
    assert main(["generate", *SHORT, "--quiet", "--top", "2", "Hello!"]) == 0
    out, err = capsys.readouterr()
    assert out.strip()
    assert err == ""


def test_a_prediction_is_read_from_a_file(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_cost", lambda *_: two_core_cost)  # Whatever this machine does beside.
    path = tmp_path / "reply.txt"
    (plain,) = run("Tell me a joke.", "--lookahead", "0")
    path.write_text(plain["text"], "utf-8")
    (reply,) = run("Tell me a joke.", "--lookahead", "8", "--prediction", str(path))
    assert reply["tokens"] == plain["tokens"]
    assert reply["stats"]["by_method"]["prediction"]["accepted"]
    for data, said in ((b"a" * 2**19, "too large"), (b"\xff\xfe", "not UTF-8 text"), (None, "No such file")):
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        assert main(["generate", *SHORT, "--prediction", str(path), "Hello!"]) == 2
        assert said in capsys.readouterr().err


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of all shells in a folder."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [sys.executable, "-m", "engine", "completion", shell], cwd=ROOT, capture_output=True, check=True
        )
        (folder / shell).write_bytes(done.stdout)
    return folder


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_shell_and_name_everything(scripts: Path, shell: str) -> None:
    text = (scripts / shell).read_text("utf-8")
    for word in ("generate", "chat", "calibrate", "completion", "max-tokens", "lookaheads", "api-key-file", "thinking"):
        assert word in text
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(scripts / shell)], check=True)


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (("gen",), {"generate"}),
        (("generate", "--max-t"), {"--max-tokens", "--max-time"}),
        (("generate", "--thinking", "o"), {"off", "on"}),
        (("completion", "f"), {"fish"}),
        (("generate", "--method", "e"), {"eagle2", "eagle3"}),
        (("chat", "--cache-type", "q5"), {"q5_0", "q5_1"}),
        (("models", "--js"), {"--json"}),
    ],
)
def test_bash_completes(scripts: Path, typed: tuple[str, ...], found: set[str]) -> None:
    words = " ".join(("outrider-engine", *typed))
    script = f"""
source {scripts / "bash"}
COMP_WORDS=({words}); COMP_CWORD={len(typed)}; COMP_LINE="{words}"; COMP_POINT=${{#COMP_LINE}}
$(complete -p outrider-engine | sed 's/.*-F \\([^ ]*\\).*/\\1/') outrider-engine {typed[-1]} {words.split()[-2]}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == found, done.stderr
