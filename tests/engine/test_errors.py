"""Every error is one of ours, composes its own message, and says what to do."""

import inspect

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
    GrowthError,
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
    (ModelNotLoaded(), "No target model is loaded. Load one first with attach_target() or load()."),
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
    (GrowthError("It is too large. Choose another model."), "It is too large."),
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
