"""results.md: a head that describes the machine, and a section for each part of the suite."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_READING = """\
`make bench` writes this page: it runs each part in a process of its own, one after the other. Below each heading stands
the command that repeats that part. `make bench ARGS="suite --only NAME,…"` renews single parts; the parts `cold_start`
and `real`, which build llama.cpp's server and want published models, run only so.

Whatever is compared was measured in turns in one run, so read the ratios: a machine that is slow for a while slows both
sides alike, while tokens/s of one day say little about those of another. Figures are medians; what stands in brackets
behind one is the middle half of the single values, where nothing else is said. A repeated figure should lie within it,
and two figures whose brackets overlap are not told apart. A virtual machine's neighbours cannot be seen.
"""


@dataclass(frozen=True)
class Setting:
    """Conditions of a measurement: the machine (see describe_machine), our kernels in it or not, the commit."""

    machine: Mapping[str, Any]
    own_kernels: bool
    commit: str

    @property
    def llama(self) -> str:
        """llama-cpp-python's version, and whose kernels it has."""
        kernels = "with" if self.own_kernels else "without"
        return f"{self.machine['libraries'].get('llama-cpp-python', 'none')}, {kernels} this project's kernels"


def make_head(setting: Setting) -> str:
    """The page above its sections."""
    machine, libraries = setting.machine, setting.machine["libraries"]
    rows = {
        "processor": f"{machine['processor']}, {machine['cores']} cores ({machine['physical_cores']} physical)",
        "memory": f"{machine['memory_gib']} GiB",
        "system": machine["system"],
        "Python": machine["python"],
        "llama-cpp-python": setting.llama,
        "torch, transformers": ", ".join(libraries.get(name, "none") for name in ("torch", "transformers")),
        "Outrider": f"{machine['outrider']}, commit {setting.commit}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return f"# What was measured\n\n| | |\n|---|---|\n{table}\n\n{_READING}"


def write_whole(path: Path, page: str) -> None:
    """Write a file atomically. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(page, encoding="utf-8")
    partial.replace(path)


def with_origin(text: str, command: str, when: str, minutes: float, busy_percent: float, setting: Setting) -> str:
    """Insert a line with the command, date and conditions below a part's heading."""
    heading, _, rest = text.strip().partition("\n")
    took = f"{minutes:.0f} min" if minutes >= 1.0 else f"{60.0 * minutes:.0f} s"
    origin = (
        f"`{command}`: {when}, {took}, commit {setting.commit}, llama-cpp-python {setting.llama}; processors "
        f"{busy_percent:.0f} % busy before."
    )
    return f"{heading}\n\n{origin}\n\n{rest.strip()}"
