"""How llama.cpp is compiled: what tells one build from another."""

import shutil
import subprocess
from pathlib import Path

import llama_build
import pytest

from engine.backends.llama_cpp.library import module_folder


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


needs_objdump = pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
AMX_FLAGS = ("-mamx-tile", "-mamx-int8")


@pytest.mark.soak
@needs_objdump
def test_no_library_that_was_compiled_here_has_amx() -> None:
    assert list(module_folder().glob("libggml-cpu*"))
    assert not llama_build.with_amx(module_folder())


@needs_objdump
def test_amx_is_seen_and_its_flags_are_taken_back(tmp_path: Path) -> None:
    source = tmp_path / "tile.c"
    source.write_text(
        "#ifdef __AMX_TILE__\n#include <immintrin.h>\nvoid tile(void) { _tile_zero(0); }\n#endif\n", encoding="utf-8"
    )

    def compiled(name: str, *flags: str) -> bool:
        made = [*flags, "-o", str(tmp_path / f"{name}.so"), str(source)]
        command = ["cc", "-O1", "-shared", "-fPIC", *AMX_FLAGS, *made]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    if not compiled("tile"):
        pytest.skip("this compiler knows no AMX")
    hook = Path(llama_build.settings()["CMAKE_PROJECT_ggml_INCLUDE"]).read_text(encoding="utf-8")
    taken_back = [flag for flag in ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16") if flag in hook]
    assert compiled("without", *taken_back)
    assert llama_build.with_amx(tmp_path) == ["tile.so"]
