"""Damaged stores: every one gets the right sentence, what is damaged is named, and the rest can be read and exported.

240 bits are flipped in the structure of a store's file (the text of its schema, its header, heads of its pages, pages)
and 200 in texts of messages; others are cut off, zeroed in part, replaced, or find a foreign log. `--seed` repeats a
campaign, `--share` shortens it.
"""

import logging
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from helpers.campaigns import Campaign
from helpers.damage import (
    WAYS,
    Content,
    Verdict,
    flip,
    is_version,
    judge,
    make_store,
    offset_in_structure,
    offset_in_text,
)

FLIPS_IN_STRUCTURE, FLIPS_IN_TEXT, OTHERS = 240, 200, 60


class Damage:
    """Damages copies of one store, and collects what comes of them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.drawn = random.Random(seed)
        self.sound = folder / "sound.sqlite3"
        self.content: Content = make_store(self.sound, seed)
        self.wrong: list[str] = []
        self.ends: Counter[str] = Counter()

    def copy(self) -> Path:
        folder = self.folder / "tried"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return Path(shutil.copy(self.sound, folder / "conversations.sqlite3"))

    def flip_structure(self, number: int) -> None:
        path, kind = self.copy(), number % 4
        place, bit = offset_in_structure(path.read_bytes(), kind, self.drawn), self.drawn.randrange(8)
        flip(path, place, bit)
        verdict = judge(path, self.content, may_be_newer=is_version(place))
        self.note(("schema", "header", "head of a page", "page")[kind], f"byte {place} bit {bit}", verdict)

    def flip_text(self) -> None:
        path = self.copy()
        place, message = offset_in_text(path.read_bytes(), self.content, self.drawn)
        flip(path, place, self.drawn.randrange(8))
        verdict = judge(path, self.content)
        if verdict.refused or verdict.damaged != {message} or verdict.parts:
            verdict.wrong.append(f"named {set(verdict.damaged)}, not {message}; {verdict.parts}, {verdict.refused}")
        self.note("text", f"byte {place} of message {message}", verdict)

    def damage_otherwise(self, number: int) -> None:
        path, name = self.copy(), list(WAYS)[number % len(WAYS)]
        what = WAYS[name](path, self.drawn)
        verdict = judge(path, self.content)
        if name == "foreign" and not verdict.refused:
            verdict.wrong.append("a foreign file was opened")
        self.note(name, what, verdict)

    def note(self, kind: str, what: str, verdict: Verdict) -> None:
        end = verdict.refused or ("named" if verdict.damaged or verdict.parts else "unharmed")
        self.ends[f"{kind}: {end}"] += 1
        self.wrong += [f"{kind}, {what}: {each}" for each in verdict.wrong]


def _run(folder: Path, campaign: Campaign) -> None:
    damage = Damage(folder, campaign.seed)
    for number in range(campaign.tries(FLIPS_IN_STRUCTURE)):
        damage.flip_structure(number)
    for _ in range(campaign.tries(FLIPS_IN_TEXT)):
        damage.flip_text()
    for number in range(campaign.tries(OTHERS)):
        damage.damage_otherwise(number)
    campaign.note(**dict(sorted(damage.ends.items())))
    assert not damage.wrong, f"seed {campaign.seed}: {len(damage.wrong)} wrong\n" + "\n".join(damage.wrong)


def test_a_few_damaged_stores_get_the_right_sentence(tmp_path: Path) -> None:
    _run(tmp_path, Campaign(21, 0.05))


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_damaged_stores_get_the_right_sentence(
    tmp_path: Path, campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    _run(tmp_path, campaign)
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert all("cannot be saved" in each or "could not be saved" in each for each in logged), logged
