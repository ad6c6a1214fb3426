"""Run `serve`: load models, and answer requests until it is ended."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from engine.backends.base import Embedder
from engine.backends.caches_in_memory import MOST_BYTES
from engine.cancel import CancelToken
from engine.cli.arguments.models import NamedModels, add_models, add_speculation, load_models, settings_of
from engine.cli.cancellable import EXIT_DONE
from engine.cli.common import add_sampling_options, read_text
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.formats.gguf.parts import title_stem
from engine.library.names import resolve_source
from engine.loading.open import open_embedder
from engine.server.app import make_app
from engine.server.engine_thread import EngineThread
from engine.server.folder import folder_offers
from engine.server.guard import Limits
from engine.server.interfaces.requests import Defaults
from engine.server.listen import Listener
from engine.server.registry import ModelRegistry, Offer
from engine.system.files import private_folder
from engine.system.ports import is_address, is_loopback

_PORT = 8642
_MIB = 2**20
_SWITCH_S = 0.0005
"""The interpreter's switch interval: a server answers while a model computes, and Python's own 5 ms are felt."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `serve`."""
    add = parser.add_argument
    add("--host", default="127.0.0.1", metavar="H", help="address to listen on; others than this machine's need a key")
    add("--port", type=int, default=_PORT, metavar="N", help=f"default: {_PORT}; 0: any that is free")
    add("--api-key-file", type=Path, metavar="F", help="file with the key that each request must have")
    add(
        "--allow-origin",
        action="append",
        default=[],
        metavar="O",
        help="web page that may use the server, such as https://example.org, or * for any; can be repeated",
    )
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="N",
        help="further name by which the server may be called, such as my-computer.local; can be repeated",
    )
    add(
        "--ollama",
        action="store_true",
        help="also answer Ollama's interface: /api/chat, /api/generate, /api/tags, /api/show",
    )
    add("--model-name", metavar="M", help="name of the model in requests (default: the target's)")
    add("--embedding-model", metavar="E", help="GGUF file of a model that makes the vectors of /v1/embeddings")
    add(
        "--cache-memory",
        type=int,
        default=MOST_BYTES // _MIB,
        metavar="M",
        help="MiB for the caches of conversations that others displaced; 0: keep none (default: %(default)s)",
    )
    add(
        "--cache-folder",
        type=Path,
        metavar="F",
        help="folder in which conversations' caches outlast the server, 2 GiB of them (default: none is kept on disk)",
    )
    add("--idle-unload", type=float, metavar="S", help="unload a model that was not used for S seconds")
    add_models(parser)
    add_speculation(parser, "folder whose models requests may name, or with --preset that of its models")
    add_sampling_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl+C or SIGTERM."""
    limits = _limits(args)
    if not 0 <= args.port <= 65535:
        raise InvalidRequest("The port must be a whole number from 0 to 65535.")
    at, settings = (args.host, args.port), settings_of(args)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    if args.idle_unload is not None and args.idle_unload < 0:
        raise InvalidRequest("--idle-unload must be 0 seconds or more.")
    if args.cache_folder is not None:
        _make_folder(args.cache_folder)
    if args.cache_memory < 0:
        raise InvalidRequest("--cache-memory must be 0 MiB or more.")
    registry = ModelRegistry(_offers(args, settings), idle_s=args.idle_unload)
    engine = EngineThread(registry, cache_bytes=args.cache_memory * _MIB)
    try:
        named, defaults = _names_models(args), Defaults(settings.sampling, settings.speculation)
        with Listener(make_app(engine, defaults, limits, ollama=args.ollama), *at) as listener:
            if named:
                registry.ready(registry.names[0], CancelToken())
            sys.setswitchinterval(_SWITCH_S)
            there = registry.names[0] if named else f"{len(registry.names)} models of {args.folder}"
            sys.stderr.write(f"outrider-engine: {there} on {listener.url}/v1 (Ctrl+C ends it)\n")
            listener.run()
    finally:
        engine.close()
    return EXIT_DONE


def _names_models(args: argparse.Namespace) -> bool:
    """Return True if a model is loaded at once: one is named, or there is no folder to choose from."""
    return args.folder is None or any((args.target, args.draft not in (None, "none"), args.preset))


def _offers(args: argparse.Namespace, settings: NamedModels) -> Iterator[Offer]:
    """Return the models that requests may name: first the one that is loaded at once. Raises FolderUnreadable."""
    console = Console(stderr=True)
    if _names_models(args):
        target = settings.target or "demo"
        name = args.model_name or title_stem(resolve_source(target))
        yield Offer(name, lambda cancel: _load(args, settings, console, cancel))
    if args.embedding_model is not None:
        path = resolve_source(args.embedding_model)
        yield Offer(title_stem(path), embed=partial(_open_embedder, args, path))
    if args.folder is not None and args.preset is None:

        def load(target: Path, draft: Path | None, cancel: CancelToken) -> SpeculativeDecoder:
            drafts = draft or (None if args.draft is None else "none")  # Where no draft fits, a head may.
            return _load(args, replace(settings, target=target, draft=drafts), console, cancel)

        yield from folder_offers(args.folder, load, partial(_open_embedder, args), drafts=args.draft != "none")


def _load(args: argparse.Namespace, settings: NamedModels, console: Console, cancel: CancelToken) -> SpeculativeDecoder:
    decoder = load_models(args, settings, console, cancel)
    decoder.keep_caches(args.cache_folder)
    return decoder


def _make_folder(folder: Path) -> None:
    """Create the folder of caches if it is missing. Raises InvalidRequest."""
    try:
        private_folder(folder)
    except OSError as error:
        raise InvalidRequest(f"{folder} cannot hold caches: {error.strerror or error}.") from None


def _open_embedder(args: argparse.Namespace, path: Path, cancel: CancelToken) -> Embedder:
    return open_embedder(LoadConfig(path, None, args.threads, args.gpu_layers), cancel=cancel)


def _limits(args: argparse.Namespace) -> Limits:
    """Return the limits. Raises InvalidRequest where others could reach the server without a key."""
    key = None
    if args.api_key_file is not None:
        key = read_text(args.api_key_file).strip()
        if not key:
            raise InvalidRequest(f"{args.api_key_file} holds no key.")
        if not key.isprintable():
            raise InvalidRequest(f"{args.api_key_file} must hold the key alone, in one line.")
    if not is_address(args.host) and not args.host.strip("0123456789."):
        raise InvalidRequest(f"{args.host or 'An empty text'} is no address: name one of this machine's with --host.")
    if key is None and not is_loopback(args.host):
        raise InvalidRequest(f"Other machines could use {args.host}: name a key with --api-key-file, or omit --host.")
    own = () if is_address(args.host) else (args.host,)
    return Limits(key, (*own, *args.allow_host), tuple(args.allow_origin))
