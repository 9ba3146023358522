"""Ports for servers of tests that must know their address before they start."""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from pathlib import Path

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_held: list[socket.socket] = []


def free_ports(count: int) -> list[int]:
    """Ports that nobody else takes until a server binds them, not even a test in another process.

    They lie below those that the system gives away for port 0, and each is held, for as long as this process lives, by
    a socket of its name that only one process can have.
    """
    first = int(RANGE.read_text().split()[0]) if RANGE.is_file() else 32_768
    tried = random.SystemRandom().sample(range(10_000, first), first - 10_000)
    ports: list[int] = []
    while len(ports) < count:
        port = tried.pop()
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            if hasattr(socket, "AF_UNIX") and RANGE.is_file():  # names without a file are Linux's
                holder = socket.socket(socket.AF_UNIX)
                try:
                    holder.bind(f"\0discreet test port {port}")
                except OSError:
                    holder.close()
                    raise
                _held.append(holder)
            ports.append(port)
    return ports
