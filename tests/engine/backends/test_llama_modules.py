"""Which of llama.cpp's processor modules are loaded, and from where."""

import ctypes
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_cpp")

import llama_cpp

from engine.backends.llama_cpp import library as llama_cpp_library
from engine.backends.llama_cpp import loading, weights
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.config import LoadConfig
from engine.errors import NotAvailable


class _Ggml:
    """The three functions that matter, with `modules` that a load finds."""

    def __init__(self, registered: int, modules: int) -> None:
        self.registered = registered
        self.looked_in: list[bytes] = []
        self.ggml_backend_reg_count: Any = lambda: self.registered

        def load(folder: bytes) -> None:
            self.looked_in.append(folder)
            self.registered += modules

        self.ggml_backend_load_all_from_path: Any = load


def test_a_build_with_its_processor_inside_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ggml = _Ggml(registered=1, modules=1)
    monkeypatch.setattr(llama_cpp_library, "ggml_library", lambda: ggml)
    llama_cpp_library._load_modules()
    assert not ggml.looked_in


def test_modules_are_looked_for_beside_the_library_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    ggml = _Ggml(registered=0, modules=1)
    monkeypatch.setattr(llama_cpp_library, "ggml_library", lambda: ggml)
    llama_cpp_library._load_modules()
    assert [Path(folder.decode()) for folder in ggml.looked_in] == [llama_cpp_library.module_folder()]
    assert llama_cpp_library.module_folder().is_absolute()
    assert list(llama_cpp_library.module_folder().glob("*llama*"))


def test_no_module_for_this_processor_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp_library, "ggml_library", lambda: _Ggml(registered=0, modules=0))
    with pytest.raises(NotAvailable, match="Reinstall Outrider"):
        llama_cpp_library._load_modules()


def test_this_build_has_a_processor() -> None:
    assert llama_cpp_library.ggml_library().ggml_backend_reg_count() > 0


@pytest.mark.parametrize("layers", [0, 3])
def test_a_model_without_layers_on_a_card_is_loaded_as_if_there_were_none(
    monkeypatch: pytest.MonkeyPatch, bundled_draft: Path, layers: int
) -> None:
    """Its buffers would be in the card's host memory, and forwards of 32 tokens and more be computed on the card."""
    really, told = llama_cpp.llama_model_load_from_file, list[int | None]()

    def load(path: bytes, params: Any) -> Any:
        there = ctypes.c_void_p.from_buffer(params, type(params).devices.offset).value
        told.append(None if there is None else ctypes.c_void_p.from_address(there).value or 0)
        params.n_gpu_layers = 0
        return really(path, params)

    for module in (loading, weights):
        monkeypatch.setattr(module, "card_names", lambda: ["card0"])
    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", load)
    LlamaCppBackend.open(LoadConfig(bundled_draft, gpu_layers=layers, trusted=True)).close()
    assert told == [None if layers else 0]


def test_what_cuda_says_before_it_ends_the_process_reaches_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    log = llama_cpp_library.prepare_library()
    for said in (b"error: no such tensor\n", b"CUDA error: out of memory\n"):
        log._keep(4, said, None)
    assert capfd.readouterr().err == "CUDA error: out of memory\n"
    assert log.last == "CUDA error: out of memory"
