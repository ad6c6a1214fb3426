"""Check the requirements of a llama.cpp for graphics cards before the long compilation, named in a sentence."""

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import system
from messages import SetupError

OLDEST_VULKAN = (1, 3, 272)
"""The first Vulkan headers with all names that llama.cpp uses (layer settings came last)."""
_SYSTEM = (Path("/usr/local"), Path("/usr"))
_TOOLKITS = (Path("/usr/local/cuda"), Path("/opt/cuda"))
_DRIVER = "libcuda.so.1"
_MAJOR, _MINOR = 75, 76
"""Numbers of two attributes of a card in cuda.h: of its compute capability."""


def prepare(kind: str, *, for_here: bool = True) -> None:
    """Install the missing tools for this kind of llama.cpp, one of llama_build.KINDS, where permitted.

    `for_here`: it is compiled for the card of this machine, not for all. Raises SetupError, with what to do, where it
    cannot be compiled here. Looks on Linux only: elsewhere CMake finds the makers' SDKs.
    """
    if sys.platform != "linux":
        return
    if kind == "vulkan":
        _prepare_vulkan()
    elif kind == "cuda":
        _check_cuda(for_here=for_here)


def settings_for_here(kind: str) -> dict[str, str]:
    """Return CMake's settings beyond llama_build.settings that depend on this machine."""
    if kind != "cuda" or sys.platform != "linux" or _given("GGML_CUDA_NO_VMM"):
        return {}
    # Linked with NVIDIA's driver, llama.cpp could not even be imported without it.
    return {} if system.loads(_DRIVER) and _has_driver_to_link() else {"GGML_CUDA_NO_VMM": "ON"}


def mark(kind: str) -> str:
    """Hash the settings of this machine that change the build of llama.cpp; "" if none does."""
    told = os.environ.get("CMAKE_ARGS", "")
    if kind == "cuda":
        told = repr((told, settings_for_here(kind), cuda_cards()))
    return hashlib.sha256(told.encode()).hexdigest()[:8] if told else ""


def vulkan_version(include: Path) -> tuple[int, ...] | None:
    """The version of the Vulkan headers in a folder of headers, as (1, 3, 272); None if there are none for C++."""
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
    """List the Debian packages that a Vulkan build lacks."""
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
    """Find CMake's include folder of Vulkan, and its version; () if there is none."""
    given = _given("Vulkan_INCLUDE_DIR")
    for include in [Path(given)] if given else [place / "include" for place in _prefixes()]:
        found = vulkan_version(include)
        if found:
            return include, found
    return Path(given or "/usr/include"), ()


def _prefixes() -> list[Path]:
    """List CMake's search folders, in its order."""
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


def cuda_cards() -> tuple[str, ...]:
    """The compute capability of each card that NVIDIA's driver finds, as "9.0"; none without the driver."""
    try:
        driver = ctypes.CDLL(_DRIVER)
        count = ctypes.c_int()
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
            return ()
        return tuple(
            f"{_attribute(driver, _MAJOR, card)}.{_attribute(driver, _MINOR, card)}" for card in range(count.value)
        )
    except (OSError, AttributeError):
        return ()


def _attribute(driver: ctypes.CDLL, attribute: int, number: int) -> int:
    card, value = ctypes.c_int(), ctypes.c_int()
    failed = driver.cuDeviceGet(ctypes.byref(card), number)
    failed = failed or driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, card)
    return 0 if failed else value.value


def _check_cuda(*, for_here: bool) -> None:
    compiler = _cuda_compiler()
    if compiler is None:
        place = next((each / "bin" for each in _TOOLKITS if (each / "bin" / "nvcc").is_file()), None)
        lacks = "llama.cpp for CUDA needs NVIDIA's compiler, nvcc, and it is not on the path. "
        start = f"start again with PATH={place or '/usr/local/cuda/bin'}:$PATH"
        raise SetupError(lacks + (f"It is in {place}: {start}" if place else f"Install the CUDA toolkit, then {start}"))
    headers, libraries = _cuda_folders(compiler)
    if not any((each / "libcublas.so").is_file() for each in libraries):
        versioned = next((file for each in libraries for file in sorted(each.glob("libcublas.so.*"))), None)
        if versioned is not None:
            raise SetupError(
                f"llama.cpp for CUDA links with libcublas.so, and there is only {versioned}, as in NVIDIA's packages "
                f"for pip. Type this, then start again: ln -s {versioned.name} {versioned.with_name('libcublas.so')}"
            )
        raise _without_cublas(compiler, "libcublas.so")
    if not any((each / "cublas_v2.h").is_file() for each in headers):
        raise _without_cublas(compiler, "cublas_v2.h")
    named = _given("CMAKE_CUDA_ARCHITECTURES") or _given("GGML_NATIVE").upper() in ("OFF", "0", "NO", "FALSE")
    if for_here and not named and not cuda_cards():
        raise SetupError(
            "llama.cpp is compiled for the card that is here, and NVIDIA's driver finds none. Install the driver, or "
            "start again with the card's architecture named, as 90 for an H100: "
            "CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=90-real"
        )


def _without_cublas(compiler: str, missing: str) -> SetupError:
    return SetupError(
        f"llama.cpp for CUDA needs cuBLAS, and the CUDA toolkit of {compiler} has no {missing}. Install the whole "
        "toolkit, or cuBLAS of the same version (libcublas-dev), then start again."
    )


def _cuda_compiler() -> str | None:
    """nvcc, as CMake will find it; None if it will not."""
    named = _given("CMAKE_CUDA_COMPILER") or os.environ.get("CUDACXX", "")
    if named:
        return shutil.which(named)
    toolkit = os.environ.get("CUDA_PATH", "")
    return shutil.which("nvcc") or (shutil.which(str(Path(toolkit, "bin", "nvcc"))) if toolkit else None)


def _cuda_folders(compiler: str) -> tuple[list[Path], list[Path]]:
    """Return the compiler's search folders of headers, and of libraries."""
    command = [compiler, "--dryrun", "-x", "cu", os.devnull, "-c", "-o", os.devnull]
    try:
        # It may be a script that calls the one in the toolkit, so it is asked.
        told = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stderr
    except OSError:
        told = ""
    found: dict[str, list[Path]] = {}
    for name, option in (("INCLUDES", "-I"), ("LIBRARIES", "-L")):
        line = re.search(rf"^#\$ {name}=(.*)$", told, re.MULTILINE)
        words = shlex.split(line[1]) if line else []
        found[name] = [Path(os.path.realpath(word[2:])) for word in words if word.startswith(option)]
    prefixes = _prefixes()
    headers = [*found["INCLUDES"], *(each / "include" for each in prefixes)]
    libraries = [each / name for each in prefixes for name in ("lib64", "lib", f"lib/{os.uname().machine}-linux-gnu")]
    return headers, [*found["LIBRARIES"], *libraries]


def _has_driver_to_link() -> bool:
    compiler = _cuda_compiler()
    folders = [] if compiler is None else _cuda_folders(compiler)[1]
    return any(Path(each, name).is_file() for each in folders for name in ("libcuda.so", "stubs/libcuda.so"))


def _words(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
