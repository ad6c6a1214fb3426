"""Models from a hub: found, chosen, brought, gone on with, checked; and every way in which that goes wrong."""

import errno
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from engine.cancel import CancelToken
from engine.cli.main import main
from engine.errors import Cancelled, DownloadFailed
from engine.hub.get import GotFile, Manner, get, order
from engine.hub.hugging_face import HuggingFace
from engine.hub.partial import PARTIAL, PartialFile
from engine.hub.transfer import DownloadProgress, SpeedLimit
from engine.hub.wanted import read_wanted
from engine.hub.web import Head, Patience, Web, retry_after
from helpers.hub import Fault, LocalHub, sha256
from helpers.paths import ROOT

QUICK = Patience(connect=2, silent=2, tries=3, first=0.001, most=0.002, longest_wait=2)
MODEL = b"GGUF" + random.Random(7).randbytes(3_000_000)
OTHER = b"GGUF" + random.Random(8).randbytes(2_900_000)
SECRET = "hf_" + "x" * 8
NAME = "small-Q8_0.gguf"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = {NAME: MODEL, "small-Q4_K_M.gguf": OTHER, "README.md": b"# Small", ".gitattributes": b"*.gguf lfs"}
    with LocalHub({"maker/small-GGUF": files}) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for models; what else a test needs on disk is beside it."""
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def bring(
    hub: LocalHub,
    folder: Path,
    text: str = "maker/small-GGUF:Q8_0",
    *files: str,
    token: str | None = None,
    **how: object,
) -> tuple[GotFile, ...]:
    asked = HuggingFace(hub.url, token, QUICK)
    cancel = how.pop("cancel", None) or CancelToken()
    assert isinstance(cancel, CancelToken)
    return get(asked, order(asked, read_wanted(text, files), cancel), folder, cancel, Manner(**how))  # type: ignore[arg-type]


def left(folder: Path) -> list[str]:
    """All files in a folder, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_quantisation_comes_checked_and_leaves_nothing_else(hub: LocalHub, folder: Path) -> None:
    seen: list[DownloadProgress] = []
    (got,) = bring(hub, folder, progress=seen.append)
    assert got == GotFile(folder / NAME, len(MODEL), sha256(MODEL), already=False)
    assert got.path.read_bytes() == MODEL
    assert left(folder) == [NAME]
    assert seen[-1] == DownloadProgress(NAME, len(MODEL), len(MODEL), len(MODEL))
    (again,) = bring(hub, folder)
    assert again.already
    assert len(hub.sent) == 1


def test_parts_projector_and_heads_come_along(hub: LocalHub, folder: Path) -> None:
    parts = {f"Q4_K_M/big-Q4_K_M-0000{part}-of-00002.gguf": b"GGUF" + bytes([part]) * 70_000 for part in (1, 2)}
    beside = {"mmproj-big-F16.gguf": b"GGUFp", "mmproj-big-F32.gguf": b"GGUFq", "big-eagle3-Q8_0.gguf": b"GGUFh"}
    hub.files["maker/big"] = parts | beside | {"big-Q2_K.gguf": b"GGUF2", "imatrix.gguf": b"GGUFi"}
    got = bring(hub, folder, "hf:maker/big")
    names = {str(file.path.relative_to(folder)) for file in got}
    assert names == {*parts, "mmproj-big-F16.gguf", "big-eagle3-Q8_0.gguf"}
    assert all((folder / path).read_bytes() == data for path, data in parts.items())
    with pytest.raises(DownloadFailed, match=r"maker/big has no Q9_9\. It has: Q2_K, Q4_K_M\."):
        bring(hub, folder, "maker/big:Q9_9")
    with pytest.raises(DownloadFailed, match="has no file nothing"):
        bring(hub, folder, "maker/big", "nothing*")


def test_safetensors_come_as_a_folder(hub: LocalHub, folder: Path) -> None:
    weights = (2).to_bytes(8, "little") + b"{}" + bytes(9)
    hub.files["maker/st"] = {"config.json": b"{}", "model.safetensors": weights, "a.py": b"!", "tokenizer.json": b"{}"}
    bring(hub, folder, "maker/st")
    assert left(folder) == ["config.json", "model.safetensors", "tokenizer.json"]


def test_a_listing_in_pages(hub: LocalHub, folder: Path) -> None:
    hub.pages = 2
    (got,) = bring(hub, folder)
    assert got.sha256 == sha256(MODEL)
    assert sum("/tree/" in asked.path for asked in hub.asked) == 2


@pytest.mark.parametrize("name", ["../out.gguf", "/etc/out.gguf", "a/../../out.gguf", "a\\..\\out.gguf", "C:out.gguf",
                                  ".hidden.gguf", "con.gguf", "a\nb.gguf", f"{PARTIAL}/x.gguf"])  # fmt: skip
def test_no_name_leaves_the_folder(name: str, hub: LocalHub, folder: Path) -> None:
    hub.files["maker/small-GGUF"] = {name: MODEL}
    with pytest.raises(DownloadFailed, match="no name for a file here"):
        bring(hub, folder / "inner", "maker/small-GGUF", "*")
    assert left(folder) == []


def test_a_mirror_that_knows_less(hub: LocalHub, folder: Path) -> None:
    """It has neither revisions nor sizes in its listing, and the tree of the branch alone."""
    hub.mirror = True
    (got,) = bring(hub, folder)
    assert got.sha256 == sha256(MODEL)


def test_two_programs_do_not_write_one_file(hub: LocalHub, folder: Path) -> None:
    with (
        PartialFile(folder, folder / NAME),
        pytest.raises(DownloadFailed, match=r"downloaded into .* already"),
    ):
        bring(hub, folder)


def test_what_a_server_asks_to_wait() -> None:
    assert retry_after("7") == 7
    assert retry_after("Thu, 01 Jan 1970 00:00:00 GMT") == 0
    assert retry_after("soon") is retry_after(None) is None


def test_cuts_and_busy_servers_are_gone_through(hub: LocalHub, folder: Path) -> None:
    hub.faults.extend([
        Fault(status=429, headers={"Retry-After": "0"}),
        Fault(status=503),
        Fault(cut=700_000),
        Fault(status=500),
        Fault(cut=800_000, reset=True),
        Fault(status=403),  # The signed address has expired.
    ])  # fmt: skip
    (got,) = bring(hub, folder)
    assert got.path.read_bytes() == MODEL
    assert left(folder) == [NAME]
    signed = [asked.path for asked in hub.asked if asked.server == "files"]
    assert len(set(signed)) == len(signed) == 7
    assert hub.most_again(NAME) < 2**20


def test_a_killed_download_goes_on(hub: LocalHub, folder: Path) -> None:
    hub.faults.append(Fault(speed=20_000_000))
    cancel = CancelToken()

    def stop(progress: DownloadProgress) -> None:
        if progress.done > 1_000_000:
            cancel.cancel()

    with pytest.raises(Cancelled):
        bring(hub, folder, progress=stop, cancel=cancel)
    assert len(left(folder)) == 3
    assert not (folder / NAME).exists()
    seen: list[DownloadProgress] = []
    (got,) = bring(hub, folder, progress=seen.append)
    assert got.path.read_bytes() == MODEL
    assert left(folder) == [NAME]
    assert seen[-1].moved < len(MODEL) - 1_000_000


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("later", [True, False])
def test_a_file_that_changes_begins_anew_and_says_so(hub: LocalHub, folder: Path, *, linked: bool, later: bool) -> None:
    hub.linked = linked
    said: list[str] = []
    if later:
        hub.faults.extend([Fault(cut=900_000), *[Fault(status=404)] * 3])
        with pytest.raises(DownloadFailed):
            bring(hub, folder, note=said.append)
        hub.files["maker/small-GGUF"][NAME] = OTHER
    else:
        hub.faults.extend([Fault(cut=900_000), Fault(changes=OTHER)])
    (got,) = bring(hub, folder, note=said.append)
    assert got.path.read_bytes() == OTHER
    assert left(folder) == [NAME]
    (sentence,) = said
    assert "has changed at 127.0.0.1" in sentence
    assert "begins anew" in sentence


def test_a_server_without_ranges_begins_anew(hub: LocalHub, folder: Path) -> None:
    said: list[str] = []
    hub.faults.extend([Fault(cut=900_000), Fault(whole=True)])
    bring(hub, folder, note=said.append)
    assert (folder / NAME).read_bytes() == MODEL
    assert "the server cannot resume" in said[0]


@pytest.mark.parametrize("lies", [1, 4])
def test_another_range_and_a_login_page_cost_nothing_but_tries(
    hub: LocalHub, folder: Path, monkeypatch: pytest.MonkeyPatch, lies: int
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "QUICK", replace(QUICK, tries=9))
    page = Fault(whole=True, body=b"<html>Log in</html>", headers={"Content-Type": "text/html"})
    other = Fault(headers={"Content-Range": f"bytes 5-{len(MODEL) - 1}/{len(MODEL)}"})
    hub.faults.extend([Fault(cut=1_000_000), page, *[other] * lies])
    notes: list[str] = []
    (got,) = bring(hub, folder, note=notes.append)
    assert got.path.read_bytes() == MODEL
    assert [str(note) for note in notes] == ["small-Q8_0.gguf starts again: the server cannot resume."] * (lies > 3)


def test_single_bytes_are_no_answer(folder: Path) -> None:
    def drip(listening: socket.socket) -> None:
        with listening.accept()[0] as connection, suppress(OSError):
            while True:
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=drip, args=(listening,), daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        asked = HuggingFace(address, None, replace(QUICK, connect=0.1, silent=0.1, tries=1))
        with pytest.raises(DownloadFailed, match="does not answer"):
            order(asked, read_wanted("maker/small-GGUF"), CancelToken())


def test_a_server_is_told_at_once_that_nothing_more_is_taken() -> None:
    closed, sent = Event(), []

    def send(listening: socket.socket) -> None:
        with listening.accept()[0] as connection, suppress(ConnectionError):
            connection.recv(10_000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(100))
            closed.wait(10.0)
            sent.append(connection.send(b"more"))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=send, args=(listening,))
        thread.start()
        pieces = Web().pieces(f"http://127.0.0.1:{listening.getsockname()[1]}", CancelToken(), {})
        assert isinstance(next(pieces), Head)
        pieces.close()
        closed.set()
        thread.join(10.0)
    assert not sent


def test_wrong_files_never_stand_among_the_models(hub: LocalHub, folder: Path) -> None:
    page = b"<!DOCTYPE html><html>Sign in</html>"
    for fault, why in (
        (Fault(body=bytes(len(MODEL))), "is no GGUF file"),
        (Fault(body=page.ljust(len(MODEL))), "is a web page, no model"),
        (Fault(body=MODEL[:-1] + b"!"), "came with a wrong checksum and was thrown away"),
    ):
        hub.faults.append(fault)
        with pytest.raises(DownloadFailed, match=why):
            bring(hub, folder)
        assert left(folder) == []


def test_a_listing_that_contradicts_the_file(hub: LocalHub, folder: Path) -> None:
    hub.listed[NAME] = sha256(b"another")
    with pytest.raises(DownloadFailed, match="says two things"):
        bring(hub, folder)
    hub.linked = False
    with pytest.raises(DownloadFailed, match="wrong checksum"):
        bring(hub, folder)
    assert left(folder) == []


def test_a_full_disk_and_a_folder_that_vanishes(hub: LocalHub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 2_000_000}))
        with pytest.raises(DownloadFailed, match=r"has no room: 19\.8 MB more are needed, and 2\.0 MB are free"):
            bring(hub, folder)
    hub.faults.append(Fault(cut=900_000))

    def vanish(progress: DownloadProgress) -> None:
        if folder.exists() and progress.done > 500_000:
            folder.rename(folder.with_name("elsewhere"))

    with pytest.raises(DownloadFailed, match="is gone"):
        bring(hub, folder, progress=vanish)
    assert not folder.exists()


def test_a_disk_that_fails_meanwhile(hub: LocalHub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece brought to the disk early counts too: the system reports that it failed only once."""
    monkeypatch.setattr("engine.hub.partial._SYNC_EACH", 2**20)
    errors = [OSError(errno.EIO, "Input/output error")]
    fsync = os.fsync

    def fail_once(descriptor: int) -> None:
        if errors and os.fstat(descriptor).st_size > 2**20:
            raise errors.pop()
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", fail_once)
    with pytest.raises(DownloadFailed, match=r"Cannot write to .*: Input/output error"):
        bring(hub, folder)
    assert not (folder / NAME).exists()
    (got,) = bring(hub, folder)
    assert got.path.read_bytes() == MODEL


def test_a_disk_that_hangs_keeps_no_program_from_ending(folder: Path) -> None:
    code = """
import os, time
from pathlib import Path
from engine.hub import partial
os.fsync = lambda _descriptor: time.sleep(600)
partial._SYNC_EACH = 1
part = partial.PartialFile(Path.cwd(), Path("x.gguf").absolute())
part.append(memoryview(b"GGUF"))
part.append(memoryview(b"GGUF"))
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=60,
                   check=True)  # fmt: skip


def test_a_server_that_refuses(hub: LocalHub, folder: Path) -> None:
    with pytest.raises(DownloadFailed, match="no maker/none at 127"):
        bring(hub, folder, "maker/none")
    hub.faults.extend([Fault(status=429, headers={"Retry-After": "3600"})])
    with pytest.raises(DownloadFailed, match=r"busy \(429\)\. Ask again in 3600 s"):
        bring(hub, folder)
    hub.faults.extend([Fault(status=502)] * 3)
    with pytest.raises(DownloadFailed, match=r"busy \(502\)\. Ask again later"):
        bring(hub, folder)
    hub.hub_faults.append(Fault(status=200, body=b"<html>"))
    with pytest.raises(DownloadFailed, match="no listing of models"):
        bring(hub, folder)
    with pytest.raises(DownloadFailed, match="connection to localhost:9 fails"):
        HuggingFace("http://localhost:9", None, QUICK).search("x", CancelToken())
    assert left(folder) == []


def test_a_token_goes_to_the_hub_alone(hub: LocalHub, folder: Path) -> None:
    hub.token = SECRET
    with pytest.raises(DownloadFailed, match="is gated"):
        bring(hub, folder)
    bring(hub, folder, token=SECRET)
    for asked in hub.asked[-2:]:
        assert ("Authorization" in asked.headers) == (asked.server == "hub")


def test_another_file_of_the_name_stays(hub: LocalHub, folder: Path) -> None:
    (folder / NAME).write_bytes(b"mine")
    with pytest.raises(DownloadFailed, match=r"has another small-Q8_0\.gguf: there is a newer file"):
        bring(hub, folder)
    assert (folder / NAME).read_bytes() == b"mine"
    bring(hub, folder, replace=True)
    assert (folder / NAME).read_bytes() == MODEL


def test_two_at_once_and_a_limit(hub: LocalHub, folder: Path) -> None:
    got = bring(hub, folder, "maker/small-GGUF", "*.gguf", at_once=2, limit=SpeedLimit(50e6))
    assert {file.sha256 for file in got} == {sha256(MODEL), sha256(OTHER)}


def test_get_and_search_as_commands(
    hub: LocalHub, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    assert main(["search", "small", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["repositories"]
    assert found["name"] == "maker/small-GGUF"
    assert found["licence"] == "apache-2.0"
    assert found["quantisations"] == ["Q4_K_M", "Q8_0"]
    assert main(["search", "small"]) == 0
    assert "maker/small-GGUF" in capsys.readouterr().out
    assert main(["get", "maker/small-GGUF:Q8_0", "--to", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [Path(file["path"]) for file in told["files"]] == [folder / NAME]
    monkeypatch.setenv("OUTRIDER_MODELS", str(folder / "models"))
    assert main(["get", "maker/small-GGUF", "README.md"]) == 0
    assert Path(capsys.readouterr().out.strip()) == folder / "models" / "maker" / "small-GGUF" / "README.md"
    for wrong in ("a/b/c", "../x", "a b", "maker/small-GGUF:"):
        main(["get", wrong, "--to", str(folder)])
        assert "Traceback" not in capsys.readouterr().err
    assert os.environ["HF_ENDPOINT"] == hub.url


def test_modelscope_is_asked_where_the_first_hub_is_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its listing has other names for the same; what it sends is checked as well, and it is said who was asked."""
    data = b"GGUF" + bytes(5000)
    with LocalHub({"maker/tiny": {"tiny-Q8_0.gguf": data}}) as hub:
        files = [
            {"Path": "parts", "Type": "tree", "Size": 0},
            {"Path": "tiny-Q8_0.gguf", "Type": "blob", "Size": len(data), "Sha256": sha256(data)},
        ]
        listed = [{"id": "maker/tiny", "downloads": 7, "tags": ["library:gguf"], "license": "mit"}, {"id": "maker/no"}]
        link = {"Location": f"{hub.files_url}/maker/tiny/tiny-Q8_0.gguf"}
        hub.other = {
            "/api/v1/models/maker/tiny/repo/files": lambda: answer({"Code": 200, "Data": {"Files": files}}),
            "/api/v1/models/maker/none/repo/files": lambda: answer({"Code": 404, "Data": None}),
            "/openapi/v1/models": lambda: answer({"success": True, "data": {"models": listed}}),
            "/models/maker/tiny/resolve/master/tiny-Q8_0.gguf": lambda: (302, link, b""),
        }
        monkeypatch.setenv("HF_ENDPOINT", "http://localhost:9")
        monkeypatch.setenv("MODELSCOPE_DOMAIN", hub.url)
        monkeypatch.setattr("engine.hub.hubs._SHORT", QUICK)
        assert main(["get", "maker/tiny", "--to", str(tmp_path)]) == 0
        assert (tmp_path / "tiny-Q8_0.gguf").read_bytes() == data
        assert "localhost:9 cannot be reached; 127.0.0.1" in capsys.readouterr().err
        assert main(["search", "tiny", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["hub"] == hub.url
        assert [(each["name"], each["licence"]) for each in told["repositories"]] == [("maker/tiny", "mit")]
        assert main(["get", "maker/none", "--to", str(tmp_path)]) == 2
        assert "localhost:9: its name" in (said := capsys.readouterr().err) or "localhost:9" in said
        # Whoever names a hub is sent to no other one.
        monkeypatch.delenv("MODELSCOPE_DOMAIN")
        hub.asked.clear()
        monkeypatch.setattr("engine.hub.hugging_face.Patience", lambda: QUICK)
        assert main(["get", "maker/tiny", "--to", str(tmp_path / "x")]) == 2
        assert hub.asked == []


def answer(told: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """An answer of a hub, as JSON."""
    return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()
