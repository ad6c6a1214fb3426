"""Files of the cache: what a killed program left half written is taken away by the next one that writes."""

import os
from pathlib import Path

from engine.system.cache_files import write_file


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
