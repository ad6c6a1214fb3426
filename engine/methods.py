"""Register the draft methods in one table that the engine, the command line and the window read.

A method is one entry here and one drafter. To use your own drafter, pass a DraftMethod instead of a method's
name: `SpeculationConfig(method=DraftMethod("mine", "Mine", "Proposes the last token again.", make_drafter))`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from engine.translatable import Translatable

AUTO, PLAIN = "auto", "autoregressive"
"""Choices that are no draft method: the best of the loaded sources, and decoding without proposals."""
PARTS: tuple[Literal["target", "heads", "draft"], ...] = ("target", "heads", "draft")
"""The models of a decoder, as options, reports and proofs name them."""


@dataclass(frozen=True, slots=True)
class DraftMethod:
    """Describe a way to propose tokens.

    `name` is used on the command line and in results, `label` and `hint` (a sentence) in the window. `maker` makes the
    drafter of one reply from a DrafterContext: a callable, or "module:function", imported on first use;
    None: the method is known, but not implemented. `lookahead`: the default number of tokens per round.
    `needs`: its basis besides the text: nothing, a draft model, or heads on the target. `is_index`: its proposals are
    known in advance and cost nothing (see engine.drafting.base.Index).
    `automatic`: the automatic lookahead knows the cost of its proposals, and the method `auto` may choose it.
    """

    name: str
    label: str
    hint: str
    maker: str | Callable[[Any], Any] | None = None
    lookahead: int = 4
    needs: Literal["nothing", "draft", "heads"] = "nothing"
    is_index: bool = False
    automatic: bool = False

    @property
    def available(self) -> bool:
        """Return True if this version can make its drafter."""
        return self.maker is not None

    def make(self, context: Any) -> Any:
        """Make the drafter of one reply from a DrafterContext. It must be available."""
        maker = self.maker
        if isinstance(maker, str):
            module, _, name = maker.partition(":")
            maker = getattr(importlib.import_module(module), name)
        return maker(context)  # type: ignore[misc]


def _of_heads(name: str, label: str, hint: str, lookahead: int = 4) -> DraftMethod:
    return DraftMethod(name, label, hint, "engine.drafting.heads.chain:make_drafter", lookahead, needs="heads")


DRAFT_MODEL = DraftMethod(
    "draft-model",
    Translatable("Draft model"),
    Translatable("Only the draft model proposes tokens, if one is chosen."),
    "engine.drafting.draft_model:make_drafter",
    needs="draft",
    automatic=True,
)
NGRAM = DraftMethod(
    "ngram",
    Translatable("N-gram"),
    Translatable("Proposes what followed earlier in the text when it begins to repeat. Needs no draft model."),
    "engine.drafting.ngram:make_drafter",
    lookahead=16,  # It costs nothing to ask, and where it finds anything it mostly finds a long stretch.
    is_index=True,
    automatic=True,
)
PREDICTION = DraftMethod(
    "prediction",
    "Prediction",
    "Proposes what a request says that the reply will probably be.",
    "engine.drafting.prediction:make_drafter",
    lookahead=32,
    is_index=True,
    automatic=True,
)
"""An n-gram index too; in its place where a request brings a prediction, and no method that could be asked for."""
OWN_TEXTS = DraftMethod(
    "own-texts",
    Translatable("Your own texts"),
    "Proposes what followed earlier in this text, or in the texts of a corpus.",
    "engine.drafting.own_texts:make_drafter",
    lookahead=16,
    is_index=True,
    automatic=True,
)
"""An n-gram index too; in its place where a corpus is attached, and no method that could be asked for."""
DRAFT_METHODS = (
    DRAFT_MODEL,
    NGRAM,
    _of_heads(
        "medusa", "Medusa", Translatable("Heads that read the target's last hidden state propose, one token each.")
    ),
    _of_heads("eagle2", "EAGLE-2", Translatable("A head that reads the target's last features proposes.")),
    _of_heads("eagle3", "EAGLE-3", Translatable("A head that reads the target's hidden states proposes.")),
    _of_heads("mtp", "MTP", Translatable("The target's own MTP layers propose.")),
    # A block costs one pass, however long it is.
    _of_heads("dflash", "DFlash", Translatable("A head proposes a block of tokens at once."), lookahead=8),
    _of_heads(
        "dspark",
        "DSpark",
        Translatable("A head proposes a block of tokens at once, each in view of the one before it."),
        lookahead=7,
    ),
)
METHODS = (AUTO, PLAIN, *(method.name for method in DRAFT_METHODS))
"""Every name that a request may give as its method."""
SOURCES = tuple(
    method.name for method in sorted(DRAFT_METHODS, key=lambda method: not method.is_index) if method.available
)
"""The kinds of sources, in the order in which they are best asked: the free ones first."""
_BY_NAME = {method.name: method for method in DRAFT_METHODS}


def find_method(method: str | DraftMethod) -> DraftMethod | None:
    """Return the draft method of a name; None for `auto`, plain decoding and unknown names."""
    return method if isinstance(method, DraftMethod) else _BY_NAME.get(method)
