"""Define every error that the engine raises on purpose: one base, one class a cause, each composing its own message.

A caller shows `str(error)` to the user as it is: it names the problem and the remedy. `error.message` keeps the
template and its fields, for translation.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from engine.translatable import Translatable, filled, sendable


class EngineError(Exception):
    """Report any error of the engine. `str()` of it is one sentence or two for a person.

    A message with fields is the template of a Translatable.
    """

    def __init__(self, message: str = "", /, **fields: object) -> None:
        super().__init__(filled(message, fields))

    @property
    def message(self) -> str:
        """Return the same as `str()`; a Translatable where its class or whoever raised it made one."""
        return self.args[0] if self.args and isinstance(self.args[0], str) else str(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Reduce it for copies and other processes: its words and attributes, as they are."""
        return _remade, (type(self), sendable(self.args), {name: sendable(value) for name, value in vars(self).items()})


def _remade(kind: type[EngineError], args: tuple[object, ...], attributes: dict[str, object]) -> EngineError:
    """Make an error without composing its message again."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


# Models and pairs ---------------------------------------------------------------------------------------------------


class ModelNotLoaded(EngineError):
    """Report that a decoder was asked to generate before it had a model. Attribute: what (target, draft or heads)."""

    def __init__(self, what: str = "target") -> None:
        self.what = what
        said = Translatable("No {what} model is loaded. Choose one first.", what=what)
        if what == "heads":
            said = Translatable("No draft heads are loaded. Choose some first.")
        super().__init__(said)


class LoadFailed(EngineError):
    """Report a model that could not be loaded. Attributes: path (the file), reason (in words)."""

    def __init__(self, path: str | Path, reason: str, /, **fields: object) -> None:
        self.path = Path(path)
        self.reason = filled(reason, fields)
        super().__init__("Cannot load {name}: {reason}", name=self.path.name, reason=self.reason)


class ModelFileBroken(LoadFailed):
    """Report a file that is no usable model: incomplete, damaged, or not a model at all."""


def incomplete(missing: int) -> Translatable:
    """Return the reason for a file that ends `missing` bytes too early; the size is rounded up: 178 KB."""
    amount = Translatable("{count:,} bytes", count=missing)
    for unit in ("KB", "MB", "GB"):
        if missing < 10 * 1000:
            break
        missing = -(-missing // 1000)
        amount = Translatable("{count:,} {unit}", count=missing, unit=unit)
    return Translatable("the file is incomplete: {amount} are missing. Download or copy it again.", amount=amount)


class ModelNotSupported(LoadFailed):
    """Report a file that is sound, but with which this program cannot generate text."""


class ModelTooLarge(LoadFailed):
    """Report a model that needs more memory than is free. Attributes: needed, available (bytes)."""

    def __init__(self, path: str | Path, needed: int, available: int) -> None:
        self.needed = needed
        self.available = available
        super().__init__(path, self._reason(needed / 2**30, available / 2**30))

    def _reason(self, needed: float, available: float) -> Translatable:
        return Translatable(
            "it needs about {needed:.1f} GiB of memory, but only {available:.1f} GiB are free. Choose a smaller model "
            "or quantisation, a shorter context, or close other programs.",
            needed=needed,
            available=available,
        )


class CardTooSmall(ModelTooLarge):
    """Report a model that needs more of the graphics card's memory than is free."""

    def _reason(self, needed: float, available: float) -> Translatable:
        return Translatable(
            "it needs about {needed:.1f} GiB of the graphics card's memory, but only {available:.1f} GiB are free. "
            "Give it fewer layers (GPU layers), or choose a shorter context or a smaller model.",
            needed=needed,
            available=available,
        )


class FolderUnreadable(EngineError):
    """Report a models folder that cannot be listed. Attributes: path, reason."""

    def __init__(self, path: str | Path, reason: str) -> None:
        self.path = Path(path)
        self.reason = reason
        super().__init__(
            "Cannot read the folder {path}: {reason}. Choose another folder.", path=self.path, reason=reason
        )


class IncompatiblePair(EngineError):
    """Report a target and a draft that cannot be paired. Attribute: reason."""

    def __init__(self, target: str, draft: str, reason: str) -> None:
        self.reason = reason
        super().__init__("{draft} cannot draft for {target}: {reason}", draft=draft, target=target, reason=reason)


class VocabularyMismatch(IncompatiblePair):
    """Report that the two models do not share a vocabulary."""


class UnknownMethod(EngineError):
    """Report a method name that does not exist. Attribute: method (the name)."""

    def __init__(self, method: str, known: Sequence[str]) -> None:
        self.method = method
        super().__init__("Unknown method {method!r}. Known: {known}.", method=method, known=", ".join(known))


class UnknownPreset(EngineError):
    """Report a preset name that does not exist. Attribute: near (names that are written much like it)."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.near = tuple(difflib.get_close_matches(name.casefold(), known, 3, 0.5))
        meant = f" Did you mean {' or '.join(self.near)}?" if self.near else f" Known: {', '.join(known)}."
        super().__init__(f"There is no preset {name!r}.{meant}")


class NotAvailable(EngineError):
    """Report a feature that this version names but does not have yet, or that the loaded models lack."""

    def __init__(self, what: str, advice: str, /, **fields: object) -> None:
        super().__init__("{what} is not available: {advice}", what=what, advice=filled(advice, fields))


class ToolServerFailed(EngineError):
    """Report a tool server that cannot be started or reached, does not answer, or breaks the protocol."""


class TrainingError(EngineError):
    """Report a head that cannot be trained, or not here; the message gives the reason and a remedy."""


class InstallationDamaged(EngineError):
    """Report files of the program that are missing or changed.

    Attributes: missing, changed (their names); listed (the first few, each with its state), more (the others' number).
    """

    ADVICE = "Reinstall Outrider from where you got it."
    SHOWN = 5

    def __init__(self, missing: Sequence[str] = (), changed: Sequence[str] = ()) -> None:
        self.missing, self.changed = tuple(missing), tuple(changed)
        found = [*(f"{name} is missing" for name in missing), *(f"{name} is damaged" for name in changed)]
        self.listed = tuple(found[: self.SHOWN])
        self.more = len(found) - len(self.listed)
        more = f", and {self.more} more" if self.more else ""
        super().__init__(
            f"Outrider cannot start because some of its files are lost: {', '.join(self.listed)}{more}. {self.ADVICE}"
        )


# Requests -----------------------------------------------------------------------------------------------------------


class InvalidRequest(EngineError):
    """Report a request that makes no sense whatever the model: a wrong type, a negative length, an empty prompt."""


class DecoderBusy(InvalidRequest):
    """Report that the decoder, or a model that it shares, is at work: the same request may be made again later."""


class InvalidLookahead(InvalidRequest):
    """Report a lookahead that is neither a whole number from 0 to 32 nor the name of a policy."""

    def __init__(self, value: object) -> None:
        super().__init__(
            "Lookahead must be a whole number from 0 to 32, 'adaptive' or 'auto', not {value!r}.", value=value
        )


class InvalidSampling(InvalidRequest):
    """Report a sampling parameter outside its range. Attribute: parameter."""

    def __init__(self, parameter: str, value: object, allowed: str) -> None:
        self.parameter = parameter
        super().__init__(
            "{parameter} must be {allowed}, not {value!r}.", parameter=parameter, allowed=allowed, value=value
        )


class ContextFull(EngineError):
    """Report a prompt that does not fit the context. Attributes: needed, available (tokens)."""

    def __init__(self, needed: int, available: int) -> None:
        self.needed = needed
        self.available = available
        super().__init__(
            "The prompt has {needed} tokens, but the context holds only {available}. Shorten it, start a new "
            "chat, or load the model with a longer context.",
            needed=needed,
            available=available,
        )


class TokenOutOfRange(InvalidRequest):
    """Report a token id that the vocabulary does not have. Attributes: token, vocab_size."""

    def __init__(self, token: int, vocab_size: int) -> None:
        self.token = token
        self.vocab_size = vocab_size
        super().__init__("Token id {token} is not in the vocabulary (0 to {last}).", token=token, last=vocab_size - 1)


class TextNotEncodable(EngineError):
    """Report a character of the text for which the model's vocabulary has no token. Attribute: character."""

    def __init__(self, character: str) -> None:
        self.character = character
        name = f"U+{ord(character):04X}" if len(character) == 1 else Translatable("more than one character")
        super().__init__(
            "This model's vocabulary has no token for {character!r} ({name}). "
            "Leave it out of the prompt, or choose another model.",
            character=character,
            name=name,
        )


class ChatTemplateFailed(EngineError):
    """Report a chat template of the model that refused the conversation or is broken. Attribute: reason."""

    def __init__(self, reason: str, /, **fields: object) -> None:
        self.reason = filled(reason, fields)
        super().__init__(
            "The model's chat template failed: {reason}. Send plain text (--raw) or choose another model.",
            reason=self.reason,
        )


# Running ------------------------------------------------------------------------------------------------------------


class DegenerateDistribution(EngineError):
    """Report logits or probabilities that are no distribution (not a number, or no mass).

    Attributes: reason; position (in the reply), where known.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        self.reason = reason
        self.position = position
        where = "" if position is None else Translatable(" at position {position}", position=position)
        super().__init__(
            "The model returned no usable distribution{where}: {reason}. The file may be damaged.",
            where=where,
            reason=reason,
        )


class RewindNotSupported(EngineError):
    """Report a cache that was asked to go back to a place that it cannot go back to."""

    def __init__(self, length: int, current: int) -> None:
        super().__init__(
            "This model's cache cannot be rewound from {current} to {length} tokens.", current=current, length=length
        )


class BackendFailure(EngineError):
    """Report that the library below failed. Attribute: position (tokens in the cache at the time), where known."""

    def __init__(self, what: str, position: int | None = None, /, **fields: object) -> None:
        self.position = position
        where = "" if position is None else Translatable(" at position {position}", position=position)
        super().__init__("The model could not be run{where}: {what}.", where=where, what=filled(what, fields))


class BackendClosed(BackendFailure):
    """Report that the model was closed before it was asked."""

    def __init__(self) -> None:
        super().__init__(Translatable("it was closed"))


class ServerFailed(EngineError):
    """Report a server that cannot be reached, refuses, or breaks off.

    Attributes: address; status (the HTTP status, None if there was no answer).
    """

    def __init__(self, address: str, message: str, status: int | None = None, /, **fields: object) -> None:
        self.address = address
        self.status = status
        super().__init__(message, **fields)


class DocumentRefused(EngineError):
    """Report a document that cannot be read.

    Attributes: name (of the file), reason (why, in words), scanned (pages that could be read as pictures).
    """

    def __init__(self, name: str, reason: str, scanned: Sequence[int] = ()) -> None:
        self.name = name
        self.reason = reason
        self.scanned = tuple(scanned)
        # A name may have lines; a sentence has one.
        shown = " ".join(name.split()) or "the document"
        super().__init__("Cannot read {name}: {reason}.", name=shown, reason=reason)


class DownloadFailed(EngineError):
    """Report models that cannot be listed or brought here. Attribute: status (the HTTP status, None: another cause)."""

    def __init__(self, message: str, status: int | None = None, /, **fields: object) -> None:
        self.status = status
        super().__init__(message, **fields)


class OtherFileHere(DownloadFailed):
    """Report that a file of this name is here that is not the hub's: `replace` takes the hub's. Attribute: name."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        super().__init__(
            "{folder} has another {name}: there is a newer file at the hub, or it is a different one. "
            "Take the hub's in its place, or choose another folder.",
            folder=folder,
            name=name,
        )


class Cancelled(EngineError):
    """Report that the work was cancelled before there was anything to return."""

    def __init__(self, what: str = Translatable("The request")) -> None:
        super().__init__("{what} was cancelled.", what=what)


class PairWarning(UserWarning):
    """Warn of something that a person should know of the two paired models, which work all the same."""


class LoadWarning(PairWarning):
    """Warn of a model's loading: an option without effect, or a slow build."""
