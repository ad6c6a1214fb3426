"""Eight threads misuse one decoder at random: each call ends in time, with a result or one clear error."""

import json
import random
from pathlib import Path

import pytest

from helpers.campaigns import Campaign
from helpers.processes import run_python

CALLS = 4_000
THREADS = 8

_MISUSE = """
import collections, json, random, sys, threading, time
from engine import CancelToken, EngineError, LoadConfig, SpeculativeDecoder, load

target, draft, seed, calls = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
configs = [LoadConfig(path, threads=1, trusted=True, context_length=256) for path in (target, draft)]
decoder = load(*configs)
ends, unexpected, slowest, lock = collections.Counter(), [], 0.0, threading.Lock()

def generate(drawn):
    options = {"max_tokens": drawn.choice([1, 8, 40]), "lookahead": drawn.choice(["auto", 0, 3, 8])}
    decoder.generate("Tell me a story. " * drawn.choice([1, 20]), temperature=drawn.choice([0, 1.0]), **options)

def cancelled(drawn):
    cancel = CancelToken()
    timer = threading.Timer(drawn.uniform(0, 0.05), cancel.cancel)
    timer.start()
    try:
        decoder.generate("Once upon a time", max_tokens=200, cancel=cancel)
    finally:
        timer.join()

def abandoned(drawn):
    events = decoder.stream("Once upon a time", max_tokens=50)
    for _ in range(drawn.randrange(12)):
        next(events, None)
    if drawn.random() < 0.5:
        events.close()

def nonsense(drawn):
    key, value = drawn.choice([("max_tokens", -1), ("lookahead", 99), ("temperature", "hot"), ("seed", -1), ("x", 1)])
    try:
        decoder.generate("a", **{key: value})
    except TypeError:
        if key != "x":
            raise

ways = {
    "generate": generate,
    "cancelled": cancelled,
    "abandoned": abandoned,
    "nonsense": nonsense,
    "long": lambda _: decoder.generate("word " * 2_000, raw=True, max_tokens=4),
    "close": lambda drawn: decoder.close() if drawn.random() < 0.3 else None,
    "target": lambda _: decoder.attach_target(configs[0]),
    "draft": lambda _: decoder.attach_draft(configs[1]),
    "none": lambda _: decoder.attach_draft(None),
    "stats": lambda _: (decoder.target, decoder.draft, decoder.warnings),
    "fit": lambda _: decoder.fit([{"role": "user", "content": "word " * 300}]),
    "count": lambda _: decoder.count("word " * 300),
    "token": lambda _: decoder.token_text(5),
}

def misuse(number):
    global slowest
    drawn = random.Random(seed + number)
    for _ in range(calls // THREADS):
        name = drawn.choice(list(ways))
        began = time.monotonic()
        try:
            ways[name](drawn)
            end = "done"
        except EngineError as error:
            end = type(error).__name__
            if not str(error) or "\\n" in str(error):
                unexpected.append(f"{name}: {error!r}")
        except Exception as error:
            end = "unexpected"
            unexpected.append(f"{name}: {type(error).__name__}: {error}")
        with lock:
            ends[end] += 1
            slowest = max(slowest, time.monotonic() - began)

THREADS = 8
threads = [threading.Thread(target=misuse, args=(number,), daemon=True) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20 + calls)
    assert not thread.is_alive(), "it hangs"
decoder.attach_target(configs[0])
assert decoder.generate("Hello", max_tokens=2).stats.emitted == 2
decoder.close()
print(json.dumps({"ends": ends, "unexpected": unexpected[:20], "slowest": round(slowest, 2)}))
"""


def _misuse(target: Path, draft: Path, seed: int, calls: int) -> dict[str, object]:
    arguments = (str(target), str(draft), str(seed), str(calls))
    done = run_python("-X", "faulthandler", "-c", _MISUSE, *arguments, timeout=3_000)
    assert done.returncode == 0, f"seed {seed}: exit {done.returncode}\n{done.stderr[-4000:]}"
    told = json.loads(done.stdout)
    assert not told["unexpected"], f"seed {seed}: {told['unexpected']}"
    assert "Traceback" not in done.stderr, f"seed {seed}: {done.stderr}"
    assert told["slowest"] < 20, told
    assert sum(told["ends"].values()) == calls // THREADS * THREADS
    return {**told["ends"], "slowest_s": told["slowest"]}


def test_a_few_calls_from_eight_threads(bundled_target: Path, bundled_draft: Path) -> None:
    _misuse(bundled_target, bundled_draft, random.Random().randrange(2**32), 160)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_many_calls_from_eight_threads(bundled_target: Path, bundled_draft: Path, campaign: Campaign) -> None:
    campaign.note(**_misuse(bundled_target, bundled_draft, campaign.seed, campaign.tries(CALLS)))
