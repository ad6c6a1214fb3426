"""Outrider's engine: speculative decoding for local language models, as a library.

This is the public surface; nothing else is stable. Importing it loads no model library.

>>> from engine import bundled_pair, load
>>> with load(*bundled_pair()) as decoder:
...     result = decoder.generate("Tell me a story.", max_tokens=16)
>>> result.finish_reason
'length'
"""

import importlib
from typing import TYPE_CHECKING, Any

from engine._version import __version__

if TYPE_CHECKING:
    from engine.backends.base import Backend, Rewind, Tokenizer
    from engine.bench.measure import ModelFacts, Spread, WayFigures, WaysProgress, WaysReport, measure_ways
    from engine.bench.runs import Equality
    from engine.cancel import CancelToken
    from engine.chat.context_fit import PromptFit
    from engine.chat.thinking import ThinkingSwitch
    from engine.config import (
        CACHE_TYPES,
        DEFAULT_LOOKAHEAD,
        MAX_LOOKAHEAD,
        THINKING_MODES,
        CacheType,
        GenerationRequest,
        LoadConfig,
        SamplingConfig,
        SpeculationConfig,
        ThinkingMode,
    )
    from engine.constraint import Constraint
    from engine.decoder import SpeculativeDecoder, load
    from engine.drafting.base import Draft, Drafter, DrafterContext, GoesOn
    from engine.errors import (
        BackendClosed,
        BackendFailure,
        Cancelled,
        CardTooSmall,
        ChatTemplateFailed,
        ContextFull,
        DecoderBusy,
        DegenerateDistribution,
        EngineError,
        FolderUnreadable,
        GrowthError,
        IncompatiblePair,
        InstallationDamaged,
        InvalidLookahead,
        InvalidRequest,
        InvalidSampling,
        LoadFailed,
        LoadWarning,
        ModelFileBroken,
        ModelNotLoaded,
        ModelNotSupported,
        ModelTooLarge,
        NotAvailable,
        PairWarning,
        RewindNotSupported,
        ServerFailed,
        TextNotEncodable,
        TokenOutOfRange,
        UnknownMethod,
        UnknownPreset,
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
        TextEvent,
        TokenEvent,
    )
    from engine.formats.gguf.parts import first_part
    from engine.formats.model_file import ModelFile
    from engine.generation.questions import Infill, ReadPrompt
    from engine.generation.responder import Capabilities, Responder
    from engine.growth.full_size import FullSize, full_size_target
    from engine.growth.transformers_folder import safetensors_copy
    from engine.library.compat import Fit, judge_pair, rank_drafts
    from engine.library.memory_needs import MemoryNeeds, gpu_offload, memory_needs, usable_cache_types
    from engine.library.names import bundled_pair, resolve_source
    from engine.library.presets import apply_preset, find_preset
    from engine.library.scan import inspect_model, scan_folder
    from engine.messages.message import Message
    from engine.messages.parts import (
        FilePart,
        ImagePart,
        OtherField,
        OtherPart,
        Part,
        ReasoningPart,
        TextPart,
        ToolCall,
        ToolResult,
    )
    from engine.messages.read import parts_from_json
    from engine.methods import DRAFT_METHODS, METHODS, PLAIN, DraftMethod
    from engine.options import GenerationOptions, LoadOptions
    from engine.remote.address import is_server_address
    from engine.remote.client import RemoteDecoder
    from engine.remote.connect import FoundServer, connect_server, find_server
    from engine.remote.http import Patience
    from engine.remote.keys import keep_server_key, server_key
    from engine.sampling.acceptance import accept, residual_distribution
    from engine.sampling.distribution import distribution, sample
    from engine.server.local import LocalServer, ServerAddress
    from engine.server.metrics import ServerFigures, ServerLine
    from engine.stats import GenerationStats, MethodStats, Untold
    from engine.system.cache_files import cache_folder, full_size_folder, tighten_cache
    from engine.system.files import expanded, private_file, private_folder, tighten, write_whole
    from engine.system.hidden_commands import run_hidden_command
    from engine.system.installation import EXIT_DAMAGED, Installation, check_installation, installation_folder
    from engine.system.machine import available_memory
    from engine.system.processor import check_processor
    from engine.translatable import Phrase, Translatable

HOMES = {
    "engine.sampling.acceptance": ("accept", "residual_distribution"),
    "engine.backends.base": ("Backend", "Rewind", "Tokenizer"),
    "engine.bench.runs": ("Equality",),
    "engine.system.cache_files": ("cache_folder", "full_size_folder", "tighten_cache"),
    "engine.cancel": ("CancelToken",),
    "engine.library.compat": ("Fit", "judge_pair", "rank_drafts"),
    "engine.config": (
        "CACHE_TYPES",
        "CacheType",
        "DEFAULT_LOOKAHEAD",
        "GenerationRequest",
        "LoadConfig",
        "MAX_LOOKAHEAD",
        "SamplingConfig",
        "SpeculationConfig",
        "THINKING_MODES",
        "ThinkingMode",
    ),
    "engine.constraint": ("Constraint",),
    "engine.server.local": ("LocalServer", "ServerAddress"),
    "engine.server.metrics": ("ServerFigures", "ServerLine"),
    "engine.drafting.base": ("Draft", "Drafter", "DrafterContext", "GoesOn"),
    "engine.messages.message": ("Message",),
    "engine.messages.parts": (
        "FilePart",
        "ImagePart",
        "OtherField",
        "OtherPart",
        "Part",
        "ReasoningPart",
        "TextPart",
        "ToolCall",
        "ToolResult",
    ),
    "engine.messages.read": ("parts_from_json",),
    "engine.chat.thinking": ("ThinkingSwitch",),
    "engine.generation.questions": ("Infill", "ReadPrompt"),
    "engine.methods": ("DRAFT_METHODS", "DraftMethod", "METHODS", "PLAIN"),
    "engine.decoder": ("SpeculativeDecoder", "load"),
    "engine.errors": (
        "BackendClosed",
        "BackendFailure",
        "Cancelled",
        "CardTooSmall",
        "ChatTemplateFailed",
        "ContextFull",
        "DecoderBusy",
        "DegenerateDistribution",
        "EngineError",
        "FolderUnreadable",
        "GrowthError",
        "IncompatiblePair",
        "InstallationDamaged",
        "InvalidLookahead",
        "InvalidRequest",
        "InvalidSampling",
        "LoadFailed",
        "LoadWarning",
        "ModelFileBroken",
        "ModelNotLoaded",
        "ModelNotSupported",
        "ModelTooLarge",
        "NotAvailable",
        "PairWarning",
        "RewindNotSupported",
        "ServerFailed",
        "TextNotEncodable",
        "TokenOutOfRange",
        "UnknownMethod",
        "UnknownPreset",
        "VocabularyMismatch",
    ),
    "engine.events": (
        "Event",
        "FinishReason",
        "Finished",
        "GenerationResult",
        "LoadProgress",
        "Origin",
        "PromptProgress",
        "RoundEvent",
        "TextEvent",
        "TokenEvent",
    ),
    "engine.library.scan": ("inspect_model", "scan_folder"),
    "engine.bench.measure": ("ModelFacts", "Spread", "WayFigures", "WaysProgress", "WaysReport", "measure_ways"),
    "engine.system.machine": ("available_memory",),
    "engine.formats.model_file": ("ModelFile",),
    "engine.library.memory_needs": ("MemoryNeeds", "gpu_offload", "memory_needs", "usable_cache_types"),
    "engine.library.presets": ("apply_preset", "find_preset"),
    "engine.formats.gguf.parts": ("first_part",),
    "engine.system.files": ("expanded", "private_file", "private_folder", "tighten", "write_whole"),
    "engine.system.processor": ("check_processor",),
    "engine.remote.address": ("is_server_address",),
    "engine.remote.client": ("RemoteDecoder",),
    "engine.remote.connect": ("FoundServer", "connect_server", "find_server"),
    "engine.remote.http": ("Patience",),
    "engine.remote.keys": ("keep_server_key", "server_key"),
    "engine.generation.responder": ("Capabilities", "Responder"),
    "engine.options": ("GenerationOptions", "LoadOptions"),
    "engine.system.hidden_commands": ("run_hidden_command",),
    "engine.system.installation": ("EXIT_DAMAGED", "Installation", "check_installation", "installation_folder"),
    "engine.sampling.distribution": ("distribution", "sample"),
    "engine.growth.full_size": ("FullSize", "full_size_target"),
    "engine.growth.transformers_folder": ("safetensors_copy",),
    "engine.library.names": ("bundled_pair", "resolve_source"),
    "engine.stats": ("GenerationStats", "MethodStats", "Untold"),
    "engine.chat.context_fit": ("PromptFit",),
    "engine.translatable": ("Phrase", "Translatable"),
}
_HOME_OF = {name: home for home, names in HOMES.items() for name in names}

__all__ = [
    "CACHE_TYPES",
    "DEFAULT_LOOKAHEAD",
    "DRAFT_METHODS",
    "EXIT_DAMAGED",
    "MAX_LOOKAHEAD",
    "METHODS",
    "PLAIN",
    "THINKING_MODES",
    "Backend",
    "BackendClosed",
    "BackendFailure",
    "CacheType",
    "CancelToken",
    "Cancelled",
    "Capabilities",
    "CardTooSmall",
    "ChatTemplateFailed",
    "Constraint",
    "ContextFull",
    "DecoderBusy",
    "DegenerateDistribution",
    "Draft",
    "DraftMethod",
    "Drafter",
    "DrafterContext",
    "EngineError",
    "Equality",
    "Event",
    "FilePart",
    "FinishReason",
    "Finished",
    "Fit",
    "FolderUnreadable",
    "FoundServer",
    "FullSize",
    "GenerationOptions",
    "GenerationRequest",
    "GenerationResult",
    "GenerationStats",
    "GoesOn",
    "GrowthError",
    "ImagePart",
    "IncompatiblePair",
    "Infill",
    "Installation",
    "InstallationDamaged",
    "InvalidLookahead",
    "InvalidRequest",
    "InvalidSampling",
    "LoadConfig",
    "LoadFailed",
    "LoadOptions",
    "LoadProgress",
    "LoadWarning",
    "LocalServer",
    "MemoryNeeds",
    "Message",
    "MethodStats",
    "ModelFacts",
    "ModelFile",
    "ModelFileBroken",
    "ModelNotLoaded",
    "ModelNotSupported",
    "ModelTooLarge",
    "NotAvailable",
    "Origin",
    "OtherField",
    "OtherPart",
    "PairWarning",
    "Part",
    "Patience",
    "Phrase",
    "PromptFit",
    "PromptProgress",
    "ReadPrompt",
    "ReasoningPart",
    "RemoteDecoder",
    "Responder",
    "Rewind",
    "RewindNotSupported",
    "RoundEvent",
    "SamplingConfig",
    "ServerAddress",
    "ServerFailed",
    "ServerFigures",
    "ServerLine",
    "SpeculationConfig",
    "SpeculativeDecoder",
    "Spread",
    "TextEvent",
    "TextNotEncodable",
    "TextPart",
    "ThinkingMode",
    "ThinkingSwitch",
    "TokenEvent",
    "TokenOutOfRange",
    "Tokenizer",
    "ToolCall",
    "ToolResult",
    "Translatable",
    "UnknownMethod",
    "UnknownPreset",
    "Untold",
    "VocabularyMismatch",
    "WayFigures",
    "WaysProgress",
    "WaysReport",
    "__version__",
    "accept",
    "apply_preset",
    "available_memory",
    "bundled_pair",
    "cache_folder",
    "check_installation",
    "check_processor",
    "connect_server",
    "distribution",
    "expanded",
    "find_preset",
    "find_server",
    "first_part",
    "full_size_folder",
    "full_size_target",
    "gpu_offload",
    "inspect_model",
    "installation_folder",
    "is_server_address",
    "judge_pair",
    "keep_server_key",
    "load",
    "measure_ways",
    "memory_needs",
    "parts_from_json",
    "private_file",
    "private_folder",
    "rank_drafts",
    "residual_distribution",
    "resolve_source",
    "run_hidden_command",
    "safetensors_copy",
    "sample",
    "scan_folder",
    "server_key",
    "tighten",
    "tighten_cache",
    "usable_cache_types",
    "write_whole",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: a command that needs few of them starts at once."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
