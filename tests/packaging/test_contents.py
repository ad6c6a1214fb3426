"""What goes into the frozen program, its manifest, and the recipe of llama.cpp."""

import ast
import importlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import compile_llama
import contents
import manifest
import places
import pytest
from messages import SetupError

from engine import __version__
from engine.loading.open import BACKENDS

ROOT = Path(__file__).resolve().parents[2]


def imported_by_name() -> set[str]:
    """Every module that engine and app import by a name that stands there as text."""
    found = set()
    for path in [*ROOT.glob("engine/**/*.py"), *ROOT.glob("app/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_module(node.value):
                found.add(node.value)
    return found


def is_module(text: str) -> bool:
    if text == "rich.console":
        return True
    ours = text.startswith(("engine.", "app.")) and all(part.isidentifier() for part in text.split("."))
    return ours and (ROOT / text.replace(".", "/")).with_suffix(".py").is_file()


def test_what_is_imported_by_name_is_put_in() -> None:
    by_name = imported_by_name()
    assert {"engine.loading.trial_child", "engine.cli.convert_head", "engine.backends.llama_cpp.backend"} <= by_name
    assert by_name <= set(contents.hidden_imports())


def test_backends_and_resources_are_put_in() -> None:
    assert {"resources", *(module for module, _ in BACKENDS.values())} <= set(contents.hidden_imports())


def test_the_languages_of_code_are_put_in_and_no_others() -> None:
    put_in, left_out = set(contents.hidden_imports()), set(contents.unused_lexers())
    assert {"pygments.lexers.python", "pygments.lexers.c_cpp"} <= put_in
    assert {"pygments.lexers.lilypond", "pygments.lexers._scheme_builtins"} <= left_out
    assert not put_in & left_out
    assert not {"markdown_it", "pygments", "pygments.lexers._mapping"} & set(
        contents.excluded_modules("standard", window=True)
    )


def test_hidden_imports_exist() -> None:
    code = f"import importlib.util as u; print([n for n in {contents.hidden_imports()!r} if u.find_spec(n) is None])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_comes_without_qt() -> None:
    assert "PySide6" in contents.excluded_modules("standard", window=False)
    assert "PySide6" not in contents.excluded_modules("standard", window=True)
    assert "ssl" not in contents.excluded_modules("full", window=True)


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {absent!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from {module} import main
sys.exit(main({arguments!r}))
"""


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("app.__main__", ["--smoke-test"]),
        ("engine.__main__", ["generate", "--max-tokens", "4", "Hello"]),
        ("engine.__main__", ["models", "resources/models"]),
    ],
)
def test_works_without_what_is_left_out(module: str, arguments: list[str]) -> None:
    absent = contents.excluded_modules("standard", window=module.startswith("app"))
    code = WITHOUT.format(absent=absent, module=module, arguments=arguments)
    command = [sys.executable, "-c", code]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert (done.returncode, done.stderr if module.startswith("app") else "") == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ("PySide6/QtCore.abi3.so", True),
        ("PySide6/QtNetwork.abi3.so", False),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/plugins/platforms/libqvnc.so", False),
        ("PySide6/Qt/plugins/platformthemes/libqgtk3.so", False),
        ("PySide6\\plugins\\platforms\\qwindows.dll", True),
        ("libX11.so.6", False),
        ("libstdc++.so.6", False),
        ("libgomp.so.1", True),
        ("libxcb-cursor.so.0", True),
        ("llama_cpp/lib/libggml-cpu-zen4.so", True),
        ("llama_cpp/lib/liboutrider_chat.so", True),
        ("libcuda.so.1", False),
        ("torch/lib/libtorch_cpu.so", True),
        ("torch/bin/torch_shm_manager", True),
        ("torch/bin/test_jit", False),
        ("torch/test/atest", False),
    ],
)
def test_libraries(place: str, kept: bool) -> None:
    assert contents.keeps_library(place, "linux") is kept


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ("qtawesome/fonts/phosphor-1.3.0.ttf", True),
        ("qtawesome/fonts/remixicon-2.5.0.ttf", False),
        ("fontpkg_inter/files/Inter[opsz,wght].ttf", True),
        ("PySide6/Qt/translations/qtbase_de.qm", True),
        ("PySide6\\translations\\qtbase_de.qm", True),
        ("PySide6/Qt/translations/qtbase_fr.qm", False),
        ("PySide6/Qt/translations/designer_de.qm", False),
        ("resources/translations/outrider_de.qm", True),
        ("resources/translations/outrider_de.ts", False),
        ("resources/styles/window.qss", True),
        ("resources/heads/demo-medusa/config.json", True),
        ("resources/heads/demo-medusa/medusa_lm_head.safetensors", True),
        ("engine/sampling_rules.def", True),
        ("llama_cpp_python-0.3.36.dist-info/METADATA", True),
        ("llama_cpp_python-0.3.36.dist-info/RECORD", False),
    ],
)
def test_data(place: str, kept: bool) -> None:
    assert contents.keeps_data(place) is kept


def test_libraries_that_nothing_loads_stay_out() -> None:
    # This Python's own: an extension, what it is linked with, and a library that has nothing to do with either.
    found = Path(str(importlib.import_module("numpy._core._multiarray_umath").__file__))
    linked = sorted(found.parents[2].glob("numpy.libs/lib*openblas*.so"))
    stranger = next(Path(p) for p in sys.path if "lib-dynload" in p) if sys.platform == "linux" else None
    if not linked or stranger is None:
        pytest.skip("numpy brings no library of its own here")
    lonely = next(stranger.glob("*.so"))
    libraries = {"numpy/_core/x.cpython-311.so": found, linked[0].name: linked[0], "liblonely.so.1": lonely}
    assert contents.needed_libraries(libraries, "linux") == set(libraries) - {"liblonely.so.1"}
    assert contents.needed_libraries(libraries, "win32") == set(libraries)


def test_manifest(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"abc")
    make = partial(manifest.make_manifest, version=__version__, flavour="standard", commit="c")
    libraries = [("numpy/x.so", file), ("PySide6/QtCore.abi3.so", file)]
    made = make([("data\\a.txt", file)], libraries)
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert made["files"] == {"data/a.txt": [3, digest], "numpy/x.so": [3, None], "PySide6/QtCore.abi3.so": None}
    assert json.loads(json.dumps(made)) == made
    assert set(make([], libraries, signed=True)["files"].values()) == {None}


def test_version_is_the_engines() -> None:
    assert places.version() == __version__


def test_dates_are_the_commits_or_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert places.epoch() > 1_700_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12345")
    assert places.epoch() == 12345


def test_llama_cpp_for_all_machines() -> None:
    settings = compile_llama.SETTINGS
    assert settings["GGML_NATIVE"] == "OFF"
    assert settings["GGML_BACKEND_DL"] == settings["GGML_CPU_ALL_VARIANTS"] == "ON"


def test_unknown_kind_of_llama_cpp_is_one_sentence() -> None:
    with pytest.raises(SetupError, match="Choose one of cpu, vulkan, cuda, metal"):
        compile_llama.compile_llama(Path(sys.executable), "abacus")


def test_no_path_of_the_machine_and_no_commit_of_ours_in_llama_cpp(tmp_path: Path) -> None:
    environment = compile_llama._environment(tmp_path)
    assert environment["GIT_CEILING_DIRECTORIES"] == str(places.WORK)
    if sys.platform != "win32":
        assert f"-ffile-prefix-map={tmp_path}=llama_cpp_python" in environment["CXXFLAGS"]
