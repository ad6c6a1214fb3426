"""Claim a port of this machine, so that no other program can listen on it too."""

from __future__ import annotations

import socket
import sys


def claim(listening: socket.socket, host: str, port: int) -> None:
    """Bind a socket to an address on which nobody listens; one that just ended is not in the way. Raises OSError.

    On Windows the option that does so elsewhere would share the port with whoever listens on it already.
    """
    if sys.platform == "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
