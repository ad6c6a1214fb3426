"""Load models, and return a decoder for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from engine.loading.early import early_weights, trials

if TYPE_CHECKING:  # Imported while children do the same.
    from engine.cancel import CancelToken
    from engine.config import SamplingConfig, SpeculationConfig
    from engine.decoder import SpeculativeDecoder
    from engine.events import LoadProgress
    from engine.loading.open import ModelSource
    from engine.options import LoadOptions


def load(
    target: ModelSource,
    draft: ModelSource | None = None,
    *,
    speculation: SpeculationConfig | None = None,
    sampling: SamplingConfig | None = None,
    progress: Callable[[LoadProgress], None] | None = None,
    cancel: CancelToken | None = None,
    cache_folder: str | Path | None = None,
    corpus: Iterable[str | Path] | None = None,
    **options: Unpack[LoadOptions],
) -> SpeculativeDecoder:
    """Return a decoder with its models loaded.

    `cache_folder`: save the models' caches there (see `SpeculativeDecoder.keep_caches`).
    `corpus`: the user's texts, a further source of drafts (see `SpeculativeDecoder.attach_corpus`).
    `options`: the fields of LoadConfig by name, for both models; `rpc` and `chat_template` for the target alone.
    Raises InvalidRequest, LoadFailed and its kinds, VocabularyMismatch, Cancelled.

    >>> from engine import bundled_pair, load
    >>> with load(*bundled_pair()) as decoder:
    ...     text = decoder.generate("Hello!", max_tokens=8).text
    """
    with trials(target, draft), early_weights(target, draft):
        from engine.backends.base import Backend  # noqa: PLC0415 - see above
        from engine.config import LoadConfig  # noqa: PLC0415
        from engine.decoder import SpeculativeDecoder  # noqa: PLC0415
        from engine.options import load_config  # noqa: PLC0415

        def configured(model: ModelSource, *, here: bool = False) -> ModelSource:
            return model if isinstance(model, LoadConfig | Backend) else load_config(model, options, here=here)

        decoder = SpeculativeDecoder(speculation, sampling, cache_folder=cache_folder)
        try:
            if draft is None:
                decoder.attach_target(configured(target), progress=progress, cancel=cancel)
            else:
                decoder.attach_pair(configured(target), configured(draft, here=True), progress=progress, cancel=cancel)
            if corpus is not None:
                decoder.attach_corpus(corpus, cancel=cancel)
        except BaseException:
            decoder.close()
            raise
        return decoder
