"""A private X server for tests of the real window."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


def available() -> bool:
    """True if an X server can be started here."""
    return shutil.which("Xvfb") is not None


@contextmanager
def x_server(size: str = "1600x1200x24") -> Iterator[str]:
    """Run Xvfb on a free display; gives the value for DISPLAY, such as ":3"."""
    read_end, write_end = os.pipe()
    command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", size, "-nolisten", "tcp", "-noreset"]
    with subprocess.Popen(command, pass_fds=[write_end], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        os.close(write_end)
        try:
            with os.fdopen(read_end) as numbers:
                number = numbers.readline().strip()
            if not number:
                _, complaint = server.communicate(timeout=10)
                msg = f"Xvfb did not start: {complaint.decode(errors='replace')}"
                raise RuntimeError(msg)
            yield f":{number}"
        finally:
            server.terminate()


def environment(display: str) -> dict[str, str]:
    """The environment for a child process with a window on that display."""
    return os.environ | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
