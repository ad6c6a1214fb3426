"""The licences of what goes into the program: found, complete, repeatable; and what is missing is named."""

import json
import re
import sys
import sysconfig
import zlib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from components import owners
from components.licences import Component, MissingLicence, check, gather, unknown
from components.texts import UNKNOWN, lgpl_notice, licence_words

SITE = Path(sysconfig.get_path("purelib"))
FONT = ("fontpkg_inter/files/Inter[opsz,wght].ttf", str(SITE / "fontpkg_inter/files/Inter[opsz,wght].ttf"))
MODULES = [
    "jinja2.sandbox",
    "numpy",
    "PySide6",
    "qtawesome.iconic_font",
    "app.shell.bootstrap",
    "json.decoder",
    "_pyi_rth_utils",
]


def by_name(components: list[Component]) -> dict[str, Component]:
    return {one.name: one for one in components}


def llama_source(folder: Path) -> Path:
    inside = folder / "source" / "vendor" / "llama.cpp"
    (inside / "licenses").mkdir(parents=True)
    (inside / "LICENSE").write_text("MIT License of the authors")
    (inside / "licenses" / "LICENSE-inner").write_text("inner")
    numbers = (f"set(LLAMA_VERSION_{part} {number})" for part, number in (("MAJOR", 0), ("MINOR", 5), ("PATCH", 2)))
    (inside / "CMakeLists.txt").write_text("\n".join(numbers))
    return folder / "source"


def fake_distribution(site: Path, name: str, metadata: str, files: dict[str, str]) -> None:
    info = f"{name}-1.0.dist-info"
    files = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{metadata}"} | files
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (site / info / "RECORD").write_text("".join(f"{path},,\n" for path in files))


def test_what_is_really_installed(tmp_path: Path) -> None:
    qt = next(SITE.glob("PySide6/QtCore*"))
    binaries = [("PySide6/QtCore.abi3.so", str(qt)), ("llama_cpp/lib/libllama.so", str(tmp_path / "libllama.so"))]
    found = by_name(gather(MODULES, binaries, SITE, tmp_path / "out", llama_source=llama_source(tmp_path), data=[FONT]))
    assert {"Jinja2", "numpy", "PySide6_Essentials", "QtAwesome", "Phosphor Icons", "Outrider", "Python"} <= set(found)
    assert found["numpy"].licence.startswith("BSD-3-Clause")
    notice, lesser, general, inside, *_ = found["PySide6_Essentials"].files
    assert found["PySide6_Essentials"].version in (tmp_path / "out" / notice).read_text()
    assert "LESSER GENERAL PUBLIC LICENSE" in (tmp_path / "out" / lesser).read_text()
    assert "GNU GENERAL PUBLIC LICENSE" in (tmp_path / "out" / general).read_text()
    assert "FreeType Project" in (tmp_path / "out" / inside).read_text(encoding="utf-8")
    icons = (tmp_path / "out" / found["Phosphor Icons"].files[0]).read_text()
    assert icons.startswith("MIT License\n\nCopyright (c) 2020-2021 Phosphor Icons\n\nPermission is hereby granted")
    assert icons.endswith("IN THE\nSOFTWARE.\n")
    assert (found["llama.cpp"].version, len(found["llama.cpp"].files)) == ("0.5.2", 2)
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in (tmp_path / "out" / found["Python"].files[0]).read_text()
    assert found["Outrider demo models"].kind == "model"
    letters = found["fontpkg-inter"]
    assert letters.licence == "OFL-1.1"
    assert "SIL OPEN FONT LICENSE" in (tmp_path / "out" / letters.files[0]).read_text(encoding="utf-8")


def test_whatever_may_go_in_has_a_licence_and_its_text(tmp_path: Path) -> None:
    """Of all that the program asks for here, directly or not, as it is installed."""
    asked, modules = {"outrider"}, set[str]()
    waiting = ["outrider"]
    while waiting:
        found = distribution(waiting.pop())
        modules |= {str(path).split("/")[0].removesuffix(".py") for path in found.files or () if path.suffix == ".py"}
        for line in found.requires or ():
            name = re.split(r"[^\w.-]", line, maxsplit=1)[0].lower()
            with suppress(PackageNotFoundError):
                mine = found.name == "outrider" and re.search(r"extra == .(app|keyring|server|torch)", line)
                if name not in asked and ("extra" not in line or mine) and distribution(name).name:
                    waiting.append(name)
                    asked.add(name)
    assert {"ziamath", "latex2mathml", "numpy"} <= asked
    # PyInstaller is not installed here.
    assert set(unknown(gather(modules - {"..", "tests"}, [], SITE, tmp_path / "out"))) <= {"PyInstaller bootloader"}


def test_every_file_that_is_named_is_there_and_the_other_way_round(tmp_path: Path) -> None:
    out = tmp_path / "out"
    components = gather(MODULES, [], SITE, out)
    listed = json.loads((out / "components.json").read_text(encoding="utf-8"))
    assert [Component(**{**one, "files": tuple(one["files"])}) for one in listed] == components
    named = {file for one in components for file in one.files} | {"components.json"}
    assert named == {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert str(Path.home()) not in (out / "components.json").read_text(encoding="utf-8")


def test_the_same_twice_and_nothing_left_of_before(tmp_path: Path) -> None:
    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    gather(MODULES, [], SITE, tmp_path / "out")
    first = contents()
    (tmp_path / "out" / "old.txt").write_text("from before")
    gather(list(reversed(MODULES)), [], SITE, tmp_path / "out")
    assert contents() == first


def test_what_has_no_licence_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    fake_distribution(site, "bare", "License: MIT\n", {"bare/__init__.py": ""})
    fake_distribution(site, "wordless", "", {"wordless.py": "", "wordless-1.0.dist-info/LICENSE": "some"})
    fake_distribution(
        site, "apache", "Classifier: License :: OSI Approved :: Apache Software License\n", {"apache.py": ""}
    )
    odd = tmp_path / "libodd-1.so.2"
    odd.write_bytes(b"")
    modules = ["bare.inner", "wordless", "apache", "nobody.knows"]
    components = gather(
        modules, [("libodd-1.so.2", str(odd)), ("llama_cpp/lib/libggml.so", "x")], site, tmp_path / "out"
    )
    assert set(unknown(components)) == {
        "bare",
        "wordless",
        "module nobody",
        "odd",
        "llama.cpp",
        "PyInstaller bootloader",
    }
    assert by_name(components)["apache"].files == ("apache/Apache-2.0.txt",)
    with pytest.raises(MissingLicence, match=r"bare, llama\.cpp, module nobody") as caught:
        check(components)
    assert caught.value.names == unknown(components)
    check([by_name(components)["apache"]])


def test_a_library_belongs_to_the_wheel_that_it_lies_in(tmp_path: Path) -> None:
    site = tmp_path / "site"
    parts = {"thing/__init__.py": "", "thing.libs/libblas.so": "", "thing-1.0.dist-info/licenses/LICENSE": "terms"}
    fake_distribution(site, "thing", "License-Expression: MIT\n", parts)
    (site / "thing" / "unlisted.so").write_bytes(b"")
    for source in ("thing.libs/libblas.so", "thing/unlisted.so"):
        components = gather([], [(source, str(site / source))], site, tmp_path / "out")
        assert by_name(components)["thing"].files == ("thing/LICENSE",)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ("License-Expression: Apache-2.0 OR MIT\nLicense: old words\n", "Apache-2.0 OR MIT"),
        ("License: MIT License\n", "MIT"),
        ("License: Apache 2.0\nClassifier: License :: OSI Approved :: BSD License\n", "Apache-2.0"),
        (f"License: {'long ' * 40}\nClassifier: License :: OSI Approved :: BSD License\n", "BSD License"),
        ("Classifier: License :: OSI Approved :: MIT License\n", "MIT"),
        ("Classifier: License :: OSI Approved\n", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_licence_in_the_words_of_the_metadata(tmp_path: Path, metadata: str, words: str) -> None:
    fake_distribution(tmp_path, "thing", metadata, {"thing.py": ""})
    found = owners.Installed(tmp_path).named("Thing")
    assert found is not None
    assert licence_words(found) == words


def test_python_knows_its_own(tmp_path: Path) -> None:
    extension = getattr(zlib, "__file__", None) or sysconfig.get_path("stdlib") + "/os.py"
    assert owners.belongs_to_python(Path(extension))
    assert owners.belongs_to_python(Path(sys.base_prefix) / "lib" / "libpython3.11.so.1.0")
    assert not owners.belongs_to_python(tmp_path / "libz.so.1")


@pytest.mark.skipif(not Path("/var/lib/dpkg/status").is_file(), reason="this is no Debian")
def test_libraries_of_the_system_by_their_packages(tmp_path: Path) -> None:
    libraries = [*Path("/lib").glob("*/libgcc_s.so.1"), Path("/lib/ld-linux.so.none")]
    packages = owners.system_packages(libraries)
    assert [one.name for one in packages.values()] == ["libgcc-s1"]
    binaries = [("libgcc_s.so.1", str(libraries[0]))]
    component = by_name(gather([], binaries, SITE, tmp_path / "out"))["libgcc-s1"]
    assert component.version
    assert component.licence == "GPL-3.0-or-later WITH GCC-exception-3.1"
    # A copyright file that points to a text in another place brings it along.
    assert component.files[0] == "system/libgcc-s1.txt"
    assert "common/GPL-3.txt" in component.files


def test_machine_readable_copyright() -> None:
    text = "Format: x\n\nFiles: *\nCopyright: a\n b\nLicense: Expat\n text\n\nFiles: debian/*\nLicense: GPL-2+\n"
    assert owners.debian_words(text) == "Expat"
    assert not owners.debian_words("Files: debian/*\nLicense: GPL-2+\n")
    assert not owners.debian_words("It was downloaded from somewhere.")


def test_the_notice_tells_where_the_source_is_and_how_to_replace_it() -> None:
    notice = lgpl_notice("6.11.3")
    assert notice.count("6.11.3") >= 4
    assert "https://download.qt.io/official_releases/qt/" in notice
    assert "_internal/PySide6/Qt/lib" in notice
    assert "{" not in notice
