"""Cancels and long conversations of real models: the decoder is usable after each cancel, and its memory is steady.

`--seed` repeats a campaign, `--share` shortens it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.campaigns import Campaign
from helpers.processes import run_python

CANCELS, TOKENS = 1_000, 50_000
HANG_S = 20.0
MOST_GROWTH_MIB = 24.0
"""After the first tenth. The target alone takes 9 MB: three that are not freed would be more."""


def _run(name: str, pair: tuple[Path, Path], seed: int, number: int, timeout: float) -> dict[str, Any]:
    """Return the report of a child that ended without errors."""
    done = run_python(
        *("-X", "faulthandler", "-m", f"helpers.children.{name}", *map(str, pair), str(seed), str(number)),
        timeout=timeout,
    )
    assert done.returncode == 0, f"seed {seed}: exit {done.returncode}\n{done.stderr}"
    assert "Traceback" not in done.stderr, f"seed {seed}: {done.stderr}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _cancel(pair: tuple[Path, Path], seed: int, number: int) -> dict[str, Any]:
    told = _run("cancelled_decoder", pair, seed, number, 60 + number)
    assert sum(told["ends"].values()) == number, (seed, told)
    assert told["slowest_end_s"] < HANG_S, (seed, told)
    assert told["grown_mib"] < MOST_GROWTH_MIB, (seed, told)
    return told


def test_a_few_cancels(bundled_target: Path, bundled_draft: Path) -> None:
    _cancel((bundled_target, bundled_draft), 21, 40)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_cancels(bundled_target: Path, bundled_draft: Path, campaign: Campaign) -> None:
    told = _cancel((bundled_target, bundled_draft), campaign.seed, campaign.tries(CANCELS))
    campaign.note(**told)


def _chat(pair: tuple[Path, Path], seed: int, tokens: int) -> dict[str, Any]:
    told = _run("endless_chat", pair, seed, tokens, 120 + tokens / 20)
    assert told["emitted"] >= tokens, (seed, told)
    assert told["shifts"] > told["replies"] / 2, (seed, told)
    assert told["grown_mib"] < MOST_GROWTH_MIB, (seed, told)
    assert told["differing"] == 0, (seed, told)
    return told


def test_a_chat_that_outgrows_its_context(bundled_target: Path, bundled_draft: Path) -> None:
    _chat((bundled_target, bundled_draft), 21, 1_500)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_a_chat_without_end(bundled_target: Path, bundled_draft: Path, campaign: Campaign) -> None:
    campaign.note(**_chat((bundled_target, bundled_draft), campaign.seed, campaign.tries(TOKENS)))
