"""Run `serve`: load the models, and answer requests until it is ended."""

from __future__ import annotations

import argparse
import ipaddress
import logging
import sys
from pathlib import Path

from rich.console import Console

from engine.cancel import CancelToken
from engine.cli.common import EXIT_DONE, add_sampling_options, read_text
from engine.cli.generate import add_models, add_speculation, load_models, settings_of
from engine.errors import InvalidRequest
from engine.server.app import make_app
from engine.server.engine_thread import EngineThread
from engine.server.guard import Limits
from engine.server.listen import Listener
from engine.server.requests import Defaults

_PORT = 8642
_SWITCH_S = 0.0005
"""After which the thread that computes hands the interpreter to the one that answers; Python's own 5 ms are felt."""


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
        help="web page that may use the server, such as https://example.org; can be repeated",
    )
    add("--model-name", metavar="M", help="name of the model in requests (default: the target's)")
    add_models(parser)
    add_speculation(parser)
    add_sampling_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl+C or SIGTERM."""
    limits = _limits(args)
    if not 0 <= args.port <= 65535:
        raise InvalidRequest("The port must be a whole number from 0 to 65535.")
    settings = settings_of(args)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    with load_models(args, settings, Console(stderr=True), CancelToken()) as decoder:
        name = args.model_name or (decoder.target.name if decoder.target is not None else "")
        engine = EngineThread(decoder)
        sys.setswitchinterval(_SWITCH_S)
        app = make_app(engine, Defaults(name, settings.sampling, settings.speculation), limits)
        try:
            with Listener(app, args.host, args.port) as listener:
                sys.stderr.write(f"outrider-engine: {name} on {listener.url}/v1 (Ctrl+C ends it)\n")
                listener.run()
        finally:
            engine.close()
    return EXIT_DONE


def _limits(args: argparse.Namespace) -> Limits:
    """Return what is allowed. Raises InvalidRequest where others could reach the server without a key."""
    key = None
    if args.api_key_file is not None:
        key = read_text(args.api_key_file).strip()
        if not key:
            raise InvalidRequest(f"{args.api_key_file} holds no key.")
    if key is None and not _is_loopback(args.host):
        raise InvalidRequest(f"Other machines could use {args.host}: name a key with --api-key-file, or omit --host.")
    return Limits(key, () if _is_address(args.host) else (args.host.lower(),), tuple(args.allow_origin))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
