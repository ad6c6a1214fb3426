"""Choose which sources propose, and by which policy: by what is asked for, what is loaded, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.backends.base import Backend
from engine.backends.heads import HeadBackend
from engine.config import GenerationRequest, Lookahead, SpeculationConfig
from engine.corpus.corpus import Corpus
from engine.drafting.base import Drafter, DrafterContext, Index, cautious_cost
from engine.drafting.chain import ChainDrafter
from engine.drafting.none import NoDrafter
from engine.drafting.tree_prices import TreePrices
from engine.drafting.trees import choose_shape
from engine.errors import InvalidRequest, ModelNotLoaded, NotAvailable
from engine.generation.reading import Reading
from engine.lookahead.costs import measured_cost
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import AutoLookahead, LookaheadPolicy, make_policy
from engine.methods import AUTO, DRAFT_METHODS, NGRAM, OWN_TEXTS, PLAIN, PREDICTION, DraftMethod, find_method
from engine.sampling.rows import NUMPY, Rows
from engine.stats import GenerationStats
from engine.translatable import Translatable


@dataclass(frozen=True, slots=True)
class Models:
    """Hold what is loaded, and what is known of it.

    `through_text`: the two have different tokenizers, drafts are translated. `past`: the figures of all replies of this
    target so far. `knowledge`: of their costs and of what was accepted, where the lookahead is 'auto'. `corpus`: the
    user's own texts, in the target's tokens.
    """

    target: Backend
    draft: Backend | None
    heads: HeadBackend | None = None
    through_text: bool = False
    past: GenerationStats = field(default_factory=GenerationStats)
    knowledge: PairKnowledge | None = None
    corpus: Corpus | None = None

    @property
    def rows(self) -> Rows:
        """Return the rows that draw from the logits of both models: compiled ones where either model brings them."""
        both = [self.target] if self.draft is None else [self.target, self.draft]
        return next((model.rows for model in both if model.rows is not NUMPY), NUMPY)


@dataclass(frozen=True, slots=True)
class Proposing:
    """Hold who proposes in a reply, and by which policy.

    Attributes: method (its name for the result); lookahead (that of the result); drafter; policy; notes (sentences on
    a shape of trees that cannot be had).
    """

    method: str
    lookahead: Lookahead
    drafter: Drafter
    policy: LookaheadPolicy
    notes: tuple[str, ...]


def choose_proposing(reading: Reading, models: Models, seed: int) -> Proposing:
    """Return who proposes. Raises ModelNotLoaded, NotAvailable, InvalidRequest."""
    request, target = reading.request, models.target
    speculation, greedy = request.speculation, request.sampling.greedy
    method, sources = choose_sources(speculation, has_draft=models.draft is not None, heads=models.heads)
    if request.prediction and speculation.method != PLAIN and speculation.lookahead != 0:
        method = method if sources else PREDICTION.name
        sources = (PREDICTION, *(source for source in sources if source is not NGRAM))
    elif models.corpus is not None and models.corpus.documents:
        sources = tuple(OWN_TEXTS if source is NGRAM else source for source in sources)
    lookahead = _lookahead(speculation, sources)
    speculation = replace(speculation, lookahead=lookahead)
    if lookahead == "auto" and target.rewind.kind == "none":  # One token at a time never pays.
        sources, speculation = (), replace(speculation, lookahead=0)
    wanted = speculation.tree if sources and not speculation.force_n1 else None
    known, automatic = _known(models, sources), speculation.lookahead == "auto"
    prices = TreePrices(lambda name: known.claims(f"{name}, beside", greedy=greedy))
    tree, notes = choose_shape(wanted, target, through_text=models.through_text, prices=prices if automatic else None)
    context = DrafterContext(
        target,
        models.draft,
        models.heads,
        request,
        seed,
        reading.stop_tokens,
        models.through_text,
        _cost(sources, request, models),
        models.rows,
        reading.masks,
        tree,
        models.corpus,
    )
    if not any(source.needs == "heads" for source in sources):
        target.show_states(None)
    parts = [_make_part(source, context) for source in sources]
    policy: LookaheadPolicy = make_policy(speculation)
    if automatic:
        trees = None if tree is None else tree.prices
        policy = _make_policy(known, models, parts, reading.prompt, greedy=greedy, trees=trees)
    drafter = _join(sources, parts, policy, open_end=request.speculation.lookahead == "default")
    return Proposing(method, lookahead, drafter, policy, notes)


def choose_sources(
    speculation: SpeculationConfig, *, has_draft: bool, heads: HeadBackend | None = None
) -> tuple[str, tuple[DraftMethod, ...]]:
    """Return the method that is meant and the sources that it asks in turn, by what is asked for and what is loaded.

    Raises ModelNotLoaded, NotAvailable, InvalidRequest.
    """
    method, named = speculation.method, find_method(speculation.method)
    name = named.name if named is not None else str(method)
    sources = tuple(found for source in speculation.sources if (found := find_method(source)) is not None)
    if named is not None and not named.available:
        raise NotAvailable(
            Translatable("The method {method}", method=name),
            Translatable("it is planned for a later version. Use another one."),
        )
    if sources and name != AUTO and named not in sources:
        raise InvalidRequest(
            Translatable(
                "The method {method} cannot be combined with the sources {sources}. Omit one of them.",
                method=name,
                sources=", ".join(source.name for source in sources),
            )
        )
    if not sources and name == AUTO:
        sources = _automatic(speculation, has_draft=has_draft, heads=heads)
    elif not sources and named is not None:
        sources = (named,)
    if not has_draft and any(source.needs == "draft" for source in sources):
        raise ModelNotLoaded("draft")
    for source in sources:
        if source.needs == "heads" and heads is None:
            raise ModelNotLoaded("heads")
        if source.needs == "heads" and heads is not None and source.name != heads.method:
            raise InvalidRequest(
                Translatable(
                    "The method {method} needs other heads: those of {name} are for {theirs}.",
                    method=source.name,
                    name=heads.name,
                    theirs=heads.method,
                )
            )
    if speculation.lookahead == 0 or not sources:
        return PLAIN, ()
    if name == AUTO:
        name = next((source for source in sources if source.needs != "nothing"), sources[0]).name
    return name, sources


def _automatic(
    speculation: SpeculationConfig, *, has_draft: bool, heads: HeadBackend | None
) -> tuple[DraftMethod, ...]:
    """Return the sources of the method `auto`.

    With a lookahead that is automatic too all that there are: an index, loaded heads, a draft model. Otherwise the
    heads, or else the draft model.
    """
    indexes = [method for method in DRAFT_METHODS if method.automatic and method.is_index]
    drafts = [method for method in DRAFT_METHODS if method.automatic and method.needs == "draft" and has_draft]
    if heads is not None and (method := find_method(heads.method)) is not None:
        drafts.insert(0, method)
    return (*indexes, *drafts) if speculation.lookahead == "auto" else tuple(drafts[:1])


def _lookahead(speculation: SpeculationConfig, sources: tuple[DraftMethod, ...]) -> Lookahead:
    if sources and speculation.lookahead == "default":
        return max(source.lookahead for source in sources)
    return speculation.lookahead if sources else 0


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
        known.costs,
        drafts,
        known.allowance,
        index=index,
        claims=claims,
        trees=trees,
        costs_now=lambda: known.costs_now(max(len(prompt), models.target.length)),
    )


def _known_as(part: Drafter, models: Models) -> str:
    """Return the name under which is kept what was accepted of a source: heads of one method are not all alike."""
    heads = models.heads
    return part.name if heads is None or part.name != heads.method else f"{part.name} {heads.name}"


def _cost(sources: Sequence[DraftMethod], request: GenerationRequest, models: Models) -> Callable[[int], float]:
    """Return what a verification of n tokens costs, as it is known or was measured in earlier replies."""
    if models.knowledge is not None:
        costs = models.knowledge.costs
        return lambda n: costs.verify(n) / costs.verify(1)
    # Who proposes a token decides which random number it is judged with: a seed repeats, whatever ran before.
    if not request.sampling.greedy and not all(source.is_index for source in sources):
        return cautious_cost
    return measured_cost(models.past.forwards_by_size, models.past.target_ms_by_size)


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
