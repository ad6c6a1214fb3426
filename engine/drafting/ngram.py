"""Draft without a model: text of the prompt or the reply may come again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

from engine.backends.prefix import common_prefix
from engine.cancel import CancelToken
from engine.config import DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD
from engine.drafting.base import Draft, Drafter, DrafterContext, GoesOn, cautious_cost
from engine.methods import NGRAM

_PIECE = 4096
"""Tokens of a prompt that are indexed between two looks at the cancel token."""
_HOPELESS = 0.05
"""Below this chance of getting that far, a longer draft is not thought through."""
Evidence = Literal["alone", "agreed", "split", "resumed"]


@dataclass(frozen=True, slots=True)
class NgramOptions:
    """Hold the constants of NgramDrafter.

    `min_match`: minimum length of a match for a proposal. `max_match`: maximum length that is compared, and that the
    estimates distinguish. `most_places`: number of latest places of the last token that are searched.
    `alone`, `agreed`, `split`, `resumed`: for each kind of evidence the log-odds that its next token is right, as
    (for a match of length 0, increment per token of the match). `learning_rate`: step by which one outcome moves the
    log-odds of its kind.
    `least_gain`: minimum expected speed of a draft, as a multiple of plain decoding's. `allowance`, `allowance_share`,
    `most_allowance`: the budget of wrong drafts, in times of one token: at the start, per token of the reply, and the
    maximum.
    `copied`: minimum length of a broken match that is remembered as a passage to resume; `window`: for so many tokens,
    and within so many tokens of its source.
    """

    min_match: int = 1
    max_match: int = 24
    most_places: int = 32
    alone: tuple[float, float] = (-1.0, 0.25)
    agreed: tuple[float, float] = (0.5, 0.4)
    split: tuple[float, float] = (-2.0, 0.2)
    resumed: tuple[float, float] = (-1.0, 0.6)
    learning_rate: float = 0.6
    least_gain: float = 1.05
    allowance: float = 4.0
    allowance_share: float = 0.03
    most_allowance: float = 10.0
    copied: int = 8
    window: int = 32


_AUTO = NgramOptions(allowance=2.0, allowance_share=0.01)
"""With the automatic lookahead: the bound on the loss against plain decoding."""


@dataclass(frozen=True, slots=True)
class Match:
    """Hold a match: the last `length` tokens of the text also precede each of `places`, at least nearly.

    A place is the index of the token after the match there. Before the first place the match is `length` tokens long;
    before the others, at most one token shorter.
    """

    length: int
    places: list[int]
    resumed: bool = False

    def follow(self, tokens: Sequence[int], token: int) -> Match | None:
        """Return the match when `token` came next, or None if something else came at its first place."""
        if tokens[self.places[0]] != token:
            return None
        return Match(self.length + 1, [place + 1 for place in self.places if tokens[place] == token], self.resumed)


class SuffixIndex:
    """Find earlier places of a text's last tokens.

    The places of each token form a chain from the latest to the first one, so that a token is added and removed in
    constant time; a search follows `most_places` links and compares at most `max_match` tokens at each.
    Attributes: tokens (the text).
    """

    def __init__(self, max_match: int = 24, most_places: int = 32) -> None:
        self.tokens: list[int] = []
        self._max_match = max_match
        self._most_places = most_places
        self._latest: dict[int, int] = {}
        self._before = [0]
        """For each place the previous one of the same token; 0 for none."""

    def extend(self, tokens: Iterable[int]) -> None:
        """Add tokens to the end of the text."""
        latest, before = self._latest, self._before
        for place, token in enumerate(tokens, len(self.tokens) + 1):
            self.tokens.append(token)
            before.append(latest.get(token, 0))
            latest[token] = place

    def keep(self, length: int) -> None:
        """Take back all tokens but the first `length`."""
        while len(self.tokens) > length:
            token, earlier = self.tokens.pop(), self._before.pop()
            if earlier:
                self._latest[token] = earlier
            else:
                del self._latest[token]

    def search(self) -> Match | None:
        """Return the longest match of the end of the text, the latest of equals first.

        None if its last token is new.
        """
        tokens, size = self.tokens, len(self.tokens)
        found: list[tuple[int, int]] = []
        longest = useful = 1
        place, looked = self._before[-1], 0
        while place and looked < self._most_places:
            # All places share the last token; one that lacks the token so far back is too short to matter.
            if useful <= place and tokens[place - useful] == tokens[size - useful]:
                length, most = 1, min(self._max_match, place)
                while length < most and tokens[place - length - 1] == tokens[size - length - 1]:
                    length += 1
                found.append((length, place))
                if length > longest:
                    longest, useful = length, max(length - 1, 1)
            place = self._before[place]
            looked += 1
        if not found:
            return None
        found.sort(reverse=True)
        return Match(longest, [place for length, place in found if length >= useful])


class Odds:
    """Estimate the chance that the next token of a match is right, for each kind of evidence.

    The log-odds grow with the length of the match, and each outcome shifts those of its kind: a surprise by much, an
    expected one by little.
    """

    def __init__(self, options: NgramOptions) -> None:
        self._options = options
        self._start: dict[Evidence, float] = {}
        self._slope: dict[Evidence, float] = {}
        self._start["alone"], self._slope["alone"] = options.alone
        self._start["agreed"], self._slope["agreed"] = options.agreed
        self._start["split"], self._slope["split"] = options.split
        self._start["resumed"], self._slope["resumed"] = options.resumed

    def chance(self, evidence: Evidence, length: int) -> float:
        """Return the chance, between 0 and 1."""
        log_odds = self._start[evidence] + self._slope[evidence] * min(length, self._options.max_match)
        return 1.0 / (1.0 + exp(-log_odds))

    def learn(self, evidence: Evidence, length: int, right: bool) -> None:
        """Learn from one more outcome."""
        surprise = float(right) - self.chance(evidence, length)
        self._start[evidence] += self._options.learning_rate * surprise


class NgramDrafter(Drafter):
    """Propose the continuation of the longest earlier match of the last tokens, if it is likely enough to pay.

    *Proposal.* The text after the latest place of the longest match. A draft may run past the end of the known text,
    into itself, so a loop is continued at any length. It ends at a stop token. Without a match there is no draft. A
    long match that breaks off is remembered: if one of the next tokens occurs soon after the break, the copy resumes
    there, even if that token occurs elsewhere too.

    *Probability.* There are four kinds of evidence: the match has one place only (alone), several with the same
    continuation (agreed) or different ones (split), or it resumes a broken copy (resumed). Each kind's odds grow with
    the length of the match and are corrected by every committed token, proposed or not: observation is free.

    *Length.* The number of tokens with the most expected tokens per cost of their verification, 0 if plain decoding is
    expected to be about as fast. Wrong drafts are paid from an allowance, savings of right ones are paid into it, and
    no draft may cost more than is left: by these costs a reply of N tokens never takes longer than plain decoding of
    N + 4 + 0.03 N tokens.

    While `dozing` it only records the committed tokens; afterwards it reads them like a prompt.

    `stop_tokens` end a draft. `cost(n)` is the cost of verifying n tokens, in times of one token (up to 33); it differs
    much between machines. All estimates restart with each prompt, so that a request is repeatable; the index is kept
    for the common beginning of prompts.
    About 50 bytes a token, and a quarter of a microsecond to index it.
    """

    name = NGRAM.name

    def __init__(
        self,
        options: NgramOptions | None = None,
        *,
        stop_tokens: frozenset[int] = frozenset(),
        cost: Callable[[int], float] = cautious_cost,
    ) -> None:
        self._options = options or NgramOptions()
        self._stop_tokens = stop_tokens
        self._cost = cost
        self._index = SuffixIndex(self._options.max_match, self._options.most_places)
        self.dozing = self.trying = False  # A policy may say otherwise before the prompt is read.
        self._reset()

    def _reset(self) -> None:
        self._odds = Odds(self._options)
        self._found: Match | None = None
        self._resumed: Match | None = None
        self._match: Match | None = None
        """The match to follow, and its kind of evidence."""
        self._evidence: Evidence = "alone"
        self._broken: tuple[int, int] | None = None
        """The next place in the source of a broken copy, and the length of the text at that time."""
        self._allowance = self._options.allowance
        self._drafted = 0
        self._unread: list[int] = []
        """Tokens committed while it dozed."""
        self._chances: list[float] = []
        self._likely: list[int] = []
        """Tokens evaluated last, and the chance of each that it is right if those before it are."""

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        cancel.check()
        self._reset()
        index = self._index
        index.keep(common_prefix(index.tokens, prompt_tokens))
        for start in range(len(index.tokens), len(prompt_tokens), _PIECE):
            cancel.check()
            index.extend(prompt_tokens[start : start + _PIECE])
        self._found = index.search()
        self._choose()

    def promise(self, n: int) -> Sequence[float]:
        """Return the chance of each token of `propose(n)` that it is right if those before it are."""
        self._catch_up()
        drafted = self._draft(min(n, MAX_LOOKAHEAD))
        return self._chances[: len(drafted)]

    @property
    def hopes(self) -> Sequence[float]:
        return self._chances[:DEFAULT_LOOKAHEAD]

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        self._catch_up()
        tokens = self._draft(min(n, MAX_LOOKAHEAD))
        if self.trying:  # What that loses is for the policy to bear.
            tokens = self._likely[: min(n, DEFAULT_LOOKAHEAD)]
        self._drafted = 0 if self.trying else len(tokens)
        return Draft(tuple(tokens), source=self.name)

    def _catch_up(self) -> None:
        """Index the tokens committed while it dozed, as if they were a part of the prompt."""
        if not self._unread:
            return
        self._index.extend(self._unread)
        self._unread = []
        self._found, self._resumed, self._broken = self._index.search(), None, None
        self._choose()

    def _draft(self, most: int) -> list[int]:
        """Return the tokens, at most `most`, that promise the most for their cost, which the allowance must bear."""
        drafted: list[int] = []
        self._chances, self._likely = [], drafted
        coming = self._coming(drafted)
        expected = reached = 1.0
        best, worth = self._options.least_gain, 0
        while len(drafted) < most and reached > _HOPELESS:
            cost = self._cost(len(drafted) + 2)
            if (expensive := cost - 1.0 > self._allowance) and len(drafted) >= DEFAULT_LOOKAHEAD:
                break
            following = next(coming, None)
            if following is None:
                break
            token, chance = following
            self._chances.append(chance)
            reached *= chance
            drafted.append(token)
            expected += reached
            gain = expected / cost
            if gain > best and not expensive:
                best, worth = gain, len(drafted)
            if token in self._stop_tokens:
                break
        return drafted[:worth]

    def _coming(self, drafted: Sequence[int]) -> Iterator[tuple[int, float]]:
        """Yield the tokens after the match, each with the chance that it is right if those before it are.

        `drafted`: the tokens taken so far.
        """
        match = self._match
        if match is None:
            return
        tokens, known = self._index.tokens, len(self._index.tokens)
        length, places = match.length, match.places
        while True:
            coming = [tokens[place] if place < known else drafted[place - known] for place in places]
            token = coming[0]
            yield token, self._odds.chance(_judge(match, coming), length)
            places = [place + 1 for place, other in zip(places, coming, strict=True) if other == token]
            length += 1

    def _choose(self) -> None:
        """Follow the longest match, or the resumed copy if that is as long and more likely."""
        found, resumed = self._found, self._resumed
        self._match = found
        if found is not None:
            self._evidence = _judge(found, [self._index.tokens[place] for place in found.places])
        if resumed is not None and (found is None or self._surpasses(resumed, found)):
            self._match, self._evidence = resumed, "resumed"
        if self._match is not None and self._match.length < self._options.min_match:
            self._match = None

    def _surpasses(self, resumed: Match, found: Match) -> bool:
        chance = self._odds.chance
        return resumed.length >= found.length and (
            chance("resumed", resumed.length) > chance(self._evidence, found.length)
        )

    def observe(self, committed_tokens: Sequence[int]) -> None:
        options = self._options
        saved = len(committed_tokens) - self._cost(self._drafted + 1) if self._drafted else 0.0
        granted = options.allowance_share * len(committed_tokens)
        self._allowance = min(self._allowance + saved + granted, options.most_allowance)
        self._drafted = 0
        if self.dozing:
            self._unread.extend(committed_tokens)
            return
        self._catch_up()
        for token in committed_tokens:
            self._learn(token)
            self._follow(token)

    def _learn(self, token: int) -> None:
        match = self._match
        if match is not None:
            self._odds.learn(self._evidence, match.length, self._index.tokens[match.places[0]] == token)

    def _follow(self, token: int) -> None:
        """Add a token to the text, and go on with the matches or look for new ones."""
        tokens = self._index.tokens
        found = self._found.follow(tokens, token) if self._found else None
        resumed = self._resumed.follow(tokens, token) if self._resumed else None
        self._index.extend((token,))
        for before, after in ((self._found, found), (self._resumed, resumed)):
            if before is not None and after is None and before.length >= self._options.copied:
                self._broken = before.places[0], len(tokens)
        self._found = found or self._index.search()
        self._resumed = resumed or self._resume(token)
        self._choose()

    def _resume(self, token: int) -> Match | None:
        """Find the place where a broken copy may go on behind `token`: the nearest behind the break."""
        if self._broken is None:
            return None
        source, when = self._broken
        tokens, window = self._index.tokens, self._options.window
        if len(tokens) - when >= window:
            self._broken = None
            return None
        behind = tokens[source : min(source + window, len(tokens) - 1)]
        if token not in behind:
            return None
        return Match(1, [source + behind.index(token) + 1], resumed=True)


def make_drafter(context: DrafterContext) -> Drafter:
    """Make the index of the text. With the automatic lookahead it may cost less where nothing repeats."""
    options = _AUTO if context.request.speculation.lookahead == "auto" else None
    return NgramDrafter(options, stop_tokens=context.stop_tokens, cost=context.cost)


def _judge(match: Match, coming: Sequence[int]) -> Evidence:
    """Classify a match by the token that comes next at each of its places."""
    if match.resumed:
        return "resumed"
    if len(coming) == 1:
        return "alone"
    return "agreed" if coming.count(coming[0]) == len(coming) else "split"
