"""The wheel: everything that runs is in it, nothing else, and it works away from the sources."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from helpers.documents import EXAMPLES
from helpers.paths import ROOT

OF_A_USER = "raise ImportError('this is another program')"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from these sources."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("outrider-*.whl")
    return built


def test_content(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"outrider"}
    for package, place in {"engine": "outrider", "app": "outrider/app", "resources": "outrider/resources"}.items():
        folder = ROOT / package
        files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert {f"{place}/{path.relative_to(folder).as_posix()}" for path in files} <= set(names)
    models = [name for name in names if name.startswith("outrider/resources/models/") and name.endswith(".gguf")]
    assert len(models) == 2
    assert "outrider/resources/starter_prompts.json" in names
    assert "outrider/resources/heads/demo-medusa/medusa_lm_head.safetensors" in names


def test_no_module_imports_by_the_names_of_the_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith(".py"):
                continue
            for node in ast.walk(ast.parse(archive.read(name))):
                if isinstance(node, ast.Import):
                    found = [each.name for each in node.names]
                elif isinstance(node, ast.ImportFrom):
                    found = [node.module or ""]
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found = re.findall(
                        r"^(?:engine|app|resources)\.[a-z_.]+(?=:|$)|(?<=from )(?:engine|app)\b", node.value
                    )
                else:
                    continue
                assert not {each.split(".")[0] for each in found} & {"engine", "app", "resources"}, (name, found)


def test_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folder = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        entry_points = archive.read(f"{folder}/entry_points.txt").decode()
        licence = archive.read(f"{folder}/licenses/LICENSE").decode()
    assert metadata["Name"] == "outrider"
    assert metadata["Requires-Python"] == "<3.14,>=3.11"
    assert set(metadata.get_all("Provides-Extra") or ()) == {
        "app",
        "dev",
        "documents",
        "installer",
        "keyring",
        "plot",
        "server",
        "sound",
        "tools",
        "torch",
    }
    assert "outrider = outrider.app.__main__:main" in entry_points
    assert "outrider-engine = outrider.__main__:main" in entry_points
    always = [line for line in metadata.get_all("Requires-Dist") or () if "extra ==" not in line]
    assert not any(re.match(r"(?i)(pyside|pyqt|qasync|qtawesome|markdown)", line) for line in always), always
    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")


QT = re.compile(r"(?i)(pyside6|shiboken6|pyqtgraph|qasync|qtawesome|qtpy)")
OURS = re.compile(r"(?i)(__editable__.*|_?outrider.*|.*\\.pth|pip([-_].*)?)")


@pytest.fixture(scope="module")
def user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user: the wheel is installed in `env`, without Qt, and modules have our folders' names."""
    folder = tmp_path_factory.mktemp("user")
    venv.create(folder / "env", symlinks=os.name != "nt")
    dependencies = folder / "dependencies"
    dependencies.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not QT.match(path.name) and not OURS.fullmatch(path.name):
            (dependencies / path.name).symlink_to(path)
    site = Path(run_there(folder, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "dependencies.pth").write_text(f"{dependencies}\n", "utf-8")
    python = str(folder / "env" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "-q", "--python", python, "install", "--no-deps", "--no-index", str(wheel)]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (folder / "engine.py").write_text(OF_A_USER)
    for name in ("app", "resources"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(OF_A_USER)
    for path in EXAMPLES:
        shutil.copyfile(path, folder / path.name)
    return folder


def run_there(folder: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """Run the user's Python there, and give what it prints; no path of the sources leads into it."""
    done = subprocess.run(
        [str(folder / "env" / "bin" / "python"), *arguments],
        cwd=folder,
        # What was remembered by the program before is there the next time.
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | {"XDG_CACHE_HOME": str(folder / "cache")}
        | environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


NO_NEED = """[mypy]
[mypy-torch.*,transformers.*,scipy.*,huggingface_hub.*]
follow_imports = skip
"""
"""What the library uses inside: thousands of modules that say nothing of its types."""
OTHER_LLAMA = "OUTRIDER_STOCK_LLAMA"
STOCK = """
import warnings
from outrider import bundled_pair, load

with warnings.catch_warnings(record=True) as said, load(*bundled_pair(), threads=1, context_length=256) as decoder:
    print(said[0].message, len(decoder.generate("Hello!", max_tokens=8).tokens))
"""
ON_POSIX = pytest.mark.skipif(os.name == "nt", reason="links need a right there")


@ON_POSIX
def test_what_is_installed_there(user: Path) -> None:
    said = run_there(
        user, "-c", "import outrider, importlib.util as u; print(outrider.__file__, u.find_spec('PySide6'))"
    )
    place, qt = said.split()
    assert Path(place).is_relative_to(user / "env")
    assert qt == "None"
    assert (user / "env" / "bin" / "outrider-engine").is_file()


@ON_POSIX
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.soak if path.stem == "mixed_backends" else ())
        for path in EXAMPLES
    ],
)
def test_examples_run(user: Path, path: Path) -> None:
    if path.stem == "mixed_backends":
        pytest.importorskip("accelerate")
    said = run_there(user, "-W", "error", path.name)
    assert len(said.split()) > 8
    assert "as plain decoding: no" not in said
    assert "not the same as plain" not in said


@pytest.mark.soak
@ON_POSIX
def test_a_type_checker_finds_nothing_in_the_examples(user: Path) -> None:
    """The user's own type checker: the examples by the strictest rules, against what the wheel installs."""
    config = user / "mypy.ini"
    config.write_text(NO_NEED, "utf-8")
    python, cache = user / "env" / "bin" / "python", ROOT / ".mypy_cache" / "wheel"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", str(config), "--cache-dir", str(cache)),
            *("--python-executable", str(python), *(path.name for path in EXAMPLES)),
        ],
        cwd=user,
        env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"no issues found in {len(EXAMPLES)} source files" in done.stdout


@ON_POSIX
def test_the_command_line_there(user: Path) -> None:
    run = [str(user / "env" / "bin" / "outrider-engine")]
    reply = run_there(user, *run, "generate", "--quiet", "-n", "8", "-t", "1", "-", given="Hello!\n")
    assert run_there(user, *run, "chat", "--quiet", "-n", "8", "-t", "1", given="Hello!\n").strip() == reply.strip()
    assert "complete" in run_there(user, *run, "completion", "bash")


@ON_POSIX
def test_the_cure_of_a_stock_build_is_there(user: Path) -> None:
    command = run_there(user, "-m", "outrider", "compile", "--print")
    hook = re.search(r"CMAKE_PROJECT_ggml_INCLUDE=(\S+)", command)
    assert hook is not None
    assert Path(hook[1]).is_relative_to(user / "env")
    assert Path(hook[1]).is_file()
    assert re.search(r"llama-cpp-python==[\d.]+$", command.strip())


@ON_POSIX
@pytest.mark.skipif(OTHER_LLAMA not in os.environ, reason=f"{OTHER_LLAMA} names no other llama.cpp")
def test_a_stock_build_is_told_with_its_cure(user: Path) -> None:
    said = run_there(user, "-c", STOCK, LLAMA_CPP_LIB_PATH=os.environ[OTHER_LLAMA])
    assert said.startswith("This llama.cpp was compiled without Outrider's kernels")
    assert said.split()[-3:] == ["outrider-engine", "compile", "8"]
