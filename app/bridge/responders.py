"""Hold who answers on the engine's thread: the models that are loaded there, or a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import engine
from app.bridge.job import LoadWay
from app.state.models.load_options import AS_THE_ENGINE_DOES, LoadChoice
from app.state.models.selection import Loaded
from app.state.models.servers import Server, is_server, server_of
from engine import CancelToken, EngineError, LoadConfig, LoadProgress, ThinkingMode, Translatable

if TYPE_CHECKING:
    from engine import FoundServer, ModelFacts, RemoteDecoder, Responder, SpeculativeDecoder


Source = tuple[Path | None, LoadChoice]
Sources = tuple[Source, Source]
"""Heads and a draft model, each with its load options; without a path there is none."""
_NOTHING: Source = (None, AS_THE_ENGINE_DOES)


class ServerRemoved(EngineError):
    """Report a server that is not in the list any more."""

    def __init__(self) -> None:
        super().__init__(Translatable("This server was removed. Choose another target."))


class Responders:
    """Load models and connect to servers, on the engine's thread.

    Attributes: loaded (who answers: the files that are loaded, or a server); facts, progress, token_names,
    thinking_modes as in EngineBridge; servers (those that can be chosen). While a server answers, what was loaded
    before stays loaded: Compare measures against it, and going back takes no time.
    """

    def __init__(self, trusted: Sequence[Path]) -> None:
        self.loaded = Loaded()
        self.facts: tuple[ModelFacts, ...] = ()
        self.progress: LoadProgress | None = None
        self.token_names: dict[int, str] = {}
        self.thinking_modes: tuple[ThinkingMode, ...] = ()
        self.servers: tuple[Server, ...] = ()
        self._local = Loaded()
        self._how = LoadWay()
        self._trusted = frozenset(trusted)
        self._keys: dict[str, str] = {}
        self._remote: RemoteDecoder | None = None
        self._decoder: SpeculativeDecoder

    @property
    def local(self) -> Loaded:
        """Return the files that are loaded, whoever answers."""
        return self._local

    def has(self, wanted: Loaded, how: LoadWay) -> bool:
        """Return whether exactly this is loaded, with these options."""
        answers = wanted.target in (None, self.loaded.target)
        return answers and all(self.kept(wanted, how)) and self.loaded.drafts == wanted.drafts

    def kept(self, wanted: Loaded, how: LoadWay) -> tuple[bool, bool, bool]:
        """Return whether nothing needs to be loaded for the target, for the draft, and for the model beside heads."""
        if is_server(wanted.target):
            return True, True, True
        have, now = self._local, self._how
        target = wanted.target is None or (wanted.target, how.target) == (have.target, now.target)
        there = _sources(have, now)
        drafts = (wanted.draft, how.draft), (wanted.partner, how.partner)
        kept = tuple(source[0] is None or source in there for source in drafts)
        return target, kept[0], kept[1]

    # On the worker thread ---------------------------------------------------------------------------------------------

    @property
    def _answering(self) -> Responder:
        remote = self._remote  # Read once: tokens are counted on another thread.
        return self._decoder if remote is None else remote

    def _load(self, wanted: Loaded, how: LoadWay, cancel: CancelToken) -> Loaded:
        if wanted.target is not None and is_server(wanted.target):
            return self._turn_to(wanted.target, cancel)
        target = wanted.target
        try:
            if target is not None and (target, how.target) != (self._local.target, self._how.target):
                self._load_target(target, _sources(wanted, how), how, cancel)
            cancel.check()
            self._load_drafts(_sources(wanted, how), how, cancel)
        finally:
            self.progress = None
        self._leave_server()
        return self.loaded

    def _load_target(self, target: Path, wanted: Sources, how: LoadWay, cancel: CancelToken) -> None:
        """Load a target, and a draft model beside it where only that is to draft and is not there yet."""
        before, there = self._decoder.target, _sources(self._local, self._how)
        config = self._config(target, how.target, how)
        path, options = wanted[1] if wanted[0] == _NOTHING and wanted[1] != there[1] else _NOTHING
        try:
            if path is None:
                self._decoder.attach_target(config, progress=self._note_progress, cancel=cancel)
            else:
                draft = self._config(path, options, how)
                self._decoder.attach_pair(config, draft, progress=self._note_progress, cancel=cancel)
                there = (_NOTHING, (path, options))
        finally:
            if self._decoder.target is not before:
                self.token_names = {}
                self._how = replace(self._how, target=how.target)
                self._note_loaded(target, there)

    def _load_drafts(self, wanted: Sources, how: LoadWay, cancel: CancelToken) -> None:
        """Load heads and a draft model, or one of them, in the place of what drafted before; what is there stays.

        What is to be loaded comes first: if that fails, what drafted before is still there.
        """
        there = list(_sources(self._local, self._how))
        for place in sorted(range(2), key=lambda place: wanted[place][0] is None):
            path, options = wanted[place]
            if wanted[place] == there[place] or (path is None and there[place][0] is None):
                continue
            config = None if path is None else self._config(path, options, how)
            if place == 0:
                self._decoder.attach_heads(config, cancel=cancel)
            else:
                self._decoder.attach_draft(config, progress=self._note_progress, cancel=cancel)
            there[place] = wanted[place]
            self._note_loaded(self._local.target, (there[0], there[1]))

    def _turn_to(self, key: Path, cancel: CancelToken) -> Loaded:
        """Have a server answer from now on. Raises ServerFailed and what else connecting raises."""
        if self.loaded.target == key and self._remote is not None:
            return self.loaded
        remote = self._connect(key, cancel)
        self._leave_server()
        self._remote, self.loaded = remote, Loaded(key)
        self.facts, self.thinking_modes, self.token_names = (), (), {}
        return self.loaded

    def _connect(self, key: Path, cancel: CancelToken) -> RemoteDecoder:
        server = server_of(self.servers, key)
        if server is None:
            raise ServerRemoved
        return engine.connect_server(server.address, server.model, key=self._key_of(server.address), cancel=cancel)

    def _leave_server(self) -> None:
        if self._remote is not None:
            self._remote.close()
            self._remote = None
            self._note_loaded(self._local.target, _sources(self._local, self._how))

    def _find_server(self, address: str, key: str, cancel: CancelToken) -> FoundServer:
        """Ask a server what it has; a key that it takes is kept for this session. Raises what connecting raises."""
        found = engine.find_server(address, key=key.strip() or self._key_of(address), cancel=cancel)
        if key.strip():
            self._keys[found.address] = key.strip()
        return found

    def _key_of(self, address: str) -> str:
        """Return the key that is for a server, '' where there is none: one for any server is sent to none."""
        return self._keys.get(address) or engine.server_key(address, bound=True) or ""

    def _unload(self) -> Loaded:
        self._leave_server()
        self._decoder.close()
        self._local = self.loaded = Loaded()
        self.facts, self.thinking_modes = (), ()
        return self.loaded

    def _config(self, path: Path, options: LoadChoice, how: LoadWay) -> LoadConfig:
        # The bundled files came with the program: no need to try them in a child process first.
        return options.config(path, trusted=path in self._trusted, despite_memory=how.despite_memory)

    def _note_loaded(self, target: Path | None, sources: Sources) -> None:
        """Note what is loaded: the engine drops heads with their target, and a draft that does not fit a new one."""
        decoder = self._decoder
        heads = sources[0] if decoder.heads is not None else _NOTHING
        model = sources[1] if decoder.draft is not None else _NOTHING
        first, partner = (heads, model) if heads[0] is not None else (model, _NOTHING)
        self._local = self.loaded = Loaded(target, first[0], partner[0])
        self._how = replace(self._how, draft=first[1], partner=partner[1], heads=heads[0] is not None)
        models = (decoder.target, decoder.draft)
        self.facts = tuple(engine.ModelFacts.of(model) for model in models if model is not None)
        self.thinking_modes = () if target is None else decoder.thinking_modes

    def _note_progress(self, progress: LoadProgress) -> None:
        self.progress = progress


def _sources(files: Loaded, how: LoadWay) -> Sources:
    """Return which heads and which draft model these files are."""
    first, partner = (files.draft, how.draft), (files.partner, how.partner)
    return (first, partner) if how.heads else (_NOTHING, first)
