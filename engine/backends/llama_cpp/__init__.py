"""The llama.cpp backend, and the kernels that are compiled into its library.

Door: backend.LlamaCppBackend, named in the register of engine.loading.open.
Never imported here: torch, transformers and other backends.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from engine.system.machine import short_spins


def _import_bindings() -> None:
    """Import llama_cpp without its own chat program, which nobody needs here and which takes half of the time.

    Whoever asks for something of it gets it, imported then.
    """
    program = "llama_cpp.llama"
    if "llama_cpp" in sys.modules:
        return
    sys.modules[program] = ModuleType(program)
    try:
        bindings = import_module("llama_cpp")
    finally:
        del sys.modules[program]
    # It makes itself the receiver of llama.cpp's messages when it is imported: now, and not in the place of ours later.
    import_module("llama_cpp._logger")

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(program), name)

    bindings.__dict__.pop("llama", None)
    bindings.__dict__["__getattr__"] = find


with short_spins():  # With the bindings comes the OpenMP library.
    _import_bindings()
