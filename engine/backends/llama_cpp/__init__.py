"""The llama.cpp backend, and the kernels that are compiled into its library.

Door: backend.LlamaCppBackend, named in the register of engine.loading.open.
Never imported here: torch, transformers and other backends.
"""

from engine.system.machine import short_spins

with short_spins():
    import llama_cpp  # noqa: F401 - with it comes the OpenMP library
