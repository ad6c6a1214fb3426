"""What is known of the models that are loaded, and goes on being learned: costs, and what was accepted."""

from __future__ import annotations

from collections import defaultdict

from engine.acceptance_model import AcceptanceModel
from engine.backends.base import Backend
from engine.calibration import CostKeeper, costs_for, costs_key
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.costs import CostModel
from engine.errors import Cancelled, EngineError


class PairKnowledge:
    """Of a target and its draft. Attributes: costs.

    `key` None: the models are not from files, nothing is kept beyond the program's end.
    """

    def __init__(self, costs: CostModel | None = None, key: str | None = None) -> None:
        self.costs = CostModel() if costs is None else costs
        self._keeper = CostKeeper(key, self.costs)
        self._acceptance: defaultdict[tuple[str, bool], AcceptanceModel] = defaultdict(AcceptanceModel)

    def acceptance(self, source: str, *, greedy: bool) -> AcceptanceModel:
        """What was accepted of this source's proposals, apart for greedy and for drawn tokens."""
        return self._acceptance[source, greedy]

    def save(self, *, at_once: bool = False) -> None:
        """Keep the costs for the next start: not too often, or `at_once`."""
        self._keeper.save(at_once=at_once)


def learn_pair(
    target: Backend,
    target_config: LoadConfig | None,
    draft: Backend | None,
    draft_config: LoadConfig | None,
    cancel: CancelToken,
) -> PairKnowledge:
    """What earlier runs remember of these models, or else a calibration tells, of two seconds at most.

    Models that are not from files are learned in their replies alone. Raises Cancelled.
    """
    key = costs_key(target, target_config, draft, draft_config)
    if key is None:
        return PairKnowledge()
    try:
        return PairKnowledge(costs_for(target, draft, key, cancel=cancel), key)
    except Cancelled:
        raise
    except EngineError:  # What is wrong with a model the reply will tell.
        return PairKnowledge()
