"""Run the child's side of the trial: load an unknown model and take it through the steps of a chat.

If llama.cpp ends the process, that is the answer. Otherwise one line on the standard output gives the verdict.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from engine.config import LoadConfig
from engine.errors import EngineError, LoadFailed, ModelNotSupported
from engine.system.child_side import be_harmless, own_output
from engine.system.hidden_commands import VERDICT_MARK, memory_is_short
from engine.system.machine import tells_of_no_memory
from engine.translatable import Translatable, packed

_UNKNOWN = re.compile(r"unknown (model architecture|pre-tokenizer type): '([^']{1,80})'")
_ONE_THREAD = 2 * 2**30
"""Bytes; a larger file is not read ahead, and tried with all threads."""
_STEPS = "engine.loading.trial_steps"
"""Imported while the file is read."""


def run(settings: str) -> int:
    """Try the model that `settings` (JSON) names, print the verdict, and give the exit code 0.

    Where it is a path, or empty, the settings follow on the standard input: the file at the path will be the one.
    """
    out = own_output()
    be_harmless()
    given = settings.startswith("{")
    if not given:
        _read_ahead(settings, out)
    steps = importlib.import_module(_STEPS)
    settings = settings if given else _first_line()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    verdict, reason = _verdict(steps, settings, out)
    if verdict == "broken" and memory_is_short():
        verdict = "no memory"
    _say(out, verdict=verdict, reason=packed(reason))
    return 0


def _verdict(steps: ModuleType, settings: str, out: BinaryIO) -> tuple[str, str]:
    """Try the model; return the verdict and its reason."""
    try:
        wanted = json.loads(settings)
        config = LoadConfig(
            Path(wanted["path"]),
            wanted["context_length"],
            wanted["threads"],
            wanted["gpu_layers"],
            trusted=True,
            cache_type=wanted["cache_type"],
            projector=wanted["projector"],
        )
        if config.path.stat().st_size < _ONE_THREAD:
            # The other cores load the file, and a second one, in the parent meanwhile.
            config = replace(config, threads=1)
        _say(out, progress=0.0)  # From here on, or from reading ahead, the file may be at fault for how this ends.
        if wanted.get("embeds"):
            steps.try_embedder(config)
        else:
            steps.try_model(config, wanted["vocabulary"], partial(_say, out))
    except ModelNotSupported as error:
        return "not supported", error.reason
    except LoadFailed as error:
        return _explained(error.reason)
    except steps.Failed as error:
        return "broken", error.args[0]
    except (EngineError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        no_memory = tells_of_no_memory(str(error))
        return "no memory" if no_memory else "broken", Translatable("it cannot be run ({reason}).", reason=str(error))
    except MemoryError:
        return "no memory", ""
    return "good", ""


def _explained(complaint: str) -> tuple[str, str]:
    """Return the verdict and the reason for a person in llama.cpp's complaint."""
    if tells_of_no_memory(complaint):
        return "no memory", complaint
    unknown = _UNKNOWN.search(complaint)
    if unknown is not None:
        return "not supported", Translatable(
            "this version does not support the {kind} {name!r}. Choose another model.", kind=unknown[1], name=unknown[2]
        )
    complaint = re.sub(r"(\w+: )?error loading model: ", "", complaint)
    return "broken", Translatable("{complaint} Download or convert it again.", complaint=complaint)


def _say(out: BinaryIO, **message: object) -> None:
    with contextlib.suppress(OSError):
        out.write(b"\n" + VERDICT_MARK + json.dumps(message).encode() + b"\n")


def _read_ahead(path: str, out: BinaryIO) -> None:
    """Begin to read the weights in a file, mapped for the processor, unless there is none, or it is a large one."""
    with contextlib.suppress(OSError):
        if path and Path(path).stat().st_size < _ONE_THREAD:
            weights = importlib.import_module("engine.backends.llama_cpp.weights")
            _say(out, progress=0.0)
            weights.read_early(Path(path), packed=False)


def _first_line() -> str:
    """Return the settings, behind which the parent writes nothing."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(0, 65536)
        if not more:
            os._exit(1)  # The parent needs no trial.
        line += more
    return line.decode()


def _end_with_parent() -> None:
    """End with the parent: the standard input, whose other end it holds, is closed when the parent ends in any way."""
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    os._exit(1)
