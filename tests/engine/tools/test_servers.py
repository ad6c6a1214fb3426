"""The file of servers: what all programs write there, what is refused, and what other programs have."""

import json
from pathlib import Path

import pytest

from engine import InvalidRequest
from engine.host import ServerConfig, read_servers, servers_elsewhere, write_servers

EVERYTHING = {
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "server-files", "/data"], "env": {"KEY": "x", "N": 3}, "cwd": "/"},
        "web page": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "old": {"command": "old", "disabled": True, "disabledTools": ["rm"], "autoApprove": ["rm"]},
    },
    "theme": "dark",
}


def test_the_form_of_all_programs_is_read_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps(EVERYTHING))
    files, web, old = servers = read_servers(path)
    assert (files.command, files.arguments) == ("npx", ("-y", "server-files", "/data"))
    assert (files.environment, files.folder) == ({"KEY": "x", "N": "3"}, "/")
    assert (web.url, web.on, old.on, old.off) == ("https://example.org/mcp", True, False, ("rm",))
    monkeypatch.setenv("TOKEN", "secret")
    assert web.expanded().headers == {"Authorization": "Bearer secret"}
    assert "secret" not in repr(web.expanded())
    own = tmp_path / "new" / "mcp.json"
    write_servers(servers, own)
    assert read_servers(own) == servers
    assert own.stat().st_mode & 0o777 == 0o600
    # What another program allows by itself is not taken over.
    assert "autoApprove" not in own.read_text()


@pytest.mark.parametrize(
    "text",
    [
        '{"servers": {"a": {"command": "x"}}}',
        '{"mcp": {"servers": {"a": {"type": "stdio", "command": "x"}}}}',
        '{"context_servers": {"a": {"command": {"path": "x", "args": []}}}}',
        '\ufeff{// said\n"mcpServers": {"a": {"command": "x", /* so */ "args": [],},}}',
        '{"mcpServers": {"a": {"command": "x", "args": null, "env": {}, "url": ""}}}',
    ],
)
def test_forms_of_others(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text, encoding="utf-8")
    assert read_servers(path) == (ServerConfig("a", "x"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", 'no servers under "mcpServers"'),
        ("{}", 'no servers under "mcpServers"'),
        ('{"mcpServers": []}', 'no servers under "mcpServers"'),
        ('{"mcpServers": {"a": 3}}', "a must be an object"),
        ('{"mcpServers": {"a": {}}}', "either a command or an address"),
        ('{"mcpServers": {"a": {"command": 3}}}', '"command" of the tool server a'),
        ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', '"args" of'),
        ('{"mcpServers": {"a": {"command": "x", "args": [3]}}}', '"args" of'),
        ('{"mcpServers": {"a": {"command": "x\\u0000"}}}', '"command" of'),
        ('{"mcpServers": {"a": {"command": "x", "env": {"A": []}}}}', '"env" of'),
        ('{"mcpServers": {"a": {"url": "file:///etc/passwd"}}}', "must begin with https"),
        ('{"mcpServers": {"a": {"type": "sse", "url": "https://x.org/sse"}}}', "old SSE"),
        ('{"mcpServers": {"a/b": {"command": "x"}}}', "cannot be the name"),
        ('{"mcpServers": {"\\u001b[2J": {"command": "x"}}}', "cannot be the name"),
        (json.dumps({"mcpServers": {str(number): {"command": "x"} for number in range(300)}}), "too many servers"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(InvalidRequest) as refused:
        read_servers(path)
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


def test_an_input_that_another_program_asks_for_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="wants an input"):
        ServerConfig("a", "x", environment={"KEY": "${input:key}"}).expanded()


def test_servers_of_other_programs_are_found_and_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sys.platform", "linux")
    for place, text in (
        ("config/Claude/claude_desktop_config.json", json.dumps(EVERYTHING)),
        (
            "config/Code/User/mcp.json",
            '{"servers": {"b": {"command": "y"}, "bad": {"type": "sse", "url": "http://x"}}}',
        ),
        (".cursor/mcp.json", '{"mcpServers": {}}'),
        (".claude.json", '{"history": []}'),
        (".lmstudio/mcp.json", "no JSON"),
    ):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    claude, code = servers_elsewhere()
    assert (claude.program, len(claude.servers)) == ("Claude Desktop", 3)
    assert not any(server.on for server in (*claude.servers, *code.servers))
    assert (code.program, code.servers[0].command) == ("VS Code", "y")
    assert "old SSE" in code.problems[0]
