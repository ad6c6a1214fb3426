"""A walk through the program as its new user takes it: a real window on a real X server, real clicks and keys.

`make screenshots` takes it in both themes and at two scales, and keeps the pictures.
"""

import os
import shutil
from pathlib import Path

import pytest

from helpers import xvfb
from helpers.models.published import published
from helpers.paths import ROOT
from helpers.window.walk import STORY, Walk
from helpers.window.walker import Walker

PICTURES = os.environ.get("OUTRIDER_SCREENSHOTS", "")
PAIR = ("qwen2.5-coder-1.5b-instruct", "qwen2.5-coder-0.5b-instruct")
MERGE = "Write a Python function that merges overlapping intervals, with a short example."
WHY = "Why are the intervals sorted first? Answer in two sentences."
LOOKS = [
    pytest.param("light", 1, id="light-1x"),
    pytest.param("dark", 2, id="dark-2x", marks=pytest.mark.soak),
    pytest.param("dark", 1, id="dark-1x", marks=pytest.mark.soak),
    pytest.param("light", 2, id="light-2x", marks=pytest.mark.soak),
]

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not (xvfb.available() and shutil.which("xdotool")), reason="Xvfb or xdotool is not installed"),
]


@pytest.fixture
def models(tmp_path: Path, bundled_target: Path, bundled_draft: Path) -> Path:
    """A folder of somebody's own models."""
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(bundled_target, folder / "my-target.gguf")
    shutil.copy(bundled_draft, folder / "my-draft.gguf")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    folder = tmp_path / "new-home"
    folder.mkdir()
    return folder


@pytest.fixture
def pictures() -> Path | None:
    """Where pictures are kept, if they are."""
    if not PICTURES:
        return None
    folder = ROOT / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("theme", "scale"), LOOKS)
def test_walk(theme: str, scale: int, models: Path, home: Path, pictures: Path | None) -> None:
    title = "Dragons and bears"
    with xvfb.x_server(f"{1280 * scale}x{800 * scale}x24") as display:
        walker = Walker(display, home, scale=scale)
        walk = Walk(walker, models, pictures, f"{theme}-{scale}x")
        try:
            walker.start()
            walk.welcome(theme)
            walk.choose_folder()
            walk.ask(STORY)
            walk.shot(4, "chat")
            walk.colors()
            walk.compare()
            if pictures is not None:
                walk.sweep()
            walk.edit()
            walk.regenerate()
            walk.second_conversation()
            walk.search()
            walk.rename(title)
            walk.export(title)
            walk.quit()
            walk.reopen(title)
            walk.quit()
        except AssertionError:
            walker.shot(models.parent / "last-seen.png")
            raise
        finally:
            walker.kill()


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_a_published_pair(theme: str, tmp_path: Path, home: Path, pictures: Path | None) -> None:
    files = published(*PAIR)
    if pictures is None:
        pytest.skip("only for pictures")
    folder = tmp_path / "models"
    folder.mkdir()
    for file in files:
        (folder / file.name).symlink_to(file)
    with xvfb.x_server("1280x800x24") as display:
        walker = Walker(display, home, patience=240.0)
        walk = Walk(walker, folder, pictures, f"published-{theme}-1x")
        try:
            walker.start("--models-folder", str(folder))
            walk.welcome(theme)
            walk.pick("Target", PAIR[0])
            walk.pick("Draft", PAIR[1])
            walk.pick("Lookahead", "4")
            walk.ask(MERGE)
            walker.move(5, 5)
            walk.shot(4, "chat")
            walk.colors()
            walk.plain_text()
            walk.compare(3, 400.0, MERGE)
            walk.ask(WHY, 2)
            walker.move(5, 5)
            walk.shot(10, "code")
            walk.quit()
        except AssertionError:
            walker.shot(tmp_path / "last-seen.png")
            raise
        finally:
            walker.kill()
