"""The SuperLink inside a process: it lets in exactly the keys of the directory, and its state outlives it."""

from __future__ import annotations

import contextlib
import socket

import pytest
from flwr.proto.control_pb2 import ListNodesRequest

from discreet.errors import DiscreetError
from discreet.federated.flower.coordinator import alone
from discreet.federated.flower.keys import make_keys
from discreet.federated.flower.superlink import SuperLink
from discreet.guard import Limits
from tests.ports import free_ports


def registered(link):
    nodes = link.control.ListNodes(ListNodesRequest()).nodes_info
    return sorted(node.name for node in nodes if node.status != "unregistered")


def test_the_directory_of_keys_is_the_list_of_nodes(tmp_path):
    ring = make_keys(tmp_path / "ring", ["a", "b"])
    with SuperLink(tmp_path, ring, "127.0.0.1", *free_ports(1)) as link:
        link.register(ring)
        assert registered(link) == ["a", "b"]
        link.register(ring)
        assert registered(link) == ["a", "b"]
        kept = ring.public("b").read_bytes()
        ring.public("b").unlink()
        link.register(ring)
        assert registered(link) == ["a"]
        assert link.start() > 0
    with SuperLink(tmp_path, ring, "127.0.0.1", *free_ports(1)) as link:  # the state is on disk
        assert registered(link) == ["a"]
        ring.public("b").write_bytes(kept)
        with pytest.raises(DiscreetError, match="needs a new pair"):
            link.register(ring)
        ring.public("b").write_text("no key")
        with pytest.raises(DiscreetError, match="no public key of a node"):
            link.register(ring)


def test_half_sent_heads_are_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.federated.flower.superlink.LIMITS", Limits(head=0.3, each=8))
    with SuperLink(tmp_path, None, "127.0.0.1", *free_ports(1)) as link:
        held = [socket.create_connection(("127.0.0.1", link.port), 30) for _ in range(20)]
        for one in held:
            with contextlib.suppress(ConnectionError):
                one.sendall(b"GET / HTTP/1.1\r\nx-slow: ")
        for one in held:
            with contextlib.suppress(ConnectionError):
                assert one.recv(1) == b""
            one.close()
        assert registered(link) == []  # and it still answers


def test_a_port_that_is_taken_is_one_sentence(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with (
            pytest.raises(DiscreetError, match="cannot listen on"),
            SuperLink(tmp_path, None, "127.0.0.1", taken.getsockname()[1]),
        ):
            pass


def test_one_coordinator_on_one_state(tmp_path):
    with alone(tmp_path), pytest.raises(DiscreetError, match="another coordinator"), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass
