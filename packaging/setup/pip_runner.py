"""Run pip, show downloads and the long compilation as they go, and explain failures."""

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from messages import SetupError, say

DOWNLOAD = re.compile(r"^\s*Downloading (\S+) \((\d[\d.]*) (\w+)\)")
DOWNLOADED = re.compile(r"^Progress (\d+) of (\d+)")
COMPILED = re.compile(r"^\s*\[(\d+)/(\d+)\] ")
INSTALLING = re.compile(r"^Installing collected packages: (.*)")

LARGE_MB = 20
PLAIN_EVERY_PERCENT = 10

NO_SPACE = ("No space left on device", "Disk quota exceeded")
NO_NETWORK = (
    "Temporary failure in name resolution",
    "Name or service not known",
    "NewConnectionError",
    "NameResolutionError",
    "Network is unreachable",
    "ReadTimeoutError",
    "ConnectTimeoutError",
    "Connection refused",
    "ProxyError",
)


class Progress:
    """Show pip's progress: one live line on a terminal, else a line now and then."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._name = ""
        self._compiling_since: float | None = None
        self._next_plain_percent = 0
        self._steps = 0
        self._width = 0

    def see(self, line: str) -> None:
        """Take a line of pip's output."""
        if found := COMPILED.match(line):
            self._compiled(int(found[1]), int(found[2]))
        elif found := DOWNLOADED.match(line):
            self._rewrite(f"downloading {self._name}  {_percent(int(found[1]), int(found[2]))} %")
        elif found := DOWNLOAD.match(line):
            name, amount, unit = found.groups()
            self._name = f"{name.rpartition('/')[2]} ({amount} {unit})"
            if unit == "GB" or (unit == "MB" and float(amount) >= LARGE_MB):
                self._plain(f"downloading {self._name}")
        elif found := INSTALLING.match(line):
            self._rewrite(text := f"installing {len(found[1].split(', '))} packages")
            self._plain(text)

    def end(self) -> None:
        """Clear the live line."""
        self._rewrite("")
        if self._live:
            sys.stdout.write("\r")

    def _compiled(self, done: int, total: int) -> None:
        if total < self._steps:  # A part that counts its own steps, as the compiler of Vulkan's shaders.
            return
        self._steps = total
        if self._compiling_since is None:
            self._compiling_since = time.monotonic()
        seconds = int(time.monotonic() - self._compiling_since)
        percent = _percent(done, total)
        text = f"compiling llama.cpp: {percent:3d} %  {seconds // 60}:{seconds % 60:02d}"
        self._rewrite(text)
        if percent >= self._next_plain_percent:
            self._plain(text)
            self._next_plain_percent = percent - percent % PLAIN_EVERY_PERCENT + PLAIN_EVERY_PERCENT

    def _rewrite(self, text: str) -> None:
        if self._live:
            sys.stdout.write(f"\r    {text:<{self._width}}")
            sys.stdout.flush()
            self._width = len(text)

    def _plain(self, text: str) -> None:
        if not self._live:
            say(f"    {text}")


def pip_install(python: Path, *arguments: str, log: Path, progress_bar: str = "raw") -> None:
    """Run `pip install` for that interpreter, its whole output going to the log. Raises SetupError."""
    run_pip(python, "install", *arguments, log=log, progress_bar=progress_bar)


def run_pip(
    python: Path,
    command_name: str,
    *arguments: str,
    log: Path,
    progress_bar: str = "raw",
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run one of pip's commands that install, download or build, its whole output going to the log.

    Raises SetupError with one clear sentence, after the last lines of the output.
    """
    command = [str(python), "-m", "pip", command_name, "--progress-bar", progress_bar, *arguments]
    progress = Progress(live=sys.stdout.isatty())
    with (
        log.open("w", encoding="utf-8", errors="replace") as record,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
        ) as process,
    ):
        for line in process.stdout or ():
            if not DOWNLOADED.match(line):
                record.write(line)
            progress.see(line)
    progress.end()
    if process.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        say("\n".join(line[:300] for line in lines[-25:]))
        raise SetupError(explain_failure(lines[-400:], log))


def explain_failure(lines: Iterable[str], log: Path) -> str:
    """Explain pip's failure in one sentence, from its output."""
    text = "\n".join(lines)
    if any(sign in text for sign in NO_SPACE):
        return "the disk is full. Make room, then start again."
    if any(sign in text for sign in NO_NETWORK):
        return "the packages cannot be downloaded. Check the network, then start again."
    return f"pip failed; its last lines, above, say why (all of them: {log})."


def _percent(part: int, whole: int) -> int:
    return 100 * part // max(whole, 1)
