"""Calls of tools in a terminal, and the command `tools`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import engine.cli.tools
from engine import CancelToken, Message, Permission, Permissions, Toolbox, ToolCall
from engine.cli.main import main
from engine.cli.tool_calls import TerminalCalls
from engine.host import read_servers
from engine.tools.mcp_client import ServerOffer
from engine.tools.servers import ServerConfig
from helpers.paths import ROOT
from helpers.tools.fake_tools import FunctionHost, tool

SERVER = str(ROOT / "tests" / "helpers" / "tools" / "hostile_server.py")


class Asked:
    """A terminal in which the answers are known; `said`: what was told beside the conversation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: str | type[BaseException], **how: Any) -> None:
        self.said: list[str] = []
        monkeypatch.setattr("builtins.print", lambda *lines: self.said.extend("".join(lines).splitlines()))
        self.questions: list[str] = []
        self._answers = list(answers)
        monkeypatch.setattr("builtins.input", self._input)
        self.host = FunctionHost({"read": lambda: "one\ntwo\x1b[2J\nthree", "write": lambda x: f"wrote {x}"})
        box = Toolbox([self.host])
        writing = tool("write", writes=True)
        box.tools["write"] = writing
        self.permissions = how.pop("permissions", None) or Permissions()
        told: dict[str, Any] = {"limit": 8, "terminal": True, **how}
        self.calls = TerminalCalls(box, self.permissions, self.said.append, **told)

    def _input(self, question: str) -> str:
        self.questions.append(question)
        answer = self._answers.pop(0)
        if isinstance(answer, str):
            return answer
        raise answer

    def answer(self, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], bool]:
        reply = Message("assistant", [ToolCall("", name, arguments) for name, arguments in calls])
        answered = self.calls.answer([], reply, CancelToken())
        return [message.content for message in answered.messages], answered.go_on


def test_a_call_is_shown_asked_and_its_result_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, "what?", "o", "a")
    assert asked.answer(("read", {})) == (["one\ntwo[2J\nthree"], True)
    assert asked.said == ["→ here · Read", "← one  (2 more lines: /result)"]
    assert asked.calls.last == "one\ntwo[2J\nthree"
    assert "(a)lways" in asked.questions[0]
    asked.answer(("read", {}))
    asked.answer(("read", {}))  # Allowed always: no third question.
    assert len(asked.questions) == 3


def test_what_writes_is_not_allowed_always(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, "always", "chat")
    assert asked.answer(("write", {"x": "a\x1b]0;b\nc"})) == (["wrote a\x1b]0;b\nc".replace("\x1b", "")], True)
    assert "(a)lways" not in asked.questions[0]
    assert "outrider-engine tools allow 'here/write'" in "".join(asked.said)
    assert all(line.isprintable() for line in asked.said)
    assert asked.answer(("write", {"x": "d"})) == (["wrote d"], True)
    asked.calls.begin_chat()
    assert asked.permissions.given(tool("write", writes=True)) is None


@pytest.mark.parametrize("end", [KeyboardInterrupt, EOFError])
def test_cancelling_a_question_leaves_every_call_its_result(
    end: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(monkeypatch, end)
    assert asked.answer(("read", {}), ("write", {"x": 1})) == (["The user cancelled this call."] * 2, False)
    assert asked.host.calls == []


def test_never_is_told_the_model_which_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, "n")
    said, go_on = asked.answer(("read", {}), ("read", {}), ("gone", {}))
    assert ["does not allow" in each for each in said] == [True, True, False]
    assert go_on
    assert asked.host.calls == []


def test_without_a_terminal_nothing_runs_but_what_was_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    permissions = Permissions()
    asked = Asked(monkeypatch, terminal=False, permissions=permissions)
    assert "does not allow" in asked.answer(("read", {}))[0][0]
    permissions.keep(tool("read"), Permission.always)
    assert asked.answer(("read", {}))[0][0].startswith("one")


def test_calls_end_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, "c", limit=2)
    said, go_on = asked.answer(*[("read", {})] * 3)
    assert (len(asked.host.calls), go_on, "no more than 2" in said[2]) == (2, False, True)
    asked.calls.begin_question()
    assert asked.answer(("read", {}))[1]


class Servers:
    """Stands in for the servers: each offers the same."""

    def host(self, config: ServerConfig) -> "Servers":
        return self

    def offer(self, _cancel: CancelToken) -> ServerOffer:
        return ServerOffer((tool("read", "files"), tool("write", "files", writes=True)), ("notes",), ("review",))

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("engine.tools.servers.user_config_path", lambda *_, **__: tmp_path / "settings")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(engine.cli.tools, "ToolServers", Servers)
    return tmp_path


def test_servers_are_added_switched_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "add", "files", "--env", "A=1", "--start", "npx -y 'my server'"]) == 0
    assert main(["tools", "add", "web", "--url", "https://example.org/mcp", "--header", "X=a=b"]) == 0
    files, web = read_servers()
    assert (files.command, files.arguments, files.environment, files.on) == (
        "npx",
        ("-y", "my server"),
        {"A": "1"},
        False,
    )
    assert (web.url, web.headers) == ("https://example.org/mcp", {"X": "a=b"})
    assert main(["tools", "on", "files"]) == main(["tools", "off", "files/write"]) == 0
    assert (read_servers()[0].on, read_servers()[0].off) == (True, ("write",))
    capsys.readouterr()
    assert main(["tools"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "on   files: npx -y my server (off: write)"
    assert main(["tools", "remove", "files"]) == 0
    assert [server.name for server in read_servers()] == ["web"]


def test_tools_are_shown_and_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["tools", "add", "files", "--start", "npx"])
    assert main(["tools", "allow", "files/write"]) == main(["tools", "off", "files/read"]) == 0
    capsys.readouterr()
    assert main(["tools", "show", "files", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["on"], each["permission"]) for each in told["tools"]] == [
        ("read", False, None),
        ("write", True, "always"),
    ]
    assert (told["resources"], told["prompts"]) == (["notes"], ["review"])
    assert main(["tools", "ask", "files/write"]) == main(["tools", "show", "files"]) == 0
    assert "write (writes, asks first)" in capsys.readouterr().out


def test_servers_of_other_programs_are_taken_over(own_settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = own_settings / ".cursor" / "mcp.json"
    place.parent.mkdir()
    place.write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"type": "sse", "url": "http://x"}}}')
    assert main(["tools", "import"]) == main(["tools", "import", "cursor"]) == 0
    assert "a: x" in capsys.readouterr().out
    assert read_servers() == (ServerConfig("a", "x", on=False),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("show", "Name what to show."),
        ("show nope", "There is no tool server 'nope'."),
        ("add x", "needs either a command or an address"),
        ("add x --env A --start y", "'A' must be a name, = and a value."),
        ("add a/b --start y", "cannot be the name"),
        ("add Out-rider --start y", "cannot be called Out-rider"),
        ("import nope", "There are no tool servers of nope."),
        ("remove nope", "There is no tool server"),
        ("dance", "ACTION must be one of"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["tools", *line.split()])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tool", "nope"], "there is no such tool or server. There are: time, calculate"),
        (["--tool", "files:/no/such"], "there is no folder /no/such"),
        (["--mcp", "/no/such.json"], "Cannot read /no/such.json"),
        (["--tool", "time", "--call-limit", "0"], "--call-limit must be 1 or more."),
    ],
)
def test_tools_of_a_chat_that_make_no_sense(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str], bundled_draft: Path
) -> None:
    assert main(["chat", "-m", str(bundled_draft), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_chat_without_tools_starts_no_server(monkeypatch: pytest.MonkeyPatch, own_settings: Path) -> None:
    """Not even one that is switched on in our own file: naming it is what starts it."""
    assert (
        main(["tools", "add", "files", "--start", f"{sys.executable} {SERVER}"]) == main(["tools", "on", "files"]) == 0
    )
    started: list[object] = []
    monkeypatch.setattr("engine.tools.mcp_client.start_child", started.append)
    monkeypatch.setattr("engine.cli.chat.load_models", lambda *_: pytest.fail("reached"))
    with pytest.raises(pytest.fail.Exception, match="reached"):
        main(["chat"])
    assert started == []
