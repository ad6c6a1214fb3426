"""llama.cpp as a library of this process: its messages, and the modules that compute for this processor.

A build for one machine has its processor code inside. A build for all machines (GGML_BACKEND_DL) has it in modules,
one for each family of processors, beside the library: the best one that runs here is loaded by its path. Left to
itself, llama.cpp would look beside the executable and in the current folder, where anyone may have put a file.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import llama_cpp

from engine.errors import NotAvailable

_LOG_WARN, _LOG_ERROR = 3, 4
_KEPT = 20

log_lines: list[str] = []
"""The last warnings and errors of llama.cpp; whoever wants those of one call clears the list before."""


def prepare_library() -> None:
    """Make llama.cpp ready. Raises NotAvailable where no module runs on this processor."""
    llama_cpp.llama_log_set(_log_callback, ctypes.c_void_p(0))
    _load_modules()
    llama_cpp.llama_backend_init()


def _keep_log(level: int, text: bytes, _data: object) -> None:
    """llama.cpp's messages: none reaches the terminal, the last errors go into ours."""
    if level in (_LOG_WARN, _LOG_ERROR):
        log_lines.append(text.decode("utf-8", "replace").strip())
        del log_lines[:-_KEPT]


_log_callback = llama_cpp.llama_log_callback(_keep_log)


def _load_modules() -> None:
    # Before any other call: those that need a module and see none look for it in the current folder.
    ggml = _ggml()
    if ggml.ggml_backend_reg_count() > 0:
        return
    folder = module_folder()
    load = ggml.ggml_backend_load_all_from_path
    load.argtypes, load.restype = [ctypes.c_char_p], None
    load(os.fsencode(folder))
    if ggml.ggml_backend_reg_count() == 0:
        raise NotAvailable("Running GGUF models", f"{folder} holds nothing that runs here. Install Outrider again.")


def module_folder() -> Path:
    """Where libllama and its modules are."""
    return Path(llama_cpp.__file__).resolve().parent / "lib"


def _ggml() -> Any:
    from llama_cpp._ggml import libggml  # noqa: PLC0415 - a private module: only here

    libggml.ggml_backend_reg_count.restype = ctypes.c_size_t
    return libggml
