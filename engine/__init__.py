"""Outrider's engine: speculative decoding for local language models, as a library.

This is the public surface; nothing else is stable. Importing it loads no model library.

>>> from engine import bundled_pair, load
>>> with load(*bundled_pair()) as decoder:
...     result = decoder.generate("Tell me a story.", max_tokens=16)
>>> result.finish_reason
'length'
"""

from engine._version import __version__
from engine.acceptance import accept, residual_distribution
from engine.backends.base import Backend, Rewind, Tokenizer
from engine.bundled import bundled_pair
from engine.cancel import CancelToken
from engine.compat import Fit, judge_pair
from engine.config import (
    DEFAULT_LOOKAHEAD,
    MAX_LOOKAHEAD,
    METHODS,
    GenerationRequest,
    LoadConfig,
    Message,
    SamplingConfig,
    SpeculationConfig,
)
from engine.decoder import PairWarning, SpeculativeDecoder, load
from engine.errors import (
    BackendFailure,
    Cancelled,
    ChatTemplateFailed,
    ContextFull,
    DegenerateDistribution,
    EngineError,
    FolderUnreadable,
    IncompatiblePair,
    InvalidLookahead,
    InvalidRequest,
    InvalidSampling,
    LoadFailed,
    ModelFileBroken,
    ModelNotLoaded,
    ModelNotSupported,
    ModelTooLarge,
    NotAvailable,
    RewindNotSupported,
    TextNotEncodable,
    TokenOutOfRange,
    UnknownMethod,
    VocabularyMismatch,
)
from engine.events import (
    Event,
    Finished,
    FinishReason,
    GenerationResult,
    LoadProgress,
    Origin,
    PromptProgress,
    RoundEvent,
    TokenEvent,
)
from engine.library import ModelFile, scan_folder
from engine.probe import run_hidden_command
from engine.sampling import distribution, sample
from engine.stats import GenerationStats, MethodStats

__all__ = [
    "DEFAULT_LOOKAHEAD",
    "MAX_LOOKAHEAD",
    "METHODS",
    "Backend",
    "BackendFailure",
    "CancelToken",
    "Cancelled",
    "ChatTemplateFailed",
    "ContextFull",
    "DegenerateDistribution",
    "EngineError",
    "Event",
    "FinishReason",
    "Finished",
    "Fit",
    "FolderUnreadable",
    "GenerationRequest",
    "GenerationResult",
    "GenerationStats",
    "IncompatiblePair",
    "InvalidLookahead",
    "InvalidRequest",
    "InvalidSampling",
    "LoadConfig",
    "LoadFailed",
    "LoadProgress",
    "Message",
    "MethodStats",
    "ModelFile",
    "ModelFileBroken",
    "ModelNotLoaded",
    "ModelNotSupported",
    "ModelTooLarge",
    "NotAvailable",
    "Origin",
    "PairWarning",
    "PromptProgress",
    "Rewind",
    "RewindNotSupported",
    "RoundEvent",
    "SamplingConfig",
    "SpeculationConfig",
    "SpeculativeDecoder",
    "TextNotEncodable",
    "TokenEvent",
    "TokenOutOfRange",
    "Tokenizer",
    "UnknownMethod",
    "VocabularyMismatch",
    "__version__",
    "accept",
    "bundled_pair",
    "distribution",
    "judge_pair",
    "load",
    "residual_distribution",
    "run_hidden_command",
    "sample",
    "scan_folder",
]
