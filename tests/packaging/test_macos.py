"""The macOS application, as far as it can be checked on another system."""

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MACOS = ROOT / "packaging" / "macos"


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
