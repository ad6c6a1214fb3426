"""How much memory this process may still take: what the machine has free, or what a container leaves of it."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def available_memory(root: Path = _ROOT, own: Path = _OWN) -> int:
    """Bytes that can be used without swapping, within the limits of the control groups (Linux) around us."""
    import psutil  # noqa: PLC0415 - the window is on screen before it is asked

    free = int(psutil.virtual_memory().available)
    left = [group_left for group in _groups(root, own) if (group_left := _left(group)) is not None]
    return max(0, min([free, *left]))


def _groups(root: Path, own: Path) -> list[Path]:
    """The folders of our control group and of those around it (version 2, or the memory tree of version 1)."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if controllers in {"", "memory"}:
            top = root / controllers
            group = top / name.lstrip("/")
            found.append(group)
            found.extend(parent for parent in group.parents if parent.is_relative_to(top))
    return found


def _left(group: Path) -> int | None:
    """Bytes left in one group, or None where it has no limit."""
    limit = _number(group / "memory.max") or _number(group / "memory.limit_in_bytes")
    used = _number(group / "memory.current") or _number(group / "memory.usage_in_bytes")
    if limit is None or used is None:
        return None
    return max(0, limit - used + _cached(group / "memory.stat"))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _cached(path: Path) -> int:
    """Bytes of files kept in memory, which are given up when memory gets short."""
    try:
        pairs = dict(line.split(maxsplit=1) for line in path.read_text().splitlines())
        return int(pairs.get("inactive_file", 0)) + int(pairs.get("active_file", 0))
    except (OSError, ValueError):
        return 0
