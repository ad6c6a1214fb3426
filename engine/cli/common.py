"""Share the parts of several commands: options for loading and sampling, and files that are read."""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.events import LoadProgress
from engine.library.housekeeping import note_used
from engine.loaded import load
from engine.messages.tools import Tool, freeze_tools
from engine.options import load_config
from engine.sampling_rules import RULES
from engine.system.files import expanded, write_whole

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


def add_loading_options(
    add: Callable[..., object], threads: str = "for both models (default: the fastest measured for each)"
) -> None:
    """Add the options for loading models. `threads`: the meaning of --threads."""
    ctx = "context length in tokens (default: the model's, as a tenth of the memory holds)"
    add("-c", "--ctx", type=int, metavar="N", help=ctx)
    add("-t", "--threads", type=int, metavar="N", help=threads)
    add("--gpu-layers", type=int, metavar="N", help="number of layers computed on the GPU; -1 = all")
    draft = "the draft's, where it is not --gpu-layers; 0 = the draft on the processor"
    add("--draft-gpu-layers", type=int, metavar="N", help=draft)
    add("--device", metavar="D", help="auto, cpu, cuda, cuda:1 or mps (default: auto)")
    add("--dtype", metavar="F", help="float32, bfloat16 or float16; only for safetensors models")


def add_sampling_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that make a SamplingConfig."""
    sampling = parser.add_argument_group("sampling")
    for rule in RULES:
        kind, shown = (int, "N") if rule.type == "int64_t" else (float, "X")
        sampling.add_argument(rule.option, type=kind, metavar=shown, help=rule.help)
    sampling.add_argument("--logit-bias", type=_bias, action="append", metavar="ID=X", help="add X to a token's logit")
    sampling.add_argument("--ban", type=int, action="append", metavar="ID", help="never generate this token")
    sampling.add_argument("-s", "--seed", type=int, metavar="N", help="make sampling repeatable")


def _bias(text: str) -> tuple[int, float]:
    token, _, amount = text.partition("=")
    try:
        return int(token), float(amount)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a token id and a number, such as 5=1.5, not {text!r}") from None


def read_text(path: Path) -> str:
    """Return the text of a file. Raises InvalidRequest."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidRequest(f"Cannot read {path}: {reason}.") from None


def read_json_file(path: Path) -> Any:
    """Return the JSON of a file. Raises InvalidRequest."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{path} is not JSON: {error}.") from None


def read_constraint(schema: Path | None, grammar: Path | None) -> Constraint | None:
    """Return the constraint of a file with a JSON schema or a Lark grammar; None without either.

    Raises InvalidRequest.
    """
    path = schema or grammar
    if path is None:
        return None
    if schema is not None and grammar is not None:
        raise InvalidRequest("--json-schema and --grammar exclude each other. Omit one of them.")
    text = read_text(path)
    try:
        return Constraint("lark" if schema is None else "json-schema", text)
    except InvalidRequest as error:
        raise InvalidRequest(f"{path}: {error}") from None


def load_named(
    args: argparse.Namespace, target: str | Path, draft: str | Path | None, **how: Any
) -> SpeculativeDecoder:
    """Load models by the arguments of a command. `how`: further arguments of `load`, whose errors it raises."""
    given = vars(args)
    options: Any = {name: given[name] for name in ("threads", "gpu_layers", "device", "dtype")}
    options |= {"context_length": args.ctx, "cache_type": given.get("cache_type")}
    own = given.get("chat_template")
    there: Any = {"rpc": given.get("rpc") or (), "chat_template": None if own is None else read_text(own)}
    there["projector"] = None if (sees := given.get("mmproj")) is None else expanded(sees)
    layers = options["gpu_layers"] if args.draft_gpu_layers is None else args.draft_gpu_layers
    apart = None if draft is None else load_config(draft, options | {"gpu_layers": layers})
    decoder = load(target, apart, **options, **there, **how)
    used = [path for name in (target, draft) if name is not None and (path := Path(name)).exists()]
    threading.Thread(target=note_used, args=(used,), name="outrider-used").start()  # The reply does not wait for it.
    return decoder


def write_file(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all. Raises InvalidRequest."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise InvalidRequest(f"Cannot write {path}: {error.strerror or error}.") from None


def notes_console(*, quiet: bool) -> Console | None:
    """Open the console for notes and progress, on standard error; None if quiet."""
    if quiet:
        return None
    from rich.console import Console  # noqa: PLC0415 - long to import

    return Console(stderr=True)


def shown_in(status: Status) -> Callable[[LoadProgress], None]:
    """Return the display of a load's progress."""
    return lambda progress: status.update(
        f"{progress.stage.capitalize()} the {progress.part}… {100 * progress.fraction:.0f} %"
    )


def attach_named_heads(
    decoder: SpeculativeDecoder, args: argparse.Namespace, heads: str | Path, cancel: CancelToken
) -> None:
    """Load heads for the target with its settings; if that fails, close the decoder and raise the error."""
    given = vars(args)
    how: Any = {"device": args.device, "cache_type": given.get("cache_type")}
    try:
        # As the target was loaded: a file that was tried with these settings passes.
        config = LoadConfig(Path(heads), args.ctx, args.threads, args.gpu_layers, **how)
        decoder.attach_heads(config, cancel=cancel)
    except BaseException:
        decoder.close()
        raise


def read_tools(path: Path | None) -> tuple[Tool, ...]:
    """Return the functions that a file lists as JSON; () without a file. Raises InvalidRequest."""
    if path is None:
        return ()
    listed = read_json_file(path)
    if not isinstance(listed, list):
        raise InvalidRequest(f"{path} must contain a JSON list of functions.")
    try:
        return freeze_tools(listed)
    except InvalidRequest as error:
        raise InvalidRequest(f"{path}: {error}") from None
