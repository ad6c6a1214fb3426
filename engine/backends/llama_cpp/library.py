"""Load llama.cpp as a library of this process: its messages, and the modules that compute for this processor.

A build for one machine has its processor code inside. A build for all machines (GGML_BACKEND_DL) has it in modules,
one for each family of processors, beside the library: the best one that runs here is loaded by its path. Left to
itself, llama.cpp would look beside the executable and in the current folder, where anyone may have put a file.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from collections import deque
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import llama_cpp

from engine.errors import NotAvailable
from engine.system.processor import library_folder
from engine.translatable import Translatable

if TYPE_CHECKING:
    from engine.sampling.rows import Rows

_log = logging.getLogger(__name__)
_LOG_WARN, _LOG_ERROR = 3, 4
_LAST_WORDS = b"CUDA error: "
_KEPT = 20
_CARDS = (1, 2)
"""ggml's types of devices that are graphics cards: with memory of their own, and integrated."""
STOCK_BUILD = (
    "This llama.cpp was compiled without Outrider's kernels: a draft gains little or costs time. To compile it "
    "with them, run: outrider-engine compile"
)


class LibraryLog:
    """Keep the last warnings and errors of llama.cpp. Whoever wants those of one call clears it before.

    Two models can be loaded at once: each thread clears and reads its own messages.
    llama.cpp has one receiver of its messages in a process: the log that was made last. None reaches the terminal but
    an error behind which CUDA's part of llama.cpp ends the process: it says why, and the trial reads it there.
    Attribute: receiver (for llama.cpp's other libraries, which have one each).
    """

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=_KEPT)
        self.receiver = llama_cpp.llama_log_callback(self._keep)
        llama_cpp.llama_log_set(self.receiver, ctypes.c_void_p(0))

    def _keep(self, level: int, text: bytes, _data: object) -> None:
        if text.startswith(_LAST_WORDS):
            with suppress(OSError):
                os.write(2, text)
        if level in (_LOG_WARN, _LOG_ERROR):
            self._lines.append((threading.get_ident(), text.decode("utf-8", "replace").strip()))

    def clear(self) -> None:
        """Drop this thread's earlier messages."""
        for line in self._own():
            with suppress(ValueError):
                self._lines.remove(line)

    def _own(self) -> list[tuple[int, str]]:
        return [line for line in self._lines.copy() if line[0] == threading.get_ident()]

    @property
    def last(self) -> str | None:
        """Return the last message, None if there was none."""
        lines = self._own() or list(self._lines.copy())
        return lines[-1][1] if lines else None

    @property
    def error(self) -> str | None:
        """Return the first message that tells of an error or a failure, None if none does."""
        said = (line for _, line in self._own())
        return next((line for line in said if "error" in line.lower() or "failed" in line.lower()), None)


@cache
def prepare_library() -> LibraryLog:
    """Make llama.cpp ready, and return its log. Raises NotAvailable if no module runs on this processor."""
    log = LibraryLog()
    _load_modules()
    llama_cpp.llama_backend_init()
    _spare_software_driver()
    return log


@cache
def library_rows() -> Rows:
    """Return the sampler for models of this library: its own functions, where it has them."""
    from engine.sampling.native_rows import NativeRows  # noqa: PLC0415 - weights are read without NumPy
    from engine.sampling.native_rules import OtherRules  # noqa: PLC0415
    from engine.sampling.rows import NUMPY  # noqa: PLC0415

    try:
        return NativeRows(processor_library())
    except OtherRules:
        _log.warning(
            "llama.cpp was compiled with another table of sampling rules: tokens are drawn more slowly, by numpy."
        )
    except (OSError, AttributeError):
        pass  # One that `make setup` or an installer did not compile lacks the functions: numpy does the same.
    return NUMPY


def _load_modules() -> None:
    # Before any other call: those that need a module and see none look for it in the current folder.
    ggml = ggml_library()
    if ggml.ggml_backend_reg_count() > 0:
        return
    folder = module_folder()
    load = ggml.ggml_backend_load_all_from_path
    load.argtypes, load.restype = [ctypes.c_char_p], None
    load(os.fsencode(folder))
    if ggml.ggml_backend_reg_count() == 0:
        raise NotAvailable(
            Translatable("Running GGUF models"),
            "{folder} has no llama.cpp library that runs on this computer. Reinstall Outrider.",
            folder=folder,
        )


def module_folder() -> Path:
    """Return the folder of libllama and its modules."""
    return (library_folder() or Path(llama_cpp.__file__).parent / "lib").resolve()


def processor_library() -> ctypes.PyDLL:
    """Return the library with the processor's code, whichever module was loaded.

    Raises OSError if it is not found.
    """
    ggml = ggml_library()
    ggml.ggml_backend_reg_by_name.restype = ggml.ggml_backend_reg_get_proc_address.restype = ctypes.c_void_p
    ggml.ggml_backend_reg_by_name.argtypes = [ctypes.c_char_p]
    ggml.ggml_backend_reg_get_proc_address.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    processor = ggml.ggml_backend_reg_by_name(b"CPU")
    inside = processor and ggml.ggml_backend_reg_get_proc_address(processor, b"ggml_backend_set_n_threads")
    if not inside:
        raise OSError("no processor module is loaded")
    return _library_around(inside)


@cache
def has_kernels() -> bool:
    """Return True if our kernels are compiled into this llama.cpp, on whatever processors they work."""
    try:
        return bool(processor_library().outrider_computes_here)
    except (OSError, AttributeError):
        return False


def computes_alike() -> bool:
    """Return True if products and attention are those of our kernels.

    A row's bits do not depend on what is beside it.
    """
    return _kernels_say("outrider_computes_here")


def packs_weights() -> bool:
    """Return True if our kernels can turn weights around when they are loaded (kernels/packed_rows.h), as is faster.

    The bits of all products are the same. The weights are then in memory, and not mapped from their file.
    """
    return _kernels_say("outrider_packs_here")


def _kernels_say(question: str) -> bool:
    """Call a yes-or-no function of our kernels; False if it is missing."""
    try:
        ask = getattr(processor_library(), question)
    except (OSError, AttributeError):
        return False
    ask.restype = ctypes.c_bool
    return bool(ask())


def card_names() -> list[str]:
    """Return the names of the graphics cards that llama.cpp can compute on, such as vulkan0, in small letters."""
    return [name.lower() for name in _card_facts("ggml_backend_dev_name")]


def free_card_memory() -> int | None:
    """Return the bytes that are free on all graphics cards together; None if a driver does not say."""
    ask = ggml_library().ggml_backend_dev_memory
    ask.argtypes, ask.restype = (
        [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)],
        None,
    )
    together = 0
    for card in _cards():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        ask(card, ctypes.byref(free), ctypes.byref(total))
        if not total.value:
            return None
        together += free.value
    return together or None


def _spare_software_driver() -> None:
    """Disable Vulkan's fused operations if Mesa's software driver is the card.

    Some of llama.cpp's fused ones crash in it (Mesa 22.3), and without them it is not slower. llama.cpp looks at the
    variable when the first model is loaded.
    """
    if any("llvmpipe" in text for text in _card_facts("ggml_backend_dev_description")):
        os.environ.setdefault("GGML_VK_DISABLE_FUSION", "1")


def _card_facts(function: str) -> list[str]:
    """Ask one of ggml's functions, from a device to a text, about each graphics card."""
    tell = getattr(ggml_library(), function)
    tell.argtypes, tell.restype = [ctypes.c_void_p], ctypes.c_char_p
    return [tell(card).decode("utf-8", "replace") for card in _cards()]


def _cards() -> list[Any]:
    """Return ggml's devices that are graphics cards."""
    ggml = ggml_library()
    ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    ggml.ggml_backend_dev_get.argtypes, ggml.ggml_backend_dev_get.restype = [ctypes.c_size_t], ctypes.c_void_p
    ggml.ggml_backend_dev_type.argtypes, ggml.ggml_backend_dev_type.restype = [ctypes.c_void_p], ctypes.c_int
    devices = [ggml.ggml_backend_dev_get(index) for index in range(ggml.ggml_backend_dev_count())]
    return [device for device in devices if ggml.ggml_backend_dev_type(device) in _CARDS]


def _library_around(address: int) -> ctypes.PyDLL:
    """Return the library, loaded already, that has this address inside."""
    if sys.platform == "win32":
        handle = ctypes.c_void_p()
        by_address, unchanged = 4, 2
        find = ctypes.windll.kernel32.GetModuleHandleExW
        find.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p]
        if not find(by_address | unchanged, address, ctypes.byref(handle)):
            raise OSError("no library has this address")
        return ctypes.PyDLL("", handle=handle.value)
    found = _Place()
    search = ctypes.CDLL(None).dladdr
    search.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    if not search(address, ctypes.byref(found)) or not found.file:
        raise OSError("no library has this address")
    return ctypes.PyDLL(os.fsdecode(found.file))


class _Place(ctypes.Structure):
    """Hold the result of dladdr (Dl_info)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def llama_library() -> ctypes.CDLL:
    """Return libllama itself, for functions that llama_cpp does not bind."""
    from llama_cpp.llama_cpp import _lib  # noqa: PLC0415 - a private name: only here

    return cast(ctypes.CDLL, _lib)


def text_entry(model: Any, key: str) -> str:
    """Return an entry of a model's header as text; '' if it has none."""
    buffer = ctypes.create_string_buffer(128)
    length = llama_cpp.llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace") if length >= 0 else ""


@cache
def ggml_library() -> Any:
    """Return libggml from beside libllama: llama-cpp-python has another one where LLAMA_CPP_LIB_PATH is set."""
    from llama_cpp._ctypes_extensions import load_shared_library  # noqa: PLC0415 - a private module: only here

    libggml: Any = load_shared_library("ggml", module_folder())
    libggml.ggml_backend_reg_count.restype = ctypes.c_size_t
    return libggml


@cache
def base_library() -> Any:
    """Return the library with ggml's tensor functions: by way of libggml, which needs their library.

    On Windows a library has its own functions only. Elsewhere loading theirs by its path could load it twice.
    """
    if sys.platform != "win32":
        return ggml_library()
    from llama_cpp._ctypes_extensions import load_shared_library  # noqa: PLC0415 - a private module: only here

    return load_shared_library("ggml-base", module_folder())
