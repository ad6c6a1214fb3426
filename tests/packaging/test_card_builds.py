"""Builds of llama.cpp for graphics cards: what compiling them wants is named before it, or installed."""

import os
import shutil
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


@needs_linux
def test_cuda_without_its_compiler_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CMAKE_ARGS", "CUDACXX", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="nvcc, and it is not found"):
        cards.prepare("cuda")
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\n", encoding="ascii")
    compiler.chmod(0o755)
    cards.prepare("cuda")
