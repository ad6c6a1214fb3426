"""How the grown demo target is made: into a cache, and what happens when that goes wrong."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import pytest

from engine import CancelToken, bundled_pair, load
from engine.errors import GrowthError
from engine.growth import full_size
from engine.growth.arithmetic import FULL, GrownKind, GrownShape, Growth, Kind, SmallModel
from engine.growth.full_size import LEAST_MS, MOST_MS, choose_shape, full_size_target
from engine.growth.grown import grown_target

ITSELF = GrownShape(4, 384, 704)


def test_another_target_is_not_taken_for_the_same(tmp_path: Path, bundled_target: Path) -> None:
    other = tmp_path / bundled_target.name
    shutil.copy(bundled_target, other)
    assert grown_target("q8_0", ITSELF, folder=tmp_path, target=other) == grown_target(
        "q8_0", ITSELF, folder=tmp_path, target=bundled_target
    )
    reader = gguf.GGUFReader(other, "r+")
    reader.tensors[1].data[0] *= 2.0
    reader.data.flush()
    assert grown_target("q8_0", ITSELF, folder=tmp_path, target=other) != grown_target(
        "q8_0", ITSELF, folder=tmp_path, target=bundled_target
    )


def test_in_the_users_cache(isolated_home: Path) -> None:
    path = grown_target("q8_0", ITSELF)
    assert path.parent == isolated_home / "cache" / "outrider" / "benchmarks"


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**6))
        with pytest.raises(GrowthError, match=r"needs 1\.19 GB and there are 0\.00 GB free"):
            grown_target("q8_0", FULL, folder=tmp_path)
    content = Growth.content

    def fill_up(self: Growth, part: Any) -> Any:
        if part.name.startswith("blk.1."):
            raise OSError(28, "No space left on device")
        return content(self, part)

    monkeypatch.setattr(Growth, "content", fill_up)
    kinds: tuple[GrownKind, ...] = ("q8_0", "transformers")
    for kind in kinds:
        with pytest.raises(GrowthError, match="No space left on device"):
            grown_target(kind, ITSELF, folder=tmp_path)
    assert list(tmp_path.glob("demo*")) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    path = grown_target("q8_0", ITSELF, folder=tmp_path)
    path.unlink()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = path.with_name(f"{path.name}.{ended.pid}.partial")
    left.write_bytes(b"half")
    assert grown_target("q8_0", ITSELF, folder=tmp_path) == path
    assert list(tmp_path.glob("demo*")) == [path]


# Full size ------------------------------------------------------------------------------------------------------------


def test_the_shape_goes_by_what_the_machine_reads_and_has(bundled_target: Path) -> None:
    plenty, small = 10**11, SmallModel(bundled_target)
    for bytes_per_ms in (8e6, 20e6, 40e6, 90e6):
        shape, limit = choose_shape(small, bytes_per_ms, plenty, plenty)
        size = Growth(small, shape, Kind.Q8_0).size
        assert LEAST_MS < size / bytes_per_ms < MOST_MS
        assert limit is None
    shape, limit = choose_shape(small, 40e6, 600_000_000, plenty)
    assert Growth(small, shape, Kind.Q8_0).size <= 600_000_000
    assert limit == "memory"
    assert choose_shape(small, 40e6, plenty, 600_000_000) == (shape, "disk")
    with pytest.raises(GrowthError, match=r"needs at least 0\.\d GB of memory and disk"):
        choose_shape(small, 40e6, 10**6, plenty)


def test_full_size_is_made_once_and_writes_what_the_demo_writes(tmp_path: Path) -> None:
    """On a machine that is told to be slow, so that it is small."""
    folder = tmp_path / "made"
    folder.mkdir()
    other = folder / "demo-of-another-size.gguf"
    other.write_bytes(b"old")
    told: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_size, "_measured_pace", lambda *_: 2e6)
        found = full_size_target(folder=folder, note=told.append)
        made = found.path.stat().st_mtime_ns
        assert full_size_target(folder=folder) == found
    assert list(folder.iterdir()) == [found.path], "what was there of another size is gone"
    assert found.path.stat().st_mtime_ns == made
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert (found.limited_by, found.size > 20e6) == (None, True)
    draft = bundled_pair()[1]
    with load(found.path, draft) as large, load(*bundled_pair()) as small:
        replies = [each.generate("Tell me a story.", lookahead=4, max_tokens=24) for each in (large, small)]
    assert replies[0].tokens == replies[1].tokens


@pytest.mark.soak
def test_the_pace_is_measured_with_a_sample_that_is_removed(tmp_path: Path, bundled_target: Path) -> None:
    pace = full_size._measured_pace(bundled_target, tmp_path / "made", CancelToken())
    assert 1e5 < pace < 1e9, "bytes in a millisecond"
    assert list((tmp_path / "made").iterdir()) == []
