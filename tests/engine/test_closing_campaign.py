"""Closing and attaching at random moments of a reply by real models: no signal, no hang, a clear end each time.

The campaign of 200 tries each is a soak; `--seed` repeats one, `--share` shortens it.
"""

import json
import random
from pathlib import Path

import pytest

from helpers.campaigns import Campaign
from helpers.processes import run_python

ENDS = ("close", "attach_target", "attach_draft")
TRIES = 200

_CAMPAIGN = """
import json, random, sys, threading, time
from engine import Cancelled, DecoderBusy, LoadConfig, ModelNotLoaded, load
from engine.loading.open import open_backend

target, draft, how, seed, tries = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
drawn = random.Random(seed)
ends = {}
for index in range(tries):
    decoder = load(target, draft, threads=1)
    outcome, ends_of_text = [], decoder.target.eos_token_ids

    def reply():
        try:
            options = {"temperature": 1.0, "lookahead": drawn.choice(["auto", 0, 3, 8]), "overlap": "on"}
            options["banned_tokens"] = ends_of_text  # It goes on until it is ended.
            outcome.append(decoder.generate("Tell me a story. " * drawn.choice([1, 40]), **options).finish_reason)
        except (Cancelled, ModelNotLoaded, DecoderBusy) as error:
            outcome.append(type(error).__name__)

    thread = threading.Thread(target=reply)
    thread.start()
    time.sleep(drawn.uniform(0.0, 0.15))
    if how == "close":
        decoder.close()
    elif how == "attach_target":
        decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
    else:
        decoder.attach_draft(LoadConfig(draft, threads=1, trusted=True))
    thread.join(20)
    assert not thread.is_alive(), "it hangs"
    if how != "close":
        assert decoder.generate("Hello", max_tokens=2).stats.emitted == 2
        decoder.close()
    ends[outcome[0]] = ends.get(outcome[0], 0) + 1
print(json.dumps(ends))
"""


def _run_campaign(how: str, pair: tuple[Path, Path], seed: int, tries: int) -> dict[str, int]:
    done = run_python("-X", "faulthandler", "-c", _CAMPAIGN, *map(str, pair), how, str(seed), str(tries), timeout=900)
    assert done.returncode == 0, f"{how}, seed {seed}: exit {done.returncode}\n{done.stderr}"
    ends: dict[str, int] = json.loads(done.stdout)
    assert sum(ends.values()) == tries
    assert set(ends) <= {"cancelled", "Cancelled", "ModelNotLoaded", "DecoderBusy", "stop"}, ends
    return ends


@pytest.mark.parametrize("how", ENDS)
def test_a_few_tries_with_real_models(how: str, bundled_target: Path, bundled_draft: Path) -> None:
    _run_campaign(how, (bundled_target, bundled_draft), random.Random().randrange(2**32), 2)


@pytest.mark.soak
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("how", ENDS)
def test_many_tries_with_real_models(how: str, bundled_target: Path, bundled_draft: Path, campaign: Campaign) -> None:
    campaign.note(**_run_campaign(how, (bundled_target, bundled_draft), campaign.seed, campaign.tries(TRIES)))
