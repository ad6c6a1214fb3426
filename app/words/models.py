"""Put the choice of models into words: the lines of the draft picker that are no files, and a lack of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from app.state.models.names import file_size
from app.state.models.selection import PickerLine
from app.state.models.targets import ADD_SERVER
from app.system.translation import fill, number, say, tr
from app.words.figures import SEPARATOR, speed
from engine import DRAFT_METHODS

if TYPE_CHECKING:
    from engine import ModelFacts


def worded(choice: PickerLine) -> PickerLine:
    """Return a line of a picker with its words: special lines are named, a shortage of memory is shown."""
    if choice.kind != "model":
        label, hint = _special_words(choice)
        return replace(choice, label=label, hint=hint)
    label = say(choice.label)
    problem, hint = choice.problem, say(choice.hint)
    if choice.others:
        hint = tr(
            "Models",
            "Both propose. With lookahead auto, each round takes the one that promises more; with a fixed lookahead "
            "the head drafts.",
        )
    if choice.away:
        problem = tr("Models", "Its folder is not available.")
    elif problem is None and choice.shortage is not None and choice.with_target:
        needed, free = (say(file_size(size)) or "0" for size in choice.shortage)
        text = tr("Models", "It needs about {needed} of memory; {free} are free beside the target.")
        problem = text.format(needed=needed, free=free)
    elif choice.shortage is not None:
        # A target can be loaded all the same: before that is tried, the user is asked.
        hint += "\n" + shortage_words(*choice.shortage)
    figures = figures_words(choice)
    return replace(choice, label=label, problem=None if problem is None else say(problem), hint=hint, figures=figures)


def figures_words(choice: PickerLine) -> str:
    """Describe a model by figures: 1.1 GB · context 8,192 · 24 tok/s, 32 with a draft."""
    plain, drafted = choice.measured
    parts = [say(file_size(choice.size))]
    if choice.context:
        parts.append(fill(tr("Models", "context {context:,}"), context=choice.context))
    if plain and drafted:
        words = tr("Models", "{plain}, {drafted} with a draft")
        parts.append(words.format(plain=speed(plain), drafted=number(drafted, 1 if drafted < 10 else 0)))
    elif plain or drafted:
        words = "{speed}" if plain else tr("Models", "{speed} with a draft")
        parts.append(words.format(speed=speed(plain or drafted)))
    return SEPARATOR.join(filter(None, parts))


def _special_words(choice: PickerLine) -> tuple[str, str]:
    """Return label and hint of a line that is no model."""
    if choice.kind == "automatic":
        return _automatic_words(choice)
    if choice.kind == "group":
        titles = {
            "same": tr("Models", "Same tokenizer"),
            "both": tr("Models", "Head and draft model in turns"),
            "other": tr("Models", "Other tokenizer, so slower"),
            "rest": tr("Models", "Others"),
            "servers": tr("Models", "Servers"),
        }
        return titles[choice.label], choice.hint
    if choice.kind == ADD_SERVER:
        return tr("Models", "Add a server…"), tr("Models", "A model on another computer, or of another program")
    if choice.kind == "none":
        return tr("Models", "none"), tr("Models", "Plain decoding: no draft")
    said = {method.name: (say(method.label), say(method.hint)) for method in DRAFT_METHODS}
    said["ngram"] = tr("Models", "n-gram"), tr("Models", "No draft model: proposals are taken from the text so far")
    return said[choice.kind]


def _automatic_words(choice: PickerLine) -> tuple[str, str]:
    label = tr("Models", "automatic")
    if choice.label:
        label = tr("Models", "automatic · {draft}").format(draft=say(choice.label))
    elif choice.hint == "text":
        label = tr("Models", "automatic · from the text")
    elif choice.hint == "server":
        return tr("Models", "chosen by the server"), tr("Models", "A server drafts by itself")
    elif choice.hint == "plain":
        label = tr("Models", "automatic · no draft fits")
    return label, tr("Models", "The best available draft for the target")


def facts_words(model: ModelFacts) -> str:
    """Describe a loaded model's device and batch invariance in one line."""
    place = f"{model.name} · {model.device}"
    if model.batch_invariant is None:
        return place
    if model.batch_invariant:
        return tr("Models", "{place} · batch-invariant").format(place=place)
    return tr(
        "Models",
        "{place} · not batch-invariant: a greedy reply with a draft may differ where two tokens are nearly as likely",
    ).format(place=place)


def shortage_words(needed: int, free: int) -> str:
    """Explain a shortage of memory: bytes needed and bytes free."""
    text = tr("Models", "It needs about {needed} of memory; {free} are free.")
    return text.format(needed=say(file_size(needed)), free=say(file_size(free)) or "0")


def announcement(names: Sequence[str], needed: int, free: int) -> str:
    """Announce a load that needs more bytes than are free."""
    if len(names) == 2:
        text = tr(
            "Models",
            "{target} and {draft} need about {needed} of memory, but only {free} are free. Loading them may slow "
            "down this computer or fail.",
        )
    else:
        text = tr(
            "Models",
            "{target} needs about {needed} of memory, but only {free} are free. Loading it may slow down this "
            "computer or fail.",
        )
    needs, left = say(file_size(needed)), say(file_size(free)) or "0"
    return text.format(target=names[0], draft=names[-1], needed=needs, free=left)
