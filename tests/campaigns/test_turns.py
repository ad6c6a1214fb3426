"""Conversations take turns at random: replies drafted in every way, cancelled, measured behind, beside streams.

A greedy reply must be what the target alone says, and an error is one of the engine's own.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from engine import Cancelled, CancelToken, Finished, LoadConfig, RoundEvent, SpeculativeDecoder
from engine.backends.base import Backend, CacheCopy
from engine.backends.caches_in_memory import keep_caches
from engine.backends.caches_on_disk import DiskCaches, KeptPart
from engine.events import GenerationResult
from engine.host import cache_folder
from engine.library.names import bundled_pair, resolve_source
from engine.lookahead import calibration, knowledge
from engine.lookahead.costs import CostModel
from helpers.campaigns import Campaign
from helpers.models.pairs import assert_same_greedy, open_files
from helpers.weights.expert_model import TINY_GPT_OSS, TINY_QWEN3, write_expert_model

Ways = list[dict[str, Any]]
REPLIES = 30_000
BUDGET_S = 0.1
"""Of a calibration: what it leaves behind is looked at, not what it measures."""
DRAWN = (0.03, 0.03, 0.01, 0.05, 0.03)
"""How often costs are forgotten, streams opened, experts tried, texts changed that are drafted from, and models opened
again with caches on disk."""
WAYS: Ways = [
    {"lookahead": 0},
    {"lookahead": 3},
    {"lookahead": 5, "overlap": "on"},
    {"tree": "4x2"},
    {"tree": "3x4", "lookahead": 3},
    {"tree": "auto"},
    {"lookahead": "auto"},
    {"method": "ngram"},
    {"method": "draft-model", "tree": "4x2"},
    {"method": "eagle3", "tree": "4x2"},
    {"method": "eagle3", "tree": "auto"},
    {"method": "eagle3", "lookahead": 4},
]
IN_STREAMS: Ways = [{"lookahead": 0}, {"lookahead": 3}, {"lookahead": "auto"}, {"method": "ngram"}]
HEADS_IN_STREAMS: Ways = [
    {"method": "eagle3", "lookahead": 4},
    {"method": "eagle3", "tree": "4x2"},
    {"lookahead": "auto"},
]
BOUNDED = {"type": "array", "items": {"enum": ["fox", "owl"]}, "minItems": 1, "maxItems": 3}
ENDS: Ways = [{}, {}, {}, {"stop": [" the"]}, {"min_tokens": 1}, {"constraint": BOUNDED}]
EXPERTS = ("Q4_K", "Q6_K", "Q8_0", "Q5_1", "MXFP4", "IQ4_NL")


@pytest.fixture(autouse=True)
def calibrations(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Measure costs briefly; counts how often, and how many parts of caches came from the disk."""
    begun, real, read = Counter[str](), calibration.calibrate, DiskCaches._read

    def read_part(caches: DiskCaches, part: KeptPart) -> CacheCopy | None:
        begun["parts from the disk"] += 1
        return read(caches, part)

    def calibrate(target: Backend, draft: Backend | None, **options: Any) -> CostModel:
        begun["calibrations"] += 1
        return real(target, draft, **options | {"budget_s": BUDGET_S})

    monkeypatch.setattr(knowledge, "calibrate", calibrate)
    monkeypatch.setattr(DiskCaches, "_read", read_part)
    return begun


class Talks:
    """Three conversations with one decoder. Attribute: done, what was done how often."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._seed, self._draw, self._folder = seed, random.Random(seed), folder
        self.done = Counter[str]()
        self._told: list[list[dict[str, str]]] = [[], [], []]
        self._number = 0

    def run(self, replies: int) -> None:
        """Write so many replies with the bundled pair and its head."""
        target, draft = map(Path, bundled_pair())
        with open_files(target, draft) as decoder, open_files(target, None) as plain:
            self._decoder, self._plain, self._draft = decoder, plain, LoadConfig(draft, threads=1, trusted=True)
            decoder.attach_heads(resolve_source("demo-head"))
            keep_caches(decoder.target, decoder.draft)
            decoder.keep_caches(self._folder / "caches")
            while self._number < replies:
                actions = (self._forget, self._streams, self._experts, self._corpus, self._again)
                for chance, what in zip(DRAWN, actions, strict=True):
                    if self._draw.random() < chance:
                        self.done[what.__name__.strip("_")] += 1
                        what()
                self._reply(decoder, WAYS, self._prompt())

    def _forget(self) -> None:
        """Drop the models' costs: the next automatic reply is measured afterwards."""
        for place in (cache_folder() / "costs").glob("*.json"):
            place.unlink()
        self._decoder.attach_draft(self._draft)
        for place in (cache_folder() / "costs").glob("*.json"):  # What was learned is saved before.
            place.unlink()
        keep_caches(self._decoder.draft)

    def _streams(self) -> None:
        """Write replies in streams, beside one by the decoder itself, which has nothing measured yet."""
        decoder, count = self._decoder, self._draw.choice((2, 3))
        with_heads = self._draw.random() < 0.5
        if not with_heads:
            decoder.attach_heads(None)
        ways = IN_STREAMS + HEADS_IN_STREAMS * with_heads
        self._forget()
        midway = self._draw.random() < 0.5
        if not midway:
            assert len(decoder.open_streams(count)) == count
        with ThreadPoolExecutor(count) as pool:
            jobs: list[Any] = []

            def begin() -> None:
                if not jobs:
                    streams = decoder.open_streams(count, midway=midway)
                    jobs.extend(
                        pool.submit(self._ask(stream, ways, [*self._told[number % 3], _question(self._draw)]))
                        for number, stream in enumerate(streams)
                    )

            if not midway:
                begin()
            own = self._ask(
                decoder,
                WAYS if with_heads else WAYS[:9],
                self._prompt(),
                begin if midway else lambda: None,
                decoder.apart,
            )
            checks = [own(), *(job.result() for job in jobs)]
            if self._draw.random() < 0.5:
                decoder.calibrate()
        for check in checks:
            check()
        decoder.close_streams()
        decoder.attach_heads(resolve_source("demo-head"))

    def _again(self) -> None:
        """Open the target again, as after a restart: what it has read of a conversation comes back from the disk."""
        decoder = self._decoder
        target = decoder.config_of("target")
        assert target is not None
        decoder.attach_target(target)
        decoder.attach_draft(self._draft)
        decoder.attach_heads(resolve_source("demo-head"))
        keep_caches(decoder.target, decoder.draft)

    def _corpus(self) -> None:
        """Draft from what was written so far, or no longer."""
        written = self._written()
        self._decoder.attach_corpus(written if written and self._draw.random() < 0.7 else None)

    def _written(self) -> list[str]:
        return [turn["content"] for talk in self._told for turn in talk if turn["role"] == "assistant"]

    def _experts(self) -> None:
        """Try a mixture of experts in a child, which does not pack its weights, and draft for it."""
        shape, kind = self._draw.choice((TINY_GPT_OSS, TINY_QWEN3)), self._draw.choice(EXPERTS)
        path, seed = self._folder / "experts.gguf", self._draw.randrange(1000)
        draft = write_expert_model(path.with_name("draft.gguf"), shape, kind, seed=seed, noise=0.02)
        write_expert_model(path, shape, kind, seed=seed)
        with SpeculativeDecoder() as decoder, open_files(path, None) as plain:
            decoder.attach_target(LoadConfig(path, threads=self._draw.choice((1, 2))))
            decoder.attach_draft(LoadConfig(draft, threads=1, trusted=True))
            keep_caches(decoder.target, decoder.draft)
            begins = [[self._draw.randrange(3, 300) for _ in range(self._draw.choice((2, 90, 200)))] for _ in range(2)]
            for _ in range(8):
                prompt, way = self._draw.choice(begins), self._draw.choice(WAYS[:9])
                options: dict[str, Any] = {"max_tokens": 30, "temperature": 0.0, "seed": self._number}
                self._number += 1
                result = decoder.generate(prompt, **options, **way)
                assert plain.target is not None
                assert_same_greedy(plain.target, prompt, plain.generate(prompt, **options, lookahead=0), result)
                self.done["compared"] += 1
                prompt.extend(result.tokens[: self._draw.randrange(30)])
                del prompt[300:]

    def _prompt(self) -> list[dict[str, str]] | str:
        """Return a conversation with another question, or now and then a plain text."""
        if self._draw.random() < 0.1:
            return "Once upon a time there was an owl. " * self._draw.choice((1, 20))
        talk = self._draw.choice(self._told)
        talk.append(_question(self._draw))
        return talk

    def _reply(self, decoder: SpeculativeDecoder, ways: Ways, prompt: list[dict[str, str]] | str) -> None:
        result = self._ask(decoder, ways, prompt)()()
        if isinstance(prompt, list):
            prompt.append({"role": "assistant", "content": "" if result is None else result.text})
            del prompt[:-12]

    def _ask(
        self,
        decoder: SpeculativeDecoder,
        ways: Ways,
        prompt: list[dict[str, str]] | str,
        between: Callable[[], None] = lambda: None,
        apart: Callable[[], Any] | None = None,
    ) -> Callable[[], Callable[[], GenerationResult | None]]:
        """Draw a reply's settings; return the function that writes it, which returns the one that compares it."""
        draw, number = self._draw, self._number
        self._number += 1
        way, temperature = draw.choice(ways), draw.choice((0.0, 0.0, 1.0))
        options = {"max_tokens": draw.choice((1, 3, 20, 60)), "temperature": temperature, "seed": number}
        if (written := self._written()) and draw.random() < 0.15:
            way = way | {"prediction": draw.choice(written)}
        options |= draw.choice(ENDS) | ({"raw": True} if isinstance(prompt, str) else {})
        last = draw.choice((None,) * 5 + (0, 1, 5, 40))
        asked, place = prompt if isinstance(prompt, str) else list(prompt), f"seed {self._seed}, reply {number}: {way}"

        def write() -> Callable[[], GenerationResult | None]:
            result = _written(decoder, asked, options | way, last, between, apart)
            if result is not None and len(result.tokens) > 1 and decoder.target is not None:
                held = list(decoder.target.tokens)
                assert held[-len(result.tokens) + 1 :] == list(result.tokens[:-1]), place
            return lambda: self._compare(asked, options, result, place)

        return write

    def _compare(
        self, asked: list[dict[str, str]] | str, options: dict[str, Any], result: GenerationResult | None, place: str
    ) -> GenerationResult | None:
        if result is None:
            self.done["cancelled before a token"] += 1
        else:
            self.done[result.finish_reason] += 1
            if options["temperature"] == 0.0:
                self.done["compared"] += 1
                expected = self._plain.generate(asked, **options, lookahead=0).tokens
                assert result.tokens == expected[: len(result.tokens)], place
                assert result.finish_reason == "cancelled" or len(result.tokens) == len(expected), place
        return result


def _question(draw: random.Random) -> dict[str, str]:
    return {"role": "user", "content": "Tell me more. " * draw.choice((1, 12))}


def _written(
    decoder: SpeculativeDecoder,
    prompt: list[dict[str, str]] | str,
    options: dict[str, Any],
    last: int | None,
    between: Callable[[], None],
    apart: Callable[[], Any] | None,
) -> GenerationResult | None:
    """Write a reply, which is cancelled behind so many events, or its measurement behind it; None: before a token."""
    cancel, result, count = CancelToken(), None, 0

    def step(events: Iterator[Any]) -> bool:
        nonlocal result, count
        for event in events:
            count += 1
            if count == last or (last == 0 and isinstance(event, Finished)):
                cancel.cancel()
            if isinstance(event, Finished):
                result = event.result
            if isinstance(event, RoundEvent):
                return True
        return False

    with suppress(Cancelled), closing(decoder.stream(prompt, cancel=cancel, **options)) as events:
        more = True
        while more:
            if apart is None:
                more = step(events)
            else:
                with decoder.apart():
                    more = step(events)
            between()
    return result


def _turns(seed: int, folder: Path, replies: int, calibrations: Counter[str]) -> dict[str, int]:
    talks = Talks(seed, folder)
    talks.run(replies)
    return dict(talks.done + calibrations)


def test_a_few_turns(tmp_path: Path, calibrations: Counter[str]) -> None:
    done = _turns(6, tmp_path, 10, calibrations)
    assert done["compared"]


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_turns(tmp_path: Path, campaign: Campaign, calibrations: Counter[str]) -> None:
    campaign.note(**_turns(campaign.seed, tmp_path, campaign.tries(REPLIES), calibrations))
