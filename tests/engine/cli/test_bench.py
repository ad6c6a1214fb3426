"""The command `bench`: its options, its JSON, its tables, its picture, and how it is cancelled."""

import argparse
import importlib.util
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from engine.bench.figures import count_equal
from engine.bench.runs import SAME, Bench, Reply
from engine.cli import bench as bench_command
from engine.cli.main import main
from engine.cli.printed.bench_plot import HEIGHT, WIDTH, draw_plot, prepare_plot
from engine.cli.printed.bench_tables import print_report
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest, NotAvailable
from helpers.decoding.fake_backend import FakeBackend

SMALL = ("--lookaheads", "2,4", "--repeats", "3", "--max-tokens", "6")
Measure = Callable[..., dict[str, Any]]


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`bench` loads fakes: the draft is the target itself."""

    def load(_target: object, draft: object, **_options: object) -> SpeculativeDecoder:
        decoder = SpeculativeDecoder()
        decoder.attach_target(FakeBackend(8, seed=1, name="the [target]"))
        if draft is not None:
            decoder.attach_draft(FakeBackend(8, seed=1, name="the draft"))
        return decoder

    monkeypatch.setattr("engine.cli.common.load", load)


@pytest.fixture
def measure(fakes: None, capsys: pytest.CaptureFixture[str]) -> Measure:
    """Run `bench --json` in this process and give what it prints."""

    def run(*arguments: str, code: int = 0) -> dict[str, Any]:
        assert main(["bench", "--json", *arguments]) == code
        out, err = capsys.readouterr()
        assert err == ""
        assert out.count("\n") == 1
        report: dict[str, Any] = json.loads(out)
        return report

    return run


def test_json_has_the_promised_keys(measure: Measure) -> None:
    report = measure(*SMALL)
    said = {line.strip("- ") for line in (bench_command.__doc__ or "").splitlines() if line.startswith("- ")}
    assert set(report) == {
        *(
            "version",
            "partial",
            "machine",
            "load_s",
            "target",
            "draft",
            "heads",
            "memory",
            "settings",
            "prompts",
            "left_out",
        ),
        *("ways", "best_fixed", "auto_to_best", "other_programs", "categories", "equal", "notes", "replies"),
    }
    assert all(any(f"`{key}`" in line for line in said) for key in report)
    assert list(report["ways"]) == ["plain", "2", "4", "auto", "ngram"]
    assert list(report["categories"]) == ["chat", "code", "rewriting", "prose", "hostile"]
    settings = {name: value for name, value in report["settings"].items() if name != "sampling"}
    assert settings == {"lookaheads": [2, 4], "repeats": 3, "max_tokens": 6, "raw": False}
    assert set(report["memory"]) == {"before_load", "loaded", "at_end"}
    assert report["target"]["name"] == "the [target]"
    assert report["partial"] is False


def test_figures_come_from_the_replies(measure: Measure) -> None:
    report = measure(*SMALL)
    replies = report["replies"]
    assert len(replies) == 5 * 5 * 3
    assert report["equal"] == count_equal([SAME] * len(replies))
    for name, row in report["ways"].items():
        mine = [reply for reply in replies if reply["way"] == name]
        assert row["replies"] == row["tokens_per_second"]["values"] == row["speedup"]["values"] == 15
        assert row["tokens_per_second"]["most"] == max(reply["tokens_per_second"] for reply in mine)
        assert row["prompt_tokens_per_second"]["values"] == row["first_token_ms"]["values"] == 5
    drafted = [reply for reply in replies if reply["way"] == "4"]
    assert report["ways"]["4"]["acceptance_rate"] == 1.0
    assert sum(reply["accepted"] for reply in drafted) == sum(reply["proposed"] for reply in drafted) > 0
    assert {reply["text"] for reply in replies} == {"same"}


def test_without_a_draft_there_are_plain_decoding_and_ngram(measure: Measure) -> None:
    report = measure("--target", "t", *SMALL)
    assert list(report["ways"]) == ["plain", "ngram"]
    assert report["draft"] is report["best_fixed"] is report["auto_to_best"] is None
    assert report["settings"]["lookaheads"] == []
    only = measure("--target", "t", "--draft", "none", "--no-ngram", *SMALL)
    assert list(only["ways"]) == ["plain"]


def test_heads_draft_with_each_lookahead(capsys: pytest.CaptureFixture[str], tmp_path: Path, tried_pair: None) -> None:
    """Those of the demo target, with no draft model beside them."""
    path = tmp_path / "p.txt"
    path.write_text("Tell me a story.", "utf-8")
    models = ("--heads", "demo-head", "--draft", "none")
    options = (*models, "--lookaheads", "2", "--no-ngram", "--repeats", "1", "--max-tokens", "12")
    assert main(["bench", "--json", "--prompts", str(path), *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["ways"]) == ["plain", "2", "auto"]
    assert report["ways"]["2"]["acceptance_rate"] is not None
    assert (report["draft"], report["heads"]["name"]) == (None, "demo-head.Q8_0")
    assert report["settings"]["lookaheads"] == [2]
    assert {reply["text"] for reply in report["replies"]} <= {"same", "near tie"}
    assert main(["bench", "--json", *options, "--heads", str(tmp_path / "none.gguf")]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_sampling_and_own_prompts(measure: Measure, tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("one\ntwo\nthree", "utf-8")
    options = (
        "--prompts",
        str(path),
        "--per-category",
        "2",
        "--temperature",
        "0.7",
        "--top-k",
        "5",
        "--ban",
        "3",
        "--raw",
    )
    report = measure(*SMALL, *options)
    sampling = report["settings"]["sampling"]
    assert (sampling["temperature"], sampling["top_k"], sampling["banned_tokens"]) == (0.7, 5, [3])
    assert [prompt["tokens"] for prompt in report["prompts"]] == [3, 3]
    assert report["equal"]["checked"] is False
    assert list(report["categories"]) == ["all"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--target", "/nowhere/x.gguf"), "there is no such file"),
        (("--prompts", "/nowhere/p.json"), "Cannot read /nowhere/p.json"),
        (("--lookaheads", "2,33"), "Lookahead must be"),
        (("--lookaheads", "2,fast"), "not 'fast'"),
        (("--lookaheads", ""), "Lookahead must be"),
        (("--repeats", "0"), "--repeats must be"),
        (("--per-category", "-1"), "--per-category must be"),
        (("--max-tokens", "0"), "--max-tokens must be"),
        (("--temperature", "-1"), "temperature must be"),
        (("--plot", "x.jpg"), "must end in .png"),
        (("--plot", "/nowhere/x.png"), "Cannot write /nowhere/x.png"),
        (("--nonsense",), "there is no option --nonsense"),
    ],
)
def test_one_clear_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str) -> None:
    try:
        code = main(["bench", "--json", *arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize("frozen", [False, True])
def test_without_pillow_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, frozen: bool) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "PIL" else find(name))
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    with pytest.raises(NotAvailable, match="This build" if frozen else r"outrider\[plot\]"):
        prepare_plot(tmp_path / "x.png")


def _cancel_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for the stop when so many replies were measured."""
    measured = Bench.replies

    def replies(bench: Bench, repeats: int, max_tokens: int) -> Iterator[Reply]:
        for number, reply in enumerate(measured(bench, repeats, max_tokens)):
            if number == count:
                bench.cancel.cancel()
            yield reply

    monkeypatch.setattr(Bench, "replies", replies)


def test_what_was_measured_before_a_cancel_is_shown(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    _cancel_after(7, monkeypatch)
    report = measure(*SMALL, code=130)
    assert report["partial"] is True
    assert len(report["replies"]) == 8
    assert report["equal"]["same"] > 0


@pytest.mark.usefixtures("fakes")
def test_cancelled_before_anything_was_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bench, "warm_up", lambda bench, _note: bench.cancel.cancel() or next(bench.replies(1, 1)))
    assert main(["bench", *SMALL]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == "outrider-engine: The request was cancelled."


def test_tables(measure: Measure) -> None:
    report = measure(*SMALL) | {"partial": True}
    report["best_fixed"] = {"way": "4", "not_told_apart": []}
    report["notes"] = ["A [note]."]
    console = Console(width=80, file=io.StringIO())
    print_report(report, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "the [target]" in text
    assert "PARTIAL" in text
    assert "best fixed" in text
    assert "auto / best" in text
    assert "· A [note]." in text
    assert "…" not in text
    for name in (*report["ways"], *report["categories"]):
        assert name in text


@pytest.mark.usefixtures("fakes")
def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *SMALL]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[:2] == ["Loading…", "Warming up: 5 modes, 5 prompts."]
    assert "75 replies of up to 6 tokens, each measured 3 times: about 1 s." in err
    assert out.splitlines()[0].startswith("the [target] (0.0 M weights, 1 thread) ← the draft")


def test_picture(measure: Measure, tmp_path: Path) -> None:
    from PIL import Image  # noqa: PLC0415 - an optional extra

    path = tmp_path / "x.png"
    report = measure(*SMALL, "--plot", str(path))
    first = path.read_bytes()
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert image.size == (WIDTH, HEIGHT)
        colours = {colour for _, colour in image.getcolors(maxcolors=2**24) or ()}
    assert (255, 255, 255) in colours
    # Each of the four has its colour: speedup, acceptance rate, auto, n-gram.
    for colour in ((0x1C, 0x5F, 0xB8), (0xC2, 0x70, 0x1C), (0x1B, 0x7F, 0x4D), (0x7A, 0x4F, 0xB0)):
        assert min(max(abs(a - b) for a, b in zip(colour, found, strict=True)) for found in colours) < 8  # type: ignore[arg-type]
    draw_plot(report, path)
    assert path.read_bytes() == first
    report["ways"]["4"]["speedup"] = {"median": 7.0, "low": 6.0, "high": 9.0, "least": 5.0, "most": 9.9, "values": 9}
    draw_plot(report, path)
    assert path.read_bytes() != first
    with pytest.raises(InvalidRequest, match="Cannot write"):
        draw_plot(report, tmp_path)


def test_help_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    bench_command.add_arguments(parser)
    assert "--no-ngram" in parser.format_help()
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    assert "measurement" in capsys.readouterr().out
