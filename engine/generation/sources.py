"""Choose the sources that propose, and the policy: by the request, the loaded models, and earlier measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.backends.base import Backend
from engine.config import GenerationRequest, Lookahead, SpeculationConfig
from engine.corpus.corpus import Corpus
from engine.drafting.base import Drafter, DrafterContext, Index, cautious_cost
from engine.drafting.chain import ChainDrafter
from engine.drafting.none import NoDrafter
from engine.drafting.tree_prices import TreePrices
from engine.drafting.trees import choose_shape
from engine.errors import InvalidRequest, ModelNotLoaded, NotAvailable
from engine.generation.overlap import overlap_pays
from engine.generation.reading import Reading
from engine.loading.source import Source, model_for, source_for
from engine.lookahead.costs import measured_cost
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import AutoLookahead, LookaheadPolicy, make_policy
from engine.methods import AUTO, DRAFT_METHODS, NGRAM, OWN_TEXTS, PLAIN, PREDICTION, DraftMethod, find_method
from engine.sampling.rows import NUMPY, Rows
from engine.stats import GenerationStats
from engine.translatable import Translatable


@dataclass(frozen=True, slots=True)
class Models:
    """Hold the loaded models, and the statistics of their replies.

    `past`: the figures of all replies of this target so far. `knowledge`: of their costs and of what was accepted,
    where the lookahead is 'auto'. `corpus`: the user's own texts, in the target's tokens.
    """

    target: Backend
    sources: tuple[Source, ...] = ()
    past: GenerationStats = field(default_factory=GenerationStats)
    knowledge: PairKnowledge | None = None
    corpus: Corpus | None = None

    @property
    def rows(self) -> Rows:
        """Return the rows that draw from the logits of all models: compiled ones where any model brings them."""
        models = (self.target, *(source.model for source in self.sources))
        return next((model.rows for model in models if model is not None and model.rows is not NUMPY), NUMPY)


@dataclass(frozen=True, slots=True)
class Proposing:
    """Hold the drafter and the policy of one reply.

    Attributes: method (its name for the result); lookahead (that of the result); drafter; policy; overlap (True if the
    drafter works ahead); notes (sentences on a shape of trees that cannot be had).
    """

    method: str
    lookahead: Lookahead
    drafter: Drafter
    policy: LookaheadPolicy
    overlap: bool = False
    notes: tuple[str, ...] = ()


def choose_proposing(reading: Reading, models: Models, seed: int) -> Proposing:
    """Choose the sources. Raises ModelNotLoaded, NotAvailable, InvalidRequest."""
    request, target = reading.request, models.target
    speculation, greedy = request.speculation, request.sampling.greedy
    method, sources = choose_sources(speculation, models.sources)
    blind: tuple[Translatable, ...] = ()
    if min(reading.prompt) < 0 and (rests := next((each for each in sources if each.sees_no_further), None)):
        sources = tuple(source for source in sources if source is not rests)
        method = sources[-1].method.name if sources else PLAIN
        blind = (Translatable("{name} cannot draft behind a picture.", name=rests.name),)
    if request.prediction and speculation.method != PLAIN and speculation.lookahead != 0:
        method = method if sources else PREDICTION.name
        sources = (Source(PREDICTION), *(source for source in sources if source.method is not NGRAM))
    elif models.corpus is not None and models.corpus.documents:
        own = Source(OWN_TEXTS, texts=models.corpus)
        sources = tuple(own if source.method is NGRAM else source for source in sources)
    lookahead = _lookahead(speculation, sources)
    speculation = replace(speculation, lookahead=lookahead)
    if lookahead == "auto" and target.rewind.kind == "none":  # One token at a time never pays.
        sources, speculation = (), replace(speculation, lookahead=0)
    wanted = speculation.tree if sources and not speculation.force_n1 else None
    known, automatic = _known(models, sources), speculation.lookahead == "auto"
    prices = TreePrices(lambda name: known.claims(f"{name}, beside", greedy=greedy))
    through_text = any(source.through_text for source in models.sources)
    tree, notes = choose_shape(wanted, target, through_text=through_text, prices=prices if automatic else None)
    if not any(source.reads_states for source in sources):
        target.show_states(None)
    cost = _cost(sources, request, models)
    parts = [
        _make_part(
            DrafterContext(target, source, request, seed, reading.stop_tokens, cost, models.rows, reading.masks, tree)
        )
        for source in sources
    ]
    policy: LookaheadPolicy = make_policy(speculation)
    if automatic:
        trees = None if tree is None else tree.prices
        policy = _make_policy(known, target, list(zip(sources, parts, strict=True)), reading.prompt, greedy, trees)
    drafter = _join(sources, parts, policy, open_end=request.speculation.lookahead == "default")
    overlap = overlap_pays(speculation.overlap, target, model_for("draft", models.sources))
    return Proposing(method, lookahead, drafter, policy, overlap, (*blind, *notes))


def choose_sources(speculation: SpeculationConfig, loaded: Sequence[Source]) -> tuple[str, tuple[Source, ...]]:
    """Return the method and the sources to ask in turn, by the request and the loaded models.

    Raises ModelNotLoaded, NotAvailable, InvalidRequest.
    """
    method, named = speculation.method, find_method(speculation.method)
    name = named.name if named is not None else str(method)
    methods = tuple(found for source in speculation.sources if (found := find_method(source)) is not None)
    if named is not None and not named.available:
        raise NotAvailable(
            Translatable("The method {method}", method=name),
            Translatable("it is planned for a later version. Use another one."),
        )
    if methods and name != AUTO and named not in methods:
        raise InvalidRequest(
            "The method {method} cannot be combined with the sources {sources}. Omit one of them.",
            method=name,
            sources=", ".join(each.name for each in methods),
        )
    if methods:
        sources = tuple(_source(each, loaded) for each in methods)
    elif name == AUTO:
        sources = _automatic(speculation, loaded)
    else:
        sources = () if named is None else (_source(named, loaded),)
    if speculation.lookahead == 0 or not sources:
        return PLAIN, ()
    if name == AUTO:
        name = next((source for source in sources if source.model is not None), sources[0]).method.name
    return name, sources


def _source(method: DraftMethod, loaded: Sequence[Source]) -> Source:
    """Return the source of a method, with the model that it needs. Raises ModelNotLoaded, InvalidRequest."""
    if method.needs == "nothing":
        return Source(method)
    found = source_for(method.needs, loaded)
    if found is None:
        raise ModelNotLoaded(method.needs)
    if found.reads_states and method.name != found.method.name:
        raise InvalidRequest(
            "The method {method} needs other heads: those of {name} are for {theirs}.",
            method=method.name,
            name=found.name,
            theirs=found.method.name,
        )
    return replace(found, method=method)


def _automatic(speculation: SpeculationConfig, loaded: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources of the method `auto`.

    With a lookahead that is automatic too all that there are: an index, and what is loaded. Otherwise the first of
    what is loaded.
    """
    indexes = [Source(method) for method in DRAFT_METHODS if method.automatic and method.is_index]
    return (*indexes, *loaded) if speculation.lookahead == "auto" else tuple(loaded[:1])


def _lookahead(speculation: SpeculationConfig, sources: Sequence[Source]) -> Lookahead:
    if sources and speculation.lookahead == "default":
        return max(source.method.lookahead for source in sources)
    return speculation.lookahead if sources else 0


def _known(models: Models, sources: Sequence[Source]) -> PairKnowledge:
    """Return the knowledge of the models."""
    known = models.knowledge or PairKnowledge()
    foreign = (source.method for source in sources if not source.method.automatic and not source.reads_states)
    if other := next((method.name for method in foreign), ""):
        known = known.apart(other)  # Its drafter may have the name of another one.
    return known


def _make_policy(
    known: PairKnowledge,
    target: Backend,
    parts: Sequence[tuple[Source, Drafter]],
    prompt: Sequence[int],
    greedy: bool,
    trees: TreePrices | None,
) -> LookaheadPolicy:
    """Return the automatic policy, with the knowledge of the models."""
    known.begin(prompt)
    index = next((part for _, part in parts if isinstance(part, Index)), None)
    drafts = {
        part.name: known.acceptance(source.known_as(part.name), greedy=greedy)
        for source, part in parts
        if part is not index
    }
    claims = known.claims(NGRAM.name if index is None else index.name, greedy=greedy)
    return AutoLookahead(
        known.costs,
        drafts,
        known.allowance,
        index=index,
        claims=claims,
        trees=trees,
        costs_now=lambda: known.costs_now(max(len(prompt), target.length)),
    )


def _cost(sources: Sequence[Source], request: GenerationRequest, models: Models) -> Callable[[int], float]:
    """Return the cost of verifying n tokens, as known or measured in earlier replies."""
    if models.knowledge is not None:
        costs = models.knowledge.costs
        return lambda n: costs.verify(n) / costs.verify(1)
    # Who proposes a token decides which random number it is judged with: a seed repeats, whatever ran before.
    if not request.sampling.greedy and not all(source.method.is_index for source in sources):
        return cautious_cost
    return measured_cost(models.past.forwards_by_size, models.past.target_ms_by_size)


def _make_part(context: DrafterContext) -> Drafter:
    """Return the drafter of a source. Raises InvalidRequest if a maker does not make a drafter."""
    drafter = context.source.make(context)
    if not isinstance(drafter, Drafter):
        name = context.source.method.name
        raise InvalidRequest(f"The method {name} must make a Drafter, not {type(drafter).__name__}.")
    return drafter


def _join(sources: Sequence[Source], parts: Sequence[Drafter], policy: LookaheadPolicy, *, open_end: bool) -> Drafter:
    """Return one drafter of the parts. `open_end`: each has its own limit where the lookahead is left open."""
    if not parts:
        return NoDrafter()
    if len(parts) == 1:
        return parts[0]
    limits = [source.method.lookahead if open_end else None for source in sources]
    return ChainDrafter(list(zip(parts, limits, strict=True)), lambda: policy.source, lambda: policy.follower)
