"""Machines that compute for others: the command `rpc-server` in processes of its own, on this machine."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine import EngineError
from engine.backends.llama_cpp.machines import check_machines_usable
from helpers.paths import ROOT


class Machine:
    """One of them. Attributes: address, process."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as trial:
            port = trial.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        command = [sys.executable, "-m", "engine", "rpc-server", "--port", str(port), "--threads", "1"]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        self.end()
        pytest.fail("rpc-server does not come up")

    def end(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()


@contextmanager
def machines(count: int) -> Iterator[list[Machine]]:
    """So many machines. Skips where llama.cpp was compiled without RPC."""
    try:
        check_machines_usable()
    except EngineError as error:
        pytest.skip(str(error))
    running: list[Machine] = []
    try:
        for _ in range(count):
            running.append(Machine())  # noqa: PERF401 - where one fails, those before it are ended
        yield running
    finally:
        for machine in running:
            machine.end()
