"""A server as the target in the window: added, tested, asked, gone in the middle, removed."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from app.bridge.bridge import EngineBridge
from app.settings.settings import Settings
from app.state.compare.compare import CompareSettings, speculative
from app.state.models.selection import Loaded
from app.state.models.targets import ADD_SERVER, Server, read_servers, read_target, short_model, write_target
from app.views.models.server import ServerDialog
from app.views.widgets.picker import PATH_ROLE
from engine.remote import keys
from engine.remote.keys import ENVIRONMENT, ITS_ADDRESS
from helpers.decoding.scripted_decoder import Script
from helpers.remote.documented import usage
from helpers.remote.scripted import CUT, HANG, MODELS, Scripted, as_json, piece, stream
from helpers.window.app_window import OpenWindow, Window

LLAMA: dict[str, Any] = {"data": [{"id": "/models/big-fox.gguf", "owned_by": "llamacpp"}]}


def timings(drafted: int, kept: int, written: int) -> dict[str, Any]:
    told = {"draft_n": drafted, "draft_n_accepted": kept, "predicted_n": written, "predicted_ms": 50.0 * written}
    return {"timings": told | {"prompt_n": 9, "prompt_ms": 30.0, "cache_n": 0}}


def dialog_of(window: Window) -> ServerDialog:
    target = window.main.bar.target
    target.chosen.emit(ADD_SERVER)
    found = window.main.findChild(ServerDialog)
    assert found is not None
    assert target.currentData(PATH_ROLE) == window.models.list.selection.target
    return found


def add(window: Window, address: str, *, name: str = "") -> None:
    dialog = dialog_of(window)
    assert not dialog.add.isEnabled()
    dialog.address.setText(address)
    dialog.test.click()
    window.wait(lambda: dialog.found)
    if name:
        dialog.name.setText(name)
    dialog.add.click()
    window.wait(lambda: isinstance(window.models.list.selection.target, Server))
    window.wait(lambda: window.models.settled and isinstance(window.models.list.loaded.target, Server))


def test_a_server_is_added_asked_and_removed(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    with Scripted() as server:
        server.script["/v1/models"] = as_json(LLAMA)
        parts = [piece(thought="Hm. "), piece("A **fox**", **timings(4, 3, 4)), piece(" ran.", **timings(8, 5, 7))]
        end = piece("", finish="stop", **timings(8, 5, 8))
        server.chats(*stream([*parts, end, {"choices": [], **usage(8, prompt=9)}]))
        window = open_window(pair=demo_pair)
        settings = window.program.settings
        add(window, server.url + "/v1", name="My fox")
        bar = window.main.bar
        assert bar.target.currentText() == "My fox"
        assert (bar.draft.isEnabled(), bar.lookahead.isEnabled()) == (False, False)
        assert bar.draft.currentText() == "chosen by the server"
        kept = {"address": server.url, "model": "/models/big-fox.gguf", "name": "My fox"}
        assert settings.servers == [kept]
        exchange = window.ask("Tell me of a fox.")
        assert (exchange.reply, exchange.status, exchange.trace) == ("A **fox** ran.", "done", None)
        assert "Hm." in exchange.shown
        body = server.asked[-1].body
        assert [message["content"] for message in body["messages"]] == ["Tell me of a fox."]
        stats = window.stats(exchange)
        assert (stats.proposed, stats.accepted, stats.emitted) == (8, 5, 8)
        assert window.view(exchange).summary.text() == "8 tokens · 20 tok/s · 62 % accepted · 0.4 s"
        counters = window.main.panel.counters
        window.wait(lambda: counters["proposed"].text() == "8")
        assert counters["accepted"].text() == "5"
        assert [counters[name].isHidden() for name in ("accepted", "rounds", "length")] == [False, True, True]
        assert window.controller.metrics.rates.per_round()[1] == [75.0, 50.0]
        again = window.ask("More.")
        said = [message["content"] for message in server.asked[-1].body["messages"]]
        assert (again.status, said) == ("done", ["Tell me of a fox.", "A **fox** ran.", "More."])
        window.main.commands.run("models.remove-server")
        window.wait(lambda: window.models.settled and window.models.list.loaded.target == demo_pair[0])
        assert (settings.servers, bar.draft.isEnabled()) == ([], True)
        assert window.ask("Hello.").trace is not None


def test_what_is_not_told_is_not_shown(open_window: OpenWindow) -> None:
    with Scripted() as server:
        server.chats(*stream([piece("Hello"), piece(" you.", finish="stop")]))
        window = open_window(Script())
        add(window, server.url)
        assert window.main.bar.target.currentText().startswith("one · 127.0.0.1:")
        exchange = window.ask("Hi")
        assert exchange.reply == "Hello you."
        assert "accept" not in window.view(exchange).summary.text()
        panel = window.main.panel
        window.wait(lambda: panel.counters["proposed"].isHidden() and panel.is_drawn)
        assert not panel.rate_figure.isVisibleTo(panel)
        assert not panel.times.isVisibleTo(panel)


@pytest.mark.parametrize(("end", "said"), [([CUT], "broke off in the middle"), ([], "broke off in the middle")])
def test_a_server_that_goes_leaves_the_partial_reply(open_window: OpenWindow, end: list[Any], said: str) -> None:
    with Scripted() as server:
        window = open_window(Script())
        add(window, server.url)
        server.chats(*stream([piece("Once upon")], done=False), 0.2, *end)
        exchange = window.ask("Hi")
        assert (exchange.reply, exchange.status) == ("Once upon", "failed")
        assert said in window.said(exchange)
        server.chats(*stream([piece("Fine.", finish="stop")]))
        assert window.ask("And now?").reply == "Fine."


def test_a_reply_of_a_hanging_server_is_cancelled(open_window: OpenWindow) -> None:
    with Scripted() as server:
        window = open_window(Script())
        add(window, server.url)
        server.chats(*stream([piece("Once")], done=False), HANG)
        exchange = window.send("Hi")
        window.wait(lambda: exchange.status == "writing")
        window.controller.cancel()
        window.ended(exchange)
        assert (exchange.reply, exchange.status) == ("Once", "cancelled")
        assert window.close()


def test_a_server_that_cannot_be_used_is_not_added(open_window: OpenWindow) -> None:
    with Scripted({"/v1/models": as_json({}, 401)}) as server:
        window = open_window(Script())
        dialog = dialog_of(window)
        for address, said in (
            (server.url, "wants a key"),
            ("nonsense", "is no address of a server"),
            ("http://127.0.0.1:1", "Cannot reach the server"),
        ):
            dialog.address.setText(address)
            dialog.test.click()
            window.wait(lambda said=said: said in dialog.status.text())  # type: ignore[misc]
            assert not dialog.add.isEnabled()
        server.script["/v1/models"] = as_json(MODELS)
        dialog.address.setText(server.url)
        dialog.key.setText("secret")
        dialog.test.click()
        window.wait(dialog.add.isEnabled)
        assert server.asked[-1].headers["authorization"] == "Bearer secret"
        dialog.key.setText("other")
        assert not dialog.add.isEnabled()
        dialog.reject()
        assert "secret" not in json.dumps(window.program.settings.to_mapping())


def test_a_server_of_the_last_run_that_is_down_stays_chosen(open_window: OpenWindow) -> None:
    kept = Server("http://127.0.0.1:1", "one", "Away")
    window = open_window(Script(), settings=Settings(servers=[kept.to_mapping(), {"x": 1}], target=write_target(kept)))
    window.wait(window.notices)
    assert "Cannot reach the server" in window.notices()[0]
    assert window.main.bar.target.currentText() == "Away"
    exchange = window.ask("Hi")
    assert exchange.problem is not None
    assert "Cannot reach the server" in exchange.problem.text


def test_keys_and_names() -> None:
    servers = [Server("http://a:1", "x/y z%", "A"), Server("http://a:1", "x", "B")]
    assert read_servers([*(each.to_mapping() for each in servers), servers[0].to_mapping(), {"name": 3}]) == tuple(
        servers
    )
    assert len({write_target(each) for each in servers}) == 2
    assert [read_target(write_target(each), servers).name for each in servers] == ["A", "B"]
    assert read_target("server:http%3A%2F%2Fa%3A1,x%2Fy%20z%25", ()) == servers[0], (
        "as the settings have always kept it"
    )
    file = Path("/models/server.gguf")
    assert read_target(write_target(file), servers) == file
    assert short_model("C:\\models\\fox.gguf") == "fox"
    assert short_model("meta/Llama-3") == "Llama-3"


def test_compare_measures_it_against_the_local_pair(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    with Scripted() as server:
        server.script["/v1/models"] = as_json(LLAMA)
        end = piece("", finish="stop", **timings(8, 4, 8))
        server.chats(*stream([piece("A fox", **timings(4, 2, 4)), end, {"choices": [], **usage(8)}]))
        window = open_window(pair=demo_pair)
        add(window, server.url, name="Fox")
        compare = window.program.compare
        pair = compare.pair
        assert (pair.target, pair.server) == (window.models.name_of(demo_pair[0]), "Fox")
        compare.start("compare", "Tell me of a fox.", CompareSettings(repeats=3, tokens=16))
        run = compare.runs["compare"]
        window.wait(lambda: not run.running, 60_000)
        assert (run.status, run.problem) == ("done", "")
        assert run.report is not None
        assert [way.name for way in run.report.ways] == ["plain", "server", "auto"]
        way = speculative(run.report)
        assert way is not None
        assert (way.name, way.replies, way.acceptance_rate, way.equality) == ("server", 3, 0.5, ())
        assert way.tokens_per_second is not None
        assert round(way.tokens_per_second.median) == 20
        assert way.speedup is not None
        plain = run.report.way("plain")
        assert plain is not None
        assert plain.replies == 3
        assert window.ask("And now?").reply == "A fox"
        assert window.models.list.selection.target == window.models.list.loaded.target


def sent(server: Scripted) -> str | None:
    """The key that came with the last request."""
    return server.asked[-1].headers.get("authorization")


@pytest.mark.asyncio
async def test_the_window_sends_a_key_only_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_first", {})
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setenv(ENVIRONMENT, "secret")
    bridge = EngineBridge(asyncio.get_running_loop(), trusted=())
    try:
        with Scripted() as typed, Scripted() as own:
            await bridge.find_server(typed.url, "").result
            assert sent(typed) is None
            await bridge.find_server(own.url, " entered\n").result
            assert sent(own) == "Bearer entered"
            await bridge.find_server(typed.url, "").result
            assert sent(typed) is None
            monkeypatch.setenv(ITS_ADDRESS, typed.url)
            await bridge.find_server(typed.url, "").result
            assert sent(typed) == "Bearer secret"
            bridge.servers = (Server(own.url, "one", "Own"), Server(typed.url, "one", "Typed"))
            monkeypatch.delenv(ITS_ADDRESS)
            for server, key in ((own, "Bearer entered"), (typed, None)):
                await bridge.load(Loaded(Server(server.url, "one", ""))).result
                assert sent(server) == key
    finally:
        assert await asyncio.to_thread(bridge.close, 10)
