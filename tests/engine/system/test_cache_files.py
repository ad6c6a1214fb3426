"""Files of the cache: what a killed program left half written is taken away by the next one that writes."""

import os
from pathlib import Path

import pytest

from engine.system.cache_files import write_file
from engine.system.files import write_whole


def test_what_a_killed_program_left_is_taken_away(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    old, fresh, foreign = (folder / name for name in (".a-12345678.part", ".b-12345678.part", "mine.part"))
    for path in (old, fresh, foreign):
        path.touch()
    os.utime(old, (0, 0))
    os.utime(foreign, (0, 0))
    write_file(folder / "c.json", b"{}")
    assert sorted(path.name for path in folder.iterdir()) == [".b-12345678.part", "c.json", "mine.part"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """A disk, a pipe, /dev/null: by its own name, and by a link."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match="no file"):
            write_whole(path, b"text")
    assert (pipe.is_fifo(), link.is_symlink(), [*tmp_path.glob(".*.part")]) == (True, True, [])
