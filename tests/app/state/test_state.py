"""The state behind the views, without Qt."""

from pathlib import Path

import pytest

from app.state.chat.transcript import Exchange, Problem, Transcript
from app.state.models.models import ModelList
from app.state.models.names import file_size, label, parameters, shown_name
from app.state.models.selection import Loaded
from app.state.speculation.metrics import MAX_POINTS, Metrics, RateHistory, SpeedHistory
from engine import Fit, GenerationResult, GenerationStats, Message, ModelFile, PromptProgress, RoundEvent, TokenEvent


def result(text: str = "Yes.", reason: str = "stop", tokens: int = 4) -> GenerationResult:
    stats = GenerationStats(rounds=2, proposed=8, accepted=2, rejected=6, corrections=tokens - 2, total_ms=100.0)
    return GenerationResult(text, tuple(range(tokens)), 5, 5, reason, "draft-model", 4, stats)  # type: ignore[arg-type]


def test_the_conversation_holds_what_was_answered() -> None:
    transcript = Transcript()
    first = transcript.ask("One?")
    first.add("Ye")
    first.end(result("Yes."))
    failed = transcript.ask("Too long")
    failed.fail(Problem("no"))
    cancelled = transcript.ask("Never mind")
    cancelled.cancel()
    partial = transcript.ask("Two?")
    partial.add("Perh")
    partial.end(result("Perh", "cancelled"))
    transcript.note(Problem("something else"))
    last = transcript.ask("Three?")
    assert transcript.messages_for(last) == (
        Message("user", "One?"),
        Message("assistant", "Yes."),
        Message("user", "Two?"),
        Message("assistant", "Perh"),
        Message("user", "Three?"),
    )
    assert [failed.status, cancelled.status, partial.status] == ["failed", "cancelled", "cancelled"]


def test_a_failure_keeps_what_was_written() -> None:
    exchange = Exchange("Why?")
    exchange.add("Becau")
    exchange.end(result("Becau", "error"))
    exchange.fail(Problem("broken"))
    assert exchange.status == "failed"
    assert exchange.reply == "Becau"
    assert exchange.answered


def test_rates_by_round_stay_bounded_and_exact() -> None:
    history = RateHistory()
    for number in range(10_000):
        history.add(4, number % 5)
    xs, ys = history.per_round()
    assert len(xs) <= MAX_POINTS
    assert xs[-1] <= 10_000
    assert sum(ys) / len(ys) == pytest.approx(50.0, abs=0.5)
    assert history.smoothed()[1][-1] == pytest.approx(50.0, abs=5)


def test_rounds_without_a_proposal_have_no_rate_and_no_acceptance_reads_nought() -> None:
    history = RateHistory()
    history.add(0, 0)
    history.add(4, 0)
    assert history.per_round() == ([2.0], [0.0])
    metrics = Metrics()
    assert metrics.acceptance_rate is None
    metrics.take(1.0, RoundEvent(1, "draft", 4, 4, 0, 1.0, 1.0))
    assert metrics.acceptance_rate == 0.0


def test_speed_is_that_of_the_last_second() -> None:
    speeds = SpeedHistory()
    speeds.begin(100.0)
    for step in range(1, 41):
        speeds.count(100.0 + step * 0.1, step * 5)
    speeds.sample(104.0)
    assert speeds.current == pytest.approx(50.0, rel=0.1)
    for step in range(1, 21):
        speeds.count(104.0 + step * 0.1, 200 + step)
    speeds.sample(106.0)
    assert speeds.current == pytest.approx(10.0, rel=0.15)
    speeds.sample(109.0)
    assert speeds.current < 2.0, "a stalled reply is slow"


def test_speed_history_stays_bounded() -> None:
    speeds = SpeedHistory()
    speeds.begin(0.0)
    for step in range(1, 20_000):
        speeds.count(step * 0.1, step)
        speeds.sample(step * 0.1)
    xs, ys = speeds.points()
    assert MAX_POINTS / 4 < len(xs) <= MAX_POINTS
    assert xs[-1] > 1_900
    assert ys[-1] == pytest.approx(10.0, rel=0.15)


def test_a_reply_too_short_to_be_sampled_is_drawn_too() -> None:
    speeds = SpeedHistory()
    speeds.begin(10.0)
    for step in range(1, 31):
        speeds.count(10.0 + step * 0.002, step * 3)
    assert speeds.points() == ([], [])
    speeds.finish()
    xs, ys = speeds.points()
    assert len(xs) > 10
    assert ys == pytest.approx([1500.0] * len(ys))
    assert xs[-1] <= 0.0601


def test_metrics_count_and_end_with_the_figures_of_the_reply() -> None:
    metrics = Metrics()
    metrics.begin()
    metrics.take(0.0, PromptProgress(5, 5))
    for position in range(3):
        metrics.take(0.5, TokenEvent(1, "x", "accepted", 1, position, -0.1))
    metrics.take(0.5, RoundEvent(1, "draft", 4, 4, 2, 1.0, 1.0))
    assert (metrics.rounds, metrics.proposed, metrics.accepted, metrics.emitted) == (1, 4, 2, 3)
    assert metrics.mean_length == 3.0
    metrics.take(0.6, TokenEvent(1, "x", "forced", 1, 3, -0.1))
    assert (metrics.emitted, metrics.mean_length) == (4, 3.0)
    version = metrics.version
    metrics.end(result().stats)
    assert metrics.version != version
    assert (metrics.rounds, metrics.proposed, metrics.accepted) == (2, 8, 2)
    assert metrics.tokens_per_second == pytest.approx(40.0)


def model(name: str, problem: str | None = None, size: int = 1_200_000) -> ModelFile:
    return ModelFile(Path(f"/models/{name}.gguf"), name, "llama", 12_300_000, "Q8_0", 2048, size, problem=problem)


def test_the_bundled_pair_comes_first_and_once() -> None:
    bundled = (Path("/own/demo-target.gguf"), Path("/own/demo-draft.gguf"))
    models = ModelList(bundled)
    own = ModelFile(bundled[0], "Demo", "llama", 8_000_000, "Q8_0", 2048, 9_000_000)
    models.set_bundled((own,))
    models.set_found(Path("/models"), (model("Broken", "It is cut off."), model("c"), own))
    lines = models.targets()
    assert [line.label for line in lines] == [
        "demo-target · 8M Q8_0",
        "demo-draft",
        "c · 12M Q8_0",
        "Broken · 12M Q8_0",
    ]
    assert [line.problem for line in lines] == [None, None, None, "It is cut off."], "what can be loaded first"
    assert models.selection.target == bundled[0]


def test_models_go_by_their_files_whatever_they_call_themselves() -> None:
    models = ModelList(None)
    ours = tuple(ModelFile(Path(f"/models/{file}"), "Story", parameters=12_000_000) for file in ("a.gguf", "b.gguf"))
    models.set_found(Path("/models"), ours)
    assert [line.label for line in models.targets()] == ["a · 12M", "b · 12M"]
    models.set_fits({ours[1].path: Fit(False, "Other tokens.", through_text=True)})
    broken = ModelFile(Path("/models/c.gguf"), "Story", problem="It is cut off.")
    models.set_found(Path("/models"), (*ours, broken))
    assert [(line.kind, line.label, line.slower) for line in models.drafts()[3:]] == [
        ("group", "same", False),
        ("model", "a · 12M", False),
        ("group", "other", False),
        ("model", "b · 12M", True),
        ("group", "rest", False),
        ("model", "c", False),
    ], "what cannot be loaded has no tokenizer that is another one"


@pytest.mark.parametrize(
    ("path", "own", "quantisation", "shown"),
    [
        ("/m/qwen2.5-0.5b-instruct-q8_0.gguf", "Qwen2.5 0.5B", "Q8_0", "qwen2.5-0.5b-instruct"),
        ("/m/llama-00001-of-00003.gguf", "D:\\models\\x", "", "llama"),
        ("/b/sha256-" + "0f" * 32, "Mistral 7B", "Q4_0", "Mistral 7B"),
        ("/b/sha256-" + "0f" * 32, "D:\\out\\m", "Q4_0", "sha256-0f0f0"),
        ("/c/models--Qwen--Qwen3-0.6B/snapshots/" + "ab" * 20, "x", "", "Qwen3-0.6B"),
        ("/m/Model", "", "BF16", "Model"),
    ],
)
def test_a_model_is_called_as_its_file_is(path: str, own: str, quantisation: str, shown: str) -> None:
    assert shown_name(ModelFile(Path(path), own, quantisation=quantisation)) == shown


def test_drafts_that_do_not_fit_say_why() -> None:
    models = ModelList(None)
    models.set_found(Path("/models"), (model("a"), model("b")))
    models.choose(target=model("a").path)
    models.set_fits({model("a").path: Fit(True, "Same."), model("b").path: Fit(False, "Different tokens.")})
    assert [line.problem for line in models.drafts()[3:]] == [None, "Different tokens."]


def test_drafts_that_go_through_text_are_slower() -> None:
    models = ModelList(None)
    models.set_found(Path("/models"), (model("a"), model("b")))
    models.choose(target=model("a").path)
    through_text = Fit(False, "They have different tokenizers.", through_text=True)
    models.set_fits({model("a").path: Fit(True, "Same."), model("b").path: through_text})
    lines = [line for line in models.drafts()[3:] if line.kind == "model"]
    assert [line.problem for line in lines] == [None, None]
    assert [(line.label, line.slower) for line in lines] == [("a · 12M Q8_0", False), ("b · 12M Q8_0", True)]
    assert "They have different tokenizers." in lines[1].hint


def test_after_a_failure_what_is_loaded_is_chosen() -> None:
    models = ModelList(None)
    models.choose(target=model("a").path, sources=(model("b").path,), lookahead=99)
    assert models.selection.lookahead == 32
    models.show_loaded(Loaded(model("a").path))
    assert (models.selection.target, models.selection.sources) == (model("a").path, ())


def test_sizes_read_well() -> None:
    assert [parameters(n) for n in (0, 500, 260_000, 1_000_000, 12_345_678, 1_100_000_000)] == [
        "",
        "500",
        "260K",
        "1M",
        "12M",
        "1.1B",
    ]
    assert [file_size(n) for n in (0, 12, 1_200_000, 4_000_000_000)] == ["", "12 bytes", "1.2 MB", "4.0 GB"]
    assert label(model("a")) == "a · 12M Q8_0"
