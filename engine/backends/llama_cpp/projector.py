"""Read pictures for a GGUF model: its projector (an mmproj file) with llama.cpp's mtmd, loaded at the first one."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import llama_cpp

from engine.backends.llama_cpp.library import LibraryLog, prepare_library
from engine.backends.pictures import PictureToken
from engine.cancel import CancelToken
from engine.errors import BackendClosed, BackendFailure, InvalidRequest, LoadFailed, NotAvailable
from engine.formats.gguf.reader import read_gguf
from engine.messages.picture import Picture, Pixels
from engine.translatable import Translatable

_MOST_KNOWN, _MOST_CUT = 256, 4
"""Pictures whose tokens are known, and those that are kept prepared: a few megabytes each."""
_EACH = 64
"""Steps of a computation after which it may be given up."""


class Projector:
    """Turn pictures into one loaded model's input. `threads`: those that compute; `on_card`: on the graphics card."""

    def __init__(self, path: Path, model: Any, threads: int, *, on_card: bool) -> None:
        self.path = path
        self._model, self._threads, self._on_card = model, threads, on_card
        self._log = prepare_library()
        self._lock = threading.RLock()
        self._context: Any = None
        self._closed = False
        self._cancel: CancelToken | None = None
        self._steps = 0
        self._known: OrderedDict[int, list[int]] = OrderedDict()
        self._cut: OrderedDict[int, Any] = OrderedDict()

    def tokens(self, picture: Picture) -> list[int]:
        """Return a picture's tokens. Raises LoadFailed, NotAvailable, InvalidRequest, and the errors of decoding.

        May be called on another thread than that of the model.
        """
        with self._lock:
            number = picture.number
            if number not in self._known:
                self._known[number] = self._tokens(picture)
            self._known.move_to_end(number)
            _trim(self._known, _MOST_KNOWN)
            return self._known[number]

    def _tokens(self, picture: Picture) -> list[int]:
        mtmd, tokens, seen = _mtmd(), list[int](), 0
        chunks = self._chunks(picture)
        for piece in range(mtmd.mtmd_input_chunks_size(chunks)):
            chunk = mtmd.mtmd_input_chunks_get(chunks, piece)
            count = int(mtmd.mtmd_input_chunk_get_n_tokens(chunk))
            if mtmd.mtmd_input_chunk_get_type(chunk) == mtmd.MTMD_INPUT_CHUNK_TYPE_TEXT:
                size = ctypes.c_size_t()
                words = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(size))
                tokens += words[: size.value] if words else []
                if min(tokens, default=0) < 0 and not seen:  # What mtmd gives where the vocabulary has no such token.
                    raise LoadFailed(self.path, Translatable("the model has no tokens to put around pictures."))
                continue
            steps = int(mtmd.mtmd_input_chunk_get_n_pos(chunk))
            tokens += PictureToken.of_piece(picture, piece, count, steps, seen)
            seen += count
        return tokens

    def read(
        self, piece: Sequence[PictureToken], context: Any, position: int, batch_size: int, cancel: CancelToken | None
    ) -> int:
        """Compute a piece of a picture, and append it to a context's cache at a position; return llama.cpp's status.

        Raises BackendFailure, Cancelled.
        """
        mtmd, first = _mtmd(), piece[0]
        with self._lock:
            chunk = mtmd.mtmd_input_chunks_get(self._chunks(first.picture), first.piece)
            if mtmd.mtmd_decode_use_non_causal(self._context, chunk) and first.count > batch_size:
                raise BackendFailure(Translatable("the picture has more tokens than the model reads at once"))
            self._cancel = cancel
            try:
                status = mtmd.mtmd_encode_chunk(self._context, chunk)
            finally:
                self._cancel = None
            if cancel is not None:
                cancel.check()
            if status != 0:
                raise BackendFailure(self._log.last or Translatable("the picture cannot be computed"))
            rows, end = mtmd.mtmd_get_output_embd(self._context), llama_cpp.llama_pos()
            decode = mtmd.mtmd_helper_decode_image_chunk
            nobody = mtmd.mtmd_helper_post_decode_callback()
            status = decode(
                self._context, context, chunk, rows, position, 0, batch_size, ctypes.byref(end), nobody, None
            )
            return int(status)

    def _chunks(self, picture: Picture) -> Any:
        """Return a picture as mtmd has cut it, loading the projector if needed."""
        number, mtmd = picture.number, _mtmd()
        if number not in self._cut:
            self._cut[number] = self._cut_up(picture.decode())
        self._cut.move_to_end(number)
        _trim(self._cut, _MOST_CUT, mtmd.mtmd_input_chunks_free)
        return self._cut[number]

    def _cut_up(self, pixels: Pixels) -> Any:
        mtmd, context = _mtmd(), self._loaded()
        data = (ctypes.c_uint8 * len(pixels.data)).from_buffer_copy(pixels.data)
        bitmap = mtmd.mtmd_bitmap_init(pixels.width, pixels.height, data)
        chunks = mtmd.mtmd_input_chunks_init()
        marker = mtmd.mtmd_get_marker(context) or mtmd.mtmd_default_marker()
        text = mtmd.mtmd_input_text(marker, len(marker), False, True)
        bitmaps = (ctypes.c_void_p * 1)(bitmap)
        self._log.clear()
        status = mtmd.mtmd_tokenize(context, chunks, ctypes.byref(text), bitmaps, 1)
        mtmd.mtmd_bitmap_free(bitmap)
        if status != 0:
            mtmd.mtmd_input_chunks_free(chunks)
            raise InvalidRequest(
                "The model cannot read a picture of {width} × {height} pixels. Choose another size.",
                width=pixels.width,
                height=pixels.height,
            )
        return chunks

    def _loaded(self) -> Any:
        if self._closed:
            raise BackendClosed
        if self._context is None:
            self._context = self._load(self._log)
        return self._context

    def _load(self, log: LibraryLog) -> Any:
        read_gguf(self.path)  # A file that is cut off or changed is refused in words.
        mtmd = _mtmd()
        params = mtmd.mtmd_context_params_default()
        params.use_gpu, params.n_threads = self._on_card, self._threads
        params.print_timings = params.warmup = False
        self._asked = llama_cpp.ggml_backend_sched_eval_callback(self._goes_on)  # Kept as long as mtmd calls it.
        params.cb_eval = self._asked
        for silence in (mtmd.mtmd_log_set, mtmd.mtmd_helper_log_set):
            silence(log.receiver, ctypes.c_void_p(0))
        log.clear()
        context = mtmd.mtmd_init_from_file(os.fsencode(self.path), self._model, params)
        if not context or not mtmd.mtmd_support_vision(context):
            if context:
                mtmd.mtmd_free(context)
            reason = log.error or log.last
            problem = Translatable("it is no projector for this model ({reason}).", reason=reason)
            raise LoadFailed(self.path, problem if reason else Translatable("it is no projector for this model."))
        return context

    def _goes_on(self, _tensor: object, ask: bool, _data: object) -> bool:
        """Answer mtmd's callback around its steps, since it cannot be interrupted otherwise: False ends it."""
        if ask:
            self._steps += 1
            return self._steps % _EACH == 0
        return self._cancel is None or not self._cancel.cancelled

    def close(self) -> None:
        """Free it. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            if self._context is not None:
                mtmd = _mtmd()
                _trim(self._cut, 0, mtmd.mtmd_input_chunks_free)
                mtmd.mtmd_free(self._context)
                self._context = None


def _trim(kept: OrderedDict[int, Any], most: int, free: Callable[[Any], object] = lambda _: None) -> None:
    while len(kept) > most:
        free(kept.popitem(last=False)[1])


def _mtmd() -> Any:
    """Return the bindings of mtmd, imported now. Raises NotAvailable where llama.cpp was compiled without it."""
    try:
        from llama_cpp import mtmd_cpp  # noqa: PLC0415 - its library is loaded where a picture is read
    except (ImportError, OSError, RuntimeError, AttributeError):
        raise NotAvailable(
            Translatable("Reading pictures"),
            Translatable("this llama.cpp was compiled without mtmd. To compile it, run: outrider-engine compile"),
        ) from None
    return mtmd_cpp
