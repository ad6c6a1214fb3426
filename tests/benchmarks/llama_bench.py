"""llama.cpp's own benchmark, built from the source that llama-cpp-python carries, on the library that is installed.

Only the benchmark itself is compiled (under a minute). It is linked with the very libraries that the installed package
loads, so that both sides run the same kernels, compiled with the same options.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "llama-cpp-python"
LIBRARIES = ("llama", "llama-common", "ggml", "ggml-base", "ggml-cpu")
SOURCE = "vendor/llama.cpp"
NEEDED = ("tools/llama-bench/", "common/", "include/", "ggml/include/", "vendor/")


class NotBuilt(Exception):
    """llama.cpp's benchmark cannot be built here; the message says why."""


def library_folders() -> list[Path]:
    """Where the installed package keeps the libraries that it loads, and the one that only the tools use."""
    spec = find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        raise NotBuilt(f"{PACKAGE} is not installed.")
    package = Path(spec.origin).parent
    return [package / "lib", package.parent / "lib"]


def build(folder: Path) -> Path:
    """The benchmark's program, compiled if it is not there yet. Raises NotBuilt."""
    program = folder / f"llama-bench-{version(PACKAGE)}"
    if program.exists():
        return program
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise NotBuilt("there is no C++ compiler.")
    source = fetch_source(folder, NEEDED, f"llama_cpp_python-{version(PACKAGE)}")
    includes = [f"-I{source / part}" for part in ("common", "include", "ggml/include", "vendor", "tools/llama-bench")]
    files = [str(path) for path in sorted((source / "tools" / "llama-bench").glob("*.cpp"))]
    libraries = [str(_library(name)) for name in LIBRARIES]
    partial = program.with_suffix(".partial")
    run_tool([compiler, "-std=c++17", "-O3", "-DNDEBUG", *includes, *files, *libraries, "-pthread", "-o", str(partial)])
    partial.replace(program)
    return program


def tokens_per_second(program: Path, model: Path, tokens: int, threads: int) -> float:
    """Tokens/s of generating `tokens` one after the other from an empty context, once."""
    environment = os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(map(str, library_folders()))}
    command = [
        str(program),
        "-m",
        str(model),
        "-p",
        "0",
        "-n",
        str(tokens),
        "-t",
        str(threads),
        "-r",
        "1",
        "-o",
        "json",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotBuilt(f"llama-bench ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    (result,) = json.loads(done.stdout)
    return float(result["avg_ts"])


def _library(name: str) -> Path:
    for folder in library_folders():
        for ending in (".so", ".dylib"):
            path = folder / f"lib{name}{ending}"
            if path.exists():
                return path
    raise NotBuilt(f"the installed package has no lib{name}.")


def fetch_source(folder: Path, needed: tuple[str, ...], name: str) -> Path:
    """llama.cpp's source of the installed version: what begins with one of `needed`, unpacked at `name` in `folder`.

    Raises NotBuilt.
    """
    place = folder / name
    archive = folder / f"llama_cpp_python-{version(PACKAGE)}.tar.gz"
    if not (place / SOURCE).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        if not archive.exists():
            requirement = f"{PACKAGE}=={version(PACKAGE)}"
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
            run_tool([*pip, "--dest", str(folder), requirement])
        partial = folder / f"{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        _unpack(archive, partial, needed)
        partial.rename(place)
    return place / SOURCE


def _unpack(archive_path: Path, folder: Path, needed: tuple[str, ...]) -> None:
    """The files that are needed, one by one, without the archive's own folder: no links, nothing outside."""
    wanted = tuple(f"{SOURCE}/{part}" for part in needed)
    with tarfile.open(archive_path) as archive:
        for member in archive:
            _, _, inside = member.name.partition("/")
            content = archive.extractfile(member) if member.isfile() and inside.startswith(wanted) else None
            if content is not None and ".." not in Path(inside).parts:
                path = folder / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def run_tool(command: list[str]) -> None:
    """Run a program of the build to its end. Raises NotBuilt with its last words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotBuilt(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[-600:]}")
