"""The wheel: everything that runs is in it, nothing else, and it works away from the sources."""

import json
import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from helpers.paths import ROOT

WHERE = "import engine, resources, sys; print(engine.__file__, resources.__file__)"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from these sources."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("outrider-*.whl")
    return built


def test_content(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"engine", "app", "resources"}
    for package in ("engine", "app", "resources"):
        files = [path for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert {str(path.relative_to(ROOT)) for path in files} <= set(names)
    models = [name for name in names if name.startswith("resources/models/") and name.endswith(".gguf")]
    assert len(models) == 2
    assert "resources/starter_prompts.json" in names


def test_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folder = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        entry_points = archive.read(f"{folder}/entry_points.txt").decode()
        licence = archive.read(f"{folder}/licenses/LICENSE").decode()
    assert metadata["Name"] == "outrider"
    assert metadata["Requires-Python"] == "<3.14,>=3.11"
    assert set(metadata.get_all("Provides-Extra") or ()) == {"dev", "installer", "plot", "torch"}
    assert "outrider = app.__main__:main" in entry_points
    assert "outrider-engine = engine.__main__:main" in entry_points
    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_replies_away_from_the_sources(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert str(ROOT) not in run("-c", WHERE)
    reply = json.loads(run("-m", "engine", "generate", "--json", "--max-tokens", "8", "Hello!"))
    assert len(reply["tokens"]) > 0
