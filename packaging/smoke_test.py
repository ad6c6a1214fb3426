"""The smoke test of a frozen program: starts it as a person does, chats with the demo pair, and accepts no surprises.

    python packaging/smoke_test.py [--models FOLDER] [--engine COMMAND] [--timeout S] PROGRAM [ARGUMENT…]

PROGRAM may be a command with a prefix: `chroot FOLDER /usr/bin/outrider`, `xvfb-run -a dist/outrider/outrider`. Behind
a chroot everything temporary lies in its /tmp. Needs only the standard library (Python 3.11 or newer). Every run
has a fresh home and an empty current directory; every line on stderr that is not expected is a failure.
Exit code: 0 all well, 1 a step failed, 2 wrong usage.
"""

import argparse
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from smoke_answers import Problems, only_json, reply_problems, short
from smoke_run import WINDOWS, Command, Outcome, Sandbox, contents, lay_decoys, private_display

PROMPT = "What is Outrider?"
PATH_KEYS = ("version", "frozen", "flavour", "program", "resources", "settings", "data", "logs", "cache", "python")
END_S = 8.0
"""The seconds within which the window must be gone once it was asked to end."""
_MADE_BY_TORCH = re.compile(r"torchinductor_[^/\\]+")
"""An empty temporary folder that torch makes at import (full flavour)."""


@dataclass
class Step:
    """One step and its result."""

    name: str
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


class SmokeTest:
    """The steps, in order. Attributes: steps (done so far), figures (version, flavour, times and speeds seen)."""

    def __init__(self, program: Command, engine: Command | None, sandbox: Sandbox, args: argparse.Namespace) -> None:
        self._program, self._engine, self._box, self._args = program, engine, sandbox, args
        self.steps: list[Step] = []
        self.figures: dict[str, Any] = {}
        self._paths: dict[str, str] = {}
        self._folder: Path | None = None
        self._before: dict[str, tuple[int, int]] = {}
        self._replies: dict[str, str] = {}

    def run(self) -> bool:
        """Run all steps, even after a failure; return True if all succeed."""
        steps: list[tuple[str, Callable[[], Problems]]] = [
            ("says its version", self._say_version),
            ("says where its files are", self._say_paths),
            ("the engine says its version", self._say_engine_version),
            ("chats with the demo pair", self._chat),
            ("writes the same with a draft and without", self._write_the_same),
            ("opens a window and ends when asked to", self._open_window),
            ("the engine lists models", self._list_models),
            ("the engine names an unknown model in one line", self._refuse_model),
            ("takes no library from the current directory", self._meet_decoys),
            ("writes nothing where it should not", self._look_around),
        ]
        if self._args.models is not None:
            steps.insert(5, ("loads a GGUF from the folder", self._load_from_folder))
        for name, step in steps:
            self._take(name, step)
            if step == self._list_models and self._args.models is not None and self.figures.get("flavour") == "full":
                self._take("runs a safetensors model from the folder", self._run_safetensors)
        return not any(step.problems for step in self.steps)

    def _take(self, name: str, work: Callable[[], Problems]) -> None:
        step, began = Step(name), perf_counter()
        step.problems += work()
        step.seconds = perf_counter() - began
        self.steps.append(step)
        print(f"{'FAILED' if step.problems else 'ok':6} {step.seconds:6.1f} s  {name}", flush=True)
        for problem in step.problems:
            print(f"{'':17}{problem}", flush=True)

    # What it says of itself -------------------------------------------------------------------------------------------

    def _say_version(self) -> Problems:
        done = self._box.run([*self._program.words, "--version"])
        yield from done.problems()
        match = re.fullmatch(r"Outrider (\d\S*)\n", done.stdout)
        if match is None:
            yield f"--version printed {short(done.stdout)}"
        else:
            self.figures["version"] = match[1]

    def _say_paths(self) -> Problems:
        done = self._box.run([*self._program.words, "--paths"])
        yield from done.problems()
        lines = [line.partition(": ") for line in done.stdout.splitlines()]
        self._paths = {key: value for key, _, value in lines}
        if tuple(key for key, _, _ in lines) != PATH_KEYS or not all(value for _, _, value in lines):
            yield f"--paths printed {short(done.stdout)}, not one value for each of {', '.join(PATH_KEYS)}"
            return
        paths = self._paths
        self.figures["flavour"] = paths["flavour"]
        if paths["version"] != self.figures.get("version"):
            yield f"--paths says version {paths['version']}, --version {self.figures.get('version')}"
        if paths["frozen"] != "yes" and not self._args.source:
            yield f"it is not frozen: {paths['frozen']}"
        if not self._box.real(paths["resources"]).is_dir():
            yield f"its resources are not in {paths['resources']}"
        for key in ("settings", "data", "logs", "cache"):
            # Windows tells programs these folders without asking the environment.
            if not WINDOWS and not Path(paths[key]).is_relative_to(self._box.seen(self._box.home)):
                yield f"its {key} are outside the home folder that it was given: {paths[key]}"
        if not self._args.source:
            self._folder = self._box.follow(paths["program"]).parent
            self._before = contents(self._folder)

    def _say_engine_version(self) -> Problems:
        done = self._run_engine("--version")
        yield from done.problems()
        if done.stdout != f"Outrider {self.figures.get('version')}\n":
            yield f"--version printed {short(done.stdout)}"

    # What it does -----------------------------------------------------------------------------------------------------

    def _chat(self) -> Problems:
        done = self._box.run([*self._program.words, "--smoke-test", "--prompt", PROMPT])
        yield from done.problems()
        report = only_json(done.stdout)
        if report is None:
            yield f"--smoke-test printed {short(done.stdout)}, not one line of JSON"
            return
        yield from reply_problems(report)
        if report.get("frozen") is not (not self._args.source):
            yield f"frozen is {report.get('frozen')} there"
        self._replies["in the window"] = str(report.get("text"))
        self.figures["first_paint_ms"] = paint = report.get("first_paint_ms")
        if not isinstance(paint, int | float) or paint <= 0.0:
            yield f"no time of the first paint: {paint}"

    def _write_the_same(self) -> Problems:
        """Greedy, so that all ways must give the target's own text."""
        for name, lookahead in (("plain", "0"), ("with the draft", "4")):
            done = self._run_engine("generate", "--json", "--lookahead", lookahead, PROMPT)
            yield from done.problems()
            report = only_json(done.stdout)
            if report is None:
                yield f"generate --json printed {short(done.stdout)}, not one line of JSON"
                continue
            yield from reply_problems(report)
            stats = report.get("stats") or {}
            if bool(stats.get("accepted")) != bool(int(lookahead)):
                yield f"{name}: {stats.get('accepted')} accepted tokens"
            self._replies[name] = str(report.get("text"))
            self.figures[f"tokens_per_second_{name.split()[0]}"] = stats.get("tokens_per_second")
        if len(set(self._replies.values())) != 1 or len(self._replies) != 3:
            yield f"the replies are not one and the same: {short(str(self._replies), 600)}"

    def _load_from_folder(self) -> Problems:
        folder = self._models_folder()
        done = self._box.run([*self._program.words, "--smoke-test", "--models-folder", self._box.seen(folder)])
        yield from done.problems()
        report = only_json(done.stdout)
        found = None if report is None else report.get("folder")
        if not isinstance(found, dict):
            yield f"--smoke-test printed {short(done.stdout)}, nothing of a model from the folder"
            return
        # The smallest model may never end by itself, and is then stopped after some tokens.
        yield from reply_problems(found, ends=("stop", "length", "context", "cancelled"))
        self.figures["folder_model"] = model = str(found.get("model"))
        if not any(path.name == Path(model).name for path in folder.rglob("*.gguf")):
            yield f"the model is not one of the folder's: {model}"

    def _open_window(self) -> Problems:
        settings = self._box.folder / "settings.json"
        command = [*self._program.words, "--settings", self._box.seen(settings)]
        try:
            running = self._box.start(command)
        except OSError as error:
            yield f"{command[0]} cannot be started: {error.strerror}"
            return
        # A machine that is slow to paint is also slow to be ready for the end.
        ready = perf_counter() + self._args.stay + 2.0 * float(self.figures.get("first_paint_ms") or 0.0) / 1000.0
        while perf_counter() < ready and running.process.poll() is None:
            sleep(0.05)
        if running.process.poll() is not None:
            yield "the window did not stay"
            yield from running.finish(0.0).problems()
            return
        running.ask_to_end(self._program.name)
        done = running.finish(END_S)
        yield from done.problems()
        if done.stdout:
            yield f"unexpected on stdout: {short(done.stdout)}"
        if only_json(settings.read_text(encoding="utf-8") if settings.is_file() else "", one_line=False) is None:
            yield "it left no settings in the file given with --settings"

    def _list_models(self) -> Problems:
        bundled = f"{self._paths.get('resources', '')}/models"
        folder = bundled if self._args.models is None else self._box.seen(self._models_folder())
        done = self._run_engine("models", folder)
        yield from done.problems()
        if len(done.stdout.splitlines()) < 3:
            yield f"models printed {short(done.stdout)}"
        done = self._run_engine("generate", "--json", "--max-tokens", "16", "Hello")
        yield from done.problems()
        report = only_json(done.stdout) or {}
        yield from reply_problems(report)
        if len(report.get("tokens") or ()) > 16:
            yield f"{len(report['tokens'])} tokens, of at most 16"

    def _run_safetensors(self) -> Problems:
        """Run the full flavour's special case: the smallest usable folder of weights."""
        listed = self._run_engine("models", self._box.seen(self._models_folder()), "--json")
        yield from listed.problems()
        found = (only_json(listed.stdout, one_line=False) or {}).get("models", [])
        usable = [each for each in found if each.get("usable") and each.get("format") == "safetensors"]
        if not usable:
            yield "no safetensors model of the folder can be run"
            return
        model = min(usable, key=lambda each: float(each.get("parameters") or 0))
        done = self._run_engine("generate", "--json", "--raw", "--max-tokens", "8", "--target", model["path"], "Once")
        yield from done.problems()
        yield from reply_problems(only_json(done.stdout, one_line=False) or {})

    def _refuse_model(self) -> Problems:
        done = self._run_engine("generate", "--target", "no-such-model.gguf", "Hello")
        lines = done.stderr.splitlines()
        if len(lines) != 1 or not lines[0].startswith("outrider-engine: ") or "no-such-model.gguf" not in lines[0]:
            yield f"stderr is not one line that names the model: {short(done.stderr)}"
        if done.stdout:
            yield f"unexpected on stdout: {short(done.stdout)}"
        yield from Outcome(done.code, "", "", done.seconds, done.left).problems(code=2)

    # What it should leave alone ---------------------------------------------------------------------------------------

    def _meet_decoys(self) -> Problems:
        folder, marker = self._box.make("decoys"), self._box.folder / "decoy-was-loaded"
        real = lay_decoys(folder, self._box.seen(marker), modules=not self._args.source)
        if not real:
            print("note: no C compiler here, so the libraries are rubbish that nobody can see being tried")
        laid = contents(folder)
        done = self._run_engine("generate", "--json", "--lookahead", "4", PROMPT, folder=folder)
        yield from done.problems()
        reply = (only_json(done.stdout) or {}).get("text")
        if reply is None or reply != self._replies.get("with the draft"):
            yield f"it wrote {'nothing' if reply is None else 'something else'}: {short(done.stdout)}"
        if marker.exists():
            yield f"it loaded {marker.read_text(encoding='utf-8').split()} from the current directory"
        if contents(folder) != laid:
            yield "it changed the current directory"

    def _look_around(self) -> Problems:
        for name, place in (("current directory", self._box.work), ("folder for temporary files", self._box.temporary)):
            left = [found for found in contents(place) if not _MADE_BY_TORCH.fullmatch(found)]
            if left:
                yield f"left in the {name}: {', '.join(left[:8])}"
        if self._args.source:
            return
        if self._folder is None:
            yield "its folder could not be watched"
            return
        after = contents(self._folder)
        changed = sorted(name for name in {*self._before, *after} if self._before.get(name) != after.get(name))
        if changed:
            yield f"changed in the program's folder: {', '.join(changed[:8])}"

    # Help -------------------------------------------------------------------------------------------------------------

    def _run_engine(self, *arguments: str, folder: Path | None = None) -> Outcome:
        if self._engine is None:
            return Outcome(127, "", "there is no outrider-engine beside the program; name it with --engine", 0.0)
        inside = folder is not None and self._box.root is not None
        words = self._engine.within(self._box.seen(folder)) if inside and folder else self._engine.words
        return self._box.run([*words, *arguments], folder=None if inside else folder)

    def _models_folder(self) -> Path:
        """The folder given; a copy of its models where the program cannot see it."""
        folder: Path = self._args.models
        if self._box.root is None or folder.is_relative_to(self._box.root):
            return folder
        copy = self._box.folder / "models"
        if not copy.exists():
            kinds = {"", ".gguf", ".json", ".model", ".safetensors", ".txt"}
            shutil.copytree(folder, copy, ignore=lambda _, names: [n for n in names if Path(n).suffix not in kinds])
        return copy


# Command line ---------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the test and give the exit code."""
    args = _parse(arguments)
    root = _root_of(args.command)
    program = Command.parse(args.command, "outrider", in_root=root is not None)
    engine = program.engine()
    if args.engine is not None:
        engine = Command.parse(shlex.split(args.engine, posix=not WINDOWS), "outrider-engine", in_root=root is not None)
    began = perf_counter()
    with ExitStack() as stack:
        parent = None if root is None else root / "tmp"
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outrider-smoke-", dir=parent)))
        sandbox = Sandbox(folder.resolve(), root, args.timeout)
        display = _choose_display(args, sandbox, stack)
        print(f"{shlex.join(program.words)}: {display}", flush=True)
        test = SmokeTest(program, engine, sandbox, args)
        good = test.run()
    seconds = perf_counter() - began
    failed = sum(bool(step.problems) for step in test.steps)
    print(f"{'all is well' if good else f'{failed} of {len(test.steps)} steps failed'}, {seconds:.1f} s")
    if args.json is not None:
        report = {"ok": good, "command": program.words, "display": display, "seconds": round(seconds, 1)}
        report |= {"figures": test.figures, "steps": [vars(step) for step in test.steps]}
        args.json.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return 0 if good else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--models", type=Path, metavar="FOLDER", help="load a GGUF model from there too")
    add("--engine", metavar="COMMAND", help="the engine's command line, one word for the shell (beside PROGRAM)")
    # The program's own smoke test gives up after 120 s, with a folder after 240, and says what it waited for.
    add("--timeout", type=float, default=250.0, metavar="S", help="for each run (250)")
    add("--stay", type=float, default=4.0, metavar="S", help="how long the window must stay (4)")
    add("--offscreen", action="store_true", help="no display, not even Xvfb")
    add("--source", action="store_true", help="PROGRAM is not frozen, as `python -m app`")
    add("--json", type=Path, metavar="FILE", help="write a report there")
    add("command", nargs=argparse.REMAINDER, metavar="PROGRAM")
    args = parser.parse_args(arguments)
    args.command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not args.command:
        parser.error("which program?")
    if args.models is not None:
        args.models = args.models.resolve()
        if not args.models.is_dir():
            parser.error(f"{args.models} is no folder")
    return args


def _root_of(words: Sequence[str]) -> Path | None:
    """The folder that chroot makes the program's root."""
    names = [Path(word).name for word in words]
    if "chroot" not in names:
        return None
    folder = next((word for word in words[names.index("chroot") + 1 :] if not word.startswith("-")), None)
    return None if folder is None else Path(folder).resolve()


def _choose_display(args: argparse.Namespace, sandbox: Sandbox, stack: ExitStack) -> str:
    """Set the program's display and return its name."""
    environment = sandbox.environment
    if args.offscreen:
        environment["QT_QPA_PLATFORM"] = "offscreen"
        return "offscreen"
    if not sys.platform.startswith("linux"):
        return "this desktop"
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"):
        environment.pop(name, None)
    if any(Path(word).name == "xvfb-run" for word in args.command):
        return "as xvfb-run gives it"
    if shutil.which("Xvfb") is None:
        environment["QT_QPA_PLATFORM"] = "offscreen"
        return "offscreen, as there is no Xvfb"
    environment["DISPLAY"] = stack.enter_context(private_display(sandbox.folder))
    return f"Xvfb on {environment['DISPLAY']}"


if __name__ == "__main__":
    sys.exit(main())
