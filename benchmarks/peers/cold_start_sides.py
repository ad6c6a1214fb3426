"""The sides of `cold_start` that are Python programs: each imports its own needs alone, nothing of the benchmark.

    python benchmarks/peers/cold_start_sides.py library | window PROMPT TARGET [DRAFT]

`library` prints a line when the first token is there; `window` prints then how many milliseconds it took from choosing.
"""

# What is imported here before a side begins is paid by both.
import asyncio
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

TOKENS = 24


def run_library(prompt: str, *models: str) -> int:
    """Load models and stream a reply, as a small program would."""
    from engine import TokenEvent, load  # noqa: PLC0415 - what is imported is measured

    with load(*models) as decoder:
        tokens = 0
        for event in decoder.stream(prompt, max_tokens=TOKENS, temperature=0.0):
            tokens += isinstance(event, TokenEvent)
            if tokens == 1 and isinstance(event, TokenEvent):
                print("first", flush=True)
    return 0


def run_window(prompt: str, *models: str) -> int:
    """Choose the models in the open window, and send a message at once."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - what is imported is measured

    from app.settings.settings import Settings, SettingsFile  # noqa: PLC0415 - as above
    from app.shell.bootstrap import run  # noqa: PLC0415 - as above

    async def script(program: Any, _loop: asyncio.AbstractEventLoop) -> int:
        while not program.models.settled or program.models.busy or not program.models.is_loaded:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        began = perf_counter()
        program.models.choose_target(Path(models[0]))
        program.models.choose_draft(Path(models[1]) if models[1:] else None)
        program.window.prompt_sent.emit(prompt)
        exchange = None
        while exchange is None or not exchange.reply:
            exchange = next(iter(program.controller.transcript), None)
            if exchange is not None and exchange.problem is not None:
                raise RuntimeError(exchange.problem.text)
            await asyncio.sleep(0.002)
        print(1000.0 * (perf_counter() - began), flush=True)
        return 0

    with TemporaryDirectory() as folder:
        file = SettingsFile(Path(folder) / "settings.json")
        file.save(Settings(models_folders=[str(Path(models[0]).parent)], first_launch=False))
        return run(["outrider"], file, script=script)


if __name__ == "__main__":
    # Not this folder, but the project's.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    sys.exit((run_library if sys.argv[1] == "library" else run_window)(*sys.argv[2:]))
