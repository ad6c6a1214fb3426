"""Calibrate and generate are killed at random moments: caches stay readable, nothing is left, the next run works.

`--seed` repeats a campaign, `--share` shortens it.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.campaigns import Campaign
from helpers.paths import ROOT
from helpers.processes import MARK, left_of

KILLS = 100
HANG_S = 20.0
_MOST_S = 2.5
"""The longest moment before a kill where the whole run takes longer: measuring goes on like that."""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="about signals")


@dataclass(frozen=True)
class Ended:
    """How a command ended. `code`: None if it was killed before."""

    code: int | None
    said: str
    errors: str
    seconds: float


class Home:
    """A home whose commands are killed. Attribute: ends (how often what was killed, or had ended by then)."""

    def __init__(self, folder: Path, seed: int, pair: tuple[Path, Path]) -> None:
        self.ends: Counter[str] = Counter()
        self._seed, self._draw = seed, random.Random(seed)
        self._folder = folder
        folder.mkdir()
        # Copies: models that did not come with the program are tried in a child, which is killed with it, or not.
        target, draft = (Path(shutil.copy(model, folder / model.name)) for model in pair)
        models = ["--target", str(target), "--draft", str(draft)]
        self._commands = {
            "calibrate": ["calibrate", *models, "--budget", "1", "--json"],
            "calibrate again": ["calibrate", *models, "--budget", "1", "--fresh"],
            "generate": ["generate", *models, "--max-tokens", "60", "--json", "Once upon a time"],
            "generate, streaming": ["generate", *models, "--max-tokens", "400", "Once upon a time"],
        }
        self._lasts = {name: min(self.run(name).seconds, _MOST_S) for name in self._commands}

    def kill_once(self, number: int) -> None:
        """Kill a command at a random moment, and look at what it left."""
        where = f"seed {self._seed}, kill {number}"
        if self._draw.random() < 0.5:
            shutil.rmtree(self._folder / "cache", ignore_errors=True)
        name = self._draw.choice([*self._commands])
        ended = self.run(name, self._draw.uniform(0.0, 1.1 * self._lasts[name]))
        assert ended.code in (None, 0), (where, name, ended)
        assert "Traceback" not in ended.errors, (where, name, ended.errors)
        self.ends[f"{name}: {'killed' if ended.code is None else 'had ended'}"] += 1
        self._look(where)
        following = self._draw.choice(("generate", "calibrate"))
        done = self.run(following)
        assert done.code == 0, (where, name, following, done)
        assert done.errors == "", (where, name, following, done.errors)
        assert json.loads(done.said)
        assert done.seconds < HANG_S
        self._look(where)

    def run(self, name: str, kill_after: float | None = None) -> Ended:
        """Run a command, to its end or until then; nothing that it began is left."""
        mark = f"{os.getpid()}-{time.monotonic_ns()}"
        homes = {f"XDG_{kind}_HOME": str(self._folder / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
        command = [sys.executable, "-X", "faulthandler", "-m", "engine", *self._commands[name]]
        began = time.monotonic()
        with subprocess.Popen(
            command, cwd=ROOT, env=os.environ | homes | {MARK: mark, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                said, errors = process.communicate(timeout=3 * HANG_S if kill_after is None else kill_after)
            except subprocess.TimeoutExpired:
                process.kill()
                said, errors = process.communicate()
                assert kill_after is not None, f"{name} hangs: {errors}"
        left = left_of(mark)
        assert not left, f"{name}, killed after {kill_after}: still there {left}"
        code = None if process.returncode == -9 and kill_after is not None else process.returncode
        return Ended(code, said, errors, time.monotonic() - began)

    def _look(self, where: str) -> None:
        """What is in the cache can be read."""
        for path in (self._folder / "cache").rglob("*.json"):
            assert isinstance(json.loads(path.read_text("utf-8")), dict), (where, path)

    def check_parts(self) -> int:
        """Let a while pass: what was half written is taken away. Gives how much that was."""
        parts = [*(self._folder / "cache").rglob("*.part")]
        for part in parts:
            os.utime(part, (0, 0))
        # It writes what it measured, and, as the model is another file now, that it may be loaded.
        for model in self._folder.glob("*.gguf"):
            os.utime(model)
        self.run("calibrate again")
        assert not [*(self._folder / "cache").rglob("*.part")]
        return len(parts)


def _kill(folder: Path, pair: tuple[Path, Path], seed: int, kills: int) -> Counter[str]:
    home = Home(folder, seed, pair)
    for number in range(kills):
        home.kill_once(number)
    home.ends["half written"] = home.check_parts()
    return home.ends


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_kills_of_commands(tmp_path: Path, bundled_target: Path, bundled_draft: Path, campaign: Campaign) -> None:
    pair = (bundled_target, bundled_draft)
    campaign.note(**_kill(tmp_path / "commands", pair, campaign.seed, campaign.tries(KILLS)))
