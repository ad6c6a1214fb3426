"""How llama.cpp is compiled: what tells one build from another."""

from pathlib import Path

import llama_build
import pytest


def test_the_kernels_are_named_in_the_settings() -> None:
    hook = Path(llama_build.settings()["CMAKE_PROJECT_ggml_INCLUDE"])
    assert hook.is_file()
    told = hook.read_text(encoding="utf-8") + (llama_build.DOOR / "door.cmake").read_text(encoding="utf-8")
    compiled = [path.name for path in llama_build.kernel_files() if path.suffix == ".cpp"]
    assert compiled
    assert all(name in told for name in compiled)


def test_a_changed_kernel_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in llama_build.kernel_files():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = llama_build.digest()
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(llama_build, "KERNELS", tmp_path)
    monkeypatch.setattr(llama_build, "DOOR", tmp_path / "empty")
    assert llama_build.digest() == before, "the folder must not count"
    monkeypatch.setattr(llama_build, "RULES", tmp_path / llama_build.RULES.name)
    assert llama_build.digest() == before
    for kernel in (next(tmp_path.glob("*.cpp")), llama_build.RULES):
        kernel.write_bytes(kernel.read_bytes() + b"\n")
        assert llama_build.digest() != before
        before = llama_build.digest()


def test_the_door_to_the_parsers_is_built_with_the_kernels() -> None:
    hook = Path(llama_build.settings()["CMAKE_PROJECT_ggml_INCLUDE"])
    assert "../../../chat/door/door.cmake" in hook.read_text(encoding="utf-8")
    assert {path.name for path in llama_build.kernel_files()} >= {"door.cpp", "door.cmake"}
