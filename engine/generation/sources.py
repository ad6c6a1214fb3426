"""Choose which sources propose: by what is asked for and what is loaded."""

from __future__ import annotations

from engine.backends.heads import HeadBackend
from engine.config import SpeculationConfig
from engine.errors import InvalidRequest, ModelNotLoaded, NotAvailable
from engine.methods import AUTO, DRAFT_METHODS, PLAIN, DraftMethod, find_method
from engine.translatable import Translatable


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
