"""A window is killed at random moments: what was on its screen 250 ms before is there, and the next one opens.

Half of the windows have a scripted model: they are asked, edited, imported into and set up. The others have real ones,
and are killed while they load, too. `--seed` repeats a campaign, `--share` shortens it.
"""

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.settings.settings import SettingsFile
from helpers.campaigns import Campaign
from helpers.paths import ROOT, TESTS
from helpers.processes import MARK, left_of
from helpers.window.window_orders import kept_in

AT_RISK_S, HANG_S = 0.25, 20.0
KILLS = 200
_IMPORTED = "Brought in"
Found = tuple[dict[str, str], dict[int, list[list[str]]]]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="about signals")


class Profile:
    """The folder of windows that are killed one after the other.

    Attributes: safe (how often something was told early enough to be safe), ends (what was going on at the kill).
    """

    def __init__(self, folder: Path, seed: int, models: tuple[Path, ...] = ()) -> None:
        self.safe = 0
        self.ends: Counter[str] = Counter()
        self._folder, self._seed, self._draw = folder, seed, random.Random(seed)
        self._models = models
        self._before: Found = ({}, {})
        folder.mkdir(parents=True)
        for number, size in enumerate((1, 40, 2_000)):
            (folder / f"{number}.chat.json").write_text(json.dumps(_chat(number, size)), "utf-8")

    def kill_once(self, number: int) -> None:
        """Open a window, kill it at a random moment, and look at what it left."""
        where = f"seed {self._seed}, kill {number}"
        early = self._draw.random() < 0.1
        after = self._draw.uniform(0.0, 1.2) if early else self._draw.uniform(0.0, 2.0)
        if self._models and self._draw.random() < 0.5:
            # As after an update: the files are tried in a child again.
            shutil.rmtree(self._folder / "cache", ignore_errors=True)
        said, killed, errors = self._run(early, after, where)
        assert "Traceback" not in errors, f"{where}: {errors}"
        told = [each for each in said if each]
        found = kept_in(self._folder / "conversations.sqlite3") if told or self._before[0] else self._before
        if told:
            self._judge(found, said, told, killed, where)
        else:
            assert found == self._before, f"{where}: killed at its start"
            self.ends["at its start"] += 1
        self._before = found
        leftover = [str(each) for each in self._folder.rglob("*damaged*")]
        assert not leftover, f"{where}: {leftover}"

    def _run(self, early: bool, after: float, where: str) -> tuple[list[Any], float, str]:
        """What it said, when it was killed, and its errors; nothing that it began is left."""
        mark = f"{os.getpid()}-{self._seed}-{where}"
        homes = {f"XDG_{kind}_HOME": str(self._folder / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
        paths = {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}", MARK: mark}
        command = [sys.executable, "-m", "helpers.children.window_in_child", str(self._folder)]
        killed = [0.0]
        log = self._folder.parent / "errors.txt"

        def kill() -> None:
            killed[0] = time.monotonic()
            process.kill()

        with (
            log.open("wb") as errors,
            subprocess.Popen(
                [*command, str(self._draw.randrange(2**32)), *map(str, self._models)],
                cwd=ROOT, env=os.environ | homes | paths, stdout=subprocess.PIPE, stderr=errors, text=True,
            ) as process,
        ):  # fmt: skip
            assert process.stdout is not None
            # The kill comes in any case, whatever it does.
            timer = threading.Timer(after if early else HANG_S + after, kill)
            timer.start()
            lines = [process.stdout.readline()]
            if not early:
                assert lines[0], f"{where}: it ended by itself, or did not open: {log.read_text('utf-8', 'replace')}"
                timer.cancel()
                timer = threading.Timer(after, kill)
                timer.start()
            lines += process.stdout.readlines()
            timer.join()
        left = left_of(mark)
        assert not left, f"{where}: still there {left}"
        said = [json.loads(line) for line in lines if line.endswith("}\n")]
        return said, killed[0], log.read_text("utf-8", "replace")

    def _judge(self, found: Found, said: list[Any], told: list[Any], killed: float, where: str) -> None:
        safe = sum(1 for each in told if each["at"] < killed - AT_RISK_S)
        self.safe += safe
        possible = told[max(safe - 1, 0) :]
        fits = any(_fits(found, *pair) for pair in itertools.pairwise([*possible, possible[-1]]))
        # It may have been killed after something was kept and before it could be told.
        assert fits or (not said[-1] and _differs_by_one(found, told[-1])), (where, found, possible)
        file = SettingsFile(self._folder / "settings.json")
        settings = file.load()
        assert file.trouble is None, (where, file.trouble)
        for name in told[-1]["set"]:
            chosen = [each["set"][name] for each in possible]
            assert getattr(settings, name) in chosen or not said[-1], (where, name, getattr(settings, name), chosen)
        self.ends[told[-1]["doing"]] += 1


def _chat(number: int, size: int) -> dict[str, Any]:
    """A chat to be imported, with so many messages."""
    messages = [
        {
            "id": each, "parent": each - 1 or None, "role": ("assistant", "user")[each % 2],
            "text": f"message {each} of {size}", "created": 1.7e9,
        }
        for each in range(1, size + 1)
    ]  # fmt: skip
    head = {"format": "outrider-conversation", "version": 1, "title": f"{_IMPORTED} {number}", "created": 1.7e9}
    return head | {"updated": 1.7e9, "pinned": False, "chosen": 1, "settings": {}, "messages": messages}


def _differs_by_one(found: Found, told: Any) -> bool:
    titles = found[0]
    changed = [number for number in {*titles, *told["titles"]} if titles.get(number) != told["titles"].get(number)]
    return len(changed) <= 1


def _fits(found: Found, told: Any, then: Any) -> bool:
    """True if all is there that was told, and nothing but that and what was told then.

    What is being imported is kept before it is shown.
    """
    titles, paths = found
    for number in {*told["titles"], *then["titles"], *titles}:
        known = (told["titles"].get(number), then["titles"].get(number))
        if titles.get(number) not in known and not (known == (None, None) and titles[number].startswith(_IMPORTED)):
            return False
    return any(_is_there(paths.get(each["open"], []), each["path"]) for each in (told, then))


def _is_there(kept: list[list[str]], told: list[list[str]]) -> bool:
    """True if what was told is kept; its last text, and what came after it, may have grown since."""
    same = [*told]
    last = [same.pop()] if same else []
    grown = kept[len(same) : len(told)]
    return (
        kept[: len(same)] == same
        and all(
            role == kept_role and kept_text.startswith(text)
            for (role, text), (kept_role, kept_text) in zip(last, grown, strict=False)
        )
        and len(kept) >= len(told)
        and len(kept) <= len(told) + 2
    )


def _copies(folder: Path, *models: Path) -> tuple[Path, ...]:
    """Models that did not come with the program: these are tried in a child before they are loaded."""
    folder.mkdir()
    return tuple(Path(shutil.copy(model, folder / model.name)) for model in models)


def _kill(folder: Path, models: tuple[Path, ...], seed: int, kills: int) -> tuple[int, Counter[str]]:
    scripted, real = Profile(folder / "scripted", seed), Profile(folder / "real", seed, models)
    for number in range(kills):
        (real if number % 2 else scripted).kill_once(number)
    return scripted.safe + real.safe, scripted.ends + real.ends


@pytest.mark.alone
def test_a_few_kills_of_a_window(tmp_path: Path) -> None:
    profile = Profile(tmp_path / "scripted", 3)
    for number in range(9):  # On a slow machine less is told before a kill.
        profile.kill_once(number)
        if number >= 2 and profile.safe > 3:
            return
    pytest.fail(f"only {profile.safe} states were told in time to be safe")


@pytest.mark.soak
@pytest.mark.timeout(5_400)
def test_kills_of_a_window(tmp_path: Path, bundled_target: Path, bundled_draft: Path, campaign: Campaign) -> None:
    models = _copies(tmp_path / "models", bundled_draft, bundled_target)
    kills = campaign.tries(KILLS)
    safe, ends = _kill(tmp_path, models, campaign.seed, kills)
    assert safe > kills
    campaign.note(safe_states=safe, **ends)
