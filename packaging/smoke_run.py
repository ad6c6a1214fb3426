"""Run a program for the smoke test: away from the user's files, with a time limit and a watch on its output.

Standard library only, Python 3.11 or newer, on Linux, Windows and macOS.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

WINDOWS = sys.platform == "win32"
CANNOT_RUN = 127
"""The exit code of a command that could not be started, as shells give it."""
_DROPPED = ("PYTHON", "QT_", "QML", "XDG_", "HF_", "GGML_", "LLAMA_", "OUTRIDER_")
"""Prefixes of variables to remove: the program must work without a developer's settings."""
_NT_ERRORS = {
    0xC0000005: "access violation",
    0xC000001D: "illegal instruction",
    0xC00000FD: "stack overflow",
    0xC0000135: "a library was not found",
    0xC0000139: "a library lacks a function",
    0xC0000374: "heap corruption",
    0xC0000409: "the program aborted",
}


@dataclass(frozen=True)
class Outcome:
    """The end of a run. `code` None: it hung and was killed. `left`: processes of it lived on."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    left: bool = False

    def problems(self, *, code: int = 0) -> Iterator[str]:
        """List the defects of the run, a sentence each: its end, its exit code, its stderr."""
        if self.code is None:
            yield f"it hung and was killed after {self.seconds:.0f} s; {self._last_words()}"
        elif self.code != code:
            crash = name_of_crash(self.code)
            yield f"it crashed: {crash}" if crash else f"it ended with exit code {self.code}, not {code}"
        for line in self.stderr.splitlines():
            yield f"unexpected on stderr: {line}"
        if self.left:
            yield "it left processes behind, which were killed"

    def _last_words(self) -> str:
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return f"its last line was: {lines[-1]}" if lines else "it had printed nothing"


def name_of_crash(code: int) -> str | None:
    """The signal or the system's error behind an exit code; None if the program ended by itself."""
    if WINDOWS:
        unsigned = code & 0xFFFFFFFF
        return f"0x{unsigned:08X}, {_NT_ERRORS.get(unsigned, 'a system error')}" if unsigned >= 0xC0000000 else None
    # A shell in between, such as xvfb-run, gives 128 + the signal.
    number = -code if code < 0 else code - 128
    with suppress(ValueError):
        return signal.Signals(number).name
    return None


@dataclass(frozen=True)
class Command:
    """The command line of the program; `program`: the index of the program's own word (None: unknown)."""

    words: tuple[str, ...]
    program: int | None

    @classmethod
    def parse(cls, words: Sequence[str], stem: str, *, in_root: bool) -> "Command":
        """Find the word that names the program; a relative one becomes absolute, as the directory will change."""
        found = list(words)
        named = [index for index, word in enumerate(found) if Path(word).stem.lower() == stem]
        module = found.index("-m") - 1 if "-m" in found[1:] else None
        program = named[-1] if named else module
        for index in {0, program} if program is not None else {0}:
            if not in_root and Path(found[index]).parent != Path() and Path(found[index]).exists():
                found[index] = os.path.abspath(found[index])  # noqa: PTH100 - links stay: a venv's python is one
        return cls(tuple(found), program)

    @property
    def name(self) -> str | None:
        """The word that names the program."""
        return None if self.program is None else self.words[self.program]

    def engine(self) -> "Command | None":
        """Return the command line of the engine beside the program, if its name gives it."""
        words = list(self.words)
        if self.program is None:
            return None
        if words[self.program + 1 : self.program + 3] == ["-m", "app"]:
            words[self.program + 2] = "engine"
        else:
            path = Path(words[self.program])
            words[self.program] = str(path.with_name(f"outrider-engine{path.suffix}"))
        return Command(tuple(words), self.program)

    def within(self, folder: str) -> tuple[str, ...]:
        """The command with `env` before the program, which changes into `folder`: chroot always begins in "/"."""
        at = 0 if self.program is None else self.program
        return (*self.words[:at], "env", "-C", folder, *self.words[at:])


class Sandbox:
    """A fresh home and empty folders for the program, made under `folder`; `root` is the program's "/".

    Attributes: home, work (the current directory of runs, empty), temporary (its TMPDIR), environment.
    """

    def __init__(self, folder: Path, root: Path | None = None, timeout: float = 250.0) -> None:
        self.folder, self.root, self.timeout = folder, root, timeout
        self.home, self.work, self.temporary = (self.make(name) for name in ("home", "work", "tmp"))
        self.environment = self._environment()
        self._number = 0

    def make(self, name: str) -> Path:
        """A new empty folder, only for this user."""
        path = self.folder / name
        path.mkdir(mode=0o700)
        return path

    def seen(self, path: Path) -> str:
        """The path as the program sees it."""
        return str(path) if self.root is None else f"/{path.relative_to(self.root)}"

    def real(self, path: str) -> Path:
        """Translate a path of the program to one of ours."""
        return Path(path) if self.root is None else self.root / path.lstrip("/")

    def follow(self, path: str) -> Path:
        """The file that a path of the program's leads to, its links read as the program would."""
        for _ in range(8):
            real = self.real(path)
            if not real.is_symlink():
                break
            path = os.path.normpath(Path(path).parent / real.readlink())
        return self.real(path)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
        home = self.home
        folders = {
            "HOME": home,
            "XDG_CONFIG_HOME": home / ".config",
            "XDG_DATA_HOME": home / ".local" / "share",
            "XDG_STATE_HOME": home / ".local" / "state",
            "XDG_CACHE_HOME": home / ".cache",
            "XDG_RUNTIME_DIR": self.make("run"),
            "TMPDIR": self.temporary,
        }
        if WINDOWS:
            local = home / "AppData"
            folders |= {"USERPROFILE": home, "APPDATA": local / "Roaming", "LOCALAPPDATA": local / "Local"}
            folders |= {"TEMP": self.temporary, "TMP": self.temporary}
            for name in ("Roaming", "Local"):
                (local / name).mkdir(parents=True)
        # Qt's messages would go to the system's log where stderr is no terminal.
        return kept | {name: self.seen(path) for name, path in folders.items()} | {"QT_FORCE_STDERR_LOGGING": "1"}

    def start(self, command: Sequence[str], folder: Path | None = None) -> "Running":
        """Start a command in the empty folder, or in `folder`; raises OSError."""
        self._number += 1
        logs = self.folder / f"run{self._number}"
        return Running(command, self.environment, folder or self.work, logs)

    def run(self, command: Sequence[str], folder: Path | None = None) -> Outcome:
        """Run a command to its end, or until the time is up."""
        try:
            running = self.start(command, folder)
        except OSError as error:
            return Outcome(CANNOT_RUN, "", f"{command[0]} cannot be started: {error.strerror}", 0.0)
        return running.finish(self.timeout)


class Running:
    """A process with a group of its own, its output going to files (pipes would wait for whoever inherited them)."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, logs: Path) -> None:
        self._began = perf_counter()
        self._outputs = (logs.with_suffix(".out"), logs.with_suffix(".err"))
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        with self._outputs[0].open("wb") as stdout, self._outputs[1].open("wb") as stderr:
            self.process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=not WINDOWS,
                creationflags=flags,
            )

    def finish(self, timeout: float) -> Outcome:
        """Wait for the end, at most `timeout` seconds; then nothing of it lives on."""
        code: int | None
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        seconds = perf_counter() - self._began
        left = self._kill_group(grace_s=0.0 if code is None else 2.0) and code is not None
        self.process.wait()
        stdout, stderr = (path.read_text(encoding="utf-8", errors="replace") for path in self._outputs)
        return Outcome(code, stdout, stderr, seconds, left)

    def ask_to_end(self, program: str | None) -> None:
        """Close the program as a desktop does: SIGTERM to the program itself, or WM_CLOSE to its window."""
        if WINDOWS:
            taskkill = ["taskkill", "/PID", str(self.process.pid)]
            subprocess.run(taskkill, capture_output=True, check=False)
        else:
            os.kill(program_process(self.process.pid, program), signal.SIGTERM)

    def _kill_group(self, grace_s: float) -> bool:
        """Kill the processes that live after `grace_s`; return True if there were any."""
        if WINDOWS:
            if self.process.poll() is not None:
                return False
            taskkill = ["taskkill", "/F", "/T", "/PID", str(self.process.pid)]
            return subprocess.run(taskkill, capture_output=True, check=False).returncode == 0
        ends = perf_counter() + grace_s
        while (alive := _group_lives(self.process.pid)) and perf_counter() < ends:
            sleep(0.05)
        if alive:
            # Ours from start_new_session, and not empty: the number cannot belong to anyone else yet.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        return alive


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS says so of a group in which only zombies are left.
        return sys.platform != "darwin"
    return True


def program_process(pid: int, program: str | None) -> int:
    """Find the process of the program itself under a command such as xvfb-run (Linux only).

    `program` is the word of the command that names it; of several, such as its own children, the first in line. Where
    /proc tells of another namespace's processes, it is `pid`.
    """
    own_numbers = os.path.realpath("/proc/self") == f"/proc/{os.getpid()}"
    level = [pid] if own_numbers else []
    while program is not None and level:
        for each in level:
            with suppress(OSError):
                words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
                if os.fsencode(program) in words[:1]:
                    return each
        level = [child for each in level for child in _children(each)]
    return pid


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in path.read_text(encoding="ascii").split()]
    return found


@contextmanager
def private_display(folder: Path) -> Iterator[str]:
    """Xvfb on a display of its own, ended in any case; gives DISPLAY. Raises OSError if it does not start."""
    read_end, write_end = os.pipe()
    command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1600x1200x24", "-nolisten", "tcp", "-noreset"]
    log = folder / "xvfb.log"
    try:
        with log.open("wb") as output:
            server = subprocess.Popen(command, pass_fds=[write_end], stdout=output, stderr=output)
    finally:
        os.close(write_end)
    try:
        with os.fdopen(read_end) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise OSError(f"Xvfb did not start: {log.read_text(encoding='utf-8', errors='replace').strip()}")
        yield f":{number}"
    finally:
        server.terminate()
        try:
            server.wait(5.0)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file, link and folder below: size and time of the last change in nanoseconds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path.relative_to(folder))] = (status.st_size, status.st_mtime_ns)
    return found


DECOYS = (
    *(f"libggml-cpu{variant}.so" for variant in ("", "-x64", "-sse42", "-haswell", "-skylakex", "-zen4", "-alderlake")),
    *("libggml.so", "libggml-base.so", "libllama.so", "libmtmd.so", "libpython3.so"),
    *("ggml-cpu-x64.dll", "ggml-cpu-haswell.dll", "ggml-cpu.dll", "llama.dll", "libggml-cpu-apple_m1.so"),
)
"""Libraries that must never be taken from the current directory, the CPU modules that llama.cpp seeks there first."""
DECOY_MODULES = ("llama_cpp.py", "numpy.py", "engine.py", "sitecustomize.py")
_DECOY_SOURCE = """
#include <stdio.h>
__attribute__((constructor)) static void loaded(void) {
    FILE *file = fopen("%s", "a");
    if (file) { fputs("a library\\n", file); fclose(file); }
}
"""


def lay_decoys(folder: Path, marker: str, *, modules: bool) -> bool:
    """Put decoys into `folder` that write the file `marker` when they are loaded, and modules of Python as well.

    Gives whether the libraries are real ones; without a C compiler they are rubbish, whose loading cannot be seen.
    """
    compiler = None if WINDOWS else shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    made = False
    if compiler is not None:
        source, library = folder.with_suffix(".c"), folder / DECOYS[0]
        source.write_text(_DECOY_SOURCE % marker, encoding="utf-8")
        command = [compiler, "-shared", "-fPIC", str(source), "-o", str(library)]
        made = subprocess.run(command, capture_output=True, check=False).returncode == 0
    content = (folder / DECOYS[0]).read_bytes() if made else b"This is no library.\n"
    for name in DECOYS:
        (folder / name).write_bytes(content)
    if modules:
        for name in DECOY_MODULES:
            (folder / name).write_text(f"open({marker!r}, 'a').write('{name}\\n')\n", encoding="utf-8")
    return made
