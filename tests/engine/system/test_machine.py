"""How much memory a process may still take."""

from pathlib import Path

import psutil
import pytest

from engine.system import machine


def test_available_memory_counts_the_container(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    group = root / "a" / "b"
    group.mkdir(parents=True)
    own.write_text("0::/a/b\n")
    free = psutil.virtual_memory().available
    assert machine.available_memory(root, own) == pytest.approx(free, rel=0.2)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("500\n")
    (root / "a" / "memory.max").write_text("1000\n")
    (root / "a" / "memory.current").write_text("700\n")
    assert machine.available_memory(root, own) == 300
    (root / "a" / "memory.stat").write_text("anon 5\ninactive_file 100\nactive_file 50\n")
    assert machine.available_memory(root, own) == 450
    own.write_text("4:memory:/a\n")
    (root / "memory" / "a").mkdir(parents=True)
    (root / "memory" / "a" / "memory.limit_in_bytes").write_text("90")
    (root / "memory" / "a" / "memory.usage_in_bytes").write_text("100")
    assert machine.available_memory(root, own) == 0
    assert machine.available_memory(root, tmp_path / "missing") == pytest.approx(free, rel=0.2)
