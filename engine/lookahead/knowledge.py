"""Measured costs and acceptance of a pair, kept between runs. Losing the file costs one more calibration."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from time import monotonic
from typing import Any

from engine.backends.base import Backend
from engine.backends.identity import describe_loaded
from engine.backends.prefix import common_prefix
from engine.backends.threads import Clock
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled, EngineError
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.calibration import NONE, Free, Loaded, calibrate, free_models
from engine.lookahead.costs import CostModel
from engine.lookahead.policy import Allowance
from engine.system.cache_files import cache_folder, forget_oldest, read_json, write_json
from engine.system.machine import describe_machine, logical_cores, machine_watch, physical_cores

Known = Mapping[str, AcceptanceModel] | tuple[()]
CONTINUES = 0.9  # share of the last prompt that one begins with where it goes on with the conversation
SAVE_EVERY_S, MOST_REMEMBERED = 30.0, 256  # seconds between two saves; pairs that are remembered
LENGTHS = (1024, 4096, 16384)
"""Tokens in the context from which rounds have costs of their own: attention takes its time by the token."""


class PairKnowledge:
    """Hold the measured costs and acceptance of a pair; with a `key`, between runs. Attributes: costs, allowance.

    `costs` are those of short contexts; `longer`: those from each of LENGTHS on, if observed. `acceptance`: of earlier
    runs, by source and kind of sampling. `clock` counts seconds. `busy` returns True while other programs take cores:
    the costs of such rounds are learned separately, and dropped when those programs have ended.
    """

    def __init__(
        self,
        costs: CostModel | None = None,
        key: str | None = None,
        acceptance: Known = (),
        clock: Clock = monotonic,
        busy: Callable[[], bool] | None = None,
        *,
        longer: Mapping[int, CostModel] | None = None,
    ) -> None:
        self.costs, self.allowance = costs or CostModel(), Allowance()
        self.busy = busy or machine_watch().busy
        self._longer, self._disturbed_costs = dict(longer or {}), dict[int, CostModel]()
        self._key, self._clock, self._pair = key, clock, dict(acceptance)
        self._conversation: dict[str, AcceptanceModel] = {}
        self._apart: dict[str, PairKnowledge] = {}
        self._claims: defaultdict[tuple[str, bool], ClaimModel] = defaultdict(ClaimModel)
        self._prompt: Sequence[int] = ()
        self._saved_at, self._saved = clock(), self._content()

    def costs_now(self, length: int = 0) -> CostModel:
        """Return the costs to plan with at so many tokens in the context.

        Beside other programs they are a copy of what is known, which learns on its own.
        """
        floor = max((least for least in LENGTHS if least <= length), default=0)
        if not self.busy():
            self._disturbed_costs.clear()
            return self._costs_from(floor)
        if floor not in self._disturbed_costs:
            self._disturbed_costs[floor] = self._costs_from(floor).as_guess(disturbed=True)
        return self._disturbed_costs[floor]

    def _costs_from(self, floor: int) -> CostModel:
        """Return the costs from a length on; unmeasured ones begin as those of the next shorter one."""
        if floor and floor not in self._longer:
            shorter = max((least for least in self._longer if least < floor), default=0)
            self._longer[floor] = self._costs_from(shorter).as_guess()
        return self._longer[floor] if floor else self.costs

    def begin(self, prompt: Sequence[int]) -> None:
        """Begin a reply to this prompt. A new conversation begins with the pair's acceptance."""
        if common_prefix(self._prompt, prompt) < CONTINUES * len(self._prompt):
            self._conversation.clear()
            self._claims.clear()
        self._prompt = tuple(prompt)

    def acceptance(self, source: str, *, greedy: bool) -> AcceptanceModel:
        """Return the acceptance of this source in this conversation, greedy and drawn tokens apart."""
        name = f"{source}, {'greedy' if greedy else 'drawn'}"
        if name not in self._conversation:
            pair = self._pair.setdefault(name, AcceptanceModel(memory=AcceptanceModel.LONG_MEMORY))
            self._conversation[name] = AcceptanceModel(parent=pair)
        return self._conversation[name]

    def claims(self, source: str, *, greedy: bool) -> ClaimModel:
        """Return the worth of the source's own estimates in this conversation: texts differ in their repetitions."""
        return self._claims[source, greedy]

    def go_on_from(self, guess: PairKnowledge) -> None:
        """Take over the acceptance that replies learned before the costs were measured."""
        self._pair |= guess._pair
        self._longer = guess._longer | self._longer
        self._conversation, self._claims, self._prompt = guess._conversation, guess._claims, guess._prompt

    def save(self, *, at_once: bool = False) -> None:
        """Store changes for the next start: not too often, or `at_once` (before closing)."""
        if self._key is None or (not at_once and self._clock() - self._saved_at < SAVE_EVERY_S):
            return
        if (content := self._content()) != self._saved:
            remember(self._key, self.costs, acceptance=content[1], longer=content[2])
            self._saved_at, self._saved = self._clock(), content

    def apart(self, name: str) -> PairKnowledge:
        """Return separate knowledge for `name` (a stream, or a source in place of the draft); it is not saved."""
        if name not in self._apart:
            self._apart[name] = PairKnowledge(CostModel(self.costs.measured), acceptance=deepcopy(self._pair))
        return self._apart[name]

    def _content(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        acceptance = {name: model.to_json() for name, model in self._pair.items()}
        return self.costs.to_json(), acceptance, {str(least): each.to_json() for least, each in self._longer.items()}


def learn_pair(
    target: Backend, draft: Backend | None, configs: Sequence[LoadConfig | None], cancel: CancelToken
) -> PairKnowledge:
    """Load the measurements of earlier runs of these models, or else calibrate; not without files (`configs`).

    Raises Cancelled; what else is wrong with a model the reply will tell.
    """
    loaded, acceptance = {"target": (target, configs[0]), "draft": (draft, configs[1])}, dict[str, AcceptanceModel]()
    if (key := costs_key(loaded)) is None:
        return PairKnowledge()
    for name, data in remembered_part(key, "acceptance").items():
        with suppress(ValueError):
            acceptance[name] = AcceptanceModel.from_json(data)
    longer = {}
    for least in LENGTHS:
        with suppress(ValueError):
            longer[least] = CostModel.from_json(remembered_part(key, "longer").get(str(least)))
    try:
        costs = costs_for(target, draft, key, cancel=cancel, free=free_models(loaded))
        return PairKnowledge(costs, key, acceptance, longer=longer)
    except EngineError as error:
        if isinstance(error, Cancelled):
            raise
        return PairKnowledge()


def recall_pair(target: Backend, draft: Backend | None, configs: Sequence[LoadConfig | None]) -> PairKnowledge | None:
    """Load the measurements of earlier runs of these models, without measuring; None if there are none, or too few."""
    loaded = {"target": (target, configs[0]), "draft": (draft, configs[1])}
    key = costs_key(loaded)
    known = key is None or recall(key, free_models(loaded)) is not None
    return learn_pair(target, draft, configs, CancelToken()) if known else None


def costs_for(
    target: Backend, draft: Backend | None, key: str | None, *, free: Free = NONE, **options: Any
) -> CostModel:
    """Return the costs stored under `key`, or else calibrate and store them (not if it is None)."""
    if key is None or (costs := recall(key, free)) is None:
        costs = calibrate(target, draft, free=free, **options)
        if key is not None:
            remember(key, costs, threads={part: backend.threads for part, backend in free.items()})
    return costs


def recall(key: str, free: Free) -> CostModel | None:
    """Return the remembered costs, giving the models in `free` their numbers of threads; None without both."""
    costs, threads = remembered(key), remembered_part(key, "threads")
    counts = {part: threads.get(part) for part in free}
    if costs is None or not all(type(count) is int and 1 <= count <= logical_cores() for count in counts.values()):
        return None
    for part, backend in free.items():
        backend.set_threads(threads[part])
    return costs


def costs_key(loaded: Loaded) -> str | None:
    """Name this machine, its libraries and kernels, and all models; None if not all can be named."""
    machine = describe_machine()
    facts = [machine[name] for name in ("processor", "cores", "libraries", "outrider")]
    models = [describe_loaded(backend, config) for backend, config in loaded.values() if backend is not None]
    content = repr((physical_cores(), facts, models)).encode("utf-8", "surrogatepass")
    return None if None in models else hashlib.sha256(content).hexdigest()


def costs_place(key: str) -> Path:
    """Return the file of a key's stored costs. It may not exist."""
    return cache_folder() / "costs" / f"{key}.json"


def remembered(key: str) -> CostModel | None:
    """Return the costs that are remembered; None if there are none that can be read."""
    with suppress(ValueError):
        return CostModel.from_json(read_json(costs_place(key)))
    return None


def remembered_part(key: str, name: str) -> dict[str, Any]:
    """Return the value that `remember` was given under this name; empty if there is none."""
    found = read_json(costs_place(key)).get(name)
    return found if isinstance(found, dict) else {}


def remember(key: str, costs: CostModel, **parts: Mapping[str, Any]) -> None:
    """Store measured costs, with their further parts (acceptance, threads), new or from before."""
    if costs.measured:
        with suppress(OSError):
            write_json(costs_place(key), read_json(costs_place(key)) | costs.to_json() | parts)
            forget_oldest(costs_place(key).parent, ".json", MOST_REMEMBERED)
