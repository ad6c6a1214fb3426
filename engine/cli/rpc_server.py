"""Run `rpc-server`: lend this machine's memory and processor to others, which compute layers of a model on it."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys

from engine.backends.llama_cpp.machines import check_machines_usable, serve_machine
from engine.errors import InvalidRequest
from engine.system.machine import physical_cores
from engine.system.ports import claim, is_loopback

_PORT = 50052
_WARNING = (
    "outrider-engine: llama.cpp's RPC has neither key nor encryption. Whoever reaches this port can use this machine "
    "and read what is computed: use it only in a network that you trust.\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--host", default="127.0.0.1", metavar="H", help="address to listen on (default: 127.0.0.1, this machine only)")
    add("--port", type=int, default=_PORT, metavar="N", help=f"default: {_PORT}")
    add("-t", "--threads", type=int, metavar="N", help="default: one per physical core")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl+C or SIGTERM, which end the process."""
    if not 1 <= args.port <= 65535:
        raise InvalidRequest("The port must be a whole number from 1 to 65535.")
    if args.threads is not None and not 1 <= args.threads <= 512:
        raise InvalidRequest(f"Threads must be a whole number from 1 to 512, not {args.threads}.")
    check_machines_usable()
    _check_free(args.host, args.port)
    address = f"{args.host}:{args.port}"
    if not is_loopback(args.host):
        sys.stderr.write(_WARNING)
    sys.stderr.write(f"outrider-engine: computing for others on {address} (Ctrl+C ends it)\n")
    sys.stderr.flush()
    # What llama.cpp prints of each connection is nobody's answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for number in (signal.SIGINT, signal.SIGTERM):  # It never comes back to Python, which would hear them.
        signal.signal(number, signal.SIG_DFL)
    serve_machine(address, args.threads or physical_cores())
    raise InvalidRequest(f"Cannot listen on {address}. Choose another port.")


def _check_free(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        try:
            claim(trial, host, port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InvalidRequest(f"Cannot listen on {host}, port {port}: {reason}. Choose another port.") from None
