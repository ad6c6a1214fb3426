"""Run the smoke test: the real window sends a prompt to the bundled pair and reports the outcome.

With a models folder, it then takes the smallest model of that, as a person does, and sends a second prompt.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QBuffer

from app.state.chat.transcript import Exchange
from app.system.places import is_frozen
from engine import ModelFile, __version__
from engine.host import write_whole

if TYPE_CHECKING:
    from app.shell.program import Program

TIMEOUT_S = 120.0
"""The limit of each of the two replies."""
ENOUGH = 32
"""Tokens after which the second reply is cancelled."""
_HEAVY = {"llama_cpp", "torch", "transformers"}
Script = Callable[["Program", asyncio.AbstractEventLoop], Coroutine[Any, Any, int]]


class SmokeFailed(Exception):
    """Report that the smoke test did not get its reply."""


def process_age() -> float:
    """Return seconds since this process started."""
    if sys.platform == "linux":
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    import datetime  # noqa: PLC0415 - not needed on Linux

    import psutil  # noqa: PLC0415 - not needed on Linux

    return datetime.datetime.now(tz=datetime.UTC).timestamp() - float(psutil.Process().create_time())


def make_script(prompt: str, screenshot: Path | None, folder: Path | None = None) -> Script:
    """Return a coroutine function that drives the window; its result is the exit code. `folder`: the models folder."""
    limit = TIMEOUT_S if folder is None else 2 * TIMEOUT_S

    async def script(program: Program, loop: asyncio.AbstractEventLoop) -> int:
        try:
            async with asyncio.timeout(limit):
                report = await _drive(program, loop, prompt)
                if folder is not None:
                    report["folder"] = await _try_folder(program, folder, prompt)
                if screenshot is not None:
                    await _shoot(program, screenshot)
        except TimeoutError:
            return _fail(f"no reply within {limit:.0f} seconds.")
        except SmokeFailed as error:
            return _fail(str(error))
        print(json.dumps(report, ensure_ascii=False))  # noqa: T201 - this is what it is for
        return 0

    return script


async def _drive(program: Program, loop: asyncio.AbstractEventLoop, prompt: str) -> dict[str, Any]:
    controller = program.controller
    times: dict[str, float] = {}
    # Looked up at the paint itself: when this goes on, the engine's thread may have begun.
    painted: asyncio.Future[list[str]] = loop.create_future()
    program.window.painted.connect(lambda: painted.set_result(sorted(_HEAVY & set(sys.modules))))
    heavy = await painted
    times["first_paint_ms"] = 1000.0 * process_age()
    if heavy:
        raise SmokeFailed(f"imported before the first paint: {', '.join(heavy)}.")
    await _settled(program)
    sent = perf_counter()
    controller.started_writing.connect(lambda _: times.setdefault("first_token_ms", 1000 * (perf_counter() - sent)))
    reply = await _reply(program, loop, prompt)
    return {
        "version": __version__,
        "frozen": is_frozen(),
        **reply,
        **{name: round(value, 1) for name, value in times.items()},
        "reply_ms": round(1000.0 * (perf_counter() - sent), 1),
    }


async def _reply(program: Program, loop: asyncio.AbstractEventLoop, prompt: str) -> dict[str, Any]:
    """Send a prompt and wait until the window shows the whole reply."""
    controller = program.controller
    ended: asyncio.Future[Exchange] = loop.create_future()
    connection = controller.reply_ended.connect(ended.set_result)
    program.window.prompt_sent.emit(prompt)
    exchange = await ended
    controller.reply_ended.disconnect(connection)
    _check_problems(program)
    if exchange.stats is None or not exchange.reply.strip():
        raise SmokeFailed("the reply is empty.")
    await _drawn(program, exchange)
    return {"text": exchange.reply, "finish_reason": exchange.finish_reason, "stats": exchange.stats.to_dict()}


async def _try_folder(program: Program, folder: Path, prompt: str) -> dict[str, Any]:
    """Pick the smallest model of the folder in the bar, and let it write a little."""
    await _settled(program)
    model = _smallest(program, folder)
    picker = program.window.bar.target
    row = next(row for row in range(picker.count()) if picker.itemData(row) == model.path)
    picker.setCurrentIndex(row)
    picker.activated.emit(row)
    await _settled(program)
    controller = program.controller

    def stop_soon() -> None:
        if controller.busy and controller.metrics.emitted >= ENOUGH:
            controller.cancel()

    connection = controller.reply_grew.connect(stop_soon)
    reply = await _reply(program, asyncio.get_running_loop(), prompt)
    controller.reply_grew.disconnect(connection)
    if program.models.list.loaded.target != model.path:
        raise SmokeFailed(f"{model.path.name} was chosen, and another model wrote the reply.")
    return {"model": model.path.name, **reply}


def _smallest(program: Program, folder: Path) -> ModelFile:
    bundled = program.models.list.bundled or ()
    found = [model for model in program.models.list.models if model.path not in bundled and model.file_format == "gguf"]
    usable = [model for model in found if model.usable]
    if not usable:
        seen = f"; of the {len(found)} there, none can be used" if found else ""
        raise SmokeFailed(f"there is no usable GGUF model in {folder}{seen}.")
    return min(usable, key=lambda model: (model.size_bytes, str(model.path)))


async def _settled(program: Program) -> None:
    """Wait until the program has finished starting, as a person would."""
    while program.window.panel.plots is None or not program.models.settled:
        _check_problems(program)
        await asyncio.sleep(0.02)


def _check_problems(program: Program) -> None:
    """Raise SmokeFailed for the first problem that the window shows."""
    for entry in program.controller.transcript:
        problem = entry.problem
        if problem is not None:
            lines = (problem.details or "").strip().splitlines()
            raise SmokeFailed(" ".join([problem.text, *lines[-1:]]))


async def _drawn(program: Program, exchange: Exchange) -> None:
    """Wait until the window shows all of the reply."""
    view = program.window.transcript.view_of(exchange)
    if view is not None and not view.reply.is_settled:
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        view.reply.settled.connect(lambda: settled.set_result(None))
        await settled
    if view is None or not view.reply.toPlainText().strip() or not view.summary.text():
        raise SmokeFailed("the window does not show the reply.")


async def _shoot(program: Program, path: Path) -> None:
    await asyncio.sleep(0.3)
    picture = QBuffer()
    if not program.window.grab().save(picture, path.suffix[1:].upper() or "PNG"):
        raise SmokeFailed(f"cannot write the picture to {path}. Choose another file, ending in .png.")
    try:
        write_whole(path, bytes(picture.data().data()))
    except OSError as error:
        raise SmokeFailed(f"cannot write the picture to {path}: {error.strerror or error}.") from None


def _fail(reason: str) -> int:
    print(f"outrider: the smoke test failed: {reason}", file=sys.stderr)  # noqa: T201 - this is what it is for
    return 1
