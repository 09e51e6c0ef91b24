"""Servers that are Python modules, in processes of their own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


@contextmanager
def server_process(arguments: Sequence[str], port: int) -> Iterator[None]:
    """Run Python with these arguments until the end; begin when somebody listens on the port.

    In this process, clients that hold Python's lock while they wait would wait for ever.
    """
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
                break
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()
