"""Turn a request and the loaded models into a plan: method, drafter, prompt, and where the reply ends."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from threading import Event
from typing import Any, TypeVar, cast

from engine.backends.base import Backend, Tokenizer
from engine.backends.heads import HeadBackend
from engine.cancel import CancelToken
from engine.chat.context_fit import fit_turns, prompt_limit
from engine.chat.inputs import PLAIN_INPUT, TemplateInput
from engine.chat.render import Renderer
from engine.chat.reply_grammar import GrammarRequest, TagGrammar, usable_grammar
from engine.chat.reply_parts import PartedReply
from engine.chat.reply_text import ReplyText
from engine.chat.template import choose_template, encode_prompt
from engine.chat.thinking import thinking_input, thought_end
from engine.config import (
    GenerationRequest,
    Lookahead,
    Prompt,
    SamplingConfig,
    SpeculationConfig,
    freeze_prompt,
    require,
)
from engine.drafting.base import Drafter, DrafterContext, Index, cautious_cost
from engine.drafting.chain import ChainDrafter
from engine.drafting.none import NoDrafter
from engine.drafting.tree_prices import TreePrices
from engine.drafting.trees import choose_shape
from engine.errors import ContextFull, InvalidRequest, TokenOutOfRange
from engine.generation.overlap import overlap_pays
from engine.generation.plan import Plan
from engine.generation.sources import choose_sources
from engine.generation.turn_end import TurnEnd, turn_end_of
from engine.generation.verifier import Verifier
from engine.lookahead.costs import measured_cost
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import AutoLookahead, LookaheadPolicy, make_policy
from engine.masks.request_masks import masks_of
from engine.messages.message import Message
from engine.messages.tools import described
from engine.methods import NGRAM, DraftMethod, find_method
from engine.options import GenerationOptions, check_names
from engine.sampling.rows import NUMPY, Rows
from engine.stats import GenerationStats
from engine.translatable import Translatable

_SEED_BITS = 53
"""Of a seed that is drawn: it is told in JSON, whose readers keep so many."""
_PROMPT_END = 64
"""Tokens from which is seen how a prompt begins the reply."""
Config = TypeVar("Config", SamplingConfig, SpeculationConfig)


@dataclass(frozen=True, slots=True)
class Models:
    """Hold what is loaded, and what is known of it.

    `through_text`: the two have different tokenizers, drafts are translated. `past`: the figures of all replies of this
    target so far. `knowledge`: of their costs and of what was accepted, where the lookahead is 'auto'.
    """

    target: Backend
    draft: Backend | None
    heads: HeadBackend | None = None
    through_text: bool = False
    past: GenerationStats = field(default_factory=GenerationStats)
    knowledge: PairKnowledge | None = None

    @property
    def rows(self) -> Rows:
        """Return the rows that draw from the logits of both models: compiled ones where either model brings them."""
        both = [self.target] if self.draft is None else [self.target, self.draft]
        return next((model.rows for model in both if model.rows is not NUMPY), NUMPY)


def make_request(
    prompt: Prompt | GenerationRequest,
    options: dict[str, Any],
    sampling: SamplingConfig,
    speculation: SpeculationConfig,
) -> GenerationRequest:
    """Return the request that a call's arguments make, over the given defaults. Raises InvalidRequest and its kinds."""
    check_names(options, GenerationOptions.__annotations__)
    rest = dict(options)
    if isinstance(prompt, GenerationRequest):
        sampling, speculation = prompt.sampling, prompt.speculation
    sampling = _given(rest, "sampling", sampling)
    speculation = _given(rest, "speculation", speculation)
    sampling = replace(sampling, **_take(rest, SamplingConfig))
    speculation = replace(speculation, **_take(rest, SpeculationConfig))
    for name in ("stop", "stop_tokens"):
        if name in rest:
            value = rest[name]
            single = isinstance(value, str | int) or not isinstance(value, Iterable)
            rest[name] = () if value is None else (value,) if single else tuple(value)
    if isinstance(prompt, GenerationRequest):
        return replace(prompt, sampling=sampling, speculation=speculation, **rest)
    return GenerationRequest(freeze_prompt(prompt), sampling=sampling, speculation=speculation, **rest)


def _given(options: dict[str, Any], name: str, default: Config) -> Config:
    """Take a whole configuration out of the options; the default where there is none. Raises InvalidRequest."""
    value = options.pop(name, None)
    if value is None:
        return default
    require(name, value, type(default))
    return cast("Config", value)


def settle_lookahead(request: GenerationRequest, *, has_draft: bool) -> GenerationRequest:
    """Settle a 'default' lookahead: 'auto', but a fixed one where an index is asked for, for `force_n1`, or for a seed.

    Fixed it is too with a method whose costs the automatic lookahead does not know, and for a tree.

    With rejection sampling a seed repeats what is drawn only where the same is proposed; tokens judged by exact match
    are drawn alike whoever proposes them.
    """
    speculation, sampling = request.speculation, request.sampling
    wanted = speculation.lookahead
    if speculation.tree == "auto" and wanted != 0:
        if wanted not in ("auto", "default"):
            raise InvalidRequest(
                Translatable(
                    "Trees are chosen by cost only where the lookahead is too. Omit the lookahead, or name a size."
                )
            )
        wanted = "default" if speculation.force_n1 else "auto"
        return replace(request, speculation=replace(speculation, lookahead=wanted))
    if isinstance(speculation.tree, tuple) and wanted != 0:  # Its size is given, and nothing to be found out.
        depth = speculation.tree[1]
        wanted = min(wanted, depth) if isinstance(wanted, int) else depth
        return replace(request, speculation=replace(speculation, lookahead=wanted))
    named = [found for name in speculation.sources or (speculation.method,) if (found := find_method(name)) is not None]
    fixed = any(method.is_index or not method.automatic for method in named)
    seeded = sampling.seed is not None and not sampling.greedy
    judged = has_draft and speculation.acceptance == "rejection"
    if wanted == "default" and not fixed and not (seeded and judged) and not speculation.force_n1:
        wanted = "auto"
    elif wanted == "auto" and speculation.force_n1:
        wanted = "default"
    return replace(request, speculation=replace(speculation, lookahead=wanted))


def make_plan(
    request: GenerationRequest,
    models: Models,
    cancel: CancelToken,
    *,
    answer_now: Event,
    started: float,
    plain_tokens_per_second: float | None,
) -> Plan:
    """Return the plan for a request whose lookahead is settled.

    Raises ContextFull, ModelNotLoaded, NotAvailable, InvalidRequest and its kinds.
    """
    target, speculation = models.target, request.speculation
    seed = secrets.randbits(_SEED_BITS) if request.sampling.seed is None else request.sampling.seed
    _check_token_ids(request, target.vocab_size)
    renderer = Renderer(cancel)
    given = thinking_input(request.thinking, target.tokenizer, renderer) if _is_chat(request) else PLAIN_INPUT
    given = replace(given, tools=request.tools or None)
    tokens, dropped = _encode(request, target, renderer, given)
    if not tokens:
        raise InvalidRequest(Translatable("The prompt has no tokens. Enter some text first."))
    parted, end = _parted(request, target.tokenizer, tokens, given), TurnEnd()
    if _is_chat(request):
        end = turn_end_of(target.tokenizer, target.eos_token_ids, parted.thought_ends, renderer)
    ends = target.eos_token_ids | end.tokens
    if request.ignore_eos:
        request, ends, end = _without_end(request, ends), frozenset(), TurnEnd()
    stop_tokens = ends | frozenset(request.stop_tokens)
    masks = masks_of(request, target, parted, stop_tokens)
    method, sources = choose_sources(speculation, has_draft=models.draft is not None, heads=models.heads)
    lookahead = _lookahead(speculation, sources)
    speculation = replace(speculation, lookahead=lookahead)
    if lookahead == "auto" and target.rewind.kind == "none":  # One token at a time never pays.
        sources, speculation = (), replace(speculation, lookahead=0)
    wanted = speculation.tree if sources and not speculation.force_n1 else None
    known, greedy = _known(models, sources), request.sampling.greedy
    prices = TreePrices(lambda name: known.claims(f"{name}, beside", greedy=greedy))
    automatic = speculation.lookahead == "auto"
    tree, notes = choose_shape(wanted, target, through_text=models.through_text, prices=prices if automatic else None)
    context = DrafterContext(
        target,
        models.draft,
        models.heads,
        request,
        seed,
        stop_tokens,
        models.through_text,
        _cost(sources, request, models),
        models.rows,
        masks,
        tree,
    )
    if not any(source.needs == "heads" for source in sources):
        target.show_states(None)
    parts = [_make_part(source, context) for source in sources]
    policy: LookaheadPolicy = make_policy(speculation)
    if automatic:
        policy = _make_policy(known, models, parts, tokens, greedy=greedy, trees=None if tree is None else tree.prices)
    return Plan(
        target=target,
        drafter=_join(sources, parts, policy, open_end=request.speculation.lookahead == "default"),
        verifier=Verifier(
            target, request.sampling, speculation.acceptance, seed, request.top, rows=models.rows, masks=masks
        ),
        policy=policy,
        prompt=tokens,
        reply=ReplyText(target.tokenizer, (*request.stop, *end.texts)),
        parted=parted,
        thought_end=lambda: thought_end(target.tokenizer, Renderer(cancel), given, parted.thought_ends),
        masks=masks,
        answer_now=answer_now,
        stop_tokens=stop_tokens,
        max_tokens=request.max_tokens,
        one_token=speculation.force_n1 or target.rewind.kind == "none",
        cancel=cancel,
        method=method,
        lookahead=lookahead,
        overlap=overlap_pays(speculation.overlap, target, models.draft),
        dropped_turns=dropped,
        notes=(*renderer.notes, *notes),
        seed=seed,
        ends_at=None if request.max_time is None else started + request.max_time,
        plain_tokens_per_second=plain_tokens_per_second,
        started=started,
    )


def _known(models: Models, sources: Sequence[DraftMethod]) -> PairKnowledge:
    """Return what is known of the models."""
    known = models.knowledge or PairKnowledge()
    if other := next((source.name for source in sources if not source.automatic and source.needs != "heads"), ""):
        known = known.apart(other)  # Its drafter may have the name of another one.
    return known


def _make_policy(
    known: PairKnowledge,
    models: Models,
    parts: Sequence[Drafter],
    prompt: Sequence[int],
    *,
    greedy: bool,
    trees: TreePrices | None,
) -> LookaheadPolicy:
    """Return the automatic policy, with what is known of the models."""
    known.begin(prompt)
    index = next((part for part in parts if isinstance(part, Index)), None)
    drafts = {
        part.name: known.acceptance(_known_as(part, models), greedy=greedy) for part in parts if part is not index
    }
    claims = known.claims(NGRAM.name if index is None else index.name, greedy=greedy)
    return AutoLookahead(
        known.costs, drafts, known.allowance, index=index, claims=claims, trees=trees, costs_now=known.costs_now
    )


def _known_as(part: Drafter, models: Models) -> str:
    """Return the name under which is kept what was accepted of a source: heads of one method are not all alike."""
    heads = models.heads
    return part.name if heads is None or part.name != heads.method else f"{part.name} {heads.name}"


def _lookahead(speculation: SpeculationConfig, sources: tuple[DraftMethod, ...]) -> Lookahead:
    if sources and speculation.lookahead == "default":
        return max(source.lookahead for source in sources)
    return speculation.lookahead if sources else 0


def _encode(
    request: GenerationRequest, target: Backend, renderer: Renderer, given: TemplateInput
) -> tuple[list[int], int]:
    """Return the tokens of the prompt, and how many turns were left out of it."""
    prompt, tokenizer = request.prompt, target.tokenizer
    if isinstance(prompt, tuple) and isinstance(prompt[0], Message) and not request.raw:
        length = target.context_length
        tokens, dropped = fit_turns(prompt, tokenizer, length, request.max_tokens, renderer, given)
        if dropped and not request.drop_turns:
            whole = encode_prompt(prompt, tokenizer, raw=False, renderer=renderer, given=given)
            raise ContextFull(len(whole), prompt_limit(length, request.max_tokens))
        return tokens, dropped
    return encode_prompt(prompt, tokenizer, raw=request.raw, renderer=renderer, given=given), 0


def _is_chat(request: GenerationRequest) -> bool:
    """Return whether the prompt goes through the chat template."""
    return not request.raw and (isinstance(request.prompt, str) or isinstance(request.prompt[0], Message))


def _parted(
    request: GenerationRequest, tokenizer: Tokenizer, prompt: Sequence[int], given: TemplateInput
) -> PartedReply:
    """Return what parts the reply to a prompt, of these tokens, by what the chat template says."""
    asked, before = request.prompt, ""
    if isinstance(asked, tuple) and len(asked) > 1 and isinstance(asked[-1], Message):
        before = asked[-1].content if asked[-1].role == "assistant" else ""
    seen = prompt if before else prompt[-_PROMPT_END:]
    data = b"".join(tokenizer.piece(token) or tokenizer.marker(token).encode() for token in seen)
    end = data.decode("utf-8", "replace").removesuffix(before)
    template = choose_template(tokenizer.chat_templates, given)
    if template is None or not _is_chat(request):
        return PartedReply(TagGrammar(opened=end.rstrip().endswith("<think>")), before)
    wanted = GrammarRequest(
        template,
        tokenizer.bos_token,
        tokenizer.eos_token,
        described(request.tools),
        thinking=request.thinking != "off",
        options=given.arguments,
    )
    grammar, _ = usable_grammar(wanted, end)
    return PartedReply(grammar, before)


def _without_end(request: GenerationRequest, ends: frozenset[int]) -> GenerationRequest:
    """Return the request with the model's end tokens banned."""
    banned = ends.union(request.sampling.banned_tokens)
    return replace(request, sampling=replace(request.sampling, banned_tokens=tuple(banned)))


def _check_token_ids(request: GenerationRequest, vocab_size: int) -> None:
    """Check biased and banned tokens before any work: one that does not exist is a mistake."""
    named = [token for token, _ in request.sampling.logit_bias]
    for token in [*named, *request.sampling.banned_tokens, *request.stop_tokens]:
        if not 0 <= token < vocab_size:
            raise TokenOutOfRange(token, vocab_size)


def _make_part(source: DraftMethod, context: DrafterContext) -> Drafter:
    """Return the drafter of a source. Raises InvalidRequest where a maker does not make a drafter."""
    drafter = source.make(context)
    if not isinstance(drafter, Drafter):
        raise InvalidRequest(f"The method {source.name} must make a Drafter, not {type(drafter).__name__}.")
    return drafter


def _join(
    sources: Sequence[DraftMethod], parts: Sequence[Drafter], policy: LookaheadPolicy, *, open_end: bool
) -> Drafter:
    """Return one drafter of the parts. `open_end`: each has its own limit where the lookahead is left open."""
    if not parts:
        return NoDrafter()
    if len(parts) == 1:
        return parts[0]
    limits = [source.lookahead if open_end else None for source in sources]
    return ChainDrafter(list(zip(parts, limits, strict=True)), lambda: policy.source, lambda: policy.follower)


def _cost(sources: Sequence[DraftMethod], request: GenerationRequest, models: Models) -> Callable[[int], float]:
    """Return what a verification of n tokens costs, as it is known or was measured in earlier replies."""
    if models.knowledge is not None:
        costs = models.knowledge.costs
        return lambda n: costs.verify(n) / costs.verify(1)
    # Who proposes a token decides which random number it is judged with: a seed repeats, whatever ran before.
    if not request.sampling.greedy and not all(source.is_index for source in sources):
        return cautious_cost
    return measured_cost(models.past.forwards_by_size, models.past.target_ms_by_size)


def _take(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Remove from `options` those that are fields of a configuration class."""
    names = {field.name for field in fields(kind)} - {"sampling", "speculation", "prompt"}
    return {name: options.pop(name) for name in list(options) if name in names}
