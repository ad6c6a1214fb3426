"""Files of chats as nobody would write them, imported into a real window and used there: no traceback, no hang.

Each is imported, scrolled through, exported, edited and opened again, or refused in one sentence. `--seed` repeats a
run, `--share` shortens it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.campaigns import Campaign
from helpers.children.hostile_imports import CASES, files
from helpers.paths import ROOT, TESTS

HANG_MS = 20_000
SOON_MS = 1_000
"""An import holds up the window far less on a machine with nothing else to do."""
FEW = ("noise", "deep raw figures", "a circle", "right to left")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def _import_all(folder: Path, seed: int, names: list[str]) -> list[dict[str, Any]]:
    """What the window told of each file."""
    (folder / "files").mkdir()
    expected = {}
    for name, taken, content in files(seed, names):
        (folder / "files" / f"{name}.json").write_bytes(content)
        expected[f"{name}.json"] = taken
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "helpers.children.imports_in_child", str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60 + 60 * len(names), check=False,
    )  # fmt: skip
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    where = f"seed {seed}, after {[each['name'] for each in told[-1:]]}"
    assert done.returncode == 0, f"{where}: exit {done.returncode}\n{done.stderr}"
    assert "Traceback" not in done.stderr, f"{where}: {done.stderr}"
    assert {each["name"]: each["messages"] is not None for each in told} == expected, where
    for each in told:
        assert max(each["longest"].values()) < HANG_MS, (seed, each)
        assert each["longest"]["import"] < SOON_MS, (seed, each)
        if each["messages"] is None:
            (said,) = each["said"]
            assert said.startswith(f"Cannot import {each['name']}: "), (seed, each)
            assert said.endswith(". Nothing was changed."), (seed, each)
            assert len(said) < 200, (seed, each)
            assert said.isprintable(), (seed, each)
        else:
            assert not each["said"], (seed, each)
    return told


@pytest.mark.alone
def test_a_few_hostile_imports(tmp_path: Path) -> None:
    _import_all(tmp_path, 1, [*FEW])


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_hostile_imports(tmp_path: Path, campaign: Campaign) -> None:
    told = _import_all(tmp_path, campaign.seed, campaign.draw(CASES))
    campaign.note(refused=sum(each["messages"] is None for each in told))
    for step in ("import", "scroll", "export", "edit", "open again"):
        longest = sorted((each["longest"].get(step, 0), each["name"]) for each in told)[::-1]
        late = sum(gap > 250 for gap, _ in longest)
        campaign.note(**{step: f"{late} over 250 ms, longest {longest[0][0]} ms ({longest[0][1]})"})
    peak, name = max((each["peak"], each["name"]) for each in told)
    campaign.note(most_memory=f"{peak} MB ({name})")
