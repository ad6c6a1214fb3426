"""The page of tools: what is on, whose tools there are, and who is asked."""

import base64
import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton, QTreeWidgetItem

from app.state.tools.choice import ToolChoice
from app.views.chat.tool_card import plot_of
from app.views.settings.tools import ToolsPage
from engine import CancelToken, Permission
from engine.host import BuiltinChoice, builtin_host
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.settings_window import open_settings


def _press(page: ToolsPage, words: str) -> None:
    next(each for each in page.findChildren(QPushButton) if each.text() == words).click()


def _line(page: ToolsPage, number: int) -> QTreeWidgetItem:
    """A tool of ours in the list."""
    own = page.tree.topLevelItem(0)
    assert own is not None
    child = own.child(number)
    assert child is not None
    return child


def test_tools_are_switched_on_and_servers_added_without_starting_one(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    desk, page = window.controller.tools, open_settings(window).tools
    assert not desk.choice.on
    assert not window.prompt.tools.isVisibleTo(window.prompt), "nothing is on"
    page.switches["clock"].click()
    page.switches["files"].click()
    page.add_folder(str(tmp_path))
    page.limit.setValue(3)
    assert desk.choice == ToolChoice(frozenset({"clock", "files"}), (str(tmp_path),), limit=3)
    assert window.program.settings.tools["folders"] == [str(tmp_path)]
    assert window.prompt.tools.isVisibleTo(window.prompt)
    assert [_line(page, n).text(0) for n in range(4)] == [*("The time", "List a folder", "Read a file", "Search files")]
    _line(page, 1).setCheckState(0, Qt.CheckState.Unchecked)
    assert "list_folder" not in desk.toolbox(None).offered
    page.tree.setCurrentItem(_line(page, 0))
    page.permission.activated.emit(2)
    assert _line(page, 0).text(1) == "never"
    assert desk.hosts()[0].tools[0].permission is Permission.never

    servers = {
        "mcpServers": {
            "<b>notes": {"command": "no-such-program", "args": ["--x"]},
            "far": {"url": "https://e.example/mcp"},
        }
    }
    QApplication.clipboard().setText(json.dumps(servers))
    _press(page, "Paste the JSON of servers")
    assert page.state.text() == "Added, and not started: <b>notes, far. Tick those that you want."
    assert [host.stage for host in desk.hosts()] == ["ready", "off", "off"]
    assert desk._children is None, "nothing was started"
    assert set(json.loads((tmp_path / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]) == {"<b>notes", "far"}
    QApplication.clipboard().setText('{"Outrider": {"command": "x"}}')
    _press(page, "Paste the JSON of servers")
    assert "our own name" in page.state.text()
    server = page.tree.topLevelItem(1)
    assert server is not None
    page.tree.setCurrentItem(server)
    assert page.detail.toPlainText() == "no-such-program --x"
    _press(page, "Remove the server")
    assert [host.name for host in desk.hosts()] == ["Outrider", "far"]
    page.where.setText("run 'it")
    _press(page, "Add")
    assert page.state.text() == "Check the quotation marks in the command."


def test_no_picture_but_a_plot_of_ours_is_drawn() -> None:
    host = builtin_host(BuiltinChoice(calculator=True))
    arguments = {"code": "({a: [1, 2, 4], '<b>': [3]})", "title": "x & <y>"}
    (ours,) = host.call("plot", arguments, cancel=CancelToken(), timeout=20.0).pictures
    assert plot_of(ours) is not None
    begin = "data:image/svg+xml;base64,"
    svg = base64.b64decode(ours.removeprefix(begin)).decode()
    for foreign in (
        svg.replace("</svg>", '<image href="http://e.example/x.png"/></svg>'),
        svg.replace("</svg>", "<script>1</script></svg>"),
        svg.replace("<rect ", '<rect style="x" '),
        svg.replace('fill="#ffffff"', 'fill="url(http://e.example/x)"'),
        '<!DOCTYPE svg [<!ENTITY a "b">]>' + svg,
    ):
        assert plot_of(begin + base64.b64encode(foreign.encode()).decode()) is None
    assert plot_of("https://e.example/x.svg") is None
    assert plot_of(begin + "%%%") is None
    assert plot_of("data:image/png;base64,AAAA") is None
