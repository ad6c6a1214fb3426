"""Tests of the tools that come along, through their host."""

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from engine import Cancelled, CancelToken, Permission, Permissions, Toolbox, ToolCall, ToolOutput
from engine.errors import EngineError
from engine.host import BuiltinChoice, FoundChat, builtin_host, planned_calls
from engine.messages.message import Message
from engine.tools.builtin.web_page import FetchPageTool, is_public


def call(choice: BuiltinChoice, tool: str, cancel: CancelToken | None = None, /, **arguments: Any) -> ToolOutput:
    box = Toolbox([builtin_host(choice)])
    return box.call(tool, arguments, cancel=cancel or CancelToken(), timeout=20.0)


def test_nothing_is_offered_before_it_is_switched_on() -> None:
    assert builtin_host(BuiltinChoice()).tools() == ()


def test_each_tool_is_named_once_and_writes_nothing(tmp_path: Path) -> None:
    choice = BuiltinChoice(clock=True, calculator=True, pages=True, folders=(tmp_path,), chats=lambda _w, _n: ())
    tools = builtin_host(choice).tools()
    assert [tool.name for tool in tools] == [
        *("current_time", "search_chats", "list_folder", "read_file", "search_files"),
        *("fetch_page", "calculate", "plot"),
    ]
    assert not any(tool.writes for tool in tools)
    assert {tool.server for tool in tools} == {"Outrider"}


def test_the_time_is_told_in_a_zone() -> None:
    said = call(BuiltinChoice(clock=True), "current_time", time_zone="Asia/Tokyo").text
    assert re.fullmatch(r"\w+day, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+09:00", said)
    wrong = call(BuiltinChoice(clock=True), "current_time", time_zone="../../etc/passwd")
    assert wrong.is_error
    assert "no time zone" in wrong.text


def test_chats_are_searched_by_the_function_that_is_given() -> None:
    def search(words: str, most: int) -> list[FoundChat]:
        return [FoundChat(f"About {words}", datetime(2026, 5, 4, tzinfo=UTC), "x" * 5_000)] * min(most, 2)

    said = call(BuiltinChoice(chats=search), "search_chats", words="bread").text
    assert said.startswith("About bread (2026-05-04)\nxxx")
    assert len(said) < 2_000
    assert (
        call(BuiltinChoice(chats=lambda _w, _n: ()), "search_chats", words="bread").text == "No chat has these words."
    )
    assert call(BuiltinChoice(chats=search), "search_chats", words="!!").is_error


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return a folder beside a secret."""
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "list.txt").write_text("milk\nBread\n", encoding="utf-8")
    (folder / "deep" / "old.md").write_bytes("größe\nbread again\n".encode("cp1252"))
    (folder / "wide.txt").write_text("wide bread", encoding="utf-16")
    (folder / "picture.png").write_bytes(b"\x89PNG\0\0bread")
    (tmp_path / "secret.txt").write_text("bread of others", encoding="utf-8")
    (folder / "way-out").symlink_to(tmp_path)
    (folder / "leak.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def test_files_are_listed_read_and_searched(notes: Path) -> None:
    choice = BuiltinChoice(folders=(notes,))
    listed = call(choice, "list_folder").text.splitlines()
    assert listed[:2] == ["notes/", "deep/"]
    assert "list.txt  11 bytes" in listed
    assert call(choice, "read_file", path="notes/list.txt").text == "notes/list.txt\nmilk\nBread"
    assert call(choice, "read_file", path="deep/old.md").text.endswith("größe\nbread again")
    assert call(choice, "read_file", path=str(notes / "wide.txt")).text.endswith("wide bread")
    assert call(choice, "read_file", path="list.txt", first_line=2).text.endswith("txt\nBread")
    found = call(choice, "search_files", text="BREAD").text.splitlines()
    assert sorted(found) == [
        "notes/deep/old.md:2: bread again",
        "notes/list.txt:2: Bread",
        "notes/wide.txt:1: wide bread",
    ]
    assert call(choice, "search_files", name="*.md").text == "notes/deep/old.md"


@pytest.mark.parametrize(
    "path",
    [
        *("../secret.txt", "notes/../../secret.txt", "leak.txt", "way-out/secret.txt", "notes/leak.txt", "/etc/passwd"),
        *("deep/../../secret.txt", "~/x", "\0", "x" * 3_000, "notes\\..\\..\\secret.txt"),
    ],
)
def test_nothing_outside_of_the_folders_is_read(notes: Path, path: str) -> None:
    choice = BuiltinChoice(folders=(notes,))
    for name in ("read_file", "list_folder"):
        said = call(choice, name, path=path)
        assert said.is_error
        assert "others" not in said.text


def test_no_link_out_is_listed_or_searched(notes: Path) -> None:
    choice = BuiltinChoice(folders=(notes,))
    assert "leak" not in call(choice, "list_folder").text
    assert "way-out" not in call(choice, "list_folder").text
    assert "others" not in call(choice, "search_files", text="others").text


def test_what_is_no_text_is_said_to_be_none(notes: Path) -> None:
    choice = BuiltinChoice(folders=(notes,))
    assert call(choice, "read_file", path="picture.png").text == "It holds no text."
    assert "folder" in call(choice, "read_file", path="deep").text
    assert "file" in call(choice, "list_folder", path="list.txt").text
    assert call(choice, "search_files").is_error
    assert call(choice, "read_file", path=["list.txt"]).is_error


def test_two_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = (tmp_path / "a" / "notes", tmp_path / "b" / "notes")
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        (folder / "it.txt").write_text(str(number), encoding="utf-8")
    choice = BuiltinChoice(folders=folders)
    assert call(choice, "list_folder").text == "notes/\nnotes-2/"
    assert call(choice, "read_file", path="notes/it.txt").text.endswith("\n0")
    assert call(choice, "read_file", path="notes-2/it.txt").text.endswith("\n1")


def test_a_long_file_is_read_in_parts_and_a_search_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("\n".join(map(str, range(1_000))), encoding="utf-8")
    choice = BuiltinChoice(folders=(tmp_path,))
    assert call(choice, "read_file", path="long.txt").text.endswith("[600 more lines: go on with first_line 401]")
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        call(choice, "search_files", cancel, text="7")


PAGE = (
    "<html><head><title>A  page</title><script>alert(1)</script></head><body><nav>menu</nav>"
    "<p>First</p><p>Second <b>bold</b></p><style>p{}</style></body></html>"
)


def fetch(
    url: str, answer: Mapping[str, httpx.Response] | httpx.Response, addresses: Mapping[str, list[str]] | None = None
) -> tuple[ToolOutput, list[httpx.Request]]:
    """Fetch a page from a server that answers so."""
    asked: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        told = answer if isinstance(answer, httpx.Response) else answer[request.url.path]
        return httpx.Response(told.status_code, headers=told.headers, content=iter([told.content]))

    known = {"page.example": ["93.184.215.14"]} if addresses is None else addresses
    tool = FetchPageTool(lambda host, _port: known.get(host, []), httpx.MockTransport(respond))
    try:
        return tool.call({"url": url}, CancelToken(), 5.0), asked
    except EngineError as error:
        return ToolOutput(str(error), is_error=True), asked


def test_a_page_becomes_text() -> None:
    said, asked = fetch("https://page.example/a#part", httpx.Response(200, html=PAGE))
    assert said.text.splitlines() == ["https://page.example/a", "", "A page", "", "First", "Second bold"]
    assert "alert" not in said.text
    assert "menu" not in said.text
    assert asked[0].url.host == "93.184.215.14"  # the very address that was looked at
    assert asked[0].headers["host"] == "page.example"
    assert asked[0].extensions["sni_hostname"] == "page.example"
    assert "cookie" not in asked[0].headers


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "172.16.0.1", "0.0.0.0", "100.64.0.1", "::1"),  # noqa: S104
        *("fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "nonsense"),
    ],
)
def test_no_page_comes_from_an_address_within(address: str) -> None:
    assert not is_public(address)
    addresses = {"inner.example": ["93.184.215.14", address], address: [address]}
    said, asked = fetch("http://inner.example/", httpx.Response(200, html=PAGE), addresses)
    assert said.is_error
    assert "not on the public internet" in said.text
    assert not asked


def test_a_redirect_is_followed_on_the_same_host_alone() -> None:
    answers = {
        "/": httpx.Response(302, headers={"location": "/there"}),
        "/there": httpx.Response(200, text="here", headers={"content-type": "text/plain"}),
        "/away": httpx.Response(302, headers={"location": "http://127.0.0.1:8642/v1/models"}),
        "/round": httpx.Response(302, headers={"location": "/round"}),
    }
    assert fetch("https://page.example/", answers)[0].text == "https://page.example/there\n\nhere"
    away, asked = fetch("https://page.example/away", answers)
    assert away.text.startswith("The page has moved to http://127.0.0.1:8642/v1/models. Call fetch_page")
    assert len(asked) == 1
    assert "without end" in fetch("https://page.example/round", answers)[0].text


@pytest.mark.parametrize(
    "url",
    [
        *("https://me:secret@page.example/", "file:///etc/passwd", "ftp://page.example/", "page.example", ""),
        *("https://", "javascript:alert(1)", "http://[::1", "https://unknown.example/"),
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    said, asked = fetch(url, httpx.Response(200, html=PAGE))
    assert said.is_error
    assert not asked


def test_what_is_too_long_or_no_text_is_bounded() -> None:
    long, _ = fetch("https://page.example/", httpx.Response(200, text="x" * 5_000_000))
    assert len(long.text) < 3 * 2**20 + 200
    assert long.text.endswith("very long]")
    binary = httpx.Response(200, content=b"\0\1", headers={"content-type": "image/png"})
    assert fetch("https://page.example/", binary)[0].text == "The page is no text but image/png."
    assert "404" in fetch("https://page.example/", httpx.Response(404, html="no"))[0].text


def test_each_host_is_asked_about_anew(tmp_path: Path) -> None:
    box, permissions = Toolbox([builtin_host(BuiltinChoice(pages=True))]), Permissions(tmp_path / "kept.json")

    def asked(url: str) -> Any:
        call = ToolCall("1", "fetch_page", {"url": url})
        planned = planned_calls(Message("assistant", [call]), box)[0].tool
        assert planned is not None
        return planned

    one, same, other = (asked(f"https://{host}/x") for host in ("one.example", "ONE.example", "two.example"))
    assert one.title == "Fetch a page: one.example"
    permissions.keep(one, Permission.always)
    assert permissions.given(same) is Permission.always
    assert permissions.given(other) is None
    assert permissions.given(asked("https://one.example@two.example/")) is None


CALCULATOR = BuiltinChoice(calculator=True)


def test_a_calculation_gives_its_value_and_what_it_printed() -> None:
    code = "console.log('a', {b: 1}); let s = 0; for (let i = 0; i < 10; i++) s += i; ({sum: s})"
    assert call(CALCULATOR, "calculate", code=code).text == 'a {"b":1}\n{"sum":45}'


def test_a_calculation_has_neither_files_nor_network_and_ends() -> None:
    code = (
        "[typeof require, typeof fetch, typeof std, typeof os, typeof process, typeof XMLHttpRequest,"
        " typeof setTimeout, typeof __own].join()"
    )
    assert call(CALCULATOR, "calculate", code=code).text == ",".join(["undefined"] * 8)
    wrong = call(CALCULATOR, "calculate", code="nonsense(")
    assert wrong.is_error
    assert "SyntaxError" in wrong.text
    greedy = call(CALCULATOR, "calculate", code="const a = []; while (true) a.push(new Array(100000).fill(1))")
    assert greedy.is_error
    assert len(call(CALCULATOR, "calculate", code="'x'.repeat(10000000)").text) < 40_000


def test_a_calculation_that_never_ends_can_be_cancelled() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        call(CALCULATOR, "calculate", cancel, code="for(;;);")


def test_a_plot_is_drawn_from_numbers_and_holds_no_markup_of_others() -> None:
    code = "({'<script>a': [[0, 1], [1, 4], [2, NaN], [3, 9]], b: [3, 2, 1]})"
    drawn = call(CALCULATOR, "plot", code=code, title="<b>Two & three</b>")
    assert "<script>a: 3 points, x from 0 to 3; lowest y 1 at x 0, highest y 9 at x 3." in drawn.text
    (picture,) = drawn.pictures
    kind, _, data = picture.partition(",")
    assert kind == "data:image/svg+xml;base64"
    tree = ET.fromstring(base64.b64decode(data))  # noqa: S314 - it is ours
    assert {each.tag.rpartition("}")[2] for each in tree.iter()} <= {"svg", "rect", "text", "path", "polyline"}
    assert next(each.text for each in tree.iter("{http://www.w3.org/2000/svg}text")) == "<b>Two & three</b>"
    assert len(tree.findall("{http://www.w3.org/2000/svg}polyline")) == 3  # a gap where a number is missing
    assert call(CALCULATOR, "plot", code="'no data'").is_error
