"""Choose a draft for each target among all the models of a folder: every pair of a few models, the best of many."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import numpy as np

from engine.formats.model_file import ModelFile
from engine.formats.vocabulary import Vocabulary
from engine.library.compat import Fit, judge_pair, judge_vocabularies, rank_drafts

MOST_LISTED = 60
"""The most models whose pairs are all listed: beyond, there are too many for anybody to read."""
BEST_LISTED = 3
_MOST_COMPARED = 20_000
_PROBES = np.array(sorted({5, *(2**bit + 1 for bit in range(3, 20)), *(3 * 2**bit for bit in range(2, 17))}))
"""Token ids that are compared first: two vocabularies that differ in one of them do not fit."""
_RATIOS = (10, 40)
"""The best ratios of a target's size to its draft's: the drafts around it are judged."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Hold two models and the fit of the pair."""

    target: ModelFile
    draft: ModelFile
    fit: Fit


@dataclass(slots=True)
class Pairs:
    """Hold the pairs of a folder. `listed`: all, or if `shortened` the best for each target.

    `best`: the best draft of each target that has one which is smaller than itself. `counts`: how many of the other
    models can draft for a target directly and through text; only an equal vocabulary counts as fitting where there are
    too many to compare. Both by the target's path.
    """

    listed: list[Pair] = field(default_factory=list)
    best: dict[Path, Pair] = field(default_factory=dict)
    counts: dict[Path, tuple[int, int]] = field(default_factory=dict)
    shortened: bool = False


def judge_models(models: Iterable[ModelFile]) -> Pairs:
    """Return the pairs. What is not a model by its role is left out."""
    candidates = [model for model in models if model.role == "model"]
    if len(candidates) <= MOST_LISTED:
        return _all_pairs(candidates)
    return _best_pairs([model for model in candidates if model.usable and model.vocabulary is not None])


def _all_pairs(models: Sequence[ModelFile]) -> Pairs:
    pairs = Pairs([Pair(target, draft, judge_pair(target, draft)) for target, draft in permutations(models, 2)])
    for target in models:
        if target.usable:
            fits = [pair.fit for pair in pairs.listed if pair.target is target]
            pairs.counts[target.path] = sum(fit.fits for fit in fits), sum(fit.through_text for fit in fits)
            best = _ranked(target, [model for model in models if model is not target])
            if best:
                pairs.best[target.path] = best[0]
    return pairs


def _best_pairs(models: Sequence[ModelFile]) -> Pairs:
    pairs = Pairs(shortened=True)
    groups = _Groups(models)
    for target in models:
        fitting = groups.fitting(target)
        best = _ranked(target, fitting.of_draft_size(target)) or _ranked(target, groups.all.of_draft_size(target))
        pairs.listed += best[:BEST_LISTED]
        if best:
            pairs.best[target.path] = best[0]
        fits = len(fitting.models) - 1
        pairs.counts[target.path] = fits, len(models) - 1 - fits
    return pairs


def _ranked(target: ModelFile, drafts: Sequence[ModelFile]) -> list[Pair]:
    """Return the drafts that can be paired with a target and are smaller, the best first."""
    smaller = [draft for draft in drafts if draft.size_bytes < target.size_bytes]
    return [Pair(target, draft, fit) for draft, fit in rank_drafts(target, smaller) if fit.usable]


class _Sizes:
    """Return models in the order of their sizes, those of one kind together."""

    def __init__(self, models: Sequence[ModelFile]) -> None:
        self.models = models
        self._kinds: dict[tuple[object, ...], list[ModelFile]] = defaultdict(list)
        for model in sorted(models, key=lambda model: model.size_bytes):
            bits = "".join(filter(str.isdigit, model.quantisation))[:1]
            self._kinds[model.architecture, model.has_chat_template, bits].append(model)

    def of_draft_size(self, target: ModelFile) -> list[ModelFile]:
        """Return of each kind the models that are of about the right size to draft for a target."""
        found = []
        for kind in self._kinds.values():
            right = bisect_right(kind, target.size_bytes / _RATIOS[0], key=lambda model: model.size_bytes)
            left = bisect_left(kind, target.size_bytes / _RATIOS[1], key=lambda model: model.size_bytes)
            places = {left - 1, left, right - 1, right, right + 1}
            found += [kind[place] for place in sorted(places) if 0 <= place < len(kind)]
        return [model for model in found if model is not target]


class _Groups:
    """Group models by their vocabularies, each pair of which is compared once."""

    def __init__(self, models: Sequence[ModelFile]) -> None:
        self.all = _Sizes(models)
        self._members: dict[Vocabulary, list[ModelFile]] = defaultdict(list)
        for model in models:
            if model.vocabulary is not None:
                self._members[model.vocabulary].append(model)
        self._vocabularies = list(self._members)
        self._probes = np.array([_probe(vocabulary) for vocabulary in self._vocabularies])
        self._left = _MOST_COMPARED
        self._fitting: dict[Vocabulary, _Sizes] = {}

    def fitting(self, target: ModelFile) -> _Sizes:
        """Return the models whose vocabulary is a target's own, itself among them."""
        vocabulary = target.vocabulary
        if vocabulary is None:
            return _Sizes([])
        if vocabulary not in self._fitting:
            found = [model for other in self._alike(vocabulary) for model in self._members[other]]
            self._fitting[vocabulary] = _Sizes(found)
        return self._fitting[vocabulary]

    def _alike(self, vocabulary: Vocabulary) -> list[Vocabulary]:
        ours = _probe(vocabulary)
        possible = np.all((self._probes == ours) | (self._probes == 0) | (ours == 0), axis=1)
        found = []
        for index in np.flatnonzero(possible):
            other = self._vocabularies[index]
            if other.digest != vocabulary.digest:
                self._left -= 1
                if self._left < 0 or not judge_vocabularies(vocabulary, other).fits:
                    continue
            found.append(other)
        return found


def _probe(vocabulary: Vocabulary) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the fingerprints at a few places, 0 if there is none."""
    prints = vocabulary.fingerprints
    probe = np.zeros(len(_PROBES), np.uint32)
    within = len(prints) > _PROBES
    probe[within] = prints[_PROBES[within]]
    return probe
