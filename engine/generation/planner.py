"""From what a caller asks for and what is loaded to a plan: method, drafter, prompt, and where the reply ends."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.context_fit import fit_turns
from engine.chat.template import ReplyText, encode_prompt
from engine.config import (
    DEFAULT_LOOKAHEAD,
    DEFAULT_NGRAM_LOOKAHEAD,
    GenerationRequest,
    Lookahead,
    Message,
    Prompt,
    SamplingConfig,
    SpeculationConfig,
    freeze_prompt,
)
from engine.drafting.base import Drafter
from engine.drafting.chain import ChainDrafter
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.ngram import NgramDrafter, NgramOptions, measured_cost
from engine.drafting.none import NoDrafter
from engine.drafting.translated import TranslatedDrafter
from engine.errors import InvalidRequest, ModelNotLoaded, NotAvailable, TokenOutOfRange
from engine.generation.overlap import overlap_pays
from engine.generation.plan import Plan
from engine.generation.verifier import Verifier
from engine.loading.open import LATER_METHODS
from engine.lookahead.auto import AutoLookahead, LookaheadPolicy, make_policy
from engine.lookahead.costs import cautious_cost
from engine.lookahead.knowledge import PairKnowledge
from engine.sampling.rows import NUMPY, Rows
from engine.stats import GenerationStats
from engine.translatable import Phrase

_LIMITS = {"ngram": DEFAULT_NGRAM_LOOKAHEAD, "draft-model": DEFAULT_LOOKAHEAD}
"""The lookahead of each source where it is left open."""
_AUTO_NGRAM = NgramOptions(allowance=1.5, allowance_share=0.01)
"""Never slower than plain decoding, by more than this."""


@dataclass(frozen=True, slots=True)
class Models:
    """What is loaded, and what is known of it.

    `through_text`: the two have different tokenizers, drafts are translated. `past`: the figures of all replies of this
    target so far. `knowledge`: of their costs and of what was accepted, where the lookahead is 'auto'.
    """

    target: Backend
    draft: Backend | None
    through_text: bool = False
    past: GenerationStats = field(default_factory=GenerationStats)
    knowledge: PairKnowledge | None = None

    @property
    def rows(self) -> Rows:
        """What draws from the logits of both: compiled functions, where either brings them."""
        both = [self.target] if self.draft is None else [self.target, self.draft]
        return next((model.rows for model in both if model.rows is not NUMPY), NUMPY)


def make_request(
    prompt: Prompt | GenerationRequest,
    options: dict[str, Any],
    sampling: SamplingConfig,
    speculation: SpeculationConfig,
) -> GenerationRequest:
    """The request that a call's arguments make, over the given defaults. Raises InvalidRequest and its kinds."""
    rest = dict(options)
    if isinstance(prompt, GenerationRequest):
        sampling, speculation = prompt.sampling, prompt.speculation
    else:
        sampling = rest.pop("sampling", sampling)
        speculation = rest.pop("speculation", speculation)
    sampling = replace(sampling, **_take(rest, SamplingConfig))
    speculation = replace(speculation, **_take(rest, SpeculationConfig))
    changed = _take(rest, GenerationRequest)
    if rest:
        raise InvalidRequest(Phrase("Unknown option {option!r}.", option=next(iter(rest))))
    for name in ("stop", "stop_tokens"):
        if name in changed:
            value = changed[name]
            changed[name] = (value,) if isinstance(value, str | int) else tuple(value)
    if isinstance(prompt, GenerationRequest):
        return replace(prompt, sampling=sampling, speculation=speculation, **changed)
    return GenerationRequest(freeze_prompt(prompt), sampling=sampling, speculation=speculation, **changed)


def settle_lookahead(request: GenerationRequest, *, has_draft: bool) -> GenerationRequest:
    """With 'default' made out: 'auto', but a fixed one where an index was asked for, for `force_n1`, or for a seed.

    With rejection sampling a seed repeats what is drawn only where the same is proposed; tokens judged by exact match
    are drawn alike whoever proposes them.
    """
    speculation, sampling = request.speculation, request.sampling
    wanted = speculation.lookahead
    index = "ngram" in (speculation.sources or (speculation.method,))
    seeded = sampling.seed is not None and not sampling.greedy
    judged = has_draft and speculation.acceptance == "rejection"
    if wanted == "default" and not index and not (seeded and judged) and not speculation.force_n1:
        wanted = "auto"
    elif wanted == "auto" and speculation.force_n1:
        wanted = "default"
    return replace(request, speculation=replace(speculation, lookahead=wanted))


def make_plan(
    request: GenerationRequest,
    models: Models,
    cancel: CancelToken,
    *,
    started: float,
    plain_tokens_per_second: float | None,
) -> Plan:
    """The plan for a request whose lookahead is settled.

    Raises ContextFull, ModelNotLoaded, NotAvailable, InvalidRequest and its kinds.
    """
    target, speculation = models.target, request.speculation
    seed = secrets.randbits(64) if request.sampling.seed is None else request.sampling.seed
    _check_token_ids(request, target.vocab_size)
    tokens, dropped = _encode(request, target)
    if not tokens:
        raise InvalidRequest(Phrase("The prompt has no tokens. Enter some text first."))
    stop_tokens = target.eos_token_ids | frozenset(request.stop_tokens)
    method, sources = choose_sources(speculation, has_draft=models.draft is not None)
    lookahead = _lookahead(speculation, sources)
    speculation = replace(speculation, lookahead=lookahead)
    if lookahead == "auto" and target.rewind.kind == "none":  # One token at a time never pays.
        sources, speculation = (), replace(speculation, lookahead=0)
    parts = _make_parts(sources, request, models, seed, stop_tokens)
    policy = _make_policy(speculation, models, parts, tokens, greedy=request.sampling.greedy)
    return Plan(
        target=target,
        drafter=_join(parts, policy, open_end=request.speculation.lookahead == "default"),
        verifier=Verifier(target, request.sampling, speculation.acceptance, seed, request.top, rows=models.rows),
        policy=policy,
        prompt=tokens,
        reply=ReplyText(target.tokenizer, request.stop),
        stop_tokens=stop_tokens,
        max_tokens=request.max_tokens,
        one_token=speculation.force_n1 or target.rewind.kind == "none",
        cancel=cancel,
        method=method,
        lookahead=lookahead,
        overlap=overlap_pays(speculation.overlap, target, models.draft),
        dropped_turns=dropped,
        plain_tokens_per_second=plain_tokens_per_second,
        started=started,
    )


def choose_sources(speculation: SpeculationConfig, *, has_draft: bool) -> tuple[str, tuple[str, ...]]:
    """The method that is meant and the sources that it asks in turn, by what is asked for and what is loaded.

    Raises ModelNotLoaded, NotAvailable, InvalidRequest.
    """
    method, sources = speculation.method, speculation.sources
    if method in LATER_METHODS:
        raise NotAvailable(
            Phrase("The method {method}", method=method),
            Phrase("it is planned for a later version. Use draft-model or ngram."),
        )
    if sources and method not in ("auto", *sources):
        raise InvalidRequest(
            Phrase(
                "The method {method} cannot be combined with the sources {sources}. Omit one of them.",
                method=method,
                sources=", ".join(sources),
            )
        )
    if not sources and method == "auto":
        drafts = ("draft-model",) if has_draft else ()
        sources = ("ngram", *drafts) if speculation.lookahead == "auto" else drafts
    elif not sources and method != "autoregressive":
        sources = (method,)
    if "draft-model" in sources and not has_draft:
        raise ModelNotLoaded("draft")
    if speculation.lookahead == 0 or not sources:
        return "autoregressive", ()
    if method == "auto":
        method = "draft-model" if "draft-model" in sources else sources[0]
    return method, sources


def _make_policy(
    speculation: SpeculationConfig, models: Models, parts: Sequence[Drafter], prompt: Sequence[int], *, greedy: bool
) -> LookaheadPolicy:
    if speculation.lookahead != "auto":
        return make_policy(speculation)
    known = PairKnowledge() if models.knowledge is None else models.knowledge
    known.begin(prompt)
    index = next((part for part in parts if isinstance(part, NgramDrafter)), None)
    return AutoLookahead(
        known.costs,
        known.acceptance("draft-model", greedy=greedy),
        known.exploration,
        index=index,
        claims=known.claims("ngram", greedy=greedy),
        drafts=any(part is not index for part in parts),
    )


def _lookahead(speculation: SpeculationConfig, sources: tuple[str, ...]) -> Lookahead:
    if not sources:
        return 0
    if speculation.lookahead == "default":
        return max(_LIMITS[source] for source in sources)
    return speculation.lookahead


def _encode(request: GenerationRequest, target: Backend) -> tuple[list[int], int]:
    """The tokens of the prompt, and how many turns were left out of it."""
    prompt = request.prompt
    if isinstance(prompt, tuple) and isinstance(prompt[0], Message) and not request.raw:
        return fit_turns(prompt, target.tokenizer, target.context_length, request.max_tokens)
    tokens = encode_prompt(prompt, target.tokenizer, raw=request.raw)
    return tokens, 0


def _check_token_ids(request: GenerationRequest, vocab_size: int) -> None:
    """A bias or a ban on a token that does not exist is a mistake, and better said before any work."""
    named = [token for token, _ in request.sampling.logit_bias]
    for token in [*named, *request.sampling.banned_tokens, *request.stop_tokens]:
        if not 0 <= token < vocab_size:
            raise TokenOutOfRange(token, vocab_size)


def _make_parts(
    sources: tuple[str, ...],
    request: GenerationRequest,
    models: Models,
    seed: int,
    stop_tokens: frozenset[int],
) -> list[Drafter]:
    options = _AUTO_NGRAM if request.speculation.lookahead == "auto" else None
    makers: dict[str, Callable[[], Drafter]] = {
        "ngram": lambda: NgramDrafter(options, stop_tokens=stop_tokens, cost=_cost(sources, request, models)),
        "draft-model": lambda: _draft_model(request, models, seed, stop_tokens),
    }
    return [makers[source]() for source in sources]


def _join(parts: Sequence[Drafter], policy: LookaheadPolicy, *, open_end: bool) -> Drafter:
    """One drafter of the parts. `open_end`: each has its own limit where the lookahead is left open."""
    if not parts:
        return NoDrafter()
    if len(parts) == 1:
        return parts[0]
    return ChainDrafter([(part, _LIMITS[part.name] if open_end else None) for part in parts], lambda: policy.source)


def _cost(sources: tuple[str, ...], request: GenerationRequest, models: Models) -> Callable[[int], float]:
    """What a verification of n tokens costs, as it is known or was measured in earlier replies.

    Not where a draft model proposes too and tokens are drawn: who proposes a token decides which random number it is
    judged with, and with a fixed lookahead a seed gives the same reply whatever ran before.
    """
    if models.knowledge is None and "draft-model" in sources and not request.sampling.greedy:
        return cautious_cost
    if models.knowledge is not None:
        costs = models.knowledge.costs
        return lambda n: costs.verify(n) / costs.verify(1)
    return measured_cost(models.past.forwards_by_size, models.past.target_ms_by_size, cautious_cost)


def _draft_model(request: GenerationRequest, models: Models, seed: int, stop_tokens: frozenset[int]) -> Drafter:
    if models.draft is None:
        raise ModelNotLoaded("draft")
    speculation = request.speculation
    sampling = speculation.draft_sampling or request.sampling
    if speculation.draft_temperature is not None:
        sampling = replace(sampling, temperature=speculation.draft_temperature)
    confidence = speculation.min_draft_confidence
    if models.through_text:
        return TranslatedDrafter(
            models.draft,
            models.target.tokenizer,
            models.target.vocab_size,
            sampling,
            seed,
            stop_tokens=stop_tokens,
            min_confidence=confidence,
        )
    return DraftModelDrafter(
        models.draft,
        models.target.vocab_size,
        sampling,
        seed,
        stop_tokens=stop_tokens,
        min_confidence=confidence,
        rows=models.rows,
    )


def _take(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Remove from `options` those that are fields of a configuration class."""
    names = {field.name for field in fields(kind)} - {"sampling", "speculation", "prompt"}
    return {name: options.pop(name) for name in list(options) if name in names}
