"""What a reply is asked with: values, their checks while they are typed, and what the engine gets."""

from dataclasses import replace

import pytest

from app.state.settings.generation import (
    CONVERSATION,
    FIELDS,
    GENERATION,
    LONGEST_STOP,
    MOST_STOPS,
    SAMPLING,
    GenerationChoice,
)
from app.state.settings.typed import check, parse, show
from engine import (
    DEFAULT_LOOKAHEAD,
    InvalidRequest,
    InvalidSampling,
    Message,
    SamplingConfig,
    ToolResult,
    UnknownMethod,
)
from engine.sampling_rules import RULES

FULL = GenerationChoice(
    temperature=0.8,
    top_n_sigma=1.5,
    top_k=40,
    typical=0.95,
    top_p=0.9,
    min_p=0.05,
    repeat_penalty=1.1,
    presence_penalty=0.5,
    frequency_penalty=-0.25,
    penalty_window=128,
    seed=2**64 - 1,
    max_tokens=300,
    stop=("END", "\n\n", "a\\b", "\t"),
    system="Be brief.\nBe kind.",
    method="ngram",
    acceptance="exact",
    overlap="off",
)


def test_the_default_is_greedy_and_plain() -> None:
    choice = GenerationChoice()
    assert choice.sampling() == SamplingConfig()
    assert choice.sampling().greedy
    assert choice.messages((Message("user", "Hello"),)) == (Message("user", "Hello"),)
    (result,) = choice.messages((Message("tool", [ToolResult("a", "add", "3")]),))
    assert "3\n\nThis is the result of the tool add." in result.content


def test_each_rule_of_the_engine_is_a_field_and_they_stand_in_the_order_in_which_they_apply() -> None:
    assert (*(rule.name for rule in RULES), "seed") == SAMPLING
    for rule in RULES:
        assert getattr(GenerationChoice(), rule.name) == rule.off
        assert GENERATION[rule.name].kind == ("whole" if rule.type == "int64_t" else "number")


def test_it_is_kept_and_read_again() -> None:
    assert GenerationChoice.from_mapping(FULL.to_mapping(FIELDS)) == FULL
    assert GenerationChoice.from_mapping(FULL.to_mapping()).to_mapping() == FULL.to_mapping()
    assert GenerationChoice.from_mapping(FULL.to_mapping()).method == "auto", "that is not a conversation's own"
    assert set(CONVERSATION) < set(FIELDS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -1),
        ("temperature", "0.8"),
        ("temperature", None),
        ("temperature", True),
        ("temperature", float("nan")),
        ("top_k", 1.5),
        ("top_n_sigma", -1),
        ("top_p", 0),
        ("min_p", 2),
        ("repeat_penalty", 0),
        ("presence_penalty", 101),
        ("frequency_penalty", []),
        ("penalty_window", -1),
        ("seed", 2**64),
        ("seed", -1),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("stop", "END"),
        ("stop", [""]),
        ("stop", [1]),
        ("stop", ["x" * (LONGEST_STOP + 1)]),
        ("stop", [str(number) for number in range(MOST_STOPS + 1)]),
        ("stop", ["\ud800"]),
        ("system", 7),
        ("system", "x" * 300_000),
        ("method", "medusa!"),
        ("method", None),
        ("acceptance", "typical"),
        ("overlap", True),
    ],
)
def test_what_makes_no_sense_falls_back_alone(name: str, value: object) -> None:
    kept = {**FULL.to_mapping(FIELDS), name: value}
    read = GenerationChoice.from_mapping(kept)
    assert getattr(read, name) == getattr(GenerationChoice(), name)
    assert all(getattr(read, other) == getattr(FULL, other) for other in FIELDS if other != name)
    assert getattr(GenerationChoice.from_mapping(kept, FULL), name) == getattr(FULL, name), "or to the base"


def test_it_cannot_be_made_wrong() -> None:
    with pytest.raises(InvalidSampling):
        GenerationChoice(temperature=-1)
    with pytest.raises(InvalidRequest):
        GenerationChoice(max_tokens=0)
    with pytest.raises(UnknownMethod):
        GenerationChoice(method="nothing")


@pytest.mark.parametrize("name", [name for name in CONVERSATION if name != "system"])
def test_what_is_shown_can_be_typed_again(name: str) -> None:
    for choice in (FULL, GenerationChoice()):
        text = show(name, choice)
        assert check(name, text) is None
        assert parse(name, text) == getattr(choice, name)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature", " 0,8 ", 0.8),
        ("temperature", "1e-1", 0.1),
        ("temperature", "2", 2.0),
        ("top_k", "40", 40),
        ("seed", "", None),
        ("seed", "007", 7),
        ("max_tokens", "", None),
        ("stop", "", ()),
        ("stop", "END\n\nUser:", ("END", "User:")),
        ("stop", "\\n\\n", ("\n\n",)),
        ("stop", "a\\\\n", ("a\\n",)),
        ("stop", "C:\\dir\\", ("C:\\dir\\",)),
        ("stop", "twice\ntwice", ("twice", "twice")),
    ],
)
def test_what_is_typed_is_read(name: str, text: str, value: object) -> None:
    assert check(name, text) is None
    assert parse(name, text) == value


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("temperature", "", "a number from 0 to 100"),
        ("temperature", "warm", "a number from 0 to 100"),
        ("temperature", "101", "a number from 0 to 100"),
        ("temperature", "nan", "a number from 0 to 100"),
        ("temperature", "1,000,5", "a number"),
        ("top_p", "0", "above 0, at most 1"),
        ("top_k", "4.5", "a whole number"),
        ("top_k", "", "a whole number"),
        ("seed", "-1", "from 0 to 2^64 - 1"),
        ("seed", "abc", "from 0 to 2^64 - 1"),
        ("max_tokens", "0", "above 0"),
        ("max_tokens", "many", "above 0"),
        ("stop", "\n".join(map(str, range(40))), "32"),
        ("method", "nothing", "Unknown method"),
        ("overlap", "perhaps", "'on', 'off' or 'auto'"),
        ("acceptance", "typical", "'rejection' or 'exact'"),
        ("system", "x" * 300_000, "200,000 characters"),
    ],
)
def test_the_engine_says_what_is_wrong(name: str, text: str, says: str) -> None:
    told = check(name, text)
    assert told is not None
    assert says in told


def test_a_seed_repeats_a_reply() -> None:
    """With a fixed lookahead and nothing overlapping, unless that was asked for."""
    plain = GenerationChoice(temperature=0.8)
    assert plain.lookahead_for("auto", has_draft=True) == "auto"
    assert plain.options("auto")["overlap"] == "auto"
    seeded = GenerationChoice(temperature=0.8, seed=1)
    assert seeded.lookahead_for("auto", has_draft=True) == DEFAULT_LOOKAHEAD
    assert seeded.lookahead_for(7, has_draft=True) == 7
    assert seeded.lookahead_for("auto", has_draft=False) == "auto", "an index proposes what is drawn alike"
    assert replace(seeded, acceptance="exact").lookahead_for("auto", has_draft=True) == "auto"
    assert replace(seeded, method="ngram").lookahead_for("auto", has_draft=True) == "auto"
    assert replace(seeded, temperature=0.0).lookahead_for("auto", has_draft=True) == "auto", "greedy repeats anyway"
    assert seeded.options("auto")["overlap"] == "off"
    assert replace(seeded, overlap="on").options("auto")["overlap"] == "on"


def test_plain_decoding_proposes_nothing() -> None:
    choice = GenerationChoice(method="autoregressive")
    assert [choice.lookahead_for(each, has_draft=True) for each in ("auto", 0, 7)] == [0, 0, 0]


def test_the_system_prompt_comes_first() -> None:
    messages = (Message("user", "Hello"),)
    assert FULL.messages(messages) == (Message("system", FULL.system), *messages)
    assert GenerationChoice(system=" \n").messages(messages) == messages


def test_what_is_as_it_was_makes_no_other_value() -> None:
    assert GenerationChoice.from_mapping(FULL.to_mapping(FIELDS), FULL) is FULL
    assert GenerationChoice.from_mapping({"temperature": 0, "top_k": False}) == GenerationChoice()


def test_what_is_right_together_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[GenerationChoice] = []
    check_all = GenerationChoice.__post_init__

    def note(choice: GenerationChoice) -> None:
        made.append(choice)
        check_all(choice)

    monkeypatch.setattr(GenerationChoice, "__post_init__", note)
    default = GenerationChoice()
    assert GenerationChoice.from_mapping(FULL.to_mapping(FIELDS), default) == FULL
    assert len(made) == 2
