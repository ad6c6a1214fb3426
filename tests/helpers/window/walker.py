"""A person at the program: looks at its windows, and uses a real mouse and a real keyboard of an X server."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from helpers.paths import ROOT, TESTS

PATIENCE_S = 15.0
_STILL_S = 0.15


@dataclass(frozen=True, slots=True)
class Part:
    """Something that can be seen: a widget, or a line of a list or a menu ("row"). `place`: x, y, width, height."""

    window: str
    kind: str
    object: str
    name: str
    text: str
    on: bool
    checked: bool
    place: tuple[int, int, int, int]

    @property
    def middle(self) -> tuple[int, int]:
        """Where one clicks."""
        x, y, width, height = self.place
        return x + width // 2, y + height // 2


class Walker:
    """Starts the program with a home of its own, and uses it. Every wait has a limit; what is missing is named."""

    def __init__(
        self, display: str, home: Path, *, scale: int = 1, round_s: float = 0.0, patience: float = PATIENCE_S
    ) -> None:
        self.home = home
        self.patience = patience
        hidden = {"XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "QT_QPA_PLATFORMTHEME", "QT_STYLE_OVERRIDE"}
        self._environment = {name: value for name, value in os.environ.items() if name not in hidden} | {
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "QT_SCALE_FACTOR": str(scale),
            "QT_FONT_DPI": "107",  # nine points, Qt's own choice, as large as the ten of most desktops
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(ROOT)]),
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "OUTRIDER_TEST_ROUND_S": str(round_s),
        }
        for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
            self._environment[f"XDG_{kind}_HOME"] = str(home / kind.lower())
        self._process: subprocess.Popen[str] | None = None

    def start(self, *arguments: str) -> None:
        """Start it, and wait for its window."""
        command = [sys.executable, "-m", "helpers.children.eyes", *arguments]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.wait(lambda: self.sees(object="prompt") and self.sees("Target", kind="Picker"), "the window")

    @property
    def process(self) -> subprocess.Popen[str]:
        """The program."""
        assert self._process is not None
        return self._process

    def ended(self, seconds: float = PATIENCE_S) -> tuple[int, str, float]:
        """Wait until it has ended; gives its exit code, what it complained about, and how long that took."""
        began = time.monotonic()
        process, self._process = self.process, None
        try:
            _, err = process.communicate(timeout=seconds)
        finally:
            process.kill()
        return process.returncode, err, time.monotonic() - began

    def kill(self) -> None:
        """End it in any case."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _ask(self, request: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(request, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            code, err, _ = self.ended()
            msg = f"the program ended with {code}: {err}"
            raise AssertionError(msg)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def look(self) -> list[Part]:
        """Everything that can be seen now, in all windows."""
        return [Part(**part | {"place": tuple(part["place"])}) for part in self._ask("look")["parts"]]

    def all(self, name: str | None = None, **more: object) -> list[Part]:
        """What has this name, and these attributes."""
        wanted = more if name is None else more | {"name": name}
        return [part for part in self.look() if all(getattr(part, key) == value for key, value in wanted.items())]

    def sees(self, name: str | None = None, **more: object) -> bool:
        """True if it is there."""
        return bool(self.all(name, **more))

    def find(self, name: str | None = None, **more: object) -> Part:
        """Wait for one part with this name and these attributes; the last one, where there are several."""
        found = self.wait(lambda: self.all(name, **more), f"{name or ''} {more or ''}")
        last: Part = found[-1]
        return last

    def texts(self) -> str:
        """All that can be read."""
        return "\n".join(part.text or part.name for part in self.look())

    def reads(self, words: str, seconds: float | None = None) -> None:
        """Wait until these words are to be read somewhere."""
        self.wait(lambda: words in self.texts(), repr(words), seconds)

    def wait(self, condition: Callable[[], Any], what: str, seconds: float | None = None) -> Any:
        """Wait until it is so; gives what the condition gave."""
        seconds = self.patience if seconds is None else seconds
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > deadline:
                msg = f"not seen in {seconds} s: {what}. Seen: {self.texts()}"
                raise AssertionError(msg)
            time.sleep(0.03)
        return found

    def shot(self, path: Path, window: str = "") -> None:
        """Save a picture of the screen, or of the place of one window."""
        assert self._ask(f"shot {json.dumps([str(path), window])}") == {"saved": True}

    def click(self, name: str | None = None, *, button: int = 1, **more: object) -> None:
        """Click the widget of this name, once it can be clicked and stands still: a new page is still laid out."""
        before: tuple[int, ...] = ()
        since = 0.0

        def stands_still() -> Part | None:
            nonlocal before, since
            part = self.find(name, on=True, **more)
            if before != part.place:
                before, since = part.place, time.monotonic()
            return part if time.monotonic() - since > _STILL_S else None

        self.click_on(self.wait(stands_still, f"{name or ''} {more or ''} at one place"), button=button)

    def click_on(self, part: Part, *, button: int = 1) -> None:
        """Click it."""
        self.move(*part.middle)
        self._do("click", str(button))

    def hover(self, part: Part) -> None:
        """Put the mouse over it."""
        self.move(*part.middle)

    def move(self, x: int, y: int) -> None:
        """Put the mouse there."""
        self._do("mousemove", str(x - 1), str(y), "mousemove", str(x), str(y))

    def key(self, *keys: str) -> None:
        """Press keys one after the other, such as ctrl+n."""
        self._focus()
        self._do("key", "--delay", "15", *keys)

    def type(self, text: str) -> None:
        """Type."""
        self._focus()
        # What is not on the keyboard is put there, letter by letter, and that takes the program a while to learn.
        for plain, letters in groupby(text, str.isascii):
            self._do("type", "--delay", "6" if plain else "80", "".join(letters))

    def resize(self, width: int, height: int) -> None:
        """Make the window so large."""
        self._do("windowsize", "--sync", str(self._ask("look")["wanted"]), str(width), str(height))

    def answer(self, title: str, path: Path) -> None:
        """Type a path into the file dialog with this title, and take it."""
        self.wait(lambda: any(part.window == title for part in self.look()), title)
        field = self.find(object="fileNameEdit")
        self.click_on(field)
        self.key("ctrl+a")
        self.type(str(path))
        self.wait(lambda: self.find(object="fileNameEdit").text == str(path), f"{path} in the dialog")
        self.key("Escape", "Return") if self._popup() else self.key("Return")
        self.wait(lambda: not any(part.window == title for part in self.look()), f"{title} closed")

    def _popup(self) -> bool:
        """True if the dialog's list of completions is open: the first key is for that."""
        return any(part.kind == "QCompleterListView" or part.object == "completer" for part in self.look())

    def _focus(self) -> None:
        """Nobody manages the windows of this screen: give the keyboard to the one that a manager would give it to."""
        answer = self._ask("look")
        if not answer["focused"]:
            self._do("windowfocus", "--sync", str(answer["wanted"]))

    def _do(self, *words: str) -> None:
        done = subprocess.run(
            ["xdotool", *words],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), (words, done.stderr)
