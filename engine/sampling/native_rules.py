"""Make the structures of the compiled functions from the table of the rules (kernels/cuts.h, kernels/draw.cpp).

The compiled code makes its own of the same file. A library that was compiled with another table is refused: its
functions would take one number for another.
"""

from __future__ import annotations

import ctypes
from typing import Any

from engine.config import MAX_LOOKAHEAD, SamplingConfig
from engine.sampling_rules import CUTS, PENALTIES, SIGNATURE, Rule

MOST_TOP = 5
_MOST = MAX_LOOKAHEAD + 2
_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_TYPES: dict[str, Any] = {"int64_t": _INT, "float": ctypes.c_float, "double": _DOUBLE}


class OtherRules(Exception):
    """Report a library that was compiled with another table of the sampling rules."""


def check_rules(library: ctypes.PyDLL) -> None:
    """Check the table of the library. Raises OtherRules, and AttributeError where it has no functions of ours."""
    signature = library.outrider_sampling_rules
    signature.argtypes, signature.restype = [], ctypes.c_char_p
    if signature() != SIGNATURE.encode():
        raise OtherRules


def fields_of(rules: tuple[Rule, ...]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a structure with these rules."""
    return tuple((rule.name, _TYPES[rule.type]) for rule in rules)


def _values(rules: tuple[Rule, ...], sampling: SamplingConfig) -> tuple[Any, ...]:
    return tuple(getattr(sampling, rule.name) for rule in rules)


class Cuts(ctypes.Structure):
    """Hold the settings that reshape and truncate a distribution (cuts.h: Cuts)."""

    _fields_ = fields_of(CUTS)


def cuts_of(sampling: SamplingConfig) -> Cuts:
    """Return the cuts of a configuration."""
    return Cuts(*_values(CUTS, sampling))


class Rules(ctypes.Structure):
    """Hold the rules from a row to its distribution (draw.cpp: Rules)."""

    _fields_ = (
        *(("cuts", Cuts), *fields_of(PENALTIES), ("penalised", _INT), ("seed", ctypes.c_uint64), ("least", _DOUBLE)),
        *(("biased_count", _INT), ("banned_count", _INT)),
        *(("biased", _POINTER), ("amounts", _POINTER), ("banned", _POINTER)),
    )


class Named:
    """Hold the arrays of the tokens that a configuration names, as the functions read them."""

    def __init__(self, sampling: SamplingConfig) -> None:
        biased, banned = sampling.logit_bias, sampling.banned_tokens
        self.biased = (_INT * len(biased))(*(token for token, _ in biased))
        self.amounts = (ctypes.c_float * len(biased))(*(amount for _, amount in biased))
        self.banned = (_INT * len(banned))(*banned)
        self.highest = max((*self.biased, *self.banned), default=-1)


def rules_of(sampling: SamplingConfig, seed: int, least: float, named: Named) -> Rules:
    """Return the rules of a configuration, which refer to the arrays of `named`."""
    return Rules(
        *(cuts_of(sampling), *_values(PENALTIES, sampling)),
        *(sampling.penalised, seed, least, len(named.biased), len(named.banned)),
        *(ctypes.addressof(each) for each in (named.biased, named.amounts, named.banned)),
    )


class Counted(ctypes.Structure):
    """Hold the penalised tokens, their counts, and the order in which they leave the window."""

    _fields_ = (
        *(("count", _INT), ("tokens", _POINTER), ("numbers", _POINTER)),
        *(("oldest", _POINTER), ("held", _INT)),
    )


class Work(ctypes.Structure):
    """Hold the constant inputs of the functions, and their results (draw.cpp: Work)."""

    _fields_ = (
        *(("rules", Rules), ("counted", Counted), ("masks", _POINTER), ("mask_words", _INT)),
        *(("token", _INT), ("logprob", _DOUBLE)),
        *(("kept", _INT), ("tokens", _INT * _MOST), ("logprobs", _DOUBLE * _MOST)),
        *(("top", _INT), ("top_tokens", _INT * (_MOST * MOST_TOP)), ("top_logprobs", _DOUBLE * (_MOST * MOST_TOP))),
    )
