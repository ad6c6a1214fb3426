"""What a call is given and gives: options by name, errors that are ours, and the text that was told."""

import ast
from contextlib import aclosing, closing, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import pytest

import engine
from engine import (
    BackendFailure,
    Finished,
    GenerationRequest,
    InvalidRequest,
    LoadConfig,
    LoadWarning,
    SamplingConfig,
    SpeculationConfig,
    SpeculativeDecoder,
    TokenEvent,
    bundled_pair,
    host,
    load,
)
from engine.backends.llama_cpp import loading
from engine.backends.llama_cpp.library import STOCK_BUILD
from engine.lazy import homes
from engine.options import GenerationOptions, LoadOptions
from helpers.decoding.fake_backend import FakeBackend
from helpers.paths import ROOT

PROMPT = [1, 2]


def _decoder() -> SpeculativeDecoder:
    return load(FakeBackend(8, 1), FakeBackend(8, 1, sharpness=0.8))


def test_the_options_are_the_fields() -> None:
    known = {field.name for kind in (GenerationRequest, SamplingConfig, SpeculationConfig) for field in fields(kind)}
    assert set(GenerationOptions.__annotations__) == known - {"prompt"}
    assert set(LoadOptions.__annotations__) == {field.name for field in fields(LoadConfig)} - {"path"}


async def _use_of_types() -> None:
    """Never run: `make lint` checks its types, and complains of an `ignore` for what would be none."""
    with load(*bundled_pair(), in_memory=True, context_length=64) as decoder:
        async with aclosing(decoder.astream("Hello", max_tokens=2, stop="x")) as events:
            async for _event in events:
                break
        with closing(decoder.stream("Hello", logit_bias={1: 2.0})) as more:
            next(more)
            more.close()
        decoder.fit([{"role": "user", "content": "Hello"}])
        decoder.generate("Hello", max_token=3)  # type: ignore[call-arg]


def test_type_checkers_see_the_public_names() -> None:
    assert (ROOT / "engine" / "py.typed").is_file()
    for door in (engine, host):
        stub = ast.parse(Path(str(door.__file__)).with_suffix(".pyi").read_text("utf-8"))
        shown = {
            (f"engine.{node.module}", each.name)
            for node in stub.body
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        assert shown == {(home, name) for name, home in homes(str(door.__file__)).items()}
        assert {name for _, name in shown} == set(door.__all__) <= set(dir(door))
        assert not [name for _, name in shown if getattr(door, name, None) is None]


@pytest.mark.parametrize("option", ["stop", "stop_tokens", "sampling", "speculation"])
def test_none_is_the_default(option: str) -> None:
    options: Any = {option: None, "max_tokens": 2}
    assert _decoder().generate(PROMPT, **options).stats.emitted == 2


@pytest.mark.parametrize(
    "options",
    [
        *({"stop": 5}, {"stop": [5]}, {"stop_tokens": "ab"}, {"stop_tokens": [None]}, {"sampling": "hot"}),
        *({"speculation": 3}, {"draft_sampling": "hot"}, {"n_ctx": 5}, {"max_new_tokens": 5}),
    ],
    ids=repr,
)
def test_wrong_options_are_our_errors(options: Any) -> None:
    with pytest.raises(InvalidRequest):
        _decoder().generate(PROMPT, **options)


def test_an_option_that_is_nearly_right() -> None:
    options: Any = {"max_token": 5}
    with pytest.raises(InvalidRequest, match=r"^Unknown option 'max_token'\. Did you mean 'max_tokens'\?$"):
        _decoder().generate(PROMPT, **options)


@pytest.mark.parametrize(
    ("option", "meant"),
    [("max_new_tokens", "max_tokens"), ("repetition_penalty", "repeat_penalty"), ("top_logprobs", "top")],
)
def test_names_of_other_libraries(option: str, meant: str) -> None:
    options: Any = {option: 5}
    with pytest.raises(InvalidRequest, match=rf"^Unknown option '{option}'\. Did you mean '{meant}'\?$"):
        _decoder().generate(PROMPT, **options)
    with pytest.raises(InvalidRequest, match="Did you mean 'context_length'"):
        load(Path("nowhere"), n_ctx=5)  # type: ignore[call-arg]


def test_wrong_arguments_are_our_errors(bundled_target: Path) -> None:
    anything: Any = 5
    options: Any = {"n_ctx": 5}
    decoder = _decoder()
    for ask in (
        lambda: load(bundled_target, **options),
        lambda: load(anything),
        lambda: decoder.attach_draft(anything),
        lambda: decoder.count(anything),
        lambda: decoder.fit(anything),
        lambda: decoder.fit([anything]),
        lambda: decoder.token_text("a"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidRequest):
            ask()


def test_fit_takes_what_generate_takes() -> None:
    assert _decoder().fit([{"role": "user", "content": "abc"}]).tokens == 3


def _notes(path: Path, **options: Any) -> tuple[str, ...]:
    with pytest.warns(LoadWarning), load(path, threads=1, **options) as decoder:
        return decoder.warnings


def test_options_that_do_nothing_are_said(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "has_kernels", lambda: True)
    monkeypatch.setattr("llama_cpp.llama_supports_gpu_offload", lambda: False)
    monkeypatch.setattr(loading, "gpu_library_installed", lambda: False)
    name = bundled_target.stem
    no_gpu = f"This llama.cpp was compiled without GPU support: {name} runs on the processor."
    assert _notes(bundled_target, device="cuda") == (no_gpu,)
    assert _notes(bundled_target, gpu_layers=99) == (no_gpu,)
    with monkeypatch.context() as patch:
        patch.setattr(loading, "gpu_library_installed", lambda: True)
        (no_card,) = _notes(bundled_target, gpu_layers=99)
        assert no_card.startswith(f"llama.cpp finds no graphics card that it can use: {name} runs on the processor.")
    (trained,) = _notes(bundled_target, context_length=10**6)
    assert trained.startswith(f"{name} was trained with a context of ")
    assert _notes(bundled_target, dtype="float16")[0].startswith("The number format float16 is for safetensors models")
    with load(bundled_target, threads=1, device="cpu", gpu_layers=0, dtype="auto", context_length=64) as decoder:
        assert decoder.warnings == ()


def test_a_stock_build_is_said(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "has_kernels", lambda: False)
    assert _notes(bundled_target) == (STOCK_BUILD,)


@pytest.mark.parametrize("how", ["consumer", "cancel", "close", "error"])
def test_streamed_text_is_the_text_of_the_result(how: str) -> None:
    """Also if the reply ends while text is held back for a stop string."""
    decoder = load(FakeBackend(8, 1), FakeBackend(8, 1, sharpness=0.8))
    whole = decoder.generate(PROMPT, temperature=1.0, seed=3, max_tokens=30, lookahead=0).text
    held = whole[10:12] + "?"  # Begins in the middle of the reply, and never comes.
    pieces, number = [], whole.index(held[:2]) + 2
    ended: Finished | None = None
    events = decoder.stream(PROMPT, temperature=1.0, seed=3, stop=(held,), lookahead=0)
    answer: bool | None = None
    with suppress(StopIteration, BackendFailure):
        while True:
            event = events.send(answer)
            answer = None
            if isinstance(event, TokenEvent):
                pieces.append(event.text)
                if event.position == number - 1:
                    answer = {"consumer": False}.get(how)
                    if how == "cancel":
                        decoder.cancel_token.cancel()
                    elif how == "close":
                        decoder.close()
                    elif how == "error":
                        assert decoder.target is not None
                        decoder.target.forward = _fail  # type: ignore[method-assign,assignment]
            elif isinstance(event, Finished):
                ended = event
    assert ended is not None
    assert len(ended.result.tokens) == number
    assert "".join(pieces) == ended.result.text == whole[: number - 2]


def _fail(*_: object) -> NoReturn:
    raise BackendFailure("it failed")
