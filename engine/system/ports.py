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
    """Bind to an address without a listener, also one just ended; Windows' option would share it. Raises OSError."""
    if sys.platform == "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
