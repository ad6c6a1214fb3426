"""Contents of the frozen program, and exclusions: the decisions behind packaging/outrider.spec."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages

from linux_packages.needs import read_files

import engine
from app.state.markdown.code_colors import LEXER_MODULES
from app.system.translation import LANGUAGES

# Never imported by the program, but named somewhere in what it imports.
_EXCLUDED = (
    *("IPython", "PyInstaller", "PyQt5", "PyQt6", "PySide2", "cyclonedx", "hatchling", "matplotlib", "OpenGL"),
    *("altgraph", "cupy", "h5py", "idlelib", "lib2to3", "llama_cpp.server", "numba", "pip", "pytest", "scipy"),
    *("setuptools", "pkg_resources", "tkinter", "turtledemo", "numpy.f2py", "numpy.distutils", "numpy.testing"),
    *("pyqtgraph.canvas", "pyqtgraph.console", "pyqtgraph.examples", "pyqtgraph.flowchart", "pyqtgraph.jupyter"),
    *("pyqtgraph.opengl", "test"),
    # Of Pygments the languages of LEXER_MODULES are enough.
    *("pygments.cmdline", "pygments.formatters", "pygments.sphinxext", "pygments.styles"),
)
WITH_FONTS = ("fontpkg_inter", "ziamath", "ziafont", "latex2mathml")
"""Their fonts and tables of symbols are read from beside their code."""
_EXCLUDED_ENGINE = (
    *("PySide6", "app", "markdown_it", "merm", "pygments", "pyqtgraph", "qasync", "qtawesome", "qtpy", "shiboken6"),
    *WITH_FONTS,
)
"""The command line does without the window."""
# Nothing in the standard flavour opens a terminal. The local server speaks no TLS, but what it is made of imports it.
_EXCLUDED_STANDARD = ("bz2", "curses", "doctest", "ensurepip", "readline", "xmlrpc")
_QT_MODULES = ("Core", "DBus", "Gui", "OpenGL", "OpenGLWidgets", "Svg", "Test", "Widgets")
_QT_PLUGINS = {
    "generic": (),
    "iconengines": ("*svgicon*",),
    "imageformats": ("*svg*", "*ico*", "*icns*", "*jpeg*"),
    "platforminputcontexts": ("*compose*", "*ibus*"),
    "platforms": ("*xcb*", "*wayland*", "*offscreen*", "*minimal.*", "*windows*", "*cocoa*"),
    "platformthemes": ("*xdgdesktopportal*",),
    "styles": ("*",),
    "wayland-decoration-client": ("*",),
    "wayland-graphics-integration-client": ("*",),
    "wayland-shell-integration": ("*xdg-shell*",),
}
_FONT_SET = "phosphor-"

# Libraries that a Linux system with a desktop has, in the version that fits its other parts. A package manager
# brings what is missing (see deb.py); the portable archive names them.
_FROM_SYSTEM = (
    *("libc.so*", "libm.so*", "libdl.so*", "libpthread.so*", "librt.so*", "libutil.so*"),
    *("libstdc++.so*", "libgcc_s.so*"),
    *("libX*", "libxcb.so*", "libxcb-glx*", "libxcb-dri*", "libxcb-present*", "libxcb-render.so*", "libxcb-shm*"),
    *("libxcb-sync*", "libxcb-xfixes*", "libxcb-shape*", "libxcb-randr*", "libxcb-xkb*", "libxcb-xinput*"),
    *("libEGL*", "libGL*", "libdrm*", "libgbm*", "libwayland-*", "libxkbcommon*", "libdbus-1*", "libsystemd*"),
    *("libfontconfig*", "libfreetype*", "libexpat*", "libglib-2*", "libgthread-2*", "libpcre*", "libpng*", "libz.so*"),
    *("libbrotli*", "libuuid*", "libcap.so*", "libgcrypt*", "libgpg-error*", "liblz4*", "libzstd*"),
    *("libbsd*", "libmd.so*"),
    # The driver of a graphics card is its maker's business.
    *("libcuda.so*", "libvulkan.so*"),
)


_BY_NAME = (
    *("resources", "pip._internal.models.index", "app.state.conversations.other_programs.child"),
    *("app.system.drawing_child", "ziafont.fonts", "ziamath.fonts", "llama_cpp.mtmd_cpp", "rich.console"),
    # What uvicorn, anyio and the constraints import by name.
    *("anyio._backends._asyncio", "uvicorn.lifespan.on", "uvicorn.protocols.http.h11_impl"),
    *("llguidance", "llguidance.gbnf_to_lark"),
)
"""`resources` holds no code, but is found as a package. Of pip there is the one that says which index it asks."""


def hidden_imports() -> list[str]:
    """List modules imported by name alone: all of the engine, which imports its parts when they are first needed."""
    home = Path(str(engine.__file__)).parent
    found = (path.relative_to(home.parent).with_suffix("").parts for path in home.rglob("*.py"))
    ours = {".".join(parts).removesuffix(".__init__") for parts in found if parts[-1] != "__main__"}
    return sorted({*_BY_NAME, *ours, *_modules_of("merm"), *LEXER_MODULES})


def _modules_of(package: str) -> list[str]:
    """Modules of a package that draws in a child, which imports all of them at once."""
    found = walk_packages(import_module(package).__path__, f"{package}.")
    return [package, *(module.name for module in found if not module.name.endswith((".cli", "__main__")))]


def unused_lexers() -> list[str]:
    """List Pygments' modules except the lexers of the window and their imports."""
    for name in LEXER_MODULES:
        import_module(name)
    folder = import_module("pygments.lexers").__path__
    names = (f"pygments.lexers.{module.name}" for module in iter_modules(folder))
    return sorted(name for name in names if name not in sys.modules and not name.endswith("._mapping"))


def excluded_modules(flavour: str, *, window: bool) -> list[str]:
    """Modules that must not be followed from the window's entry point, or from that of the command line."""
    more = _EXCLUDED_STANDARD if flavour == "standard" else ()
    return sorted({*_EXCLUDED, *more, *unused_lexers(), *(() if window else _EXCLUDED_ENGINE)})


def keeps_library(place: str, system: str) -> bool:
    """True if a library or extension belongs into the program. `place`: its path there; `system`: sys.platform."""
    path = place.replace("\\", "/")
    if _is_a_test_of_torch(path):
        return False
    name = path.rpartition("/")[2]
    if "/plugins/" in path and path.startswith("PySide6/"):
        return _keeps_plugin(path)
    if (
        path.startswith("PySide6/")
        and name.startswith(("Qt", "PySide6.Qt"))
        and name.endswith((".so", ".pyd", ".abi3.so"))
    ):
        return name.split(".")[0].removeprefix("Qt") in _QT_MODULES
    if "/" not in path and system == "linux":
        return not any(fnmatch(name, pattern) for pattern in _FROM_SYSTEM)
    return True


def _keeps_plugin(path: str) -> bool:
    found = re.search(r"/plugins/([^/]+)/(.+)$", path)
    return found is not None and any(fnmatch(found[2], pattern) for pattern in _QT_PLUGINS.get(found[1], ()))


def _is_a_test_of_torch(path: str) -> bool:
    """Test for the wheel's 130 MB of test programs, except the one that torch checks for at import."""
    return path.startswith(("torch/bin/", "torch/test/")) and "torch_shm_manager" not in path


def keeps_data(place: str) -> bool:
    """True if a data file belongs into the program."""
    path = place.replace("\\", "/")
    if _is_a_test_of_torch(path):
        return False
    if path.startswith("qtawesome/fonts/"):
        return path.startswith(f"qtawesome/fonts/{_FONT_SET}")
    if path.startswith("PySide6/") and "/translations/" in path:
        # The words of Qt's own buttons and menus, in the languages of the program.
        return path.endswith(tuple(f"/qtbase_{language}.qm" for language in LANGUAGES))
    if path.startswith(("PySide6/", "resources/")) and path.endswith((".qml", ".pyi", ".ts")):
        return False
    if ".dist-info/" in path:
        # The rest tells how it was installed here: from which folder, with which hashes.
        return path.endswith("/METADATA")
    # The engine reads its own stubs: they list what its doors offer.
    return path.startswith("engine/") or not path.endswith((".pyi", ".h", ".a", ".lib", "/py.typed", ".cmake"))


def needed_libraries(libraries: Mapping[str, Path], system: str) -> set[str]:
    """Select the libraries that Python or Qt loads by name, and their dependencies.

    `libraries`: path in the program → source. What only a plugin that stays out was linked with stays out too.
    """
    if system != "linux":
        return set(libraries)
    found = {library.path: library for library in read_files(sorted(set(libraries.values())))}
    by_name: dict[str, list[str]] = {}
    for place in libraries:
        by_name.setdefault(place.rpartition("/")[2], []).append(place)
    kept: set[str] = set()
    waiting = [place for place in libraries if _is_loaded_by_name(place)]
    while waiting:
        place = waiting.pop()
        if place in kept:
            continue
        kept.add(place)
        for name in found[libraries[place]].needed:
            waiting += by_name.get(name, ())
    return kept


def _is_loaded_by_name(place: str) -> bool:
    """Test for a library outside the folders of linked libraries; a package may load any file of its folder."""
    name = place.rpartition("/")[2]
    if place.startswith("llama_cpp/lib/"):
        return not name.startswith("libllama-common")
    return ("/" in place and not place.startswith("PySide6/Qt/lib/")) or name.startswith("libpython")


def without_symbols(libraries: Mapping[str, Path], scratch: Path) -> dict[str, Path]:
    """Strip debug symbols from Python's own libraries; others have none, or break without them."""
    strip = shutil.which("strip") if sys.platform == "linux" else None
    if strip is None:
        return dict(libraries)
    stripped = {}
    for place, source in libraries.items():
        stripped[place] = source
        if source.resolve().is_relative_to(Path(sys.base_prefix).resolve() / "lib"):
            stripped[place] = scratch / place
            stripped[place].parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([strip, "--strip-unneeded", "-o", str(stripped[place]), str(source)], check=True)
    return stripped
