"""The Linux packages: the archive, the .deb, what it depends on, its icons."""

import errno
import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import bundle_files
import icons
import pytest
from linux_packages import archive, deb, deb_texts, elf, needs
from messages import SetupError
from PySide6.QtGui import QImageReader

ROOT = Path(__file__).resolve().parents[2]
LINUX = ROOT / "packaging" / "linux"
EPOCH = 1_700_000_000
LATER = 1_900_000_000

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="this is no Debian")
needs_compiler = pytest.mark.skipif(
    shutil.which("c++") is None or shutil.which("objdump") is None, reason="there is no compiler"
)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return make_bundle(tmp_path / "bundle")


def make_bundle(folder: Path) -> Path:
    inner = folder / "_internal"
    (inner / "licences").mkdir(parents=True)
    for name in ("outrider", "outrider-engine"):
        (folder / name).write_text("#!/bin/sh\n", encoding="ascii")
        (folder / name).chmod(0o700)
    (inner / "libx.so.1").write_bytes(b"library")
    (inner / "libx.so.1").chmod(0o755)
    (inner / "libx.so").symlink_to("libx.so.1")
    (inner / "licences" / "components.json").write_text(
        '[{"name": "Qt", "version": "6", "licence": "LGPL-3.0-only", "kind": "native", "files": []}]', encoding="ascii"
    )
    return folder


def shell(
    *command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, env=env)


def test_archive_depends_on_contents_alone(bundle: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.tar.gz", tmp_path / "elsewhere" / "second.tar.gz"
    archive.write_tar(bundle, first, name="outrider-1", epoch=EPOCH)
    other = make_bundle(tmp_path / "later")
    for path in [other, *other.rglob("*")]:
        os.utime(path, (LATER, LATER), follow_symlinks=False)
    (other / "_internal" / "licences").chmod(0o700)
    archive.write_tar(other, second, name="outrider-1", epoch=EPOCH)
    assert first.read_bytes() == second.read_bytes()
    # Neither the archive's name nor another time in the header of the compressed stream.
    assert first.read_bytes()[3] == 0
    assert int.from_bytes(first.read_bytes()[4:8], "little") == EPOCH


def test_archive_holds_the_program_and_its_help(bundle: Path, tmp_path: Path) -> None:
    target = tmp_path / "portable.tar.gz"
    archive.write_tar(bundle, target, name="outrider-1", epoch=EPOCH)
    with tarfile.open(target) as tar:
        members = {member.name: member for member in tar.getmembers()}
        readme = tar.extractfile("outrider-1/README.txt")
        assert readme is not None
        text = readme.read().decode()
    assert {member.mtime for member in members.values()} == {EPOCH}
    assert {(member.uid, member.gid, member.uname) for member in members.values()} == {(0, 0, "root")}
    assert members["outrider-1/outrider"].mode == 0o755
    assert members["outrider-1/_internal/licences/components.json"].mode == 0o644
    assert members["outrider-1/_internal/libx.so"].linkname == "libx.so.1"
    assert members["outrider-1/install-desktop-entry.sh"].mode == 0o755
    assert all(name.split("/")[0] == "outrider-1" for name in members)
    assert "glibc 2.17" in text
    assert "@" not in text


@pytest.mark.parametrize("leads_to", ["/etc/passwd", "../../outside", "nowhere"])
def test_links_that_would_lead_nowhere_are_refused(bundle: Path, tmp_path: Path, leads_to: str) -> None:
    (tmp_path / "outside").touch()
    (bundle / "_internal" / "bad").symlink_to(leads_to)
    with pytest.raises(SetupError, match=r"_internal/bad"):
        archive.write_tar(bundle, tmp_path / "x.tar.gz", name="x", epoch=EPOCH)
    assert not list(tmp_path.glob("*x.tar.gz*"))


def test_special_files_are_refused(bundle: Path) -> None:
    os.mkfifo(bundle / "pipe")
    with pytest.raises(SetupError, match="pipe"):
        list(bundle_files.entries(bundle))


def test_no_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="freeze it first"):
        archive.write_tar(tmp_path / "absent", tmp_path / "x.tar.gz", name="x", epoch=EPOCH, extras={})


def test_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "dist"
    folder.mkdir()
    target = folder / "big"
    target.write_text("old", encoding="ascii")

    def write() -> None:
        with bundle_files.whole_file(target) as unfinished:
            unfinished.write_bytes(b"part")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(SetupError, match="disk is full"):
        write()
    assert [path.name for path in folder.iterdir()] == ["big"]
    assert target.read_text(encoding="ascii") == "old"


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_checksums_are_what_sha256sum_reads(tmp_path: Path) -> None:
    for name in ("b.deb", "a b.tar.gz"):
        (tmp_path / name).write_text(name, encoding="ascii")
    listed = tmp_path / "SHA256SUMS"
    archive.write_checksums([tmp_path / "b.deb", tmp_path / "a b.tar.gz"], listed)
    assert [line[66:] for line in listed.read_text(encoding="ascii").splitlines()] == ["a b.tar.gz", "b.deb"]
    assert shell("sha256sum", "--strict", "--check", "SHA256SUMS", cwd=tmp_path).returncode == 0
    (tmp_path / "b.deb").write_text("changed", encoding="ascii")
    assert shell("sha256sum", "--check", "SHA256SUMS", cwd=tmp_path).returncode == 1
    with pytest.raises(SetupError, match="beside"):
        archive.write_checksums([LINUX / "outrider.desktop"], listed)


@needs_dpkg
def test_deb_is_whole_and_repeatable(bundle: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "icons"
    drawn.mkdir()
    icons.write_pngs(drawn)
    made = []
    for number, mask in enumerate((0o022, 0o077)):
        made.append(tmp_path / f"{number}.deb")
        before = os.umask(mask)
        try:
            deb.write_deb(
                bundle, made[-1], version="1.2", epoch=EPOCH, flavour="standard", depends=("libc6",), icons=drawn
            )
        finally:
            os.umask(before)
    assert made[0].read_bytes() == made[1].read_bytes()

    root = tmp_path / "root"
    assert shell("dpkg-deb", "--raw-extract", made[0], root).returncode == 0
    assert (root / "usr/bin/outrider").resolve() == root / "usr/lib/outrider/outrider"
    assert (root / "usr/bin/outrider-engine").resolve() == root / "usr/lib/outrider/outrider-engine"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (root / "usr/lib/outrider").rglob("*")}
    assert modes["outrider"] == 0o755
    assert modes["libx.so.1"] == 0o644
    for size in icons.PNG_SIZES:
        picture = QImageReader(str(root / f"usr/share/icons/hicolor/{size}x{size}/apps/outrider.png")).read()
        assert (picture.width(), picture.height()) == (size, size)
    assert (root / "usr/share/icons/hicolor/scalable/apps/outrider.svg").is_file()
    listed = (root / "DEBIAN/md5sums").read_text(encoding="utf-8").splitlines()
    files = [path for path in (root / "usr").rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(listed) == len(files)
    assert shell("md5sum", "--check", "--strict", "DEBIAN/md5sums", cwd=root).returncode == 0
    assert not [
        path for path in (root / "usr/share").rglob("*") if path.is_file() and b"@VERSION@" in path.read_bytes()
    ]
    assert sorted(path.name for path in (root / "DEBIAN").iterdir()) == ["control", "md5sums"]
    manual = gzip.decompress((root / "usr/share/man/man1/outrider.1.gz").read_bytes()).decode()
    assert "Outrider 1.2" in manual
    assert "Qt 6: LGPL-3.0-only" in (root / "usr/share/doc/outrider/copyright").read_text(encoding="utf-8")


@needs_dpkg
def test_deb_needs_both_programs(bundle: Path, tmp_path: Path) -> None:
    (bundle / "outrider-engine").unlink()
    with pytest.raises(SetupError, match="outrider-engine"):
        deb.write_deb(
            bundle, tmp_path / "x.deb", version="1", epoch=EPOCH, flavour="standard", depends=(), icons=tmp_path
        )
    assert not list(tmp_path.glob("*x.deb*"))


def test_full_flavour_takes_the_place_of_the_standard_one() -> None:
    text = deb_texts.control("outrider-full", "1.0", "full", architecture="amd64", size=1, depends=("libc6", "a | b"))
    fields = dict(re.findall(r"^([A-Z][A-Za-z-]+): (.*)$", text, re.MULTILINE))
    assert fields["Conflicts"] == fields["Replaces"] == "outrider"
    assert fields["Provides"] == "outrider (= 1.0)"
    assert fields["Depends"] == "libc6, a | b"
    assert all(line.startswith(" ") for line in text.partition("Description: ")[2].splitlines()[1:])


@pytest.mark.skipif(shutil.which("dpkg-parsechangelog") is None, reason="there is no dpkg-dev")
def test_changelog_is_debians(tmp_path: Path) -> None:
    markdown = "# Changelog\n\n## [1.0]\n\n### Added\n\n- One `thing`\n  that is long.\n- Two.\n\n## [0.9]\n\n- Old.\n"
    path = tmp_path / "changelog"
    path.write_text(deb_texts.changelog(markdown, "outrider", "1.0", EPOCH), encoding="utf-8")
    told = shell("dpkg-parsechangelog", "--all", "--file", path)
    assert told.stderr == ""
    assert "Version: 1.0" in told.stdout
    assert "One thing that is long." in told.stdout
    assert "Old" not in told.stdout
    assert "Timestamp: 1700000000" in told.stdout


def compile_library(target: Path, *flags: str | Path, code: str = 'extern "C" int one() { return 1; }') -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source = target.with_suffix(".cpp")
    source.write_text(code, encoding="ascii")
    built = shell("c++", "-shared", "-fPIC", source, "-o", target, *flags)
    assert built.returncode == 0, built.stderr
    source.unlink()


@needs_compiler
def test_dependencies_are_read_from_the_libraries(tmp_path: Path) -> None:
    program = tmp_path / "program"
    code = '#include <string>\nextern "C" int one(char *t) { return std::stoi(t); }'
    own = program / "_internal" / "libown.so.1"
    compile_library(own, "-Wl,-soname,libown.so.1")
    # Made up, with the name of one that a package is known for.
    compile_library(tmp_path / "libglib-2.0.so.0", "-Wl,-soname,libglib-2.0.so.0")
    linked = (own, tmp_path / "libglib-2.0.so.0")
    compile_library(program / "_internal" / "user.so", "-Wl,--no-as-needed", *linked, code=code)
    needed = needs.needed_packages(program)
    assert "libglib2.0-0t64 | libglib2.0-0" in needed
    assert any(re.fullmatch(r"libstdc\+\+6 \(>= \d+(\.\d+)?\)", package) for package in needed)
    assert f"libc6 (>= {needs.minimum_glibc(program)})" in needed
    assert not any("own" in package for package in needed)
    # What it brings itself needs no package, but the files that the package would have brought.
    compile_library(program / "_internal" / "libxkbcommon.so.0")
    assert set(needs.needed_packages(program)) == {*needed, "xkb-data"}


@needs_compiler
def test_a_card_is_recommended_and_never_demanded(tmp_path: Path) -> None:
    program = tmp_path / "program"
    compile_library(program / "_internal" / "libown.so")
    assert needs.recommended_packages(program) == ()
    assert "graphics card" not in archive.portable_files(program)["README.txt"][0].decode()
    # Made up, with the name of the loader of drivers.
    loader = tmp_path / "libvulkan.so.1"
    compile_library(loader, "-Wl,-soname,libvulkan.so.1")
    module = program / "_internal" / "llama_cpp" / "lib" / "libggml-vulkan.so"
    compile_library(module, "-Wl,--no-as-needed", loader)
    assert "libvulkan.so.1" in needs.read_files([module])[0].needed
    assert not any("vulkan" in package for package in needs.needed_packages(program))
    recommended = needs.recommended_packages(program)
    assert recommended == ("libvulkan1", "mesa-vulkan-drivers")
    text = deb_texts.control(
        "outrider", "1", "standard", architecture="amd64", size=1, depends=("libc6",), recommends=recommended
    )
    (line,) = [line for line in text.splitlines() if line.startswith("Recommends: ")]
    assert {*recommended, *deb_texts.RECOMMENDS} == set(line.removeprefix("Recommends: ").split(", "))
    assert "    libvulkan1, mesa-vulkan-drivers\n" in archive.portable_files(program)["README.txt"][0].decode()


@needs_compiler
def test_unknown_library_is_named(tmp_path: Path) -> None:
    compile_library(tmp_path / "libodd.so.9", "-Wl,-soname,libodd.so.9")
    compile_library(tmp_path / "program" / "user.so", "-Wl,--no-as-needed", tmp_path / "libodd.so.9")
    with pytest.raises(SetupError, match=r"user\.so is linked with libodd\.so\.9"):
        needs.needed_packages(tmp_path / "program")


def test_damaged_library_is_named(tmp_path: Path) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("there is no objdump")
    (tmp_path / "bad.so").write_bytes(b"\x7fELF and no more")
    with pytest.raises(SetupError, match=r"bad\.so"):
        needs.read_libraries(tmp_path)


def test_versions_are_compared_as_numbers() -> None:
    library = needs.Library(Path("x"), frozenset(), (), frozenset({"GLIBC_2.9", "GLIBC_2.34", "GLIBC_PRIVATE"}))
    assert needs._newest(needs._glibc_versions(library.versions)) == "2.34"
    assert needs._newest(needs._glibc_versions(frozenset({"GLIBC_ABI_DT_RELR"}))) == "2.36"


@needs_compiler
def test_folders_of_the_build_machine_are_forgotten(tmp_path: Path) -> None:
    foreign, relative = tmp_path / "foreign.so", tmp_path / "relative.so"
    compile_library(foreign, "-Wl,-rpath,/somebody/lib")
    compile_library(relative, "-Wl,-rpath,$ORIGIN/lib")
    size = foreign.stat().st_size
    assert elf.search_path(foreign) == "/somebody/lib"
    assert elf.forget_build_folders(tmp_path) == ["foreign.so"]
    assert elf.search_path(foreign) is None
    assert elf.search_path(relative) == "$ORIGIN/lib"
    assert foreign.stat().st_size == size
    told = shell("objdump", "-p", foreign)
    assert told.returncode == 0
    assert "PATH" not in told.stdout
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).one())"
    assert shell(sys.executable, "-c", code, foreign).stdout == "1\n"
    assert elf.forget_build_folders(tmp_path) == []


@needs_compiler
def test_mixed_search_path_is_refused(tmp_path: Path) -> None:
    compile_library(tmp_path / "mixed.so", "-Wl,-rpath,$ORIGIN:/somebody/lib")
    with pytest.raises(SetupError, match=r"mixed\.so"):
        elf.forget_build_folders(tmp_path)


@pytest.mark.parametrize(("kind", "edges"), [("ico", set(icons.ICO_SIZES)), ("icns", {e for _, e in icons.ICNS_TYPES})])
def test_icon_files_hold_all_sizes(tmp_path: Path, kind: str, edges: set[int]) -> None:
    write = {"ico": icons.write_ico, "icns": icons.write_icns}[kind]
    first, second = tmp_path / f"1.{kind}", tmp_path / f"2.{kind}"
    write(first)
    write(second)
    assert first.read_bytes() == second.read_bytes()
    if kind.encode() not in [bytes(each.data()) for each in QImageReader.supportedImageFormats()]:
        pytest.skip(f"Qt cannot read {kind} here")
    reader = QImageReader(str(first))
    seen = set()
    for index in range(reader.imageCount()):
        assert reader.jumpToImage(index)
        image = reader.read()
        seen.add(image.width())
        # The green ground in the middle of the upper edge, nothing outside of the round corner.
        assert image.pixelColor(image.width() // 2, image.width() // 6).name() == "#2f6f5e"
        assert image.pixelColor(0, 0).alpha() == 0
    assert seen == edges


def test_absent_drawing_is_said(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.svg is missing"):
        icons.render_png(16, source=tmp_path / "none.svg")


@needs_compiler
def test_build_ids_go(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    libraries = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        source.write_text("int answer(void) { return 42; }\n", encoding="ascii")
        libraries.append(folder / "libx.so")
        identity = f"-Wl,--build-id=0x{number:040x}"
        done = shell("c++", "-shared", "-fPIC", "-x", "c++", identity, "-o", libraries[-1], source)
        assert done.returncode == 0, done.stderr
    assert libraries[0].read_bytes() != libraries[1].read_bytes()
    size = libraries[0].stat().st_size
    for library in libraries:
        elf.forget_build_ids(library.parent)
        elf.forget_build_ids(library.parent)
    assert libraries[0].read_bytes() == libraries[1].read_bytes()
    assert libraries[0].stat().st_size == size
