"""Define the options for models, their loading and their use; load the named models."""

from __future__ import annotations

import argparse
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from engine.cancel import CancelToken
from engine.cli.common import add_loading_options, attach_named_heads, load_named, shown_in
from engine.config import CACHE_TYPES, Lookahead, SamplingConfig, SpeculationConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidLookahead, InvalidRequest, PairWarning
from engine.library.known import DEFAULT, aliases
from engine.library.presets import RECOMMENDED, apply_preset, recommended_sampling
from engine.methods import AUTO, PLAIN, SOURCES, find_method
from engine.system.files import expanded

if TYPE_CHECKING:
    from rich.console import Console

    from engine.remote.client import RemoteDecoder

_LOCAL = (
    *("ctx", "threads", "gpu_layers", "draft_gpu_layers", "cache_type", "device", "dtype", "heads", "rpc"),
    "chat_template",
    "mmproj",
)


@dataclass(frozen=True, slots=True)
class NamedModels:
    """Hold the models and settings that a command names, itself or by its preset. `target` None: the bundled one."""

    target: str | Path | None
    draft: str | Path | None
    speculation: SpeculationConfig
    sampling: SamplingConfig


def add_models(parser: argparse.ArgumentParser, *, or_server: bool = False) -> None:
    """Add the options for models and their loading. `or_server`: the target may be a server."""
    models = parser.add_argument_group("models (default: the bundled pair)")
    server = ", or the address of a server (http://host:port)" if or_server else ""
    models.add_argument(
        "-m",
        "--target",
        metavar="T",
        help="GGUF file, folder with safetensors, name of a model or part of it, alias, hf:OWNER/NAME:QUANT, or "
        f"demo{server}",
    )
    if or_server:
        models.add_argument("--model", metavar="NAME", help="which model of a server (default: its only one)")
    models.add_argument("-d", "--draft", metavar="D", help="like --target, or none")
    threads = "with lookahead auto the fastest measured, otherwise one per physical core, one for a tiny model"
    add_loading_options(models.add_argument, f"default: {threads}")
    models.add_argument("--cache-type", metavar="F", help=f"{', '.join(CACHE_TYPES)}; only for GGUF models")
    models.add_argument(
        "--rpc",
        metavar="LIST",
        help="machines that compute the target's layers: host:port of an rpc-server each, with commas; what is sent "
        "there is not encrypted",
    )
    models.add_argument(
        "--chat-template",
        type=Path,
        metavar="FILE",
        help="write chats by this template (Jinja) instead of the target's own",
    )
    models.add_argument(
        "--mmproj",
        type=Path,
        metavar="FILE",
        help="GGUF file with which the target sees pictures (default: the one beside it, if there is one)",
    )
    models.add_argument(
        "--heads",
        metavar="PATH",
        help="GGUF file or folder with draft heads for the target, or none (default: where no draft is named, those "
        "inside the target or beside it)",
    )


def add_speculation(
    parser: argparse.ArgumentParser, folder: str = "folder with the preset's models (default: the Hugging Face cache)"
) -> None:
    """Add the options of a SpeculationConfig, and those of presets; `folder`: the meaning of --folder."""
    spec = parser.add_argument_group("speculation")
    spec.add_argument("--method", metavar="M", help=f"{AUTO}, {PLAIN}, {', '.join(SOURCES)}")
    spec.add_argument(
        "--lookahead",
        type=_lookahead,
        metavar="N",
        help="0 to 32, adaptive, or auto: chosen by measurement (default: auto; with --seed 4, or 16 for ngram)",
    )
    spec.add_argument(
        "--tree",
        metavar="WxD",
        help="propose a tree: up to W tokens (1 to 4) at each of D places (1 to 8), for example 3x4; auto: by cost",
    )
    spec.add_argument("--acceptance", metavar="RULE", help="rejection or exact")
    spec.add_argument("--force-n1", action="store_true", default=None, help="verify one token at a time")
    spec.add_argument(
        "--draft-temperature", type=float, metavar="X", help="temperature of the draft (default: the target's)"
    )
    spec.add_argument(
        "--min-draft-confidence",
        type=float,
        metavar="X",
        help="stop drafting below this probability (default: 0 = never)",
    )
    spec.add_argument(
        "--overlap", metavar="on|off|auto", help="keep drafting while the target verifies (default: auto)"
    )
    spec.add_argument(
        "--sources", type=_names, metavar="LIST", help=f"sources, asked in this order: {','.join(SOURCES)}"
    )
    spec.add_argument(
        "--preset",
        metavar="NAME",
        help=f"use a known pair with its settings (see presets); {RECOMMENDED}: as the target itself recommends",
    )
    spec.add_argument("--folder", type=Path, metavar="F", help=folder)


def _lookahead(text: str) -> Lookahead | str:
    try:
        return int(text)
    except ValueError:
        return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def settings_of(args: argparse.Namespace) -> NamedModels:
    """Return the settings of the preset, overridden by those of the command."""
    if (args.target, args.draft, args.preset) == (None, None, None) and DEFAULT in aliases():
        args.target = DEFAULT
    if args.target is not None or args.draft is not None:
        _fetch_missing(args)
    settings = NamedModels(args.target, args.draft, SpeculationConfig(), SamplingConfig())
    if args.preset not in (None, RECOMMENDED):
        target, draft, speculation, sampling = apply_preset(args.preset, args.folder)
        settings = NamedModels(args.target or target, args.draft or draft or "none", speculation, sampling)
    elif args.target is None and args.draft is None:
        settings = replace(settings, draft="demo")
    if args.preset == RECOMMENDED:
        settings = replace(settings, sampling=recommended_sampling(settings.target or "demo"))
    if isinstance(args.lookahead, str) and args.lookahead not in ("adaptive", "auto", "default"):
        raise InvalidLookahead(args.lookahead)
    given = {name: value for name, value in vars(args).items() if value is not None}
    if "ban" in given:
        given["banned_tokens"] = given["ban"]
    return replace(
        settings,
        speculation=replace(settings.speculation, **_named(given, SpeculationConfig)),
        sampling=replace(settings.sampling, **_named(given, SamplingConfig)),
    )


def _fetch_missing(args: argparse.Namespace) -> None:
    """Download the named models that are missing here, after asking. Raises InvalidRequest, DownloadFailed."""
    named = {str(name) for name in (args.target, args.draft)} - {"None", "none", "demo"}
    if any(name.startswith("hf:") or not Path(name).exists() for name in named):
        from engine.cli.fetch import fetch_missing  # noqa: PLC0415 - few commands name anything that is not here

        fetch_missing(args, CancelToken())


def _named(given: dict[str, Any], kind: type) -> dict[str, Any]:
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}


def load_models(
    args: argparse.Namespace, settings: NamedModels, console: Console | None, cancel: CancelToken
) -> SpeculativeDecoder:
    with nullcontext() if console is None else console.status("Loading…") as status:
        warnings.simplefilter("ignore", PairWarning)
        draft = None if settings.draft == "none" else settings.draft
        decoder = load_named(
            args, settings.target or "demo", draft, progress=status and shown_in(status), cancel=cancel
        )
        notes = _attach_heads(decoder, args, settings, cancel)
        if corpus := getattr(args, "corpus", None):
            notes += _attach_corpus(decoder, corpus, cancel)
    if console is not None:
        for note in (*decoder.warnings, *notes):
            console.print(f"outrider-engine: {note}", highlight=False, markup=False, soft_wrap=True)
    return decoder


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the user's own texts."""
    parser.add_argument(
        "--corpus",
        type=Path,
        action="append",
        metavar="PATH",
        help="a file or folder of your own texts: what stands there is drafted from (may be given several times)",
    )


def connect_to_target(args: argparse.Namespace, settings: NamedModels, cancel: CancelToken) -> RemoteDecoder:
    """Return the server whose address is the target. Raises InvalidRequest, ServerFailed, Cancelled."""
    from engine.remote.connect import connect_server  # noqa: PLC0415 - for servers alone

    if args.draft not in (None, "none"):
        raise InvalidRequest("A server drafts by itself: omit --draft.")
    given = ["--" + name.replace("_", "-") for name in _LOCAL if getattr(args, name, None) is not None]
    if given:
        raise InvalidRequest(f"A server loads its model by itself: omit {', '.join(given)}.")
    return connect_server(str(settings.target), args.model, sampling=settings.sampling, cancel=cancel)


def _attach_corpus(decoder: SpeculativeDecoder, paths: list[Path], cancel: CancelToken) -> tuple[str, ...]:
    """Index texts for the target; return notes on them. Raises InvalidRequest, Cancelled."""
    given = [expanded(path) for path in paths]
    try:
        if missing := next((path for path in given if not path.exists()), None):
            _refuse_corpus(missing)
        decoder.attach_corpus(given, cancel=cancel)
    except BaseException:
        decoder.close()
        raise
    if decoder.corpus is not None and decoder.corpus.documents:
        return ()
    return ("No text was found where --corpus says: files of UTF-8 text up to 1 MiB are read.",)


def _refuse_corpus(path: Path) -> NoReturn:
    raise InvalidRequest(f"There is no file or folder {path}, which --corpus names.")


def _attach_heads(
    decoder: SpeculativeDecoder, args: argparse.Namespace, settings: NamedModels, cancel: CancelToken
) -> tuple[str, ...]:
    """Load the heads that are asked for, or those inside or beside the target where nothing else is to draft.

    Return what a person should know of those that were found.
    """
    sources = (settings.speculation.method, *settings.speculation.sources)
    source = args.heads or ((settings.target or "demo") if "mtp" in sources else None)
    if source not in (None, "none"):
        attach_named_heads(decoder, args, source, cancel)
        return ()
    method = _heads_to_find(settings)
    if source == "none" or method is None:
        return ()
    try:
        reasons = decoder.find_heads(method, cancel=cancel)
    except BaseException:
        decoder.close()
        raise
    if decoder.heads is not None:
        return (f"Drafting with the head {decoder.heads.name} ({decoder.heads.method}); --heads none does without.",)
    return tuple(f"No draft head is used. {reason}" for reason in reasons[:1])


def _heads_to_find(settings: NamedModels) -> str | None:
    """Return the method whose heads are to be looked for; None if something else drafts, or nothing is to."""
    speculation = settings.speculation
    method = find_method(speculation.method)
    if method is not None:
        return method.name if method.needs == "heads" else None
    free = settings.draft is None and not speculation.sources and speculation.lookahead != 0
    return AUTO if free and speculation.method == AUTO else None
