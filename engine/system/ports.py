"""Judge addresses of machines, and claim a port of this one so that no other program can listen on it too."""

from __future__ import annotations

import ipaddress
import socket
import sys


def is_address(host: str) -> bool:
    """Return True if it is a machine's IP address, not its name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return True if a host is this machine."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def claim(listening: socket.socket, host: str, port: int) -> None:
    """Bind a socket to an address on which nobody listens; one that just ended is not in the way. Raises OSError.

    On Windows the option that does so elsewhere would share the port with whoever listens on it already.
    """
    if sys.platform == "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
