"""Use a server as the target of a command."""

from __future__ import annotations

import argparse

from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.errors import InvalidRequest
from engine.remote.client import RemoteDecoder
from engine.remote.connect import connect_server

_LOCAL = ("ctx", "threads", "gpu_layers", "draft_gpu_layers", "cache_type", "device", "dtype", "heads", "rpc")


def connect_to_target(
    args: argparse.Namespace, address: str, sampling: SamplingConfig, cancel: CancelToken
) -> RemoteDecoder:
    """Return the server of an address. Raises InvalidRequest, ServerFailed, Cancelled."""
    if args.draft not in (None, "none"):
        raise InvalidRequest("A server drafts by itself: omit --draft.")
    given = ["--" + name.replace("_", "-") for name in _LOCAL if getattr(args, name, None) is not None]
    if given:
        raise InvalidRequest(f"A server loads its model by itself: omit {', '.join(given)}.")
    return connect_server(address, args.model, sampling=sampling, cancel=cancel)
