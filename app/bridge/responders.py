"""Hold the responders on the engine's thread: the loaded models, or a server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import engine
from app.bridge.job import LoadWay
from app.state.models.load_options import LoadChoice
from app.state.models.selection import Loaded
from app.state.models.targets import Server
from engine import CancelToken, EngineError, LoadConfig, LoadProgress, ThinkingMode, Translatable, host

if TYPE_CHECKING:
    from engine import FoundServer, ModelFacts, RemoteDecoder, Responder, SpeculativeDecoder
    from engine.host import Source


class ServerRemoved(EngineError):
    """Report a server that is not in the list any more."""

    def __init__(self) -> None:
        super().__init__(Translatable("This server was removed. Choose another target."))


class Responders:
    """Load models and connect to servers, on the engine's thread.

    Attributes: loaded (the responder: loaded files, or a server); facts, progress, token_names, thinking_modes as in
    EngineBridge; servers (the available ones). While a server answers, the models stay loaded: Compare measures
    against them, and switching back takes no time.
    """

    def __init__(self, trusted: Sequence[Path]) -> None:
        self.loaded = Loaded()
        self.facts: tuple[ModelFacts, ...] = ()
        self.progress: LoadProgress | None = None
        self.checked = ""
        self.token_names: dict[int, str] = {}
        self.thinking_modes: tuple[ThinkingMode, ...] = ()
        self.servers: tuple[Server, ...] = ()
        self._local = Loaded()
        self._options: dict[Path, LoadChoice] = {}
        self._trusted = frozenset(trusted)
        self._keys: dict[str, str] = {}
        self._remote: RemoteDecoder | None = None
        self._decoder: SpeculativeDecoder

    @property
    def local(self) -> Loaded:
        """Return the loaded files, for any responder."""
        return self._local

    def has(self, wanted: Loaded, how: LoadWay) -> bool:
        """Return True if exactly this is loaded, with these options."""
        answers = wanted.target in (None, self.loaded.target)
        return answers and all(self.kept(wanted, how)) and self.loaded.sources == wanted.sources

    def kept(self, wanted: Loaded, how: LoadWay) -> tuple[bool, ...]:
        """Return True if nothing needs to be loaded for the target, and for each source."""
        if isinstance(wanted.target, Server):
            return (True, *(True for _ in wanted.sources))
        have = self._local
        target = wanted.target in (None, have.target) and self._loads_alike(wanted.target, how)
        return target, *(path in have.sources and self._loads_alike(path, how) for path in wanted.sources)

    def _loads_alike(self, path: Path | None, how: LoadWay) -> bool:
        return path is None or self._options.get(path) == how.of(path)

    # On the worker thread ---------------------------------------------------------------------------------------------

    @property
    def _answering(self) -> Responder:
        remote = self._remote  # Read once: tokens are counted on another thread.
        return self._decoder if remote is None else remote

    def _load(self, wanted: Loaded, how: LoadWay, cancel: CancelToken) -> Loaded:
        target = wanted.target
        if isinstance(target, Server):
            return self._turn_to(target, cancel)
        decoder = self._decoder
        anew = None if target is None or self.kept(wanted, how)[0] else self._config(target, how)
        sources = [self._config(path, how) for path in wanted.sources]
        before = decoder.target, decoder.sources
        try:
            decoder.attach(anew, sources, progress=self._note_progress, cancel=cancel)
        finally:
            self.progress, self.checked = None, ""
            if (decoder.target, decoder.sources) != before:
                self._note_loaded(target, how, *before)
        self._leave_server()
        return self.loaded

    def _turn_to(self, server: Server, cancel: CancelToken) -> Loaded:
        """Answer with a server from now on. Raises ServerFailed and the other errors of connecting."""
        if self.loaded.target == server and self._remote is not None:
            return self.loaded
        remote = self._connect(server, cancel)
        self._leave_server()
        self._remote, self.loaded = remote, Loaded(server)
        self.facts, self.thinking_modes, self.token_names = (), (), {}
        return self.loaded

    def _connect(self, server: Server, cancel: CancelToken) -> RemoteDecoder:
        if server not in self.servers:
            raise ServerRemoved
        return engine.connect_server(server.address, server.model, key=self._key_of(server.address), cancel=cancel)

    def _leave_server(self) -> None:
        if self._remote is not None:
            self._remote.close()
            self._remote = None
            self._show_local()

    def _find_server(self, address: str, key: str, cancel: CancelToken) -> FoundServer:
        """Query a server for its models; a working key is kept for this session. Raises the errors of connecting."""
        found = engine.find_server(address, key=key.strip() or self._key_of(address), cancel=cancel)
        if key.strip():
            self._keys[found.address] = key.strip()
        return found

    def _key_of(self, address: str) -> str:
        """Return the key for a server, '' if there is none: one for any server is sent to none."""
        return self._keys.get(address) or host.server_key(address, bound=True) or ""

    def _unload(self) -> Loaded:
        self._leave_server()
        self._decoder.close()
        self._local, self._options = Loaded(), {}
        self.loaded = self._local
        self.facts, self.thinking_modes = (), ()
        return self.loaded

    def _config(self, path: Path, how: LoadWay) -> LoadConfig:
        # The bundled files came with the program: no need to try them in a child process first.
        return how.of(path).config(path, trusted=path in self._trusted, despite_memory=how.despite_memory)

    def _note_loaded(self, wanted: Path | None, how: LoadWay, target: object, sources: Sequence[Source]) -> None:
        """Update the record of loaded models. Those loaded before, `target` and `sources`, keep their options."""
        decoder, there = self._decoder, {*(each.model for each in sources), target}
        changed = decoder.target is not target
        path = wanted if changed else self._local.target
        files = [(each.config.path, each.model) for each in decoder.sources if each.config is not None]
        named = [*files, *([(path, decoder.target)] if isinstance(path, Path) else [])]
        self._options = {
            file: self._options.get(file, how.of(file)) if model in there else how.of(file) for file, model in named
        }
        self._local = Loaded(path, tuple(file for file, _ in files))
        if changed:
            self.token_names = {}
        self._show_local()

    def _show_local(self) -> None:
        """Switch to the loaded models: they answer now."""
        decoder, self.loaded = self._decoder, self._local
        models = (decoder.target, decoder.draft)
        self.facts = tuple(engine.ModelFacts.of(model) for model in models if model is not None)
        self.thinking_modes = () if decoder.target is None else decoder.thinking_modes

    def _note_progress(self, progress: LoadProgress) -> None:
        self.progress = progress
        if progress.stage == "checking":
            self.checked = progress.part
