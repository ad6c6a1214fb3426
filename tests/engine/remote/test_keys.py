"""Keys of servers: a keyring in the place of the system's, whole, refusing and missing; and the environment."""

import sys
from types import SimpleNamespace

import pytest

from engine.remote.keys import ENVIRONMENT, keep_server_key, server_key

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
