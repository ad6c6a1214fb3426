"""Every error is one of ours, composes its own message, says what to do, and travels between processes."""

import copy
import inspect
import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest

from engine import errors
from engine.errors import (
    BackendFailure,
    Cancelled,
    ChatTemplateFailed,
    ContextFull,
    DegenerateDistribution,
    EngineError,
    FolderUnreadable,
    LoadFailed,
    ModelNotLoaded,
    ModelTooLarge,
    NotAvailable,
    RewindNotSupported,
    TextNotEncodable,
    TokenOutOfRange,
    UnknownMethod,
    VocabularyMismatch,
)

EXAMPLES = [
    (ModelNotLoaded(), "No target model is loaded. Choose one first."),
    (LoadFailed("/models/a.gguf", "it is broken."), "Cannot load a.gguf: it is broken."),
    (
        ModelTooLarge("/models/a.gguf", 3 * 2**30, 2**30),
        "Cannot load a.gguf: it needs about 3.0 GiB of memory, but only 1.0 GiB are free. Choose a smaller model or ",
    ),
    (FolderUnreadable("/models", "no permission"), "Cannot read the folder /models: no permission. "),
    (VocabularyMismatch("a", "b", "other words."), "b cannot draft for a: other words."),
    (UnknownMethod("magic", ("auto", "ngram")), "Unknown method 'magic'. Known: auto, ngram."),
    (NotAvailable("--heads", "it comes later."), "--heads is not available: it comes later."),
    (ContextFull(600, 512), "The prompt has 600 tokens, but the context holds only 512. Shorten it, "),
    (TokenOutOfRange(9, 8), "Token id 9 is not in the vocabulary (0 to 7)."),
    (TextNotEncodable("\n"), r"This model's vocabulary has no token for '\n' (U+000A). Leave it out"),
    (ChatTemplateFailed("no"), "The model's chat template failed: no. Send plain text (--raw) or "),
    (DegenerateDistribution("x", 4), "The model returned no usable distribution at position 4: x. The file may be"),
    (RewindNotSupported(3, 9), "This model's cache cannot be rewound from 9 to 3 tokens."),
    (BackendFailure("it stopped", 7), "The model could not be run at position 7: it stopped."),
    (Cancelled("Loading the model"), "Loading the model was cancelled."),
]


@pytest.mark.parametrize(("error", "message"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_message(error: EngineError, message: str) -> None:
    assert str(error).startswith(message)
    assert str(error).endswith(".")
    assert "\n" not in str(error)


def test_one_base_for_all() -> None:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    # A warning is said, and nothing ends.
    classes = [kind for kind in classes if not issubclass(kind, Warning)]
    assert len(classes) > 15
    assert all(issubclass(kind, EngineError) for kind in classes)
    assert all(kind.__doc__ for kind in classes)


_SAMPLES: dict[str, object] = {
    "path": Path("/models/a.gguf"),
    "needed": 3 * 2**30,
    "available": 2**30,
    "known": ("auto", "ngram"),
    "missing": ("a", "b"),
    "changed": ("c",),
    "token": 9,
    "vocab_size": 8,
    "length": 3,
    "current": 9,
    "position": 7,
    "status": 503,
    "value": threading.Lock(),  # Whatever a caller gave.
    "character": "\ud83d",
}


def _kinds(base: type[EngineError] = EngineError) -> list[type[EngineError]]:
    """All classes of errors of the engine, from wherever they are defined."""
    return [base, *(each for kind in base.__subclasses__() for each in _kinds(kind))]


def _made(kind: type[EngineError]) -> EngineError:
    """One of a class, from its own parameters."""
    if kind.__init__ is EngineError.__init__:
        return kind("It has {count:,} words for {value!r}.", count=4096, value=threading.Lock())
    names = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "fields")]
    values: Any = (_SAMPLES.get(name, f"{name} of it") for name in names)
    return kind(*values)


def _pickled(error: EngineError) -> Any:
    return ForkingPickler.loads(ForkingPickler.dumps(error))


@pytest.mark.parametrize("way", [_pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("kind", _kinds(), ids=lambda kind: kind.__name__)
def test_each_survives_pickle_and_copy(kind: type[EngineError], way: Callable[[EngineError], EngineError]) -> None:
    error = _made(kind)
    error.add_note("while a test ran")
    again = way(error)
    assert type(again) is kind
    assert (str(again), again.args, repr(again)) == (str(error), error.args, repr(error))
    assert again.message == error.message
    assert type(again.message) is type(error.message)
    shown = {name: str(value) for name, value in vars(error).items()}
    assert {name: str(value) for name, value in vars(again).items()} == shown
    assert str(_pickled(again)) == str(error)
