"""Keys of servers: a keyring in the place of the system's, whole, refusing and missing; and the environment."""

import sys
from types import SimpleNamespace

import pytest

from engine.errors import InvalidRequest
from engine.remote import keys
from engine.remote.connect import connect_server, find_server
from engine.remote.keys import ENVIRONMENT, ITS_ADDRESS, keep_server_key, server_key
from helpers.remote.scripted import Scripted

PLACE = "http://a:1"


class Keyring:
    """What the package `keyring` offers, kept in memory."""

    def __init__(self, priority: float = 5.0, *, locked: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self._priority, self._locked = priority, locked

    def get_keyring(self) -> SimpleNamespace:
        return SimpleNamespace(priority=self._priority)

    def get_password(self, service: str, name: str) -> str | None:
        if self._locked:
            raise RuntimeError("locked")
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, key: str) -> None:
        if self._locked:
            raise RuntimeError("locked")
        self.kept[service, name] = key

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)


def test_the_keyring_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", Keyring())
    assert server_key(PLACE) is None
    assert keep_server_key(PLACE, "")
    monkeypatch.setenv(ENVIRONMENT, "of the environment")
    assert keep_server_key(PLACE, "kept")
    assert (server_key(PLACE), server_key("http://b"), server_key()) == ("kept", *["of the environment"] * 2)
    assert keep_server_key(PLACE, "")
    assert server_key(PLACE) == "of the environment"


@pytest.mark.parametrize("keyring", [None, Keyring(priority=0.0), Keyring(locked=True)], ids=["none", "null", "locked"])
def test_without_a_keyring_the_environment_is_left(monkeypatch: pytest.MonkeyPatch, keyring: Keyring | None) -> None:
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    assert not keep_server_key(PLACE, "secret")
    assert server_key(PLACE) is None
    monkeypatch.setenv(ENVIRONMENT, "secret")
    assert server_key(PLACE) == "secret"


def sent(server: Scripted) -> str | None:
    """The key that came with the last request."""
    return server.asked[-1].headers.get("authorization")


@pytest.fixture
def _unbound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_first", {})
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setenv(ENVIRONMENT, "secret")


@pytest.mark.usefixtures("_unbound")
def test_the_key_of_the_environment_goes_to_one_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scripted() as first, Scripted() as second:
        for ask in (connect_server, find_server, connect_server):
            ask(first.url)
            assert sent(first) == "Bearer secret"
            ask(f"{second.url}/v1")
            assert sent(second) is None
        monkeypatch.setenv(ITS_ADDRESS, f"{second.url}/v1/")
        for ask in (connect_server, find_server):
            ask(second.url)
            assert sent(second) == "Bearer secret"
            ask(first.url)
            assert sent(first) is None
        find_server(first.url, key="own")
        assert sent(first) == "Bearer own"
        find_server(second.url, key="")
        assert sent(second) is None
        assert server_key(second.url) == server_key(second.url, bound=True) == "secret"
        assert server_key(first.url) is None
        monkeypatch.delenv(ITS_ADDRESS)
        assert (server_key(first.url), server_key(first.url, bound=True)) == ("secret", None)
        monkeypatch.setenv(ITS_ADDRESS, "somewhere")
        with pytest.raises(InvalidRequest, match="'somewhere' is no address of a server"):
            find_server(first.url)


@pytest.mark.usefixtures("_unbound")
@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "a\0b", "a\x7fb", "ключ", "a\r\nX-Other: b"])
def test_a_key_that_cannot_be_sent_is_named(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    with Scripted() as server:
        for ask in (
            lambda: connect_server(server.url, key=key),
            lambda: find_server(server.url, key=key),
            lambda: keep_server_key(server.url, key),
        ):
            with pytest.raises(InvalidRequest, match="Copy the key again") as failure:
                ask()
            assert key not in str(failure.value)
        if "\0" not in key:
            monkeypatch.setenv(ENVIRONMENT, key)
            with pytest.raises(InvalidRequest, match="Copy the key again"):
                find_server(server.url)
        assert not server.asked
        find_server(server.url, key="  fine\n")
        assert sent(server) == "Bearer fine"
