"""llama.cpp's own server, built from the source that llama-cpp-python carries.

It is compiled with llama.cpp's own default options for this processor and on libraries of its own, not on those
that the project compiles for itself (which have its kernels in them): what somebody gets who builds llama.cpp as its
makers say. Only what no figure depends on is left out (the page in the browser, encrypted connections, tests), and on
processors with AMX its products in tiles, which end this version by a signal there.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

PACKAGE = "llama-cpp-python"
SOURCE = "vendor/llama.cpp"
WITHOUT_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
LEFT_OUT = ("LLAMA_BUILD_UI", "LLAMA_USE_PREBUILT_UI", "LLAMA_OPENSSL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES")


class NotBuilt(Exception):
    """A program of llama.cpp cannot be built or run here; the message names the cause."""


def build_server(folder: Path) -> Path:
    """Build the server unless it exists (15 minutes on two cores). Raises NotBuilt."""
    amx = has_amx()
    place = folder / f"llama-server-{version(PACKAGE)}{'-without-amx' if amx else ''}"
    program = place / "llama-server"
    if program.exists():
        return program
    cmake = shutil.which("cmake")
    if cmake is None:
        raise NotBuilt("there is no cmake to build llama.cpp with.")
    source = _fetch_source(folder)
    objects = folder / f"{place.name}.build"
    options = [
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON",
        *(f"-D{name}=OFF" for name in LEFT_OUT),
        *(f"-DCMAKE_{language}_FLAGS={WITHOUT_AMX}" for language in ("C", "CXX") if amx),
    ]
    if shutil.which("ninja"):
        options += ["-G", "Ninja"]
    _run_tool([cmake, "-S", str(source), "-B", str(objects), *options])
    _run_tool([cmake, "--build", str(objects), "--target", "llama-server", "--parallel", str(os.cpu_count() or 1)])
    (objects / "bin").rename(place)
    shutil.rmtree(objects)
    return program


def has_amx(information: Path = Path("/proc/cpuinfo")) -> bool:
    """Return True where Linux says that the processor has AMX."""
    return information.is_file() and " amx_tile" in information.read_text(encoding="utf-8", errors="replace")


def _fetch_source(folder: Path) -> Path:
    """llama.cpp's source of the installed version, unpacked in `folder`. Raises NotBuilt."""
    place = folder / f"llama-cpp-source-{version(PACKAGE)}"
    archive = folder / f"llama_cpp_python-{version(PACKAGE)}.tar.gz"
    if not (place / SOURCE).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        if not archive.exists():
            requirement = f"{PACKAGE}=={version(PACKAGE)}"
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
            _run_tool([*pip, "--dest", str(folder), requirement])
        partial = place.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        _unpack(archive, partial)
        partial.rename(place)
    return place / SOURCE


def _unpack(archive_path: Path, folder: Path) -> None:
    """llama.cpp's files one by one, without the archive's own folder: no links, nothing outside."""
    with tarfile.open(archive_path) as archive:
        for member in archive:
            _, _, inside = member.name.partition("/")
            content = archive.extractfile(member) if member.isfile() and inside.startswith(f"{SOURCE}/") else None
            if content is not None and ".." not in Path(inside).parts:
                path = folder / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def _run_tool(command: list[str]) -> None:
    """Run a program of the build to its end. Raises NotBuilt with its last words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotBuilt(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[-600:]}")
