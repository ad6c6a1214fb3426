"""Use the memory and the processors of other machines, which run llama.cpp's rpc-server, and be such a machine.

llama.cpp's protocol (ggml-rpc.h) has neither key nor encryption, and ends the process that uses it when a machine goes
away: whoever computes on machines does so in a process of its own (apart.py).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from engine.backends.llama_cpp.library import ggml_library, prepare_library
from engine.config import LoadConfig
from engine.errors import LoadFailed, NotAvailable
from engine.translatable import Translatable

_ADD, _START = b"ggml_backend_rpc_add_server", b"ggml_backend_rpc_start_server"


def check_machines_usable() -> None:
    """Check that this build of llama.cpp can compute on other machines. Raises NotAvailable."""
    _function(_ADD)


def machine_devices(config: LoadConfig) -> Any:
    """Return the devices of the machines, as llama.cpp takes them. Raises LoadFailed, NotAvailable.

    Ends the process where a machine goes away meanwhile.
    """
    add = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(_function(_ADD))
    ggml = ggml_library()
    ggml.ggml_backend_reg_dev_count.argtypes = [ctypes.c_void_p]
    ggml.ggml_backend_reg_dev_count.restype = ctypes.c_size_t
    ggml.ggml_backend_reg_dev_get.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    ggml.ggml_backend_reg_dev_get.restype = ctypes.c_void_p
    found: list[int] = []
    for address in config.rpc:
        machine = add(address.encode())
        count = ggml.ggml_backend_reg_dev_count(machine) if machine else 0
        if not count:
            raise LoadFailed(config.path, "{address} is no rpc-server of this version of llama.cpp.", address=address)
        found += [ggml.ggml_backend_reg_dev_get(machine, index) for index in range(count)]
    return _pointers([*found, None])


def serve_machine(address: str, threads: int) -> None:
    """Serve computations at an address, on the processor, until the process ends. Raises NotAvailable.

    Returns where the address cannot be used.
    """
    ggml = ggml_library()
    ggml.ggml_backend_dev_by_type.argtypes, ggml.ggml_backend_dev_by_type.restype = [ctypes.c_int], ctypes.c_void_p
    kinds = ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p
    start = ctypes.CFUNCTYPE(None, *kinds)(_function(_START))
    devices = _pointers([ggml.ggml_backend_dev_by_type(0)])
    start(address.encode(), None, threads, len(devices), ctypes.cast(devices, ctypes.c_void_p))


def _pointers(addresses: Sequence[int | None]) -> Any:
    return (ctypes.c_void_p * len(addresses))(*addresses)


def _function(name: bytes) -> int:
    """Return the address of a function of llama.cpp's RPC. Raises NotAvailable if it was compiled without."""
    prepare_library()
    ggml = ggml_library()
    ggml.ggml_backend_reg_by_name.argtypes, ggml.ggml_backend_reg_by_name.restype = [ctypes.c_char_p], ctypes.c_void_p
    ggml.ggml_backend_reg_get_proc_address.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    ggml.ggml_backend_reg_get_proc_address.restype = ctypes.c_void_p
    registered = ggml.ggml_backend_reg_by_name(b"RPC")
    found = ggml.ggml_backend_reg_get_proc_address(registered, name) if registered else None
    if not found:
        raise NotAvailable(
            Translatable("Computing on several machines"),
            Translatable("This llama.cpp was compiled without RPC. Run: outrider-engine compile"),
        )
    return int(found)
