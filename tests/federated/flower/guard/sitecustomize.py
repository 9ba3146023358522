"""Put on the path of every process of a deployment test: nothing but loopback can be reached, and tries are noted."""

import os
import socket
import time

_LOCAL = {"127.0.0.1", "::1", "localhost", "0.0.0.0", "", None}
_connect, _connect_ex, _resolve = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo


def _note(line):
    with open(os.environ["DISCREET_GUARD"], "a") as file:
        file.write(f"{line}\n")


def _check(address):
    host = address[0] if isinstance(address, tuple) else None
    if host not in _LOCAL:
        _note(f"outside {host}")
        raise OSError(f"{host} is outside loopback")


def connect(self, address):
    if self.family != socket.AF_UNIX:
        _check(address)
    return _connect(self, address)


def connect_ex(self, address):
    if self.family != socket.AF_UNIX:
        _check(address)
    return _connect_ex(self, address)


def getaddrinfo(host, *rest, **named):
    _check((host.decode() if isinstance(host, bytes) else host,))
    return _resolve(host, *rest, **named)


if "DISCREET_PAUSE" in os.environ:  # a node that pays and then makes no answer until it is killed
    from discreet.nodes.journal import Journal

    _charge = Journal._charge

    def charge(self, *rest):
        _charge(self, *rest)
        time.sleep(600)

    Journal._charge = charge

if "DISCREET_GUARD" in os.environ:
    socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo = connect, connect_ex, getaddrinfo
    _note("guarded")
