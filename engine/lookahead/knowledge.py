"""What is known of the models that are loaded, and goes on being learned: costs, and what was accepted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from engine.backends.base import Backend
from engine.backends.prefix import common_prefix
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled, EngineError
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.calibration import CostKeeper, costs_for, costs_key, remembered_acceptance
from engine.lookahead.costs import CostModel
from engine.lookahead.exploration import Exploration
from engine.lookahead.threads import free_models


class PairKnowledge:
    """Of a target and its draft. Attributes: costs, exploration.

    `key` None: the models are not from files, nothing is kept beyond the program's end. `acceptance`: what earlier runs
    learned of what is accepted, by source and way of drawing.
    """

    CONVERSATION_WEIGHT, CONVERSATION_POOLED = 20.0, 48.0
    """Outcomes that what is known of the pair counts for in a new conversation: of all its proposals, and of those at
    one position or of one confidence. A short reply has few of either, and guesses from few choose badly. (Replayed
    with 196 recorded replies of the demo pair and three tables of costs: 6 and 12 outcomes gave 1 to 2 % fewer
    tokens/s.)"""
    CONTINUES = 0.9
    """Share of the last prompt that a prompt begins with where it goes on with the same conversation."""

    def __init__(
        self,
        costs: CostModel | None = None,
        key: str | None = None,
        acceptance: Mapping[str, AcceptanceModel] | None = None,
    ) -> None:
        self.costs = CostModel() if costs is None else costs
        self.exploration = Exploration(calibrated=key is not None)
        self._pair = dict(acceptance or {})
        self._keeper = CostKeeper(key, self.costs, acceptance=self._to_json)
        self._conversation: dict[str, AcceptanceModel] = {}
        self._claims: defaultdict[str, ClaimModel] = defaultdict(ClaimModel)
        self._prompt: Sequence[int] = ()

    def begin(self, prompt: Sequence[int]) -> None:
        """A reply to this prompt is to be written. A new conversation begins with what is known of the pair."""
        if common_prefix(self._prompt, prompt) < self.CONTINUES * len(self._prompt):
            self._conversation.clear()
            self._claims.clear()
        self._prompt = tuple(prompt)

    def acceptance(self, source: str, *, greedy: bool) -> AcceptanceModel:
        """What was accepted of this source's proposals in this conversation, apart for greedy and for drawn tokens."""
        name = _name(source, greedy)
        if name not in self._conversation:
            pair = self._pair.setdefault(name, AcceptanceModel.of_pair())
            self._conversation[name] = AcceptanceModel(
                weight=self.CONVERSATION_WEIGHT, pooled=self.CONVERSATION_POOLED, parent=pair
            )
        return self._conversation[name]

    def claims(self, source: str, *, greedy: bool) -> ClaimModel:
        """What the source's own estimates are worth in this conversation: what texts repeat differs between them."""
        return self._claims[_name(source, greedy)]

    def save(self, *, at_once: bool = False) -> None:
        """Keep it for the next start: not too often, or `at_once`."""
        self._keeper.save(at_once=at_once)

    def _to_json(self) -> dict[str, Any]:
        return {name: model.to_json() for name, model in self._pair.items()}


def _name(source: str, greedy: bool) -> str:
    return f"{source}, {'greedy' if greedy else 'drawn'}"


def learn_pair(
    target: Backend,
    target_config: LoadConfig | None,
    draft: Backend | None,
    draft_config: LoadConfig | None,
    cancel: CancelToken,
) -> PairKnowledge:
    """What earlier runs remember of these models, or else a calibration tells, of two seconds at most.

    Models that are not from files are learned in their replies alone. Where nobody asked for a number of threads, a
    model is left with the one that was the quickest. Raises Cancelled.
    """
    key = costs_key(target, target_config, draft, draft_config)
    if key is None:
        return PairKnowledge()
    free = free_models((target, target_config), (draft, draft_config))
    try:
        return PairKnowledge(costs_for(target, draft, key, cancel=cancel, free=free), key, _acceptance(key))
    except Cancelled:
        raise
    except EngineError:  # What is wrong with a model the reply will tell.
        return PairKnowledge()


def _acceptance(key: str) -> dict[str, AcceptanceModel]:
    found: dict[str, AcceptanceModel] = {}
    for name, data in remembered_acceptance(key).items():
        with suppress(ValueError):
            found[name] = AcceptanceModel.from_json(data)
    return found
