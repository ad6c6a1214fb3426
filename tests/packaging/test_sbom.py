"""The list of components: complete, repeatable, and valid CycloneDX."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from components import sbom
from components.licences import Component

PARTS = [
    Component("Outrider", "0.1.0", "MIT", "python", ("outrider/LICENSE",)),
    Component("Jinja2", "3.1.6", "BSD License", "python", ("jinja2/LICENSE.txt",), "https://example.org/jinja"),
    Component("PySide6_Essentials", "6.11.3", "LGPL-3.0-only OR GPL-3.0-only", "python", ("x",)),
    Component("torch", "2.13.0+cpu", "BSD-3-Clause", "python", ("x",)),
    Component("Python", "3.11.7", "Python-2.0.1", "runtime", ("x",)),
    Component("PyInstaller bootloader", "6.22.3", "GPL-2.0-or-later WITH Bootloader-exception", "runtime", ("x",)),
    Component("llama.cpp", "0.5.0", "MIT", "native", ("x",)),
    Component("zlib1g", "1:1.2.13.dfsg-1", "Zlib", "system", ("x",), "https://packages.debian.org/zlib1g"),
    Component("odd", "", "unknown", "system"),
    Component("Phosphor Icons", "1.3.0", "MIT", "data", ("x",)),
    Component("Outrider demo models", "0.1.0", "MIT", "model", ("x",)),
]


def write(folder: Path, timestamp: int = 1_700_000_000) -> dict[str, Any]:
    carrier = folder / "outrider_0.1.0_amd64.deb"
    carrier.write_bytes(b"a package")
    target = folder / "new" / "outrider.cdx.json"
    sbom.write_sbom(PARTS, [carrier], target, version="0.1.0", commit="c0ffee", timestamp=timestamp)
    told: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return told


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("Jinja2", {"type": "pypi", "name": "jinja2", "version": "3.1.6"}),
        ("PySide6_Essentials", {"type": "pypi", "name": "pyside6-essentials", "version": "6.11.3"}),
        ("PyInstaller bootloader", {"type": "pypi", "name": "pyinstaller", "version": "6.22.3"}),
        ("llama.cpp", {"type": "generic", "name": "llama.cpp", "version": "0.5.0"}),
        ("zlib1g", {"type": "deb", "namespace": "debian", "name": "zlib1g", "version": "1:1.2.13.dfsg-1"}),
        ("odd", None),
        ("Phosphor Icons", None),
    ],
)
def test_package_urls(name: str, url: dict[str, str] | None) -> None:
    assert sbom.package_url(next(part for part in PARTS if part.name == name)) == url


def test_everything_is_listed_once(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx")
    told = write(tmp_path)
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    whole = told["metadata"]["component"]
    assert (whole["name"], whole["version"], whole["type"]) == ("Outrider", "0.1.0", "application")
    assert whole["properties"] == [{"name": "outrider:commit", "value": "c0ffee"}]
    assert told["metadata"]["timestamp"].startswith("2023-11-14T22:13:20")
    parts = {part["name"]: part for part in told["components"]}
    assert set(parts) == {part.name for part in PARTS} - {"Outrider"} | {"outrider_0.1.0_amd64.deb"}
    assert len(told["components"]) == len(parts)
    assert parts["Jinja2"]["licenses"] == [{"license": {"name": "BSD License"}}]
    assert parts["PySide6_Essentials"]["licenses"] == [{"expression": "LGPL-3.0-only OR GPL-3.0-only"}]
    assert parts["zlib1g"]["licenses"] == [{"license": {"id": "Zlib"}}]
    assert parts["torch"]["purl"] == "pkg:pypi/torch@2.13.0%2Bcpu"
    assert parts["Outrider demo models"]["type"] == "machine-learning-model"
    assert "licenses" not in parts["odd"]
    digest = hashlib.sha256(b"a package").hexdigest()
    assert parts["outrider_0.1.0_amd64.deb"]["hashes"] == [{"alg": "SHA-256", "content": digest}]


def test_it_depends_on_the_content_only(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx")
    first = write(tmp_path)
    text = (tmp_path / "new" / "outrider.cdx.json").read_bytes()
    # Another process, for another order of hashes.
    script = f"import pathlib, test_sbom; test_sbom.write(pathlib.Path({str(tmp_path)!r}))"
    place = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]), "PYTHONHASHSEED": "77"}
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | place)
    assert (tmp_path / "new" / "outrider.cdx.json").read_bytes() == text
    assert write(tmp_path, timestamp=1_700_000_001)["serialNumber"] != first["serialNumber"]


def test_it_is_valid(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx")
    pytest.importorskip("jsonschema", reason="the library's validator needs it")
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    text = json.dumps(write(tmp_path))
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(text) is None
    assert validator.validate_str(text.replace('"CycloneDX"', '"Another"')) is not None
