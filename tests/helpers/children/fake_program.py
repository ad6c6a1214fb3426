"""A program that answers the smoke test as Outrider does, or goes wrong as told: installed with `install`.

No Outrider in it: it stands for the frozen program where the smoke test itself is tested.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

VERSION = "1.2.3"
TEXT = "Outrider rides ahead."


def install(folder: Path, *faults: str) -> Path:
    """Put the program and its engine into an empty folder; gives the program."""
    source = Path(__file__).read_text(encoding="utf-8")
    (folder / "resources" / "models").mkdir(parents=True)
    (folder / "faults").write_text("\n".join(faults), encoding="utf-8")
    for name in ("outrider", "outrider-engine"):
        path = folder / name
        path.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
        path.chmod(0o755)
    return folder / "outrider"


def _stats(faults: list[str], accepted: int) -> dict[str, float]:
    emitted = 5 + ("wrong sum" in faults)
    plain = 0 if accepted else 5
    rest = {"corrections": int(accepted > 0), "bonus_tokens": 5 - accepted - plain - (accepted > 0)}
    return {"emitted": emitted, "accepted": accepted, "plain_tokens": plain, **rest, "tokens_per_second": 99.0}


def _reply(faults: list[str], *, draft: bool) -> dict[str, object]:
    text = "Something else." if "other text" in faults and not draft else "" if "no text" in faults else TEXT
    return {"text": text, "finish_reason": "stop", "tokens": [1, 2], "stats": _stats(faults, 3 * draft)}


def _paths(here: Path) -> dict[str, str]:
    home = dict.fromkeys(("settings", "data", "logs", "cache"), os.environ["HOME"])
    program = {"program": str(here / "outrider"), "resources": str(here / "resources")}
    return {"version": VERSION, "frozen": "yes", "flavour": "standard", **program, **home, "python": "3.11"}


def _window(argv: list[str], faults: list[str]) -> int:
    if "no window" in faults:
        return 0
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: None if "deaf" in faults else ended.append(1))
    if "child" in faults:
        subprocess.Popen(["/bin/sleep", "60"])
    while not ended:
        time.sleep(0.01)
    Path(argv[argv.index("--settings") + 1]).write_text("{}", encoding="utf-8")
    return 0


def _engine(argv: list[str], faults: list[str]) -> int:
    if "mute" in faults:
        return 0
    if argv[0] == "models":
        print("one\ntwo\nthree")
    elif "--target" in argv:
        if "traceback" in faults:
            raise FileNotFoundError(argv[argv.index("--target") + 1])
        print("outrider-engine: There is no no-such-model.gguf.", file=sys.stderr)
        return 2
    else:
        if "loads" in faults and Path("libggml-cpu-haswell.so").exists():
            import ctypes  # noqa: PLC0415

            ctypes.CDLL("./libggml-cpu-haswell.so")
        print(json.dumps(_reply(faults, draft="0" not in argv)))
    return 0


def _app(argv: list[str], faults: list[str], here: Path) -> int:
    if argv == ["--paths"]:
        print("\n".join(f"{key}: {value}" for key, value in _paths(here).items()))
    elif "--smoke-test" in argv:
        if "crash" in faults:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "hang" in faults:
            print("loading the model", file=sys.stderr, flush=True)
            time.sleep(60)
        if "noise" in faults:
            print("qt.qpa.plugin: Could not find the Qt platform plugin", file=sys.stderr)
        if "talk" in faults:
            print("hello from a library")
        if "writes" in faults:
            (here / "resources" / "cache").write_text("x", encoding="utf-8")
        folder = Path(argv[argv.index("--models-folder") + 1]) if "--models-folder" in argv else None
        found = {} if folder is None else {"folder": {"model": "a.gguf", **_reply(faults, draft=False)}}
        print(json.dumps({**_reply(faults, draft=True), "frozen": True, "first_paint_ms": 1.0, **found}))
    else:
        return _window(argv, faults)
    return 0


def main() -> int:
    here, argv = Path(__file__).resolve().parent, sys.argv[1:]
    faults = (here / "faults").read_text(encoding="utf-8").split("\n")
    if argv == ["--version"]:
        engine = Path(__file__).name == "outrider-engine"
        print(f"Outrider {'1.0' if engine and 'versions' in faults else VERSION}")
        return 0
    return _engine(argv, faults) if Path(__file__).name == "outrider-engine" else _app(argv, faults, here)


if __name__ == "__main__":
    sys.exit(main())
