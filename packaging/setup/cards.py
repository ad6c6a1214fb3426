"""What compiling llama.cpp for graphics cards wants: looked for before the long compilation, named in a sentence."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import system
from messages import SetupError

OLDEST_VULKAN = (1, 3, 272)
"""The first Vulkan headers with all names that llama.cpp uses (layer settings came last)."""
_SYSTEM = (Path("/usr/local"), Path("/usr"))


def prepare(kind: str) -> None:
    """Install what is missing for this kind of llama.cpp, one of llama_build.KINDS, where we may.

    Raises SetupError, with what to do, where it cannot be compiled here. Looks on Linux only: elsewhere CMake finds the
    makers' SDKs.
    """
    if sys.platform != "linux":
        return
    if kind == "vulkan":
        _prepare_vulkan()
    elif kind == "cuda" and not _has_cuda():
        raise SetupError(
            "llama.cpp for CUDA needs NVIDIA's compiler, nvcc, and it is not found. Install the CUDA toolkit, put nvcc "
            "on the path (PATH=/usr/local/cuda/bin:$PATH), then start again."
        )


def vulkan_version(include: Path) -> tuple[int, ...] | None:
    """The version of the Vulkan headers in a folder of headers, as (1, 3, 272); None where there are none for C++."""
    try:
        text = (include / "vulkan" / "vulkan_core.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    if not (include / "vulkan" / "vulkan.hpp").is_file():
        return None
    last = re.search(r"^#define VK_HEADER_VERSION (\d+)", text, re.MULTILINE)
    first = re.search(
        r"^#define VK_HEADER_VERSION_COMPLETE VK_MAKE_API_VERSION\(0, *(\d+), *(\d+),", text, re.MULTILINE
    )
    return (int(first[1]), int(first[2]), int(last[1])) if first and last else None


def _prepare_vulkan() -> None:
    named = _given("Vulkan_INCLUDE_DIR")
    if named and not vulkan_version(Path(named)):
        raise SetupError(f"CMAKE_ARGS names {named} for the Vulkan headers, and there is no vulkan/vulkan.hpp in it.")
    missing = _missing_for_vulkan()
    if missing:
        system.install(missing, "to compile llama.cpp for Vulkan")
        missing = _missing_for_vulkan()
        if missing:
            raise SetupError(f"installed, but still not found: {' '.join(missing)}.")
    include, found = _vulkan_headers()
    if found < OLDEST_VULKAN:
        raise SetupError(
            f"the Vulkan headers in {include} are version {_words(found)}; llama.cpp needs {_words(OLDEST_VULKAN)} or "
            "newer. Debian 12 has older ones. Unpack newer ones (Debian 13's libvulkan-dev, or Vulkan-Headers of "
            "github.com/KhronosGroup) and start again with their folder named, which has vulkan/vulkan.hpp in it: "
            "CMAKE_ARGS=-DVulkan_INCLUDE_DIR=/where/they/are/include"
        )


def _missing_for_vulkan() -> tuple[str, ...]:
    """The Debian packages of what is not there."""
    sdk = os.environ.get("VULKAN_SDK", "")
    here = {
        "libvulkan-dev": bool(_vulkan_headers()[1]) and (bool(sdk) or system.loads("libvulkan.so")),
        "glslc": bool(shutil.which("glslc") or _given("Vulkan_GLSLC_EXECUTABLE") or (sdk and _is_in(sdk, "bin/glslc"))),
        "spirv-headers": bool(_given("SPIRV-Headers_DIR"))
        or any(_is_in(place, "*/cmake/SPIRV-Headers/*Config.cmake") for place in _prefixes())
        or any(_is_in(place, "*/*/cmake/SPIRV-Headers/*Config.cmake") for place in _prefixes()),
    }
    return tuple(package for package, found in here.items() if not found)


def _vulkan_headers() -> tuple[Path, tuple[int, ...]]:
    """The folder that CMake will take, and the version of what is in there; () where there is none."""
    given = _given("Vulkan_INCLUDE_DIR")
    for include in [Path(given)] if given else [place / "include" for place in _prefixes()]:
        found = vulkan_version(include)
        if found:
            return include, found
    return Path(given or "/usr/include"), ()


def _prefixes() -> list[Path]:
    """Where CMake looks, in its order."""
    told = [*_given("CMAKE_PREFIX_PATH").split(";"), *os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep)]
    return [*map(Path, filter(None, [*told, os.environ.get("VULKAN_SDK", "")])), *_SYSTEM]


def _given(name: str) -> str:
    """The value of a setting of CMake's that the caller gave in CMAKE_ARGS; "" without."""
    try:
        words: Iterable[str] = shlex.split(os.environ.get("CMAKE_ARGS", ""))
    except ValueError:
        return ""
    found = [re.fullmatch(rf"-D{re.escape(name)}(?::\w+)?=(.*)", word) for word in words]
    return next((one[1] for one in reversed(found) if one), "")


def _is_in(place: str | Path, pattern: str) -> bool:
    return any(Path(place).glob(pattern))


def _has_cuda() -> bool:
    named = _given("CMAKE_CUDA_COMPILER") or os.environ.get("CUDACXX", "")
    if named:
        return shutil.which(named) is not None
    toolkit = os.environ.get("CUDA_PATH", "")
    return shutil.which("nvcc") is not None or (bool(toolkit) and _is_in(toolkit, "bin/nvcc"))


def _words(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
