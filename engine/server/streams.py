"""Hand out streams: decoders of one loaded pair that write replies together, where that is quicker than in turns."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from engine.backends.caches_in_memory import keep_caches
from engine.config import GenerationRequest
from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError

_log = logging.getLogger("outrider.server")
STREAMS = 4
WORTH_BYTES = 32 * 2**20
"""Weights of a target below which its forwards are over before threads have met: one by one is as quick."""


class ReplyStreams:
    """Hold the streams of the loaded decoder. `count`: their number; `least_bytes`: of a target that has any.

    `open` is called where nobody uses the decoder, `open_midway` by the thread that writes a reply with it, the rest on
    the event loop.
    """

    def __init__(self, count: int = STREAMS, least_bytes: int = WORTH_BYTES) -> None:
        self.count = count
        self._least_bytes = least_bytes
        self._tried: weakref.WeakSet[SpeculativeDecoder] = weakref.WeakSet()
        self._of: weakref.ref[SpeculativeDecoder] | None = None
        self._free: list[tuple[str, SpeculativeDecoder]] = []
        """Free streams with their last client, the one unused for longest first."""

    def wanted(self, decoder: SpeculativeDecoder | None, request: GenerationRequest) -> bool:
        """Return True if it should be tried to open streams for such requests."""
        return decoder is None or (decoder not in self._tried and self._suits(decoder, request))

    def there(self, decoder: SpeculativeDecoder | None, request: GenerationRequest) -> bool:
        """Return True if a request can be written in a stream."""
        return decoder is not None and self._of is not None and self._of() is decoder and self._suits(decoder, request)

    def _suits(self, decoder: SpeculativeDecoder, request: GenerationRequest) -> bool:
        large = decoder.target is not None and decoder.target.weight_bytes >= self._least_bytes
        alike = request.speculation.tree is None and not request.has_pictures
        return self.count > 1 and large and alike and decoder.can_stream

    def open(self, decoder: SpeculativeDecoder, request: GenerationRequest, cache_bytes: int) -> None:
        """Open the streams of a decoder, once, if they suit the request."""
        if self.wanted(decoder, request):
            keep_caches(decoder.target, decoder.draft, most_bytes=cache_bytes)
            self._open(decoder, midway=False)

    def open_midway(self, decoder: SpeculativeDecoder, waiting: Iterable[GenerationRequest]) -> bool:
        """Open the streams between two rounds of a reply, if they suit a waiting request; return True if any are open.

        What is left of that reply is written within `decoder.apart`.
        """
        suited = next((request for request in waiting if self.wanted(decoder, request)), None)
        if suited is None:
            return False
        self._open(decoder, midway=True)
        return self.there(decoder, suited)

    def _open(self, decoder: SpeculativeDecoder, *, midway: bool) -> None:
        self._tried.add(decoder)
        try:
            opened = decoder.open_streams(self.count, midway=midway)
        except EngineError as error:
            _log.info("Replies are written in turns: %s", error)
            return
        if not opened:
            _log.info("Replies are written in turns: this model or its memory has no room for several at once.")
            return
        self._free = [("", stream) for stream in opened]
        self._of = weakref.ref(decoder)
        _log.info("Up to %d replies are written at once.", len(opened))

    @contextmanager
    def lease(self, client: str) -> Iterator[SpeculativeDecoder]:
        """Lend a stream that is free: this client's last one, or that which was used longest ago."""
        place = next((place for place, (last, _) in enumerate(self._free) if last == client), 0)
        _, stream = self._free.pop(place)
        try:
            yield stream
        finally:
            self._free.append((client, stream))

    def close(self) -> None:
        """End the streams."""
        decoder = None if self._of is None else self._of()
        self._of, self._free = None, []
        if decoder is not None:
            decoder.close_streams()
