"""What is known of the models that are loaded, and goes on being learned: costs, and what was accepted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from engine.backends.base import Backend
from engine.backends.prefix import common_prefix
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled, EngineError
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.auto import Allowance
from engine.lookahead.calibration import costs_for, costs_key, remember, remembered_part
from engine.lookahead.costs import CostModel
from engine.lookahead.threads import free_models

Acceptances = Mapping[str, AcceptanceModel]


class PairKnowledge:
    """Knows a target and its draft; with a `key`, beyond the program's end. Attributes: costs, allowance.

    `acceptance`: what earlier runs learned, by source and way of drawing. `clock` counts seconds.
    """

    CONTINUES, SAVE_EVERY_S = 0.9, 30.0
    """Share of the last prompt that one begins with where it goes on with the conversation; seconds between saves."""

    def __init__(
        self,
        costs: CostModel | None = None,
        key: str | None = None,
        acceptance: Acceptances | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.costs, self.allowance = costs or CostModel(), Allowance()
        self._key, self._clock, self._pair = key, clock, dict(acceptance or {})
        self._conversation: dict[str, AcceptanceModel] = {}
        self._claims: defaultdict[tuple[str, bool], ClaimModel] = defaultdict(ClaimModel)
        self._prompt: Sequence[int] = ()
        self._saved_at, self._saved = clock(), self._content()

    def begin(self, prompt: Sequence[int]) -> None:
        """Begin a reply to this prompt. A new conversation begins with what is known of the pair."""
        if common_prefix(self._prompt, prompt) < self.CONTINUES * len(self._prompt):
            self._conversation.clear()
            self._claims.clear()
        self._prompt = tuple(prompt)

    def acceptance(self, source: str, *, greedy: bool) -> AcceptanceModel:
        """Return what was accepted of this source's proposals in this conversation, greedy and drawn tokens apart."""
        name = f"{source}, {'greedy' if greedy else 'drawn'}"
        if name not in self._conversation:
            pair = self._pair.setdefault(name, AcceptanceModel(memory=AcceptanceModel.LONG_MEMORY))
            self._conversation[name] = AcceptanceModel(parent=pair)
        return self._conversation[name]

    def claims(self, source: str, *, greedy: bool) -> ClaimModel:
        """Return what the source's own estimates are worth in this conversation: texts differ in what they repeat."""
        return self._claims[source, greedy]

    def save(self, *, at_once: bool = False) -> None:
        """Keep what has changed for the next start: not too often, or `at_once` (before closing)."""
        if self._key is None or (not at_once and self._clock() - self._saved_at < self.SAVE_EVERY_S):
            return
        content = self._content()
        if content != self._saved:
            remember(self._key, self.costs, acceptance=content[1])
            self._saved_at, self._saved = self._clock(), content

    def _content(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.costs.to_json(), {name: model.to_json() for name, model in self._pair.items()}


def learn_pair(
    target: Backend,
    target_config: LoadConfig | None,
    draft: Backend | None,
    draft_config: LoadConfig | None,
    cancel: CancelToken,
) -> PairKnowledge:
    """Learn from earlier runs what is known of these models, or else from a calibration, of two seconds at most.

    Models that are not from files are learned in their replies alone. Raises Cancelled.
    """
    key = costs_key(target, target_config, draft, draft_config)
    if key is None:
        return PairKnowledge()
    free, acceptance = free_models((target, target_config), (draft, draft_config)), dict[str, AcceptanceModel]()
    for name, data in remembered_part(key, "acceptance").items():
        with suppress(ValueError):
            acceptance[name] = AcceptanceModel.from_json(data)
    try:
        return PairKnowledge(costs_for(target, draft, key, cancel=cancel, free=free), key, acceptance)
    except Cancelled:
        raise
    except EngineError:  # What is wrong with a model the reply will tell.
        return PairKnowledge()
