"""The command line: its options, its JSON, its exit codes, and one clear line where something is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine._version import __version__
from engine.cli.main import main
from engine.stats import GenerationStats
from helpers.paths import ROOT
from helpers.processes import run_engine

PAIR = ("stories260K-F32", "stories-draft43K-F32")
Models = tuple[str, ...]


@pytest.fixture
def models(shared_gguf: Callable[[str], Path]) -> Models:
    """Options that choose a small real pair."""
    return ("--target", str(shared_gguf(PAIR[0])), "--draft", str(shared_gguf(PAIR[1])), "--threads", "1")


Generate = Callable[..., dict[str, Any]]


@pytest.fixture
def generate(capsys: pytest.CaptureFixture[str]) -> Generate:
    """Run `generate --json` in this process and give the one reply."""

    def run(*arguments: str) -> dict[str, Any]:
        assert main(["generate", "--json", *arguments]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1
        reply: dict[str, Any] = json.loads(lines[0])
        return reply

    return run


def _complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a wrong call ends with."""
    try:
        code = main(["generate", *arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def test_json_has_the_promised_form(generate: Generate, models: Models) -> None:
    reply = generate(*models, "--lookahead", "4", "--max-tokens", "30", "--raw", "Once upon a time")
    assert set(reply) == {
        *("text", "tokens", "prompt_tokens", "prompt_evaluated", "finish_reason", "method", "lookahead", "stats"),
        *("advice", "notes", "dropped_turns", "reasoning", "content", "tool_calls", "device", "batch_invariant"),
        *("stop_reason", "seed", "logprobs", "top", "schema", "version", "target", "draft"),
    }
    assert (reply["schema"], reply["version"], reply["target"], reply["draft"]) == (1, __version__, *PAIR)
    stats = GenerationStats.from_dict(reply["stats"])
    assert reply["stats"]["emitted"] == len(reply["tokens"]) == 30 == stats.emitted
    assert reply["stats"]["acceptance_rate"] == stats.accepted / stats.proposed
    assert (reply["finish_reason"], reply["method"], reply["lookahead"]) == ("length", "draft-model", 4)
    assert isinstance(reply["text"], str)
    assert reply["stats"]["speedup"] is None


def test_speculative_and_plain_say_the_same(generate: Generate, models: Models) -> None:
    common = (*models, "--max-tokens", "60", "--raw", "Once upon a time")
    plain = generate("--lookahead", "0", *common)
    assert plain["method"] == "autoregressive"
    assert plain["stats"]["target_forwards"] == 60
    for options in (("--lookahead", "7"), ("--lookahead", "auto"), ("--force-n1",), ("--acceptance", "exact")):
        assert generate(*options, *common)["tokens"] == plain["tokens"]


def test_seed_and_sampling_options(generate: Generate, models: Models) -> None:
    options = ("--temperature", "0.9", "--top-k", "40", "--top-p", "0.95", "--min-p", "0.02", "--typical", "0.95")
    more = ("--repeat-penalty", "1.1", "--presence-penalty", "0.1", "--frequency-penalty", "0.1")
    call = (*models, *options, *more, "--draft-temperature", "0.5", "--max-tokens", "25", "--raw", "Once")
    first, second = (generate("--seed", "7", *call)["tokens"] for _ in range(2))
    assert first == second != generate("--seed", "8", *call)["tokens"]


def test_tokens_and_stop_strings(generate: Generate, models: Models) -> None:
    reply = generate(*models, "--tokens", "--stop", "time", "--stop", "girl", "--max-tokens", "60", "1, 403, 407,261")
    assert reply["prompt_tokens"] == 4
    assert reply["finish_reason"] in ("stop", "length")
    assert "girl" not in reply["text"]


def test_what_the_reply_begins_with(models: Models, capsys: pytest.CaptureFixture[str], generate: Generate) -> None:
    call = (*models, "--max-tokens", "4", "--lookahead", "0", "--raw", "Once upon")
    reply = generate(*call, "--prefix", " a time")
    assert main(["generate", *call, "--quiet", "--prefix", " a time"]) == 0
    assert capsys.readouterr().out == f" a time{reply['text']}\n"
    assert reply["tokens"] == generate(*call[:-1], "Once upon a time")["tokens"]
    assert "once only" in _complaint(capsys, *models, "--prefix", "-", "-")


def test_documents_are_read_and_given(
    generate: Generate, models: Models, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (*models, "--max-tokens", "4", "--lookahead", "0", "Who lives in the forest?")
    path = tmp_path / "notes.txt"
    path.write_text("A fox lives in the forest.", encoding="utf-8")
    told = generate("--document", str(path), *call)["prompt_tokens"]
    assert told > generate(*call)["prompt_tokens"] + 10
    assert main(["generate", "--document", str(tmp_path / "gone.pdf"), *call]) == 2
    assert "Cannot read gone.pdf: " in capsys.readouterr().err


def test_constraints_from_files(generate: Generate, models: Models, tmp_path: Path) -> None:
    schema, grammar, bad = tmp_path / "schema.json", tmp_path / "grammar.lark", tmp_path / "bad.json"
    schema.write_text('{"enum": ["Tim", "Lily"]}', "utf-8")
    grammar.write_text('start: "the " ("dog" | "cat")', "utf-8")
    bad.write_text('{"not": {}}', "utf-8")
    assert json.loads(generate(*models, "--json-schema", str(schema), "--raw", "Once")["content"]) in ("Tim", "Lily")
    assert generate(*models, "--grammar", str(grammar), "--raw", "Once")["text"] in ("the dog", "the cat")
    for options, said in (
        (("--json-schema", str(bad)), "bad.json: The JSON schema uses keywords that cannot be enforced: not."),
        (("--json-schema", str(schema), "--grammar", str(grammar)), "--json-schema and --grammar exclude each other."),
        (("--grammar", str(tmp_path / "none")), "Cannot read"),
    ):
        done = run_engine("generate", *options, "Once")
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_messages_are_answered_in_one_process(models: Models, tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "Once upon a time"},
        {"role": "user", "content": "Then"},
        {"role": "assistant", "content": "the dog ran."},
        {"role": "user", "content": "After that"},
    ]
    path = tmp_path / "turns.json"
    path.write_text(json.dumps(turns), "utf-8")
    done = run_engine("generate", "--json", *models, "--max-tokens", "12", "--messages", str(path))
    assert done.returncode == 0, done.stderr
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(replies) == 3
    assert replies[0]["prompt_evaluated"] == replies[0]["prompt_tokens"]
    for reply in replies[1:]:
        assert reply["prompt_evaluated"] < reply["prompt_tokens"]


def test_results_of_tools_are_answered(models: Models, tmp_path: Path) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "What time is it?"}]},
        {"role": "assistant", "content": None, "reasoning_content": "I ask twice.", "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": "a", "content": "Noon"},
        {"role": "tool", "tool_call_id": "a", "content": "Late"},
    ]
    path = tmp_path / "turns.json"
    path.write_text(json.dumps(turns), "utf-8")
    done = run_engine("generate", "--json", *models, "--max-tokens", "4", "--messages", str(path))
    assert done.returncode == 0, done.stderr
    # One reply to the question, and one to both results.
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert second["prompt_tokens"] > first["prompt_tokens"]


def test_people_get_text_and_a_line_of_statistics(generate: Generate, models: Models) -> None:
    reply = generate(*models, "--max-tokens", "20", "--raw", "Once upon a time")
    done = run_engine("generate", *models, "--max-tokens", "20", "--raw", "Once upon a time")
    assert done.returncode == 0
    assert done.stdout == reply["text"] + "\n"
    assert "20 tokens · " in done.stderr
    assert "draft-model, finish reason: length" in done.stderr


def test_without_a_target_the_bundled_pair_answers(
    generate: Generate, bundled_target: Path, bundled_draft: Path
) -> None:
    reply = generate("--max-tokens", "60", "Hello!")
    assert reply["method"] == "draft-model"
    assert reply["text"].strip()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "There is no prompt"),
        (("--lookahead", "33", "x"), "Lookahead must be a whole number from 0 to 32"),
        (("--lookahead", "fast", "x"), "'adaptive' or 'auto', not 'fast'"),
        (("--temperature", "-1", "x"), "temperature must be"),
        (("--temperature", "warm", "x"), "--temperature must be a number, not 'warm'"),
        (("--seed", "x", "x"), "--seed must be a whole number, not 'x'"),
        (("--thinking", "hard", "x"), "--thinking must be one of default, off, on, low, medium, high"),
        (("--top-p", "0", "x"), "--top-p must be"),
        (("--method", "magic", "x"), "Unknown method 'magic'"),
        (("--method", "ngramm", "x"), "Did you mean ngram?"),
        (("--method", "draft-model", "--target", "demo", "x"), "name one with --draft"),
        (("--temp", "1", "x"), "Did you mean --temperature?"),
        (("--max-token", "1", "x"), "Did you mean --max-tokens? (see outrider-engine generate --help)"),
        (("two", "words"), "Put a text of several words in quotes"),
        (("--replies", "0", "x"), "--replies must be"),
        (("--replies", "2", "--messages", "x"), "--replies needs one prompt"),
        (("--system", "x", "--raw", "x"), "--system needs the chat template"),
        (("--prompt", "x", "x"), "There are two prompts"),
        (("--system", "-", "-"), "Standard input can be read once only"),
        (("--min-tokens", "3", "-n", "2", "x"), "--min-tokens (3) must not be above --max-tokens (2)"),
        (("@/nowhere/q.txt",), "Cannot read /nowhere/q.txt"),
        (("--acceptance", "typical", "x"), "Acceptance must be"),
        (("--max-tokens", "0", "x"), "--max-tokens must be"),
        (("--ctx", "2", "x"), "context must be"),
        (("--threads", "0", "x"), "Threads must be"),
        (("--stop", "", "x"), "stop string"),
        (("--tokens", "1,two"), "token ids separated by commas"),
        (("--target", "/nowhere/x.gguf", "x"), "there is no such file"),
        (("--messages", "/nowhere/turns.json"), "Cannot read"),
        (("--overlap", "sideways", "x"), "Overlap must be 'on', 'off' or 'auto'"),
        (
            ("--sources", "ngram,crystal-ball", "x"),
            "draft-model, medusa, eagle2, eagle3, mtp, dflash, dspark, not 'ngram, crystal-ball'",
        ),
        (("--method", "autoregressive", "--sources", "ngram", "x"), "cannot be combined with the sources ngram"),
        (("--ban", "99999999", "x"), "Token id 99999999 is not in the vocabulary"),
        (("--logit-bias", "5=nan", "x"), "--logit-bias must be token ids with finite numbers"),
        (("--logit-bias", "five", "x"), "--logit-bias must be a token id and a number, such as 5=1.5, not 'five'"),
        (("--preset", "nobody-knows", "x"), "nobody-knows"),
        (("--nonsense", "x"), "there is no option --nonsense"),
        (("--temprature", "1", "hi"), "there is no option --temprature. Did you mean --temperature? (see"),
        (("",), "The prompt is empty"),
    ],
)
def test_one_clear_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str) -> None:
    assert says in _complaint(capsys, *arguments)


def test_help_keeps_to_a_narrow_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    with pytest.raises(SystemExit):
        main(["generate", "--help"])
    _, _, examples = capsys.readouterr().out.partition("examples:\n")
    assert max(map(len, examples.splitlines())) <= 42
    assert " ".join(examples.split()).startswith('outrider-engine generate "Tell me a story about a shy dragon."')


def test_a_misspelt_option_is_to_blame_and_not_what_it_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "--jsno"])
    assert "there is no option --jsno. Did you mean --json?" in capsys.readouterr().err
    assert main(["models", "--json"]) == 2
    assert "Name a folder" in capsys.readouterr().err


def test_heads_that_are_not_there(capsys: pytest.CaptureFixture[str], models: Models) -> None:
    for method in ("eagle2", "eagle3"):
        assert "name their file with --heads" in _complaint(capsys, *models, "--method", method, "x")
    assert "there is no such file" in _complaint(capsys, *models, "--heads", "nowhere.gguf", "x")
    assert "it has no draft heads" in _complaint(capsys, *models, "--heads", "demo-draft", "x")


@pytest.mark.parametrize("content", ["", "{}", "[]", "[1]", '[{"role": "user"}]', '[{"role": "x", "content": "y"}]'])
def test_bad_messages(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str) -> None:
    path = tmp_path / "turns.json"
    path.write_text(content, "utf-8")
    _complaint(capsys, "--messages", str(path))


def test_pair_of_different_tokenizers(generate: Generate, shared_gguf: Callable[[str], Path]) -> None:
    target = ("--target", str(shared_gguf("stories260K-F32")), "--threads", "1", "--max-tokens", "24")
    reply = generate(*target, "--draft", str(shared_gguf("babyllama361-F32")), "Once upon a time")
    assert reply["method"] == "draft-model"
    assert reply["stats"]["accepted"] > 0
    assert reply["tokens"] == generate(*target, "Once upon a time")["tokens"]


def test_prompt_longer_than_the_context(capsys: pytest.CaptureFixture[str], models: Models) -> None:
    complaint = _complaint(capsys, *models, "--ctx", "16", "--tokens", ",".join(["5"] * 20))
    assert "has 20 tokens, but the context holds only 16" in complaint


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["generate", "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    promised = (
        *("target", "draft", "heads", "method", "lookahead", "acceptance", "overlap", "force-n1", "sources", "preset"),
        *("temperature", "top-k", "top-p", "min-p", "typical", "repeat-penalty", "presence-penalty"),
        *("frequency-penalty", "draft-temperature", "seed", "stop", "max-tokens", "ctx", "threads", "gpu-layers"),
        *("device", "dtype"),
        *("raw", "tokens", "messages", "json"),
    )
    assert [name for name in promised if f"--{name}" not in text] == []


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send")
def test_interrupt_keeps_the_partial_reply(models: Models) -> None:
    arguments = [*models, "--temperature", "1.5", "--ctx", "512", "--raw", "--lookahead", "1", "Once upon a time"]
    code = (
        "import sys, time, engine.cli.main\n"
        "from engine.drafting import draft_model\n"
        "propose = draft_model.DraftModelDrafter.propose\n"
        "def slow(self, n):\n    time.sleep(0.05)\n    return propose(self, n)\n"
        "draft_model.DraftModelDrafter.propose = slow\n"
        "sys.exit(engine.cli.main.main(['generate'] + sys.argv[1:]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        out, err = process.communicate(timeout=30)
        assert time.monotonic() - sent < 3.0
    assert process.returncode == 130
    assert first + out != "\n"
    assert "finish reason: cancelled" in err
    assert "Traceback" not in err


@pytest.mark.skipif(os.name == "nt", reason="there are no such pipes")
def test_reader_that_goes_away(models: Models) -> None:
    command = f"{sys.executable} -m engine generate {' '.join(models)} --raw 'Once upon a time' | head -c 5"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
