"""Builds of llama.cpp for graphics cards: what compiling them wants is named before it, or installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cards
import pytest
import system
from messages import SetupError

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks on Linux only")


def _headers(folder: Path, version: tuple[int, int, int]) -> Path:
    include = folder / "include"
    (include / "vulkan").mkdir(parents=True)
    text = (
        "// Version of this file\n"
        f"#define VK_HEADER_VERSION {version[2]}\n\n"
        f"#define VK_HEADER_VERSION_COMPLETE VK_MAKE_API_VERSION(0, {version[0]}, {version[1]}, VK_HEADER_VERSION)\n"
    )
    (include / "vulkan" / "vulkan_core.h").write_text(text, encoding="ascii")
    (include / "vulkan" / "vulkan.hpp").touch()
    return include


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole SDK of the oldest version that does."""
    folder = tmp_path / "sdk"
    _headers(folder, cards.OLDEST_VULKAN)
    (folder / "bin").mkdir()
    (folder / "bin" / "glslc").touch()
    (folder / "share/cmake/SPIRV-Headers").mkdir(parents=True)
    (folder / "share/cmake/SPIRV-Headers/SPIRV-HeadersConfig.cmake").touch()
    monkeypatch.setattr(cards, "_SYSTEM", ())
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    monkeypatch.delenv("CMAKE_PREFIX_PATH", raising=False)
    monkeypatch.setenv("VULKAN_SDK", str(folder))
    return folder


@needs_linux
def test_what_is_there_is_enough(sdk: Path) -> None:
    assert cards.vulkan_version(sdk / "include") == cards.OLDEST_VULKAN
    cards.prepare("vulkan")
    cards.prepare("cpu")


@needs_linux
def test_older_headers_are_named_before_anything_is_compiled(
    sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The headers that CMake would take count, not those that are there too."""
    old, new = _headers(tmp_path / "old", (1, 3, 239)), sdk / "include"
    monkeypatch.setenv("CMAKE_ARGS", f"-DA=1 -DVulkan_INCLUDE_DIR:PATH={old}")
    with pytest.raises(SetupError) as caught:
        cards.prepare("vulkan")
    assert f"the Vulkan headers in {old} are version 1.3.239; llama.cpp needs 1.3.272 or newer" in str(caught.value)
    assert "CMAKE_ARGS=-DVulkan_INCLUDE_DIR=" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    monkeypatch.setenv("VULKAN_SDK", str(old.parent))
    shutil.copytree(sdk / "bin", old.parent / "bin")
    shutil.copytree(sdk / "share", old.parent / "share")
    monkeypatch.setenv("CMAKE_ARGS", f"-DVulkan_INCLUDE_DIR={new}")
    cards.prepare("vulkan")
    monkeypatch.delenv("CMAKE_ARGS")
    with pytest.raises(SetupError, match=r"are version 1\.3\.239"):
        cards.prepare("vulkan")
    monkeypatch.setenv("CMAKE_PREFIX_PATH", str(sdk))
    cards.prepare("vulkan")


@needs_linux
def test_a_named_folder_without_headers_is_named(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMAKE_ARGS", f"-DVulkan_INCLUDE_DIR={sdk}")
    with pytest.raises(SetupError, match=f"names {sdk} for the Vulkan headers"):
        cards.prepare("vulkan")


@needs_linux
def test_missing_packages_are_one_command(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(sdk)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "glslc" else f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError) as caught:
        cards.prepare("vulkan")
    assert "to compile llama.cpp for Vulkan" in str(caught.value)
    commands = [line for line in str(caught.value).splitlines() if line.startswith("    ")]
    assert len(commands) == 1
    assert "install -y --no-install-recommends libvulkan-dev glslc spirv-headers'" in commands[0]


@needs_linux
def test_root_gets_them_installed(sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    glslc = sdk / "bin" / "glslc"
    glslc.unlink()
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "glslc" else f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    installed: list[tuple[str, ...]] = []

    def install(packages: tuple[str, ...]) -> None:
        installed.append(packages)
        glslc.touch()

    monkeypatch.setattr(system, "_apt_install", install)
    cards.prepare("vulkan")
    assert installed == [("glslc",)]
    glslc.unlink()
    monkeypatch.setattr(system, "_apt_install", installed.append)
    with pytest.raises(SetupError, match="still not found: glslc"):
        cards.prepare("vulkan")


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole CUDA toolkit on the path, behind a script as distributions have one; no card, and no driver."""
    folder = tmp_path / "cuda-99.0"
    for place in ("bin", "include", "lib"):
        (folder / place).mkdir(parents=True)
    (folder / "include" / "cublas_v2.h").touch()
    (folder / "lib" / "libcublas.so").touch()
    compiler = folder / "bin" / "nvcc"
    told = [
        f"TOP={folder}",
        f'INCLUDES="-I{folder}/bin/../include"',
        f'LIBRARIES=  "-L{folder}/lib/stubs" "-L{folder}/lib"',
    ]
    lines = [f"echo '#$ {line}' >&2" for line in told]
    compiler.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    script = tmp_path / "bin" / "nvcc"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {compiler} "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)
    script.chmod(0o755)
    for name in ("CMAKE_ARGS", "CMAKE_PREFIX_PATH", "CUDACXX", "CUDA_PATH", "VULKAN_SDK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join((str(script.parent), os.environ["PATH"])))
    monkeypatch.setattr(cards, "_SYSTEM", ())
    monkeypatch.setattr(cards, "_DRIVER", "libno-driver-of-that-name.so.1")
    return folder


def _refused(*words: str) -> None:
    """CUDA is refused, in one sentence or two, with all these words in it."""
    with pytest.raises(SetupError) as caught:
        cards.prepare("cuda")
    assert [word for word in words if word not in str(caught.value)] == []
    assert len(str(caught.value).splitlines()) == 1


@needs_linux
def test_cuda_without_its_compiler_is_one_line(toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(toolkit / "lib"))
    monkeypatch.setattr(cards, "_TOOLKITS", (toolkit / "none",))
    _refused("nvcc, and it is not on the path", "Install the CUDA toolkit", "PATH=/usr/local/cuda/bin:$PATH")
    monkeypatch.setattr(cards, "_TOOLKITS", (toolkit / "none", toolkit))
    _refused("nvcc, and it is not on the path", f"PATH={toolkit}/bin:$PATH")
    monkeypatch.setenv("CUDA_PATH", str(toolkit))
    _refused("driver finds none")
    monkeypatch.setenv("CUDACXX", str(toolkit / "other"))
    _refused("nvcc, and it is not on the path")


@needs_linux
def test_cuda_without_cublas_is_one_line(toolkit: Path) -> None:
    """CMake says so too, behind twenty lines of others, and without what to do."""
    (toolkit / "include" / "cublas_v2.h").unlink()
    _refused("needs cuBLAS", f"{toolkit.parent}/bin/nvcc has no cublas_v2.h", "libcublas-dev")
    (toolkit / "lib" / "libcublas.so").unlink()
    _refused("needs cuBLAS", "has no libcublas.so")
    only = toolkit / "lib" / "libcublas.so.99"
    only.touch()
    _refused(f"there is only {only}", f"ln -s libcublas.so.99 {toolkit}/lib/libcublas.so")


@needs_linux
def test_cuda_without_a_card_wants_its_architecture_named(toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refused("driver finds none", "CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=90-real")
    cards.prepare("cuda", for_here=False)
    monkeypatch.setenv("CMAKE_ARGS", "-DCMAKE_CUDA_ARCHITECTURES=90-real")
    cards.prepare("cuda")
    monkeypatch.delenv("CMAKE_ARGS")
    monkeypatch.setattr(cards, "cuda_cards", lambda: ("9.0",))
    cards.prepare("cuda")


_A_DRIVER = """
int cuInit(unsigned flags) { return FAILS; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *card, int number) { *card = 40 + number; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int card) { *value = attribute == 75 ? card - 31 : 1; return 0; }
"""


@needs_linux
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_cards_are_those_that_the_driver_finds(toolkit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is linked where it is at hand, and else not, so that llama.cpp can be imported without one."""
    assert cards.cuda_cards() == ()
    assert cards.settings_for_here("cuda") == {"GGML_CUDA_NO_VMM": "ON"}
    assert cards.settings_for_here("cpu") == cards.settings_for_here("vulkan") == {}
    marks = {cards.mark("cuda")}
    for fails in (100, 0):
        library = tmp_path / f"libdriver-{fails}.so.1"
        command = ["cc", "-shared", "-fPIC", f"-DFAILS={fails}", "-x", "c", "-", "-o", str(library)]
        subprocess.run(command, input=_A_DRIVER, text=True, check=True)
        monkeypatch.setattr(cards, "_DRIVER", str(library))
        assert cards.cuda_cards() == (() if fails else ("9.1", "10.1"))
    marks.add(cards.mark("cuda"))
    assert cards.settings_for_here("cuda") == {"GGML_CUDA_NO_VMM": "ON"}, "nothing to link with"
    (toolkit / "lib" / "stubs").mkdir()
    (toolkit / "lib" / "stubs" / "libcuda.so").touch()
    assert cards.settings_for_here("cuda") == {}
    marks.add(cards.mark("cuda"))
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA_NO_VMM=OFF")
    assert cards.settings_for_here("cuda") == {}
    marks.add(cards.mark("cuda"))
    assert len(marks) == 4, "a wheel that was compiled otherwise must not be taken"
