"""What a context costs: speed at two depths, memory for each token, and work outside the models in a long reply."""

import gc
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any

import numpy as np
import psutil

from benchmarks.context.context_models import SetAcceptance, long_text, open_pair, stretched
from benchmarks.peers.assisted_pair import pair_files
from engine import LoadConfig, SpeculativeDecoder, bundled_pair
from engine.backends.base import Backend, Logits
from engine.config import MAX_LOOKAHEAD, Lookahead
from engine.events import Finished, PromptProgress, RoundEvent, TokenEvent
from engine.growth.arithmetic import GrownShape, SmallModel
from engine.growth.grown import grown_target
from engine.loading.open import open_backend
from helpers.decoding.fake_backend import FakeBackend

SHORT, LONG = 128, 4096
_SPARE = 128
_STEP = 8
"""Tokens at once where memory is measured: as in a round, not as in a prompt."""
_REST = 250
"""Tokens of a reply whose rounds make one value for the slope."""

_VOCABULARY = 512
"""Of models of no size."""
_PASSAGE = 48

Say = Callable[[str], None]


# Speed at two depths --------------------------------------------------------------------------------------------------


def measure_depth(name: str, shape: GrownShape, args: Namespace, say: Say) -> dict[str, Any]:
    """Tokens/s of each lookahead behind SHORT and behind LONG tokens, in turns.

    Each depth has the pair loaded for itself, so that nothing has to be read again. Only the draft model proposes, with
    auto too: what an n-gram index finds in a reply is not the same at both depths. `kept` is the share of its speed
    that a lookahead keeps, LONG against SHORT of the same turn; `against_plain` that share through plain decoding's.
    """
    clock = thread_time if args.threads == 1 else perf_counter
    lookaheads: list[Lookahead] = args.lookaheads
    speeds: dict[tuple[Lookahead, int], list[float]] = {(k, depth): [] for k in lookaheads for depth in (SHORT, LONG)}
    rates: dict[tuple[Lookahead, int], float] = {}
    decoders = {depth: open_pair(name, LONG + 2 * _SPARE, args.threads, shape) for depth in (SHORT, LONG)}
    try:
        prompts = {depth: long_text(decoder, LONG)[LONG - depth :] for depth, decoder in decoders.items()}
        options: dict[str, Any] = {"max_tokens": args.tokens, "overlap": "off", "method": "draft-model"}
        for depth, decoder in decoders.items():
            reply = decoder.generate(prompts[depth], lookahead=0, **options).tokens
            SetAcceptance(decoder, depth, reply, args.share)
            for _ in range(args.warm_up):
                decoder.generate(prompts[depth], lookahead="auto", **options)
            say(f"  {depth} tokens read")
        for turn in range(args.turns):
            for lookahead in lookaheads[turn % len(lookaheads) :] + lookaheads[: turn % len(lookaheads)]:
                for depth in (SHORT, LONG) if turn % 2 else (LONG, SHORT):
                    speed, rate = _reply(decoders[depth], prompts[depth], options | {"lookahead": lookahead}, clock)
                    speeds[lookahead, depth].append(speed)
                    rates[lookahead, depth] = rate
    finally:
        for decoder in decoders.values():
            decoder.close()
    kept = {k: [b / a for a, b in zip(speeds[k, SHORT], speeds[k, LONG], strict=True)] for k in lookaheads}
    return {
        str(k or "plain"): {
            "short": spread(speeds[k, SHORT]),
            "long": spread(speeds[k, LONG]),
            "acceptance": [rates[k, SHORT], rates[k, LONG]],
            "kept": spread(kept[k]),
            "against_plain": median(kept[k]) / median(kept[0]),
        }
        for k in lookaheads
    }


def _reply(
    decoder: SpeculativeDecoder, prompt: Sequence[int], options: dict[str, Any], clock: Callable[[], float]
) -> tuple[float, float]:
    """Tokens/s behind the prompt, and the acceptance rate."""
    began = clock()
    for event in decoder.stream(prompt, **options):
        if isinstance(event, PromptProgress):
            began = clock()
        elif isinstance(event, Finished):
            stats = event.result.stats
            return stats.emitted / (clock() - began), stats.accepted / max(stats.proposed, 1)
    raise SystemExit("A reply did not come to its end.")


# Memory ---------------------------------------------------------------------------------------------------------------


def measure_memory(shape: GrownShape, say: Say) -> dict[str, Any]:
    """Bytes that each token of context takes, and what the arithmetic of keys and values says.

    llama.cpp makes room for the whole context when it is opened: two contexts are compared. transformers' cache grows:
    two lengths of what it holds are compared. It is the own memory (USS) of a program that does nothing else, so room
    for what a forward computes counts too.
    """
    say("  memory")
    small, grown = bundled_pair()[0], grown_target("q8_0", shape)
    folder = pair_files("tiny", say)[0]
    return {
        "llama.cpp, demo target": _memory(_llama_bytes, small, (1024, 17 * 1024), SmallModel(small), 2),
        f"llama.cpp, grown to {shape}": _memory(_llama_bytes, grown, (512, 4608), SmallModel(grown), 2),
        "transformers, demo target": _memory(_transformers_bytes, folder, (512, 2048), SmallModel(small), 4),
    }


def _memory(
    used: Callable[[Path, int], int], path: Path, sizes: tuple[int, int], model: SmallModel, number: int
) -> dict[str, float]:
    """What a token takes from one of the `sizes` to the other, and keys and values in numbers of `number` bytes."""
    small, large = (_apart(used, path, size) for size in sizes)
    return {"measured": (large - small) / (sizes[1] - sizes[0]), "arithmetic": _cache_bytes(model, number)}


def _apart(used: Callable[[Path, int], int], path: Path, size: int) -> int:
    """What `used` gives in a program of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as program:
        return program.submit(used, path, size).result()


def _llama_bytes(path: Path, size: int) -> int:
    copy, before = stretched(path, size), _own_bytes()
    backend = open_backend(LoadConfig(copy, size, 1, trusted=True))
    backend.forward([1, 2, 3], 1)
    return _own_bytes() - before


def _transformers_bytes(folder: Path, size: int) -> int:
    backend = open_backend(LoadConfig(folder, threads=1, device="cpu", dtype="float32"))
    before = _own_bytes()
    for _ in range(0, size, _STEP):
        backend.forward([1] * _STEP, 1)
    gc.collect()
    return _own_bytes() - before


def _cache_bytes(model: SmallModel, size: int) -> float:
    """Of a token: keys and values of each layer's heads, in numbers of `size` bytes."""
    return float(model.layers * model.kv_heads * model.head_size * 2 * size)


def _own_bytes() -> int:
    return int(psutil.Process().memory_full_info().uss)


# A long reply ---------------------------------------------------------------------------------------------------------


class _Inside:
    """Adds up the processor time in the forwards of a backend."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watch(self, backend: Backend) -> None:
        inner: Callable[[Sequence[int], int], Logits] = backend.forward

        def forward(tokens: Sequence[int], n_outputs: int) -> Logits:
            began = thread_time()
            try:
                return inner(tokens, n_outputs)
            finally:
                self.seconds += thread_time() - began

        backend.forward = forward  # type: ignore[method-assign]


class _Instant(FakeBackend):
    """A model of no size: at each place a token of a given text is by far the likeliest, or another one by mistake.

    The text is made of passages, new ones and copies of earlier ones, so that it is as easy to foresee at its end as at
    its beginning.
    """

    def __init__(self, context: int, mistakes: float) -> None:
        super().__init__(_VOCABULARY, context_length=context)
        random = np.random.default_rng(6)
        self._rows = random.normal(size=(_VOCABULARY, _VOCABULARY)).astype(np.float32)
        np.fill_diagonal(self._rows, 16.0)
        # As in a language a few tokens are frequent.
        text = (_VOCABULARY * random.random(context + MAX_LOOKAHEAD) ** 3).astype(np.int64)
        for start in range(2 * _PASSAGE, len(text) - _PASSAGE, 2 * _PASSAGE):
            source = start - int(random.integers(_PASSAGE, 2 * _PASSAGE))
            text[start : start + _PASSAGE] = text[source : source + _PASSAGE]
        self._text = np.where(random.random(len(text)) < mistakes, (text + 1) % _VOCABULARY, text)

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        self._tokens.extend(tokens)
        end = len(self._tokens)
        return self._rows[self._text[end - n_outputs + 1 : end + 1]]


LONG_REPLIES: dict[str, dict[str, Any]] = {
    "plain": {"lookahead": 0},
    "lookahead 4": {"lookahead": 4},
    "lookahead 4, penalties": {"lookahead": 4, "repeat_penalty": 1.1, "frequency_penalty": 0.1},
    "lookahead 4, penalties of all tokens": {"lookahead": 4, "repeat_penalty": 1.1, "penalty_window": 0},
    "lookahead 4, drawn": {"lookahead": 4, "temperature": 0.8, "top_k": 40, "top_p": 0.95, "seed": 1},
    "auto": {"lookahead": "auto"},
    "n-gram": {"method": "ngram"},
}


def measure_long(tokens: int, say: Say) -> dict[str, Any]:
    """Microseconds outside the models of each round of replies of `tokens` tokens, on one thread.

    By thousands of tokens, and the slope over the reply in microseconds for a thousand tokens, with its standard error:
    a line through the medians of every 250 tokens. Processor time.
    Of the demo pair, and of models of no size: keys and values that a real model reads push what Python needs out of
    the processor's caches, more of it the more there are, until nothing is left; that is no work of ours that grows.
    """
    context = tokens + 2 * _SPARE
    found = {}
    with open_pair("demo", max(context, 16 * 1024), 1, GrownShape()) as decoder:
        prompt = long_text(decoder, SHORT)
        for name, row in _trends(decoder, prompt, tokens):
            found[f"demo pair, {name}"] = row
            say(f"  demo pair, {name}: {row['slope']:.2f} ± {row['error']:.2f}")
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(_Instant(context, 0.0))
        decoder.attach_draft(_Instant(context, 0.2))
        for name, row in _trends(decoder, [1] * SHORT, tokens):
            found[f"no model, {name}"] = row
            say(f"  no model, {name}: {row['slope']:.2f} ± {row['error']:.2f}")
    return found


def _trends(decoder: SpeculativeDecoder, prompt: Sequence[int], tokens: int) -> Iterator[tuple[str, dict[str, Any]]]:
    inside = _Inside()
    for backend in (decoder.target, decoder.draft):
        assert backend is not None
        inside.watch(backend)
    for name, options in LONG_REPLIES.items():
        decoder.generate(prompt, **options | {"max_tokens": _SPARE})
        yield name, _trend(_rests(decoder, inside, prompt, options | {"max_tokens": tokens}))


def _rests(
    decoder: SpeculativeDecoder, inside: _Inside, prompt: Sequence[int], options: dict[str, Any]
) -> list[tuple[int, float]]:
    """For each round the length of the reply behind it, and the microseconds outside the models."""
    rests: list[tuple[int, float]] = []
    written = 0
    before: tuple[float, float] | None = None
    for event in decoder.stream(prompt, overlap="off", **options):
        if isinstance(event, TokenEvent):
            written += 1
        elif isinstance(event, RoundEvent):
            now = thread_time(), inside.seconds
            if before is not None:
                rests.append((written, 1e6 * ((now[0] - before[0]) - (now[1] - before[1]))))
            before = now
    return rests


def _trend(rests: Sequence[tuple[int, float]]) -> dict[str, Any]:
    groups: dict[int, list[float]] = {}
    for written, microseconds in rests:
        groups.setdefault(written // _REST, []).append(microseconds)
    # The last round of a reply may be cut short, and the first values are those of cold caches.
    places = np.array([(group + 0.5) * _REST / 1000.0 for group in groups][1:-1])
    values = np.array([median(group) for group in groups.values()][1:-1])
    (slope, start), covariance = np.polyfit(places, values, 1, cov=True)
    thousands = [values[(places >= n) & (places < n + 1)] for n in range(int(places[-1]) + 1)]
    return {
        "rounds": len(rests),
        "by_thousand": [float(np.median(part)) for part in thousands if len(part)],
        "start": float(start),
        "slope": float(slope),
        "error": float(covariance[0, 0] ** 0.5),
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, and between which values the middle half lies."""
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"median": median(values), "low": low, "high": high}
