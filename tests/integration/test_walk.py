"""A walk through the program as its new user takes it: a real window on a real X server, real clicks and keys.

`make screenshots` takes it in both themes and at two scales, and keeps the pictures.
"""

import os
import shutil
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from helpers import xvfb
from helpers.paths import ROOT
from helpers.window.walk import CODE, STORY, Walk
from helpers.window.walker import Walker

PICTURES = os.environ.get("OUTRIDER_SCREENSHOTS", "")
GROWN = user_cache_path("outrider") / "benchmarks"
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
@pytest.mark.timeout(400)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_a_large_target(theme: str, tmp_path: Path, home: Path, pictures: Path | None) -> None:
    grown = sorted(GROWN.glob(f"demo-target-22x2048x5632-q8_0-{'?' * 12}.gguf"))
    if pictures is None or not grown:
        pytest.skip("only for pictures, and where the grown target is that `make bench` makes")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "demo-target-1.1B.gguf").symlink_to(grown[-1])
    with xvfb.x_server("1280x800x24") as display:
        walker = Walker(display, home, patience=60.0)
        walk = Walk(walker, folder, pictures, f"large-{theme}-1x")
        try:
            walker.start("--models-folder", str(folder))
            walk.welcome(theme)
            walk.pick("Target", "1.1B Q8_0")
            walk.pick("Draft", "demo-draft")
            walk.pick("Lookahead", "4")
            walk.ask(STORY)
            walk.compare(3, 120.0)
            walk.regenerate(STORY, 1)
            walk.colors()
            walk.plain_text()
            walk.ask(CODE)
            walker.reads("return count")
            walker.find("Send")
            walker.move(5, 5)
            walk.shot(10, "code")
            walk.quit()
        except AssertionError:
            walker.shot(tmp_path / "last-seen.png")
            raise
        finally:
            walker.kill()
