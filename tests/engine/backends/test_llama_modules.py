"""Which of llama.cpp's processor modules are loaded, and from where."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_cpp")

from engine.backends.llama_cpp import library as llama_cpp_library
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
