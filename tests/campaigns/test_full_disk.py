"""A disk that is full at any of the writes of a scenario: one sentence, nothing lost, no half-written file.

The writes of a window that opens, is asked, edited, imported into, exported from and set up are counted first; then
each of them fails, once or as the first of many until there is space again, as `--seed` has it. `--share` makes some.
"""

import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.campaigns import Campaign
from helpers.children.ordered_window import REPLY
from helpers.window.window_orders import FullDisk, WindowUnderOrders, compiler, kept_in

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a preloaded library stands in for the full disk"),
    pytest.mark.skipif(not compiler(), reason="there is no C compiler"),
]

_IMPORTED = {
    "format": "outrider-conversation", "version": 1, "title": "Brought in", "created": 1.7e9, "updated": 1.7e9,
    "pinned": False, "chosen": 1, "settings": {},
    "messages": [{"id": 1, "parent": None, "role": "user", "text": "An imported question", "created": 1.7e9}],
}  # fmt: skip


class Scenario:
    """Runs of the same window, each with a disk that is full at other writes."""

    def __init__(self, workshop: Path) -> None:
        self.ends: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.folder = workshop / "disk"
        self.disk = FullDisk(self.folder, workshop)
        self.import_file = workshop / "in.json"
        self.import_file.write_text(json.dumps(_IMPORTED), "utf-8")

    def count(self) -> int:
        """How many writes there are where none fails."""
        self.run(2**60, 1)
        assert not self.wrong, self.wrong
        return self.disk.counted

    def run(self, first: int, times: int) -> None:
        """One window; the writes from this one on fail, so many times or until there is space again."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.disk.fill(first, times)
        what = f"write {first}, {'once' if times == 1 else 'until there is space'}"
        with WindowUnderOrders(self.folder, self.disk.environment) as window:
            try:
                told = self._work(window)
                code = window.quit()
            except (AssertionError, OSError) as error:
                self.wrong.append(f"{what}: {error}")
                return
        self.wrong += [f"{what}: {each}" for each in self._judge(told, code, window.errors)]
        self.ends["said" if told["said"] else "unnoticed"] += 1

    def _work(self, window: WindowUnderOrders) -> dict[str, Any]:
        window.begin()
        window.do("ask", "The first question")
        window.do("edit", "The first question in other words")
        window.do("regenerate")
        window.do("rename", "A title")
        window.do("ask", "One that goes")
        window.do("remove")
        window.do("set", "theme", "dark")
        window.do("export", "json", str(self.folder / "out.json"))
        window.do("export", "markdown", str(self.folder / "out.md"))
        window.do("import", str(self.import_file))
        window.do("new")
        window.do("ask", "Another conversation")
        self.disk.free()
        return window.until_saved()

    def _judge(self, told: dict[str, Any], code: int, errors: str) -> list[str]:
        wrong = []
        if code or "Traceback" in errors:
            wrong.append(f"exit {code}: {errors}")
        said = told["said"]
        if len(said) != len(set(said)) or any("\n" in each or len(each) > 400 for each in said):
            wrong.append(f"said {said}")
        unsaved = any("not saved" in each and "now are" in each for each in said)
        if not unsaved:
            wrong += self._kept(told)
        wrong += self._files(said)
        return wrong

    def _kept(self, told: dict[str, Any]) -> list[str]:
        titles, paths = kept_in(self.folder / "conversations.sqlite3")
        wrong = [] if titles == told["titles"] else [f"titles {titles}, not {told['titles']}"]
        if sorted(titles.values()) != ["A title", "Another conversation", "Brought in"]:
            wrong.append(f"titles {titles}")
        first = [["user", "The first question in other words"], ["assistant", REPLY]]
        last = [["user", "Another conversation"], ["assistant", REPLY]]
        due = (first, [["user", "An imported question"]], last)
        return wrong + [f"{path} is lost: {paths}" for path in due if path not in paths.values()]

    def _files(self, said: list[str]) -> list[str]:
        wrong = [f"left behind: {part}" for part in self.folder.rglob("*.part")]
        settings = self.folder / "settings.json"
        if not settings.exists() or json.loads(settings.read_text("utf-8"))["theme"] != "dark":
            wrong.append("the settings are not what was chosen")
        for name in ("out.json", "out.md"):
            file = self.folder / name
            if file.exists() and "in other words" not in file.read_text("utf-8"):
                wrong.append(f"{name} is half written")
            if not file.exists() and not any(name in each for each in said):
                wrong.append(f"{name} is not there, and nothing was said")
        return wrong


def test_one_full_disk_loses_nothing(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    scenario.run(100, 2**60)
    assert not scenario.wrong, scenario.wrong
    assert scenario.ends["said"]


@pytest.mark.soak
@pytest.mark.timeout(5_400)
def test_full_disks_lose_nothing(tmp_path: Path, campaign: Campaign) -> None:
    drawn = random.Random(campaign.seed)
    scenario = Scenario(tmp_path)
    writes = scenario.count()
    tries = [(first, drawn.choice((1, 2**60))) for first in range(1, writes + 1)]
    for first, times in drawn.sample(tries, min(campaign.tries(writes), writes)):
        scenario.run(first, times)
    campaign.note(writes=writes, **scenario.ends)
    assert not scenario.wrong, f"seed {campaign.seed}: {len(scenario.wrong)} wrong\n" + "\n".join(scenario.wrong)
