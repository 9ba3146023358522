"""Keys of gossip: made where they are used, admitted, renewed and revoked."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.nodes.refusals import ProtocolError

x509 = pytest.importorskip("cryptography.x509")
from discreet.gossip.keys import NetworkKeys, admit, make_keys, own_key, revoke, revoked  # noqa: E402
from discreet.gossip.membership import MemberEntry  # noqa: E402


def install(authority: Path, at: Path, name: str) -> NetworkKeys:
    """What a node does with what comes back from the authority."""
    keys, ours = NetworkKeys(at), NetworkKeys(authority)
    keys.authority.parent.mkdir(exist_ok=True)
    for path, target in ((ours.authority, keys.authority), (ours.issued(name), keys.certificate(name)),
                         (ours.revocations, keys.revocations)):  # fmt: skip
        if path.exists():
            shutil.copy(path, target)
    return keys


def entry(ring) -> MemberEntry:
    statement = '{"network": "n"}'
    return MemberEntry(ring.name, statement, ring.sign(statement), ring.certificate).signed(ring.sign)


def test_a_nodes_key_never_leaves_it(tmp_path):
    make_keys(tmp_path / "ca")
    for name in "ab":
        made = admit(tmp_path / "ca", name, own_key(NetworkKeys(tmp_path / name), name).public_key())
        assert b"PRIVATE" not in made.read_bytes()
    held = [path for path in (tmp_path / "ca").rglob("*") if path.is_file() and b"PRIVATE" in path.read_bytes()]
    assert held == [NetworkKeys(tmp_path / "ca").authority_key]
    a, b = (install(tmp_path / "ca", tmp_path / name, name).ring(name) for name in "ab")
    a.verify(entry(b))
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "a").rglob("*.key"))


def test_renewal_is_for_the_same_key_until_that_is_revoked(tmp_path):
    make_keys(tmp_path / "ca")
    public = own_key(NetworkKeys(tmp_path / "a"), "a").public_key()
    before = x509.load_pem_x509_certificate(admit(tmp_path / "ca", "a", public, days=1).read_bytes())
    assert own_key(NetworkKeys(tmp_path / "a"), "a").public_key() == public  # made once
    after = x509.load_pem_x509_certificate(admit(tmp_path / "ca", "a", public, days=30).read_bytes())
    assert after.not_valid_after_utc > before.not_valid_after_utc
    assert after.public_key() == before.public_key() and after.serial_number != before.serial_number
    stranger = own_key(NetworkKeys(tmp_path / "stranger"), "a").public_key()
    with pytest.raises(DiscreetError, match="another key"):
        admit(tmp_path / "ca", "a", stranger)
    revoke(tmp_path / "ca", "a")
    assert {before.serial_number, after.serial_number} <= revoked(NetworkKeys(tmp_path / "ca").revocations)
    new = x509.load_pem_x509_certificate(admit(tmp_path / "ca", "a", stranger).read_bytes())
    assert new.public_key() == stranger  # a new key, after the old one was taken back


def test_nobody_speaks_with_a_revoked_node(tmp_path):
    make_keys(tmp_path / "ca")
    for name in "ab":
        admit(tmp_path / "ca", name, own_key(NetworkKeys(tmp_path / name), name).public_key())
    a, b = (install(tmp_path / "ca", tmp_path / name, name).ring(name) for name in "ab")
    revoke(tmp_path / "ca", "b")
    informed = install(tmp_path / "ca", tmp_path / "a", "a").ring("a")
    a.verify(entry(b))  # who has no list yet cannot know
    assert a.trusts(b.certificate) and not informed.trusts(b.certificate) and informed.trusts(a.certificate)
    with pytest.raises(ProtocolError, match="was revoked"):
        informed.verify(entry(b))  # whoever passes it on
    informed.verify(entry(b), entry(b))  # what a known member brought into a round stays there, and its farewell counts
    stranger = replace(entry(b), certificate=a.certificate, node="a")
    with pytest.raises(ProtocolError, match="was revoked"):
        informed.verify(entry(b), stranger)  # another key's membership is not its own
    with pytest.raises(DiscreetError, match="revoked"):
        install(tmp_path / "ca", tmp_path / "b", "b").ring("b")
    make_keys(tmp_path / "other", ["z"])
    other = revoke(tmp_path / "other", "z")
    shutil.copy(other, NetworkKeys(tmp_path / "a").revocations)
    with pytest.raises(DiscreetError, match="no list of revoked certificates"):
        NetworkKeys(tmp_path / "a").ring("a")


def test_a_call_with_a_revoked_certificate_is_refused(tmp_path):
    pytest.importorskip("grpc")
    from discreet.gossip.node import GossipNode

    make_keys(tmp_path / "ca", ["a", "b"])
    ring_b = NetworkKeys(tmp_path / "ca").ring("b")
    revoke(tmp_path / "ca", "b")

    class Call:
        def auth_context(self):
            return {"x509_common_name": [b"b"], "x509_pem_cert": [ring_b.certificate]}

        async def abort(self, code, sentence):
            raise ProtocolError(sentence)

    node = GossipNode.__new__(GossipNode)
    node.ring = NetworkKeys(tmp_path / "ca").ring("a")
    with pytest.raises(ProtocolError, match="revoked"):
        asyncio.run(node._need_name(Call(), "b", "another"))


def test_what_cannot_be_admitted_is_one_sentence(tmp_path):
    make_keys(tmp_path / "ca")
    public = own_key(NetworkKeys(tmp_path / "n"), "n").public_key()
    with pytest.raises(DiscreetError, match="never admitted"):
        revoke(tmp_path / "ca", "z")
    with pytest.raises(DiscreetError, match="authority's key"):
        admit(tmp_path, "n", public)
    with pytest.raises(DiscreetError, match="small letters"):
        own_key(NetworkKeys(tmp_path / "n"), "Not A Name")
    NetworkKeys(tmp_path / "n").node("n").write_text("no key")
    with pytest.raises(DiscreetError, match="no private key"):
        own_key(NetworkKeys(tmp_path / "n"), "n")
