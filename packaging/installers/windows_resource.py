"""The version resource of the Windows programs, as shown in Explorer under Properties, Details.

Source: Microsoft's VS_VERSIONINFO, in the notation that PyInstaller's `EXE(version=...)` reads.
"""

import re
from pathlib import Path

PUBLISHER = "Outrider contributors"
PRODUCT = "Outrider"
COPYRIGHT = "Copyright © 2026 Outrider contributors. MIT License."
DESCRIPTIONS = {"outrider": "Outrider", "outrider-engine": "Outrider's engine (command line)"}
_RELEASE = re.compile(r"(\d+(?:\.\d+){0,3})(?P<rest>.*)")
_PRERELEASE = 0x2  # VS_FF_PRERELEASE
_UNICODE_ENGLISH = "040904B0"


def numeric_version(version: str) -> tuple[int, int, int, int]:
    """Parse the four 16-bit numbers that Windows compares; a suffix ("rc1", ".dev3") is dropped.

    Raises ValueError if the version does not begin with one to four such numbers.
    """
    found = _RELEASE.match(version)
    if found is None:
        raise ValueError(f"the version {version!r} does not begin with a number")
    numbers = [int(part) for part in found[1].split(".")]
    if max(numbers) > 0xFFFF:
        raise ValueError(f"Windows cannot hold the version {version!r}: each number must be at most 65535")
    first, second, third, fourth = numbers + [0] * (4 - len(numbers))
    return first, second, third, fourth


def version_resource(version: str, program: str) -> str:
    """The resource for one program (a key of DESCRIPTIONS), as the text of a PyInstaller version file."""
    numbers = numeric_version(version)
    found = _RELEASE.match(version)
    flags = _PRERELEASE if found is not None and found["rest"] else 0
    strings = {
        "CompanyName": PUBLISHER,
        "FileDescription": DESCRIPTIONS[program],
        "FileVersion": version,
        "InternalName": program,
        "LegalCopyright": COPYRIGHT,
        "OriginalFilename": f"{program}.exe",
        "ProductName": PRODUCT,
        "ProductVersion": version,
    }
    table = "\n".join(f"        StringStruct({name!r}, {text!r})," for name, text in strings.items())
    return f"""\
VSVersionInfo(
  ffi=FixedFileInfo(
    filevers={numbers},
    prodvers={numbers},
    mask=0x3f,
    flags={flags:#x},
    OS=0x40004,
    fileType=0x1,
    subtype=0x0,
    date=(0, 0)
  ),
  kids=[
    StringFileInfo([
      StringTable({_UNICODE_ENGLISH!r}, [
{table}
      ])
    ]),
    VarFileInfo([VarStruct('Translation', [0x409, 1200])])
  ]
)
"""


def write_version_resource(version: str, program: str, folder: Path) -> Path:
    """Write the version file of one program into `folder`; gives its path, for `EXE(version=...)`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{program}-version.txt"
    target.write_text(f"# UTF-8\n{version_resource(version, program)}", encoding="utf-8", newline="\n")
    return target
