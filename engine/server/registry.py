"""Hold the models that requests may name: one is loaded at a time, on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any

from engine.backends.base import Embedder
from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest, ModelNotSupported


class NoSuchModel(InvalidRequest):
    """Report that a model was asked for that is not there."""

    def __init__(self, name: str, there: Iterable[str]) -> None:
        listed = ", ".join(map(repr, list(there)[:10])) or "none"
        super().__init__(f"There is no model {name[:200]!r} here. There is: {listed}.")


@dataclass(frozen=True, slots=True)
class Offer:
    """Describe a model that requests may name.

    `load` loads it, `embed` loads one that makes vectors of texts; None: it is not one of that kind. `details`: what
    lists of models tell of it, by its names there.
    """

    name: str
    load: Callable[[CancelToken], SpeculativeDecoder] | None = None
    embed: Callable[[CancelToken], Embedder] | None = None
    details: tuple[tuple[str, Any], ...] = ()


class ModelRegistry:
    """Load offered models when they are asked for, one that writes and one that embeds at a time.

    `decoder`: one that is loaded already, under `name`; it stays its owner's, and is not unloaded. `idle_s`: a model
    that was not used for so long is unloaded by `tidy`. All but `find`, `names` and `loaded` are called on one thread.
    """

    def __init__(
        self,
        offers: Iterable[Offer] = (),
        *,
        decoder: SpeculativeDecoder | None = None,
        name: str = "",
        idle_s: float | None = None,
    ) -> None:
        self._own = decoder
        self._offers = {offer.name: offer for offer in offers}
        if decoder is not None:
            self._offers = {name: Offer(name, lambda _: decoder)} | self._offers
        self._idle_s = idle_s
        self._lock = Lock()
        self._decoder, self._decoder_name = decoder, name
        self._embedder: Embedder | None = None
        self._embedder_name = ""
        self._used = monotonic()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the models."""
        return tuple(self._offers)

    @property
    def loaded(self) -> str:
        """Return the name of the loaded model that writes text; '' where none is."""
        return self._decoder_name if self._decoder is not None else ""

    def find(self, name: str, *, embeds: bool = False) -> str:
        """Return the name of the model that is meant: where none is named, the loaded one or else the first.

        Of one model alone any name is meant: programs ask for those of a cloud, and some for two. Raises NoSuchModel;
        InvalidRequest where the model does not do that.
        """
        if not name:
            if self.loaded and not embeds:
                return self.loaded
            name = self._usual(embeds=embeds)
        if name not in self._offers:
            able = [each.name for each in self._offers.values() if (each.embed if embeds else each.load) is not None]
            name = able[0] if len(able) == 1 else name
        offer = self._offers.get(name)
        if offer is None:
            raise NoSuchModel(name, self._offers)
        if embeds and offer.embed is None:
            raise InvalidRequest(f"The model {name!r} makes no embeddings: name an embedding model.")
        if not embeds and offer.load is None:
            raise InvalidRequest(f"The model {name!r} is an embedding model, which does not generate text.")
        return name

    def _usual(self, *, embeds: bool) -> str:
        """Return the first model that does nothing else, or for text the first that writes it."""
        offers = self._offers.values()
        if embeds:
            return next((each.name for each in offers if each.load is None), next(iter(self._offers), ""))
        return next((each.name for each in offers if each.load is not None), next(iter(self._offers), ""))

    def describe(self, name: str) -> dict[str, Any]:
        """Describe a model for a list. Raises NoSuchModel."""
        if name not in self._offers:
            raise NoSuchModel(name, self._offers)
        facts: dict[str, Any] = {"id": name, "object": "model", "created": 0, "owned_by": "outrider"}
        facts |= dict(self._offers[name].details)
        with self._lock:
            target = self._decoder.target if self._decoder is not None and name == self._decoder_name else None
            there = target is not None or (self._embedder is not None and name == self._embedder_name)
        if target is not None:
            facts["context_length"] = target.context_length
        return {**facts, "loaded": there}

    def ready(self, name: str, cancel: CancelToken) -> SpeculativeDecoder:
        """Return the decoder of a model, loaded now if needed. Raises the errors of loading."""
        self._used = monotonic()
        if self._decoder is not None and self._decoder_name == name:
            return self._decoder
        load = self._offers[self.find(name)].load
        self._drop_decoder()
        decoder = load(cancel) if load is not None else None
        if decoder is None:
            raise NoSuchModel(name, self._offers)
        with self._lock:
            self._decoder, self._decoder_name = decoder, name
        return decoder

    def if_loaded(self, name: str) -> SpeculativeDecoder | None:
        """Return the decoder of a model if it is loaded. From any thread."""
        with self._lock:
            return self._decoder if self._decoder_name == name else None

    def embedder(self, name: str, cancel: CancelToken) -> Embedder:
        """Return an embedding model, loaded now if needed.

        Raises what loading raises, but InvalidRequest for a model that is none: it was asked for the wrong thing.
        """
        self._used = monotonic()
        if self._embedder is not None and self._embedder_name == name:
            return self._embedder
        load = self._offers[self.find(name, embeds=True)].embed
        self._drop_embedder()
        try:
            embedder = load(cancel) if load is not None else None
        except ModelNotSupported as error:
            raise InvalidRequest(error.message) from None
        if embedder is None:
            raise NoSuchModel(name, self._offers)
        with self._lock:
            self._embedder, self._embedder_name = embedder, name
        return embedder

    def touch(self) -> None:
        """Restart the idle time of the model."""
        self._used = monotonic()

    def tidy(self) -> bool:
        """Unload models that were idle for too long. Return True if there were any."""
        if self._idle_s is None or monotonic() - self._used < self._idle_s:
            return False
        there = self._embedder is not None or self._decoder not in (None, self._own)
        self.close()
        return there

    @property
    def unloads(self) -> bool:
        """Return True if models are unloaded that are not used."""
        return self._idle_s is not None

    def close(self) -> None:
        """Unload the models that were loaded here."""
        self._drop_decoder()
        self._drop_embedder()

    def _drop_decoder(self) -> None:
        with self._lock:
            former, self._decoder = self._decoder, None
        if former is not None and former is not self._own:
            former.close()

    def _drop_embedder(self) -> None:
        with self._lock:
            former, self._embedder = self._embedder, None
        if former is not None:
            former.close()
