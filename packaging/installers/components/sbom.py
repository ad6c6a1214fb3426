"""The list of a program's components for other programs to read: CycloneDX 1.6, JSON."""

import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bundle_files import sha256

from components.licences import Component
from components.owners import normal
from components.texts import UNKNOWN

_SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "io.github.outrider_chat.Outrider")
_TYPES = {"python": "library", "native": "library", "system": "library", "runtime": "framework", "data": "data"}
_OURS = "Outrider"


def write_sbom(
    components: Iterable[Component], files: Iterable[Path], target: Path, *, version: str, commit: str, timestamp: int
) -> None:
    """Write the list of components, with the SHA-256 of the files that carry the program, to `target`.

    `timestamp`: seconds since 1970. The same for the same input: the serial number is made of the content.
    Source: CycloneDX 1.6 (ECMA-424); package URLs: purl-spec.
    """
    from cyclonedx.output.json import JsonV1Dot6  # noqa: PLC0415 - only in the environment that builds installers

    bom = _bill(list(components), list(files), version, commit, timestamp)
    nameless = json.loads(JsonV1Dot6(bom).output_as_string())
    nameless.pop("serialNumber", None)
    bom.serial_number = uuid.uuid5(_SPACE, json.dumps(nameless, sort_keys=True))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n", encoding="utf-8", newline="\n")


def package_url(component: Component) -> dict[str, str] | None:
    """Split a component's package URL into type, namespace, name and version; None without a URL."""
    numbered = {"version": component.version} if component.version else {}
    if component.kind == "system":
        if not component.url.startswith("https://packages.debian.org/"):
            return None
        return {"type": "deb", "namespace": "debian", "name": component.name} | numbered
    if component.kind == "python" and component.licence != UNKNOWN:
        return {"type": "pypi", "name": normal(component.name)} | numbered
    if component.name == "PyInstaller bootloader":
        return {"type": "pypi", "name": "pyinstaller"} | numbered
    if component.kind in {"native", "runtime"}:
        return {"type": "generic", "name": component.name.lower()} | numbered
    return None


def _bill(components: list[Component], files: list[Path], version: str, commit: str, timestamp: int) -> Any:
    from cyclonedx.model import Property  # noqa: PLC0415
    from cyclonedx.model.bom import Bom  # noqa: PLC0415
    from cyclonedx.model.component import Component as Part  # noqa: PLC0415
    from cyclonedx.model.component import ComponentType  # noqa: PLC0415
    from packageurl import PackageURL  # noqa: PLC0415

    whole = Part(
        type=ComponentType.APPLICATION,
        name=_OURS,
        version=version,
        bom_ref="outrider",
        purl=PackageURL(type="generic", name="outrider", version=version),
        licenses=_licences("MIT"),
        properties=[Property(name="outrider:commit", value=commit)],
    )
    bom = Bom()
    bom.metadata.component = whole
    bom.metadata.timestamp = datetime.fromtimestamp(timestamp, UTC)
    parts = [_part(one) for one in components if one.name != _OURS]
    parts += [_shipped(file) for file in files]
    for part in parts:
        bom.components.add(part)
        bom.register_dependency(part)
    bom.register_dependency(whole, parts)
    return bom


def _part(component: Component) -> Any:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, XsUri  # noqa: PLC0415
    from cyclonedx.model.component import Component as Part  # noqa: PLC0415
    from cyclonedx.model.component import ComponentType  # noqa: PLC0415
    from packageurl import PackageURL  # noqa: PLC0415

    told = package_url(component)
    website = [ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(component.url))] if component.url else []
    kind = "machine-learning-model" if component.kind == "model" else _TYPES[component.kind]
    return Part(
        type=ComponentType(kind),
        name=component.name,
        version=component.version or None,
        bom_ref=f"{component.kind}/{component.name}@{component.version}",
        purl=PackageURL(told["type"], told.get("namespace"), told["name"], told.get("version")) if told else None,
        licenses=_licences(component.licence),
        external_references=website,
    )


def _licences(words: str) -> list[Any]:
    """Parse an SPDX expression, or fall back to a licence of that name."""
    from cyclonedx.contrib.license.factories import LicenseFactory  # noqa: PLC0415

    return [] if words == UNKNOWN else [LicenseFactory().make_from_string(words)]


def _shipped(file: Path) -> Any:
    from cyclonedx.model import HashAlgorithm, HashType  # noqa: PLC0415
    from cyclonedx.model.component import Component as Part  # noqa: PLC0415
    from cyclonedx.model.component import ComponentType  # noqa: PLC0415

    return Part(
        type=ComponentType.FILE,
        name=file.name,
        bom_ref=f"file/{file.name}",
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256(file))],
    )
