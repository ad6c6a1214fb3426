"""Writes docs/api.md, the reference of every public name of `engine`, from its docstrings: `make docs`.

The names are grouped here by what they are for; a public name without a group is a mistake, and so is a group's name
that is not public. Gives 0, or 1 with --check where the page is not what would be written.
"""

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ForwardRef, NamedTuple, is_typeddict

import engine

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"
_MODULES = re.compile(r"\b(?:engine|collections|typing|pathlib|numpy|types|ctypes)(?:\.\w+)*\.(?=\w)")
_WIDTH = 100
_LONGEST = 500


class Group(NamedTuple):
    """Names that serve one purpose: a heading, a sentence about them, and the names in the order of the page."""

    title: str
    text: str
    names: tuple[str, ...]


GROUPS = (
    Group(
        "Loading models",
        "From files to a decoder. A `ModelSource` is a path or a name, a `LoadConfig`, or a loaded `Backend`; a "
        "`Prompt` is text, a list of messages (`Message`, or a mapping with role and content), or a list of token ids.",
        ("load", "SpeculativeDecoder", "LoadConfig", "LoadOptions", "LoadProgress"),
    ),
    Group(
        "Requests",
        "What `generate`, `stream` and `astream` take. Every configuration checks itself when it is made.",
        ("GenerationRequest", "GenerationOptions", "SamplingConfig", "SpeculationConfig", "Constraint", "CancelToken"),
    ),
    Group(
        "Messages",
        "Who says what in a conversation: text, and what lies beside it.",
        (
            *("Message", "Part", "TextPart", "ReasoningPart", "ToolCall", "ToolResult", "FilePart", "ImagePart"),
            *("OtherPart", "OtherField", "parts_from_json"),
        ),
    ),
    Group(
        "Events and results",
        "What they give.",
        (
            *("Event", "PromptProgress", "TokenEvent", "TextEvent", "RoundEvent", "Finished", "Origin", "FinishReason"),
            *("GenerationResult", "GenerationStats", "MethodStats", "Untold", "PromptFit", "ReadPrompt", "Infill"),
        ),
    ),
    Group(
        "Servers",
        "A server as the target, and the contract that it shares with a decoder.",
        (
            *("connect_server", "RemoteDecoder", "Responder", "Capabilities", "Patience", "is_server_address"),
            *("find_server", "FoundServer", "server_key", "keep_server_key"),
        ),
    ),
    Group(
        "Models in folders",
        "What there is, what fits together, and what it needs.",
        (
            *("scan_folder", "inspect_model", "ModelFile", "resolve_source", "bundled_pair", "judge_pair"),
            *("rank_drafts", "Fit", "find_preset", "apply_preset", "memory_needs", "MemoryNeeds"),
            *("usable_cache_types", "available_memory", "gpu_offload", "full_size_target", "full_size_folder"),
            "safetensors_copy",
            "FullSize",
        ),
    ),
    Group(
        "Serving",
        "A decoder of your own for other programs on this machine; the command `serve` does the same.",
        ("LocalServer", "ServerAddress", "ServerFigures", "ServerLine"),
    ),
    Group(
        "Measuring",
        "Ways of decoding compared in turns.",
        ("measure_ways", "WaysReport", "WayFigures", "Spread", "ModelFacts", "Equality", "WaysProgress"),
    ),
    Group(
        "The rules as pure functions",
        "Sampling and acceptance over arrays and given random numbers.",
        ("distribution", "sample", "accept", "residual_distribution"),
    ),
    Group(
        "Backends",
        "The contract of a loaded model, for programs that bring their own.",
        ("Backend", "Rewind", "Tokenizer"),
    ),
    Group(
        "Draft methods",
        "The table of the methods, and the contract of a drafter, for programs that bring their own.",
        ("DRAFT_METHODS", "DraftMethod", "Drafter", "DrafterContext", "Draft", "GoesOn"),
    ),
    Group(
        "Errors",
        "`EngineError` is the base of all. `str(error)` is one or two sentences for a person.",
        (
            *("EngineError", "ModelNotLoaded", "LoadFailed", "ModelFileBroken", "ModelNotSupported", "ModelTooLarge"),
            *("FolderUnreadable", "IncompatiblePair", "VocabularyMismatch", "UnknownMethod", "UnknownPreset"),
            *("NotAvailable", "InvalidRequest", "InvalidLookahead", "InvalidSampling", "TokenOutOfRange"),
            *("ContextFull", "TextNotEncodable", "ChatTemplateFailed", "DegenerateDistribution"),
            *("RewindNotSupported", "BackendFailure", "BackendClosed", "ServerFailed", "DecoderBusy", "Cancelled"),
            *("InstallationDamaged", "GrowthError", "PairWarning", "LoadWarning"),
        ),
    ),
    Group(
        "Programs around the engine",
        "What an application and its installer need.",
        (
            *(
                "Translatable",
                "Phrase",
                "expanded",
                "first_part",
                "write_whole",
                "private_file",
                "private_folder",
                "tighten",
                "cache_folder",
                "tighten_cache",
                "installation_folder",
                "check_installation",
                "check_processor",
                "Installation",
            ),
            *("EXIT_DAMAGED", "run_hidden_command", "__version__"),
        ),
    ),
    Group(
        "Constants",
        "Bounds and names.",
        (
            "METHODS",
            "PLAIN",
            "CACHE_TYPES",
            "CacheType",
            "DEFAULT_LOOKAHEAD",
            "MAX_LOOKAHEAD",
            "THINKING_MODES",
            "ThinkingMode",
            "ThinkingSwitch",
        ),
    ),
)
VALUES = {
    "CACHE_TYPES": "The number formats that the cache of a GGUF model can have.",
    "CacheType": "One of `CACHE_TYPES`.",
    "THINKING_MODES": "What a request can ask of a model that thinks.",
    "ThinkingMode": "One of `THINKING_MODES`.",
    "ThinkingSwitch": 'How a chat template is told to think: `"none"`, `"on-off"` or `"effort"`.',
    "DEFAULT_LOOKAHEAD": "The fixed lookahead of a draft model where *auto* is not used.",
    "DRAFT_METHODS": "Every draft method in the order in which they are shown: a `DraftMethod` each.",
    "EXIT_DAMAGED": "The exit code of a program whose installation is damaged.",
    "Event": "What `stream` and `astream` yield.",
    "FinishReason": "Why a reply ended.",
    "MAX_LOOKAHEAD": "The largest lookahead.",
    "METHODS": "Every method that has a name; those that are planned raise `NotAvailable`.",
    "GoesOn": "Asked after each token of a draft: how many there are now, and the probability that the draft gave it.",
    "Origin": "Where a token came from.",
    "Part": "One part of a `Message`, of any kind.",
    "PLAIN": "The name of the method that is plain decoding.",
    "Untold": "What a server may not tell of a reply (see `GenerationStats.untold`).",
    "__version__": "The version of Outrider, as text.",
}
"""What a name means that is no class and no function, and so has no docstring."""


def make_page() -> str:
    """Return the page. Raises ValueError where names and groups do not agree."""
    named = [name for group in GROUPS for name in group.names]
    wrong = sorted(set(named) ^ set(engine.__all__) | {name for name in named if named.count(name) > 1})
    if wrong:
        raise ValueError(f"packaging/update_api_reference.py: without one group each: {', '.join(wrong)}")
    lines = [
        "# API reference",
        "",
        "Every public name of `engine`; nothing else is stable. `make docs` writes this page from the docstrings: do",
        "not edit it. The [library guide](library.md) explains how the names work together.",
        "",
        *(f"- [{group.title}](#{_anchor(group.title)}): {_links(group.names)}" for group in GROUPS),
    ]
    for group in GROUPS:
        lines += ["", f"## {group.title}", "", group.text]
        for name in group.names:
            lines += ["", f"### {name.replace('__', chr(92) + '_' * 2, 1)}", "", *_entry(name, getattr(engine, name))]
    return "\n".join(lines) + "\n"


def _links(names: tuple[str, ...]) -> str:
    return ", ".join(f"[{name}](#{_anchor(name)})" for name in names)


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _entry(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value) and value.__name__ != name:
        yield f"Another name of [{value.__name__}](#{_anchor(value.__name__)})."
    elif inspect.isclass(value):
        yield from _class(name, value)
    elif inspect.isfunction(value):
        yield from _code(_signature(name, value))
        yield from _text(value)
    else:
        yield VALUES[name]
        code = f"{name} = {_MODULES.sub('', repr(value))}"
        if name != "__version__" and len(code) <= _LONGEST:
            yield ""
            yield from _code(code)


# Classes --------------------------------------------------------------------------------------------------------------


def _class(name: str, kind: type) -> Iterator[str]:
    inner = (*_inner_bases(kind), object, tuple, dict)
    bases = [base.__name__ for base in kind.__bases__ if base not in inner and base.__name__ not in ("ABC", "Protocol")]
    if bases:
        yield f"A kind of {', '.join(f'`{base}`' for base in bases)}."
        yield ""
    fields = _fields(kind)
    made = kind.__init__ not in (object.__init__, Exception.__init__, UserWarning.__init__)  # type: ignore[misc]
    if not (fields or inspect.isabstract(kind) or getattr(kind, "_is_protocol", False)) and made:
        yield from _code(_signature(name, kind))
    yield from _text(kind)
    if fields:
        yield from ("", "| field | type | default |", "|---|---|---|", *fields)
    for holder in (kind, *_inner_bases(kind)):
        for member, value in vars(holder).items():
            if not member.startswith("_"):
                yield from _member(name, member, value)


def _inner_bases(kind: type) -> list[type]:
    """Return the bases that have no entry of their own, so that their members belong here."""
    ours = (base for base in kind.__bases__ if base.__module__.startswith("engine."))
    return [base for base in ours if base.__name__ not in engine.__all__]


def _fields(kind: type) -> list[str]:
    """Return the rows of a table of the fields of a data class, a named tuple or a typed dictionary; else none."""
    if dataclasses.is_dataclass(kind):
        found = [(field.name, field.type, _default(field)) for field in dataclasses.fields(kind) if field.init]
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        defaults: Mapping[str, Any] = getattr(kind, "_field_defaults", {})
        types = inspect.get_annotations(kind)
        found = [(name, types[name], f"`{defaults[name]!r}`" if name in defaults else "") for name in kind._fields]
    elif is_typeddict(kind):
        found = [(name, getattr(type_of, "__forward_arg__", type_of), "") for name, type_of in _types_of(kind)]
    else:
        return []
    return [f"| `{name}` | {_type(kind_of)} | {default} |" for name, kind_of, default in found]


def _types_of(kind: type) -> Iterable[tuple[str, Any]]:
    return inspect.get_annotations(kind).items()


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{field.default!r}`"
    return f"`{getattr(field.default_factory, '__name__', '…')}()`" if callable(field.default_factory) else ""


def _type(annotation: Any) -> str:
    return f"`{_annotation(annotation)}`".replace("|", r"\|")


def _member(owner: str, name: str, value: Any) -> Iterator[str]:
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if isinstance(value, property) and value.fget is not None:
        result = _annotation(inspect.signature(value.fget).return_annotation)
        yield from ("", f"#### {owner}.{name}", "", *_code(f"{name} -> {result}"), *_text(value.fget))
    elif inspect.isfunction(function):
        shown = name if function is value else f"{owner}.{name}"
        yield from ("", f"#### {owner}.{name}", "", *_code(_signature(shown, function, bound=True)))
        yield from _text(function)


# Texts ----------------------------------------------------------------------------------------------------------------


def _signature(name: str, value: Any, *, bound: bool = False) -> str:
    """Return a call as it is written, on one line or with one argument a line."""
    signature = inspect.signature(value)
    parts: list[str] = []
    kinds = inspect.Parameter
    starred = False
    parameters = list(signature.parameters.values())[1 if bound else 0 :]
    for index, each in enumerate(parameters):
        if each.kind is kinds.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or each.kind in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL)
        parts.append(_parameter(each))
        following = parameters[index + 1].kind if index + 1 < len(parameters) else None
        if each.kind is kinds.POSITIONAL_ONLY and following is not kinds.POSITIONAL_ONLY:
            parts.append("/")
    result = "" if inspect.isclass(value) else f" -> {_annotation(signature.return_annotation)}"
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def _parameter(parameter: inspect.Parameter) -> str:
    kinds: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    stars = kinds.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f"{' = ' if kind else '='}{parameter.default!r}"
    if "<" in default:  # A function's address says nothing, and is another one each time.
        default = " = …"
    return f"{stars}{parameter.name}{kind}{default}"


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Signature.empty or annotation is None or annotation is type(None):
        return "None"
    if isinstance(annotation, ForwardRef):  # What a named tuple makes of an annotation that is text.
        annotation = annotation.__forward_arg__
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _MODULES.sub("", text)


def _code(text: str, language: str = "text") -> list[str]:
    return [f"```{language}", text, "```", ""]


def _text(value: Any) -> Iterator[str]:
    """Yield the lines of a docstring; examples in it become code."""
    examples = False
    for line in (inspect.getdoc(value) or "").splitlines():
        starts = line.startswith(">>> ")
        if starts and not examples:
            yield "```pycon"
        elif examples and not line:
            yield "```"
        examples = (examples or starts) and bool(line)
        yield line
    if examples:
        yield "```"


def main() -> int:
    """Write the page, or only look whether it is up to date."""
    page = make_page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is not what the docstrings say: run make docs")
    return 1


if __name__ == "__main__":
    sys.exit(main())
