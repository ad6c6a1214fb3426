"""What must hold after every round and at the end of every reply."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.decoder import SpeculativeDecoder
from engine.events import Event, Finished, GenerationResult, RoundEvent, TokenEvent

MOST_BEHIND = 2


@dataclass
class Seen:
    """What a reply's events said."""

    tokens: list[TokenEvent] = field(default_factory=list)
    rounds: list[RoundEvent] = field(default_factory=list)
    result: GenerationResult | None = None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.tokens)


def follow(decoder: SpeculativeDecoder, prompt: Sequence[int], events: Iterable[Event]) -> Seen:
    """Consume a reply to a prompt of token ids, checking both caches after every round."""
    seen = Seen()
    last = -len(prompt)
    for event in events:
        if isinstance(event, TokenEvent):
            seen.tokens.append(event)
        elif isinstance(event, RoundEvent):
            seen.rounds.append(event)
            # With the lookahead auto a draft model that rests falls behind, from the prompt on, until it is asked.
            keeps_up = event.speedup is None or (event.proposed > 0 and event.source == "draft-model")
            last = len(seen.tokens) if keeps_up else last
            committed = [*prompt, *(token.token for token in seen.tokens)]
            check_caches(decoder, committed, MOST_BEHIND + len(seen.tokens) - last)
        elif isinstance(event, Finished):
            seen.result = event.result
    if seen.result is not None:
        check_caches(decoder, [*prompt, *seen.result.tokens], MOST_BEHIND + len(seen.tokens) - last)
        check_counters(seen.result)
    return seen


def check_caches(decoder: SpeculativeDecoder, committed: list[int], behind: int = MOST_BEHIND) -> None:
    """The target holds all but the last, the draft a prefix, at most two short. Live proposals: overlap is off."""
    assert decoder.target is not None
    assert list(decoder.target.tokens) == committed[:-1]
    assert decoder.target.length == len(committed) - 1
    if decoder.draft is not None:
        held = list(decoder.draft.tokens)
        assert held == committed[: len(held)]
        assert len(held) >= len(committed) - 1 - behind


def check_counters(result: GenerationResult) -> None:
    """The identities of the statistics."""
    stats = result.stats
    assert stats.emitted == len(result.tokens)
    drawn = stats.corrections + stats.bonus_tokens + stats.plain_tokens
    assert stats.emitted == stats.accepted + drawn + stats.forced_tokens
    assert stats.proposed == stats.accepted + stats.rejected
    assert stats.target_forwards == stats.rounds + stats.forced_tokens
    assert sum(stats.proposed_by_position) == stats.proposed
    assert sum(stats.accepted_by_position) == stats.accepted
