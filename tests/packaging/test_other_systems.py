"""Windows, macOS and the release workflow, as far as they can be checked on another system."""

import ast
import hashlib
import json
import os
import plistlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import places
import pytest
import release
import windows_resource
import windows_setup
from messages import SetupError

from engine import __version__

ROOT = Path(__file__).resolve().parents[2]
MACOS = ROOT / "packaging" / "macos"
SCRIPT = (ROOT / "packaging" / "windows" / "outrider.iss").read_text(encoding="utf-8-sig")
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


# --- the version resource of the Windows programs


def _nodes(text: str) -> dict[str, Any]:
    """The strings and the numbers of a version resource."""
    tree = ast.parse(text, mode="eval")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    found: dict[str, Any] = {}
    for call in calls:
        assert isinstance(call.func, ast.Name)
        if call.func.id == "StringStruct":
            name, value = map(ast.literal_eval, call.args)
            found[name] = value
        if call.func.id == "FixedFileInfo":
            found |= {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    return found


@pytest.mark.parametrize("program", ["outrider", "outrider-engine"])
def test_the_programs_carry_the_one_version(program: str, tmp_path: Path) -> None:
    path = windows_resource.write_version_resource(__version__, program, tmp_path / "new")
    found = _nodes(path.read_text(encoding="utf-8"))
    assert found["ProductVersion"] == found["FileVersion"] == __version__
    assert found["filevers"] == found["prodvers"] == windows_resource.numeric_version(__version__)
    assert found["OriginalFilename"] == f"{program}.exe"
    assert found["flags"] == 0


@pytest.mark.parametrize(
    ("version", "numbers", "flags"),
    [
        ("0.1.0", (0, 1, 0, 0), 0),
        ("2.0", (2, 0, 0, 0), 0),
        ("1.2.3rc1", (1, 2, 3, 0), 2),
        ("1.2.dev4", (1, 2, 0, 0), 2),
    ],
)
def test_a_version_becomes_four_numbers(version: str, numbers: tuple[int, ...], flags: int) -> None:
    found = _nodes(windows_resource.version_resource(version, "outrider"))
    assert found["filevers"] == numbers
    assert found["flags"] == flags
    assert found["FileVersion"] == version


@pytest.mark.parametrize("version", ["", "one", "1.70000"])
def test_what_windows_cannot_hold_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="version"):
        windows_resource.numeric_version(version)


# --- the Windows installer


def _bundle(folder: Path, flavour: str = "standard") -> Path:
    (folder / "_internal").mkdir(parents=True)
    for name in ("outrider.exe", "outrider-engine.exe"):
        (folder / name).touch()
    manifest = {"version": "0.3.1", "flavour": flavour, "commit": "c", "files": {}}
    (folder / "_internal" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_the_script_is_given_everything_that_it_asks_for(tmp_path: Path) -> None:
    arguments = windows_setup.compiler_arguments(_bundle(tmp_path / "b"), tmp_path / "i.ico", tmp_path, seconds=60)
    given = {argument[2:].partition("=")[0] for argument in arguments if argument.startswith("/D")}
    own = set(re.findall(r"^#define (\w+)", SCRIPT, re.MULTILINE))
    used = set(re.findall(r"\{#(\w+)\}", SCRIPT))
    assert used - own == given
    assert arguments[-1].endswith("outrider.iss")


def test_version_flavour_and_date_are_the_bundles(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path / "b", "full")
    arguments = windows_setup.compiler_arguments(bundle, tmp_path / "i.ico", tmp_path, seconds=1_767_225_600)
    assert "/DVersion=0.3.1" in arguments
    assert "/DNumericVersion=0.3.1.0" in arguments
    assert "/DOutName=outrider-full-0.3.1-windows-x86_64-setup" in arguments
    assert "/DTouchDate=2026-01-01" in arguments
    assert "/DTouchTime=00:00" in arguments
    assert not [argument for argument in arguments if "Sign" in argument or argument.startswith("/S")]


def test_a_sign_command_keeps_its_quotes_and_dollars(tmp_path: Path) -> None:
    sign = 'signtool sign /n "My $ Name"'
    arguments = windows_setup.compiler_arguments(_bundle(tmp_path / "b"), tmp_path, tmp_path, seconds=0, sign=sign)
    assert "/DSign" in arguments
    assert "/Soutrider=signtool sign /n $qMy $$ Name$q $f" in arguments


def test_the_flavour_names_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path, ...]] = []
    monkeypatch.setattr(windows_setup, "make_setup", lambda *paths: asked.append(paths))
    monkeypatch.setattr(places, "DIST", tmp_path)
    monkeypatch.setattr(places, "WORK", tmp_path / "work")
    monkeypatch.setattr(sys, "argv", ["windows_setup.py", "--flavour", "full"])
    assert windows_setup.main() == 0
    assert asked == [(tmp_path / "outrider-full", tmp_path / "work" / "icons" / "outrider.ico", tmp_path)]


def test_half_a_program_gets_no_installer(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path / "b")
    (bundle / "outrider-engine.exe").unlink()
    with pytest.raises(SetupError, match=r"outrider-engine\.exe is missing"):
        windows_setup.compiler_arguments(bundle, tmp_path, tmp_path, seconds=0)


def test_the_compiler_that_is_named_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "ISCC.exe"
    compiler.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$(dirname "$0")/called"\n', encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("ISCC", str(compiler))
    monkeypatch.setenv(windows_setup.SIGN_COMMAND, "")
    bundle, icon = _bundle(tmp_path / "b"), tmp_path / "i.ico"
    with pytest.raises(SetupError, match=r"i\.ico"):
        windows_setup.make_setup(bundle, icon, tmp_path / "out")
    icon.touch()
    windows_setup.make_setup(bundle, icon, tmp_path / "out")
    assert "/DVersion=0.3.1" in (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    compiler.write_text("#!/bin/sh\nexit 2\n", encoding="utf-8")
    with pytest.raises(SetupError, match="code 2"):
        windows_setup.make_setup(bundle, icon, tmp_path / "out")


def test_the_open_with_entry_takes_nothing_from_others() -> None:
    registry = re.search(r"^\[Registry\]\n(.*?)^\[", SCRIPT, re.MULTILINE | re.DOTALL)
    assert registry is not None
    lines = [line for line in registry[1].splitlines() if line.startswith("Root:")]
    shared = [line for line in lines if r"Software\Classes\.gguf" in line]
    assert len(shared) == 2
    # The type's own default, and the keys of others, stay: a value is written only below OpenWithProgids.
    assert [line for line in shared if "ValueType" in line] == [line for line in shared if "OpenWithProgids" in line]
    for line in shared:
        assert "uninsdeletekeyifempty" in line
    for line in lines:
        assert "Tasks: openwith" in line


def test_every_language_has_every_text() -> None:
    languages = set(re.findall(r'^Name: "(\w\w)"; MessagesFile', SCRIPT, re.MULTILINE))
    assert "en" in languages
    for text in ("ConfirmUninstall", "OpenWith", "StillOpen"):
        assert set(re.findall(rf"^(\w\w)\.{text}=", SCRIPT, re.MULTILINE)) == languages


# --- macOS


def test_the_application_describes_itself() -> None:
    about = plistlib.loads((MACOS / "Info.plist").read_bytes())
    # Apple's rule for identifiers: letters, digits, hyphens and full stops.
    assert re.fullmatch(r"[A-Za-z0-9.-]+", about["CFBundleIdentifier"])
    assert about["CFBundleExecutable"] == "outrider"
    assert about["LSBackgroundOnly"] is False
    assert about["NSHighResolutionCapable"] is True
    assert about["NSRequiresAquaSystemAppearance"] is False
    assert not [key for key in about if "Version" in key and key.startswith("CFBundle")], "the spec sets the version"
    (document,), (kind,) = about["CFBundleDocumentTypes"], about["UTImportedTypeDeclarations"]
    assert document["LSHandlerRank"] == "Alternate"
    assert document["LSItemContentTypes"] == [kind["UTTypeIdentifier"]]
    assert kind["UTTypeTagSpecification"]["public.filename-extension"] == ["gguf"]


def test_nothing_is_allowed_that_is_not_needed() -> None:
    allowed = plistlib.loads((MACOS / "entitlements.plist").read_bytes())
    assert allowed == {"com.apple.security.cs.allow-unsigned-executable-memory": True}


CODE = (
    "Frameworks/libllama.dylib",
    "Frameworks/numpy/core.so",
    "Frameworks/QtCore.framework/Versions/A/QtCore",
    "Frameworks/deep/er/still/libggml-cpu.so",
    "MacOS/outrider",
    "MacOS/outrider-engine",
)
DATA = ("Info.plist", "Resources/outrider.icns", "Resources/resources/models/demo.gguf")
# Stands in for the tools of macOS: notes how it was called, and does what the script goes on with.
TOOL = r"""#!/bin/sh
tool=$(basename "$0")
echo "$tool $*" >> "$CALLS"
for last in "$@"; do :; done
case "$tool $1" in
"uname "*) echo Darwin ;;
"date "*) echo 202601010000.00 ;;
"file "*) case $last in *.dylib | *.so | */QtCore | */MacOS/*) echo "Mach-O 64-bit" ;; *) echo data ;; esac ;;
"ditto "*) cp -R "$1" "$2" ;;
"hdiutil create") (cd "$(dirname "$last")/content" && find . | LC_ALL=C sort) > "$CALLS.content"; echo raw > "$last" ;;
"hdiutil convert") echo image > "$last" ;;
"xcrun notarytool") [ -z "$NOTARY_FAILS" ] || exit 1; echo "  status: ${APPLE_SAYS:-Accepted}" ;;
"codesign --force") [ -z "$CODESIGN_FAILS" ] || case $last in *"$CODESIGN_FAILS") exit 1 ;; esac ;;
esac
exit 0
"""


class Mac:
    """A pretended macOS: `run` calls the script, `calls` is what it called; `app` is an application to pack."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.image = folder / "out" / "outrider.dmg"
        self.app = folder / "Outrider.app"
        for name in CODE + DATA:
            path = self.app / "Contents" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name, encoding="utf-8")
        tools = folder / "tools"
        tools.mkdir()
        for name in ("codesign", "date", "ditto", "file", "hdiutil", "spctl", "uname", "xattr", "xcrun"):
            (tools / name).write_text(TOOL, encoding="utf-8")
            (tools / name).chmod(0o755)
        self._environment = {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "CALLS": str(folder / "calls"),
            "TMPDIR": str(folder),
        }

    def run(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Call the script with these variables."""
        command = ["sh", str(MACOS / "make_dmg.sh"), str(self.app), str(self.image)]
        given = self._environment | environment
        return subprocess.run(command, env=given, capture_output=True, text=True, timeout=60, check=False)

    @property
    def calls(self) -> list[str]:
        """The command lines, in order."""
        return (self._folder / "calls").read_text(encoding="utf-8").splitlines()

    @property
    def signed(self) -> list[str]:
        """What was signed, in order, relative to the application."""
        paths = [call.rpartition(" ")[2] for call in self.calls if call.startswith("codesign --force")]
        return [path.removeprefix(f"{self.app}/Contents/") for path in paths]

    def content(self) -> list[str]:
        """What lies in the image."""
        return (self._folder / "calls.content").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    if sys.platform == "win32" or shutil.which("sh") is None:
        pytest.skip("needs a POSIX shell")
    return Mac(tmp_path)


def test_everything_is_signed_from_the_inside_out(mac: Mac) -> None:
    done = mac.run(OUTRIDER_SIGN_IDENTITY="Developer ID Application: Someone")
    assert done.returncode == 0, done.stderr
    *inside, application, image = mac.signed
    assert application == str(mac.app)
    assert image == str(mac.image)
    assert set(inside) == {*CODE, "Frameworks/QtCore.framework"} - {"MacOS/outrider"}
    place = inside.index
    assert place("Frameworks/QtCore.framework/Versions/A/QtCore") < place("Frameworks/QtCore.framework")
    assert place("MacOS/outrider-engine") == len(inside) - 1
    signing = [call for call in mac.calls if call.startswith("codesign --force")]
    assert not [call for call in signing if "--deep" in call]
    for call in signing[:-1]:
        assert "--options runtime --timestamp" in call
    entitled = [call.rpartition(" ")[2] for call in signing if "--entitlements" in call]
    assert entitled == [f"{mac.app}/Contents/MacOS/outrider-engine", str(mac.app)]
    assert "not notarised" in done.stdout


def test_without_an_identity_it_says_so_and_signs_ad_hoc(mac: Mac) -> None:
    done = mac.run()
    assert done.returncode == 0, done.stderr
    assert "Not signed" in done.stdout
    for call in mac.calls:
        if call.startswith("codesign --force"):
            assert "--sign - " in call
            assert "runtime" not in call
    assert not [call for call in mac.calls if "notarytool" in call]
    assert mac.image.read_text(encoding="utf-8") == "image\n"
    assert {"./Applications", "./.VolumeIcon.icns", "./Outrider.app/Contents/MacOS/outrider"} <= set(mac.content())


ACCOUNT = {"OUTRIDER_SIGN_IDENTITY": "Someone", "OUTRIDER_NOTARY_PROFILE": "release"}
KEY = {"OUTRIDER_NOTARY_KEY": "k.p8", "OUTRIDER_NOTARY_KEY_ID": "K", "OUTRIDER_NOTARY_ISSUER": "I"}


@pytest.mark.parametrize(
    ("account", "expected"),
    [
        (ACCOUNT, "--keychain-profile release"),
        ({"OUTRIDER_SIGN_IDENTITY": "Someone", **KEY}, "--key k.p8 --key-id K --issuer I"),
    ],
)
def test_what_apple_accepts_is_stapled(mac: Mac, account: dict[str, str], expected: str) -> None:
    done = mac.run(**account)
    assert done.returncode == 0, done.stderr
    assert f"xcrun notarytool submit {mac.image} {expected} --wait" in mac.calls
    assert f"xcrun stapler staple {mac.image}" in mac.calls


@pytest.mark.parametrize(
    ("trouble", "said"),
    [({"APPLE_SAYS": "Invalid"}, "Apple did not accept"), ({"NOTARY_FAILS": "1"}, "notarytool failed")],
)
def test_what_apple_refuses_is_not_stapled(mac: Mac, trouble: dict[str, str], said: str) -> None:
    done = mac.run(**ACCOUNT, **trouble)
    assert done.returncode == 1
    assert said in done.stderr
    assert not [call for call in mac.calls if "stapler" in call]


@pytest.mark.parametrize("path", ["libggml-cpu.so", "QtCore.framework", "MacOS/outrider-engine", "Outrider.app"])
def test_a_signature_that_fails_ends_it(mac: Mac, path: str) -> None:
    assert mac.run(CODESIGN_FAILS=path).returncode == 1
    assert not mac.image.exists()


def test_every_file_gets_the_date_of_the_commit(mac: Mac) -> None:
    assert mac.run(SOURCE_DATE_EPOCH="1767225600").returncode == 0
    assert "date -r 1767225600 +%Y%m%d%H%M.%S" in mac.calls


# --- releases


@pytest.mark.parametrize(
    ("tag", "title", "said"),
    [
        ("v1.2.0", "# Outrider 1.2.0", None),
        (None, "# Outrider 1.2.0", None),
        ("v1.2.1", "# Outrider 1.2.0", "must be v1.2.0"),
        ("1.2.0", "# Outrider 1.2.0", "must be v1.2.0"),
        ("v1.2.0", "# Outrider 1.1.0", "must be '# Outrider 1.2.0'"),
    ],
)
def test_tag_version_and_notes_must_agree(tag: str | None, title: str, said: str | None) -> None:
    reasons = release.disagreements("1.2.0", tag=tag, notes=f"{title}\n\nText\n")
    if said is None:
        assert not reasons
    else:
        assert len(reasons) == 1
        assert said in reasons[0]


def test_the_notes_are_of_this_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["version", "--tag", f"v{__version__}"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"
    assert release.main(["version", "--tag", "v0.0.0"]) == 1


def test_the_notes_say_what_is_untested() -> None:
    notes = release.NOTES.read_text(encoding="utf-8")
    untested = [line for line in notes.splitlines() if "untested" in line.lower()]
    for system in ("Windows", "macOS", "Vulkan", "CUDA", "Metal"):
        assert [line for line in untested if system in line], system


def test_checksums_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "b.deb").write_bytes(b"b")
    (tmp_path / "a.zip").write_bytes(b"a")
    release.write_checksums(tmp_path)
    again = release.write_checksums(tmp_path)
    expected = f"{hashlib.sha256(b'a').hexdigest()}  a.zip\n{hashlib.sha256(b'b').hexdigest()}  b.deb\n"
    assert again.read_text(encoding="utf-8") == expected


def test_the_workflow_calls_what_is_there() -> None:
    called = set(re.findall(r"(packaging/\S+\.(?:py|sh|md))", WORKFLOW))
    assert {"packaging/installers/make_dist.py", "packaging/smoke_test.py"} <= called
    for path in called:
        assert (ROOT / path).is_file(), path
    assert re.search(r"^dist:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_workflow_passes_options_that_exist(script_help: Callable[[str], str]) -> None:
    for script, options in re.findall(r"python3? (packaging/\S+\.py)((?:.*\\\n)*.*)", WORKFLOW):
        known = script_help(script)
        for option in re.findall(r"(?<=\s)--[a-z-]+", options):
            if option != "--tag":  # of a subcommand
                assert option in known, f"{script} {option}"


@pytest.fixture
def script_help() -> Callable[[str], str]:
    def ask(script: str) -> str:
        command = [sys.executable, "-B", str(ROOT / script), "--help"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    return ask


def test_the_workflow_gives_no_more_rights_than_needed() -> None:
    assert re.search(r"^permissions:\n  contents: read$", WORKFLOW, re.MULTILINE)
    assert WORKFLOW.count("contents: write") == 1
    jobs = WORKFLOW.count("\n    runs-on:")
    assert jobs == WORKFLOW.count("\n    timeout-minutes:")
    assert WORKFLOW.count("actions/checkout@") == WORKFLOW.count("persist-credentials: false")
