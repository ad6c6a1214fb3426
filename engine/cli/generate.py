"""Run `generate`: parse its arguments, and print a reply as text or JSON."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console

from engine.cancel import CancelToken
from engine.cli.common import (
    DRAFT_GPU_LAYERS,
    EXIT_CANCELLED,
    EXIT_DONE,
    add_sampling_options,
    load_named,
    read_constraint,
    read_text,
    read_tools,
    run_cancellable,
)
from engine.config import (
    THINKING_MODES,
    GenerationRequest,
    LoadConfig,
    Lookahead,
    SamplingConfig,
    SpeculationConfig,
    freeze_prompt,
)
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, InvalidLookahead, InvalidRequest, PairWarning
from engine.events import Finished, GenerationResult, LoadProgress, TokenEvent
from engine.library.presets import RECOMMENDED, apply_preset, recommended_sampling
from engine.messages.message import Message
from engine.methods import AUTO, PLAIN, SOURCES


@dataclass(frozen=True, slots=True)
class NamedModels:
    """Hold the models and settings that a command names, itself or by its preset. `target` None: the bundled one."""

    target: str | Path | None
    draft: str | Path | None
    speculation: SpeculationConfig
    sampling: SamplingConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `generate`."""
    add_models(parser)
    add_speculation(parser)
    add_sampling_options(parser)
    add = parser.add_argument
    add(
        "--stop",
        action="append",
        default=[],
        metavar="S",
        help="text that ends the reply; can be repeated",
    )
    add(
        "--stop-token",
        type=int,
        action="append",
        default=[],
        metavar="ID",
        help="token that ends the reply; can be repeated",
    )
    add(
        "--max-tokens",
        type=int,
        metavar="N",
        help="maximum number of new tokens (default: until the context is full)",
    )
    add(
        "--thinking",
        choices=THINKING_MODES,
        default="default",
        help="whether, or how hard, the model thinks before it answers (default: as its chat template does)",
    )
    add("--tools", type=Path, metavar="FILE", help="JSON list of the functions that the model may call; none is run")
    add("--json-schema", type=Path, metavar="FILE", help="JSON schema that the reply must be valid by")
    add("--grammar", type=Path, metavar="FILE", help="Lark grammar of which the reply must be a text")
    add("--raw", action="store_true", help="do not apply the chat template")
    add("--tokens", action="store_true", help="PROMPT is token ids separated by commas")
    add(
        "--messages",
        type=Path,
        metavar="FILE",
        help='JSON list of {"role", "content"}; each user message and tool result is answered',
    )
    add("--json", action="store_true", help="print one line of JSON per reply")
    add("prompt", nargs="?", metavar="PROMPT")
    parser.set_defaults(run=run)


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the models and say how they are loaded."""
    models = parser.add_argument_group("models (default: the bundled pair)")
    models.add_argument(
        "--target",
        metavar="T",
        help="GGUF file, folder with safetensors, name in the Hugging Face cache, or demo",
    )
    models.add_argument("--draft", metavar="D", help="like --target, or none")
    models.add_argument(
        "--ctx",
        type=int,
        metavar="N",
        help="context length in tokens (default: the model's, at most 4096)",
    )
    models.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="default: with lookahead auto the fastest measured, otherwise one per physical core, one for a tiny model",
    )
    models.add_argument("--gpu-layers", type=int, metavar="N", help="number of layers computed on the GPU; -1 = all")
    models.add_argument("--draft-gpu-layers", type=int, metavar="N", help=DRAFT_GPU_LAYERS)
    models.add_argument("--cache-type", metavar="F", help="f16, q8_0 or q4_0; only for GGUF models")
    models.add_argument("--device", metavar="D", help="auto, cpu, cuda, cuda:1 or mps (default: auto)")
    models.add_argument("--dtype", metavar="F", help="float32, bfloat16 or float16; only for safetensors models")
    models.add_argument(
        "--heads",
        metavar="PATH",
        help="GGUF file or folder with draft heads for the target (default for --method mtp: the target's own file)",
    )


def add_speculation(
    parser: argparse.ArgumentParser,
    folder: str = "folder with the preset's models (default: the Hugging Face cache)",
) -> None:
    """Add the options that make a SpeculationConfig, and those of presets; `folder`: what --folder means."""
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
        help="propose a tree: up to W tokens (1 to 4) at each of D places (1 to 8), for example 3x4",
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


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    options: dict[str, Any] = {"sampling": settings.sampling, "speculation": settings.speculation}
    options |= {"max_tokens": args.max_tokens, "stop": tuple(args.stop), "stop_tokens": tuple(args.stop_token)}
    options |= {"thinking": args.thinking, "tools": read_tools(args.tools)}
    options["constraint"] = read_constraint(args.json_schema, args.grammar)
    turns = _read_messages(args.messages) if args.messages else None
    _note_ignored(args)
    prompt: Any = None if turns else _read_prompt(args)
    if not turns:
        GenerationRequest(freeze_prompt(prompt), raw=args.raw, **options)
    cancel = CancelToken()
    console = Console(stderr=True)

    def work() -> int:
        with load_models(args, settings, console, cancel) as decoder:
            if cancel.cancelled:
                raise Cancelled
            if turns is not None:
                return _answer_turns(decoder, turns, args.json, cancel, console, options)
            result = _answer(decoder, prompt, args.json, cancel, console, {**options, "raw": args.raw})
            return EXIT_CANCELLED if result.finish_reason == "cancelled" else EXIT_DONE

    return run_cancellable(work, cancel)


def _note_ignored(args: argparse.Namespace) -> None:
    """Say which of the options given do nothing beside the others."""
    ignored = [name for name in ("prompt", "raw", "tokens") if args.messages and getattr(args, name)]
    ignored += ["folder"] if args.folder and args.preset is None else []
    for name in ignored:
        said = "PROMPT" if name == "prompt" else f"--{name}"
        why = "without --preset" if name == "folder" else "beside --messages"
        sys.stderr.write(f"outrider-engine: {said} is ignored {why}.\n")


def settings_of(args: argparse.Namespace) -> NamedModels:
    """Return the settings of the preset, overridden by those of the command."""
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


def _named(given: dict[str, Any], kind: type) -> dict[str, Any]:
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}


def _read_prompt(args: argparse.Namespace) -> str | list[int]:
    if args.prompt is None:
        raise InvalidRequest("There is no prompt. Pass one as the last argument, or use --messages FILE.")
    if not args.tokens:
        return str(args.prompt)
    try:
        return [int(part) for part in args.prompt.split(",")]
    except ValueError:
        raise InvalidRequest("With --tokens the prompt must be token ids separated by commas.") from None


def _read_messages(path: Path) -> list[Message]:
    try:
        data = json.loads(read_text(path))
    except ValueError as error:
        raise InvalidRequest(f"{path} is not JSON: {error}.") from None
    if not isinstance(data, list) or not data:
        raise InvalidRequest(f'{path} must contain a JSON list of {{"role", "content"}}.')
    messages = [Message.from_mapping(item) for item in data]
    if not any(message.role == "user" for message in messages):
        raise InvalidRequest(f"{path} has no user message to answer.")
    return messages


def load_models(
    args: argparse.Namespace, settings: NamedModels, console: Console, cancel: CancelToken
) -> SpeculativeDecoder:
    with console.status("Loading…") as status:

        def show(progress: LoadProgress) -> None:
            status.update(f"{progress.stage.capitalize()} the {progress.part}… {100 * progress.fraction:.0f} %")

        warnings.simplefilter("ignore", PairWarning)
        draft = None if settings.draft == "none" else settings.draft
        decoder = load_named(args, settings.target or "demo", draft, progress=show, cancel=cancel)
        _attach_heads(decoder, args, settings, cancel)
    for warning in decoder.warnings:
        console.print(f"outrider-engine: {warning}", highlight=False, markup=False, soft_wrap=True)
    return decoder


def _attach_heads(
    decoder: SpeculativeDecoder, args: argparse.Namespace, settings: NamedModels, cancel: CancelToken
) -> None:
    """Load the heads that are asked for: of a file, or for MTP without one those inside the target's own."""
    asked = (settings.speculation.method, *settings.speculation.sources)
    source = args.heads or ((settings.target or "demo") if "mtp" in asked else None)
    if source is None:
        return
    # As the target was loaded: a file that was tried with these settings passes.
    config = LoadConfig(
        Path(source), args.ctx, args.threads, args.gpu_layers, device=args.device, cache_type=args.cache_type
    )
    try:
        decoder.attach_heads(config, cancel=cancel)
    except BaseException:
        decoder.close()
        raise


def _answer_turns(
    decoder: SpeculativeDecoder,
    turns: Sequence[Message],
    as_json: bool,
    cancel: CancelToken,
    console: Console,
    options: dict[str, Any],
) -> int:
    """Answer each user turn and the results of tools in order.

    An assistant turn in the file takes the place of our answer in the history.
    """
    history: list[Message] = []
    for turn, following in zip_longest(turns, turns[1:]):
        if turn.role == "assistant" and history and history[-1].role == "assistant":
            history.pop()
        history.append(turn)
        if turn.role == "user" or (turn.role == "tool" and getattr(following, "role", "") != "tool"):
            result = _answer(decoder, history, as_json, cancel, console, options)
            history.append(result.message)
            if result.finish_reason == "cancelled":
                return EXIT_CANCELLED
    return EXIT_DONE


def _answer(
    decoder: SpeculativeDecoder,
    prompt: Any,
    as_json: bool,
    cancel: CancelToken,
    console: Console,
    options: dict[str, Any],
) -> GenerationResult:
    """Return one reply: JSON on stdout, or the text as it comes and a line of statistics on stderr."""
    result: GenerationResult | None = None
    for event in decoder.stream(prompt, cancel=cancel, **options):
        if isinstance(event, TokenEvent) and not as_json:
            print(event.text, end="", flush=True)
        elif isinstance(event, Finished):
            result = event.result
            print(json.dumps(result.to_dict() | _describe_target(decoder)) if as_json else "", flush=True)
    if result is None:
        raise Cancelled
    for note in result.notes if not as_json else ():
        console.print(f"outrider-engine: {note}", highlight=False, markup=False, soft_wrap=True)
    if not as_json:
        console.print(_statistics_line(result), style="dim", highlight=False, soft_wrap=True)
    return result


def _describe_target(decoder: SpeculativeDecoder) -> dict[str, Any]:
    """Return what JSON says of where the target computed."""
    target = decoder.target
    return {} if target is None else {"device": target.device, "batch_invariant": target.batch_invariant}


def _statistics_line(result: GenerationResult) -> str:
    stats = result.stats
    parts = [f"{stats.emitted} tokens", f"{stats.tokens_per_second:.1f} tok/s"]
    if stats.proposed:
        parts += [
            f"{100 * stats.acceptance_rate:.0f} % accepted",
            f"{stats.mean_length:.1f} tokens per round",
        ]
    return " · ".join([*parts, f"{result.method}, finish reason: {result.finish_reason}"])
