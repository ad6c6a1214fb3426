"""Outrider's engine: speculative decoding for local language models, as a library.

This is the public surface; nothing else is stable. Importing it loads no model library.

>>> from engine import bundled_pair, load
>>> with load(*bundled_pair()) as decoder:
...     result = decoder.generate("Tell me a story.", max_tokens=16)
>>> result.finish_reason
'length'
"""

import importlib
from typing import Any

HOMES = {
    "engine._version": ("__version__",),
    "engine.sampling.acceptance": ("accept", "residual_distribution"),
    "engine.backends.base": ("Backend", "Rewind", "Tokenizer"),
    "engine.backends.on_disk": ("forget_caches", "forget_other_caches"),
    "engine.bench.runs": ("Equality",),
    "engine.system.cache_files": ("cache_folder", "folder_key", "full_size_folder", "tighten_cache"),
    "engine.cancel": ("CancelToken",),
    "engine.documents.decoded": ("TextRefused", "decode_text"),
    "engine.documents.document": ("Document", "LARGEST_DOCUMENT", "Section"),
    "engine.documents.find": ("Found", "PartIndex", "with_neighbours"),
    "engine.documents.give": ("GivenDocuments", "ReadyDocument"),
    "engine.documents.parts": ("parts_of",),
    "engine.documents.quoted": ("QuotedPart", "quote_document", "read_quoted"),
    "engine.documents.read": ("page_picture", "read_document"),
    "engine.documents.repeated": ("Repeated", "find_repeated"),
    "engine.hub.catalogue": ("packaged_models",),
    "engine.hub.download": ("download", "search_hub"),
    "engine.hub.hugging_face": ("FoundRepository",),
    "engine.hub.hubs": ("hubs",),
    "engine.hub.recommend": ("Machine", "Recommendation"),
    "engine.bench.recommended": ("Recommended", "recommended"),
    "engine.growth.pace": ("expected_speed",),
    "engine.library.forecast": ("Forecast",),
    "engine.hub.package_index": ("PackagedModel",),
    "engine.hub.transfer": ("DownloadProgress", "SpeedLimit"),
    "engine.hub.wanted": ("quantisations_of",),
    "engine.library.found": ("FoundPlace", "find_elsewhere"),
    "engine.library.housekeeping": ("StoredModel", "delete_model", "note_used", "stored_models"),
    "engine.library.known": ("download_folder",),
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
    "engine.corpus.corpus": ("Corpus", "open_corpus", "prune_corpora"),
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
        "DocumentRefused",
        "DownloadFailed",
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
        "OtherFileHere",
        "PairWarning",
        "RewindNotSupported",
        "ServerFailed",
        "TextNotEncodable",
        "TokenOutOfRange",
        "ToolServerFailed",
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
    "engine.remote.keys": ("hub_token", "keep_hub_token", "keep_server_key", "server_key"),
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
    "engine.tools.builtin.chats": ("FoundChat", "SearchChats"),
    "engine.tools.builtin.host": ("BuiltinChoice", "BuiltinHost", "builtin_host"),
    "engine.tools.loop": (
        "CALL_LIMIT",
        "PlannedCall",
        "ToolCallAsked",
        "ToolCallEnded",
        "ToolCallStarted",
        "ToolsEnded",
        "cancelled_message",
        "limit_message",
        "planned_calls",
        "result_message",
        "run_call",
        "run_tools",
    ),
    "engine.tools.elsewhere": ("ServersElsewhere", "servers_elsewhere"),
    "engine.tools.mcp_client": ("McpHost", "Offer", "ToolServers"),
    "engine.tools.servers": ("ServerConfig", "permissions_file", "read_servers", "servers_file", "write_servers"),
    "engine.tools.permissions": ("Ask", "Permission", "Permissions"),
    "engine.tools.tool": ("Tool", "ToolHost", "ToolOutput"),
    "engine.tools.toolbox": ("Toolbox",),
    "engine.translatable": ("Phrase", "Translatable"),
}
_HOME_OF = {name: home for home, names in HOMES.items() for name in names}

__all__ = list(_HOME_OF)


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
