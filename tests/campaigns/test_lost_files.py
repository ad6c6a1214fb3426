"""Files of the profile are taken away while the window runs: it lives, says so once, and what was written is there.

Each file (the store, its log, index and locks, settings, log, caches) is deleted, replaced by a folder, or emptied of
permissions, before the window is asked something more; then it is closed, or killed 250 ms later.
"""

import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.campaigns import Campaign
from helpers.children.ordered_window import REPLY
from helpers.window.window_orders import WindowUnderOrders, kept_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")

AT_RISK_S = 0.25
_STORE = "conversations.sqlite3"


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _replace(path: Path) -> None:
    _delete(path)
    path.mkdir()
    (path / "something else").touch()


def _overwrite(path: Path) -> None:
    _delete(path)
    path.write_bytes(b"something else " * 100)


WAYS: dict[str, Callable[[Path], None]] = {"deleted": _delete, "replaced": _replace, "another": _overwrite}


def _files(folder: Path) -> list[Path]:
    """Every file of the profile of a window that runs, the store's last."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _fill(folder: Path) -> WindowUnderOrders:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    window = WindowUnderOrders(folder)
    window.begin()
    window.do("ask", "Before")
    window.do("set", "theme", "dark")
    window.until_saved()
    return window


def _try(folder: Path, name: Path, way: str, end: str, *, idle: bool) -> list[str]:
    with _fill(folder) as window:
        WAYS[way](folder / name)
        if idle:
            time.sleep(3.0)
        else:
            window.do("ask", "After")
        told = window.do("look")
        if end == "killed":
            time.sleep(AT_RISK_S)
            told = window.do("look") if told["saved"] else window.until_saved()
            time.sleep(AT_RISK_S)
            window.kill()
            code = 0
        else:
            code = window.quit()
    return _judge(folder, name, told, code, window.errors, idle=idle)


def _judge(folder: Path, name: Path, told: dict[str, Any], code: int, errors: str, *, idle: bool) -> list[str]:
    wrong = []
    if code or "Traceback" in errors:
        wrong.append(f"exit {code}: {errors}")
    said = told["said"]
    if len(said) > 1 or any("\n" in each for each in said):
        wrong.append(f"said {said}")
    if str(name) == _STORE and not said and not idle:
        wrong.append("nothing was said")
    asked = ["Before"] if idle else ["Before", "After"]
    path = [line for text in asked for line in (["user", text], ["assistant", REPLY])]
    if told["path"] != path:
        wrong.append(f"the window shows {told['path']}")
    try:
        _titles, paths = kept_in(folder / _STORE)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
        return [*wrong, f"the store: {type(error).__name__}: {error}"]
    if path not in paths.values():
        wrong.append(f"kept is {paths}")
    return wrong


def _run(folder: Path, campaign: Campaign, names: tuple[str, ...] | None = None) -> None:
    drawn = random.Random(campaign.seed)
    with _fill(folder) as window:
        found = _files(folder)
        window.quit()
    cases = [
        (name, way, end, idle)
        for name in found
        if names is None or str(name) in names
        for way in WAYS
        for end in ("closed", "killed")
        for idle in (False, True)
    ]
    wrong = []
    for name, way, end, idle in drawn.sample(cases, min(len(cases), campaign.tries(len(cases)))):
        what = f"{name} {way}, {'idle' if idle else 'asked'}, {end}"
        wrong += [f"{what}: {each}" for each in _try(folder, name, way, end, idle=idle)]
    campaign.note(files=len(found))
    assert not wrong, f"seed {campaign.seed}: {len(wrong)} wrong\n" + "\n".join(wrong)


@pytest.mark.soak
@pytest.mark.timeout(5_400)
def test_lost_files_lose_nothing(tmp_path: Path, campaign: Campaign) -> None:
    _run(tmp_path / "profile", campaign)
