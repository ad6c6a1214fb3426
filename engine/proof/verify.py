"""Compute a reply again from its proof, and compare."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import MAX_TOP, GenerationRequest, LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, EngineError
from engine.events import Finished, TokenEvent
from engine.generation.reading import read_request
from engine.methods import PARTS, PLAIN
from engine.proof.content import NoProof, Proof, find_models
from engine.system.machine import describe_machine
from engine.translatable import Translatable

BOUND = 0.05
"""The largest difference of a token's natural log-probability that other kernels or processors explain."""
_ROUNDING = 2e-6
"""Log-probabilities are written with six digits."""


@dataclass(frozen=True, slots=True)
class OtherToken:
    """Hold the first token that differs. `index` counts from 0; `ours`: the one that was computed, None: none came.

    `logprob`: of the token as the proof says; `recomputed`: of the same token as computed here, None if it is not
    among the best; `of_ours`: of the one that was computed.
    """

    index: int
    token: int
    text: str
    logprob: float
    recomputed: float | None
    ours: int | None
    ours_text: str
    of_ours: float | None

    @property
    def near_tie(self) -> bool:
        """Return True if the two lie so close that other kernels may choose the other one."""
        return self.recomputed is not None and self.of_ours is not None and self.of_ours - self.recomputed < BOUND


@dataclass(frozen=True, slots=True)
class Verified:
    """Hold the result of computing a reply again.

    Attributes: tokens (of the reply); same (how many of them came again, from the first one on); difference (the
    largest between log-probabilities of those); other (the first token that differs, None: none does); alike (this
    machine computes as the one that wrote it); problems (what else is wrong, in sentences, mostly nothing).
    """

    tokens: int
    same: int
    difference: float
    other: OtherToken | None
    alike: bool
    problems: tuple[str, ...] = ()

    @property
    def identical(self) -> bool:
        """Return True if the reply equals the proof's: every token, and its probabilities as near as possible."""
        bound = _ROUNDING if self.alike else BOUND
        return self.other is None and not self.problems and self.difference <= bound

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the sentences for a person, the verdict first."""
        return (*self.problems, *self._verdict())

    def _verdict(self) -> list[str]:
        if self.other is not None:
            return _said_of(self.other, alike=self.alike)
        if self.difference > (_ROUNDING if self.alike else BOUND):
            text = Translatable(
                "All {count} tokens are the same, but their probabilities differ by up to {difference:.2g} (natural "
                "logarithm): that is more than other kernels explain.",
                count=self.tokens,
                difference=self.difference,
            )
            return [text]
        if self.problems:
            return []
        if self.difference <= _ROUNDING:
            return [Translatable("Identical: all {count} tokens, and their probabilities.", count=self.tokens)]
        return [
            Translatable(
                "Identical: all {count} tokens. Another processor or other kernels computed them; the probabilities "
                "differ by up to {difference:.2g} (natural logarithm; {bound:g} is allowed).",
                count=self.tokens,
                difference=self.difference,
                bound=BOUND,
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of the command line."""
        other = self.other
        return {
            "identical": self.identical,
            "tokens": self.tokens,
            "same_tokens": self.same,
            "largest_difference": self.difference,
            "bound": _ROUNDING if self.alike else BOUND,
            "same_machine": self.alike,
            "first_difference": None
            if other is None
            else {
                "index": other.index,
                "token": other.token,
                "text": other.text,
                "logprob": other.logprob,
                "recomputed_logprob": other.recomputed,
                "recomputed_token": other.ours,
                "recomputed_text": other.ours_text,
                "recomputed_token_logprob": other.of_ours,
                "near_tie": other.near_tie,
            },
            "problems": [str(problem) for problem in self.problems],
        }


def _said_of(other: OtherToken, *, alike: bool) -> list[str]:
    if other.ours is None:
        return [Translatable("Not identical: the reply ends before token {number}.", number=other.index + 1)]
    said: list[str] = [
        Translatable(
            "Not identical: token {number} is {token!r} in the proof, and {ours!r} when computed again.",
            number=other.index + 1,
            token=other.text,
            ours=other.ours_text,
        )
    ]
    if other.recomputed is None:
        said.append(Translatable("It is not among the {count} likeliest tokens there.", count=MAX_TOP))
    else:
        said.append(
            Translatable(
                "Its log-probability is {recomputed:.4f}, {difference:+.4f} from what the proof says.",
                recomputed=other.recomputed,
                difference=other.recomputed - other.logprob,
            )
        )
    if other.near_tie and not alike:
        said.append(Translatable("The two are a near tie, which another processor may break the other way."))
    return said


def verify_proof(
    proof: Proof,
    models: Mapping[str, Path],
    *,
    decoder: SpeculativeDecoder | None = None,
    cancel: CancelToken | None = None,
) -> Verified:
    """Compute the reply of a proof again, with the models that it needs (`Proof.needs`), and compare.

    `models`: their files, by part. `decoder`: it is used where it has them loaded as the proof says, and keeps them;
    else a decoder of its own loads them. Raises NoProof if a model is missing or is not the same file, LoadFailed
    and its kinds, Cancelled.
    """
    token = cancel or CancelToken()
    for part in proof.needs:
        _require(proof, part, models.get(part), token)
    if decoder is not None and _has(decoder, proof, models):
        return _compare(decoder, proof, token)
    with SpeculativeDecoder() as own:
        target, *sources = (proof.config(part, models[part]) for part in proof.needs)
        own.attach(target, sources, cancel=token)
        return _compare(own, proof, token)


def _require(proof: Proof, part: str, path: Path | None, cancel: CancelToken) -> None:
    """Raise NoProof if a model is missing or is not the same file."""
    wanted = proof.model(part)
    name = "" if wanted is None else str(wanted["name"])
    if path is None:
        raise NoProof("The proof needs the model {name}, which is not here.", name=name)
    if part not in find_models(proof, [path], cancel):
        raise NoProof("{path} is not the file of which the proof speaks ({name}).", path=path.name, name=name)


def _has(decoder: SpeculativeDecoder, proof: Proof, models: Mapping[str, Path]) -> bool:
    """Return True if a decoder has loaded the models of a proof, and nothing that would draft in their place."""
    there = [part for part in PARTS if getattr(decoder, part) is not None]
    if not proof.by_target_alone and tuple(there) != proof.needs:
        return False
    return all(
        _is_there(getattr(decoder, part), decoder.config_of(part), proof.config(part, models[part]))
        for part in PARTS
        if part in proof.needs
    )


def _is_there(backend: Backend | None, have: LoadConfig | None, wanted: LoadConfig) -> bool:
    if backend is None or have is None or wanted.context_length not in (None, backend.context_length):
        return False
    return (have.path, have.dtype, have.cache_type) == (wanted.path, wanted.dtype, wanted.cache_type)


def _compare(decoder: SpeculativeDecoder, proof: Proof, cancel: CancelToken) -> Verified:
    target = decoder.target
    assert target is not None  # noqa: S101 - it was loaded a moment ago
    problems = [] if proof.intact else [Translatable("The file was changed after it was written.")]
    request = proof.request
    machine, made = describe_machine(), proof.content["made_with"]
    alike = target.own_kernels == proof.content["kernels"] and all(
        machine[name] == made.get(name) for name in ("libraries", "processor")
    )
    wanted, same, difference, other, text = proof.tokens, 0, 0.0, None, ""
    try:
        if not proof.content["dropped_turns"] and read_request(request, target, cancel).prompt != list(proof.prompt):
            problems.append(
                Translatable(
                    "The messages do not give the tokens that the model had read (a template may tell the date)."
                )
            )
        with closing(decoder.stream(_again(request, proof), cancel=cancel)) as events:
            for event in events:
                if isinstance(event, Finished):
                    text = event.result.text
                if not isinstance(event, TokenEvent) or other is not None or same >= len(wanted):
                    continue
                if event.token != wanted[same]:
                    other = _other(decoder, proof, same, event)
                    break
                difference = max(difference, abs(event.logprob - proof.logprobs[same]))
                same += 1
    except Cancelled:
        raise
    except EngineError as error:
        raise NoProof("The reply cannot be computed again: {reason}", reason=str(error)) from error
    if other is None and same < len(wanted):
        other = _other(decoder, proof, same, None)
    if other is None and not _fits(proof, text):
        problems.append(Translatable("The text is not that of the tokens."))
    return Verified(len(wanted), same, difference, other, alike, tuple(problems))


def _again(request: GenerationRequest, proof: Proof) -> GenerationRequest:
    """Return the request that computes the tokens again, as many as there are, from the tokens that were read.

    The messages are read again where what the reply must be depends on them.
    """
    by_messages = request.constraint or request.tools or request.min_tokens or request.ignore_eos
    speculation = replace(request.speculation, overlap="off")
    if proof.by_target_alone:
        speculation = replace(speculation, method=PLAIN, sources=(), lookahead=0, tree=None, force_n1=False)
    else:
        speculation = replace(speculation, lookahead=proof.content["lookahead"])
    again = replace(
        request,
        speculation=speculation,
        max_tokens=len(proof.tokens),
        stop=(),
        stop_tokens=(),
        max_time=None,
        top=MAX_TOP,
    )
    return again if by_messages else replace(again, prompt=proof.prompt, raw=True, prefix="", thinking="default")


def _other(decoder: SpeculativeDecoder, proof: Proof, index: int, event: TokenEvent | None) -> OtherToken:
    token = proof.tokens[index]
    top = () if event is None else event.top
    return OtherToken(
        index,
        token,
        _text(decoder, token),
        proof.logprobs[index],
        next((share for each, share in top if each == token), None),
        None if event is None else event.token,
        "" if event is None else _text(decoder, event.token),
        None if event is None else event.logprob,
    )


def _text(decoder: SpeculativeDecoder, token: int) -> str:
    try:
        return decoder.token_text(token)
    except EngineError:  # A file may name any number.
        return "?"


def _fits(proof: Proof, text: str) -> bool:
    """Return True if the text is that of the tokens, up to the end of the reply."""
    proved: str = proof.content["text"]
    return proved == text or (proof.content["finish_reason"] in ("stop", "cancelled") and text.startswith(proved))
