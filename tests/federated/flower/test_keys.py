"""Keys: closed files, a chain that holds, names that are names, and nothing overwritten."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from discreet.errors import DiscreetError
from discreet.federated.flower.keys import FederationKeys, make_coordinator_keys, make_keys, make_node_keys, renew


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys") / "ring", ["a", "b"], ["coordinator.example", "192.0.2.7"])


def test_every_file_is_closed_to_others(made):
    for path in made.directory.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert made.names == ["a", "b"]


def test_the_certificate_is_of_the_authority_and_for_the_hosts(made):
    root = x509.load_pem_x509_certificate(made.authority.read_bytes())
    leaf = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    leaf.verify_directly_issued_by(root)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "coordinator.example"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1", "192.0.2.7"]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert leaf.not_valid_before_utc < datetime.now(UTC) < leaf.not_valid_after_utc


def test_each_node_has_a_pair_of_its_own(made):
    for name in "ab":
        private = load_ssh_private_key(made.node(name).read_bytes(), None)
        assert load_ssh_public_key(made.public(name).read_bytes()) == private.public_key()
    assert made.public("a").read_bytes() != made.public("b").read_bytes()
    assert set(made.registry()) == {"a", "b"}


def test_nothing_is_overwritten_and_nothing_is_left_of_a_failure(made, tmp_path):
    with pytest.raises(DiscreetError, match="never overwritten"):
        make_keys(made.directory, ["a"])
    with pytest.raises(DiscreetError, match="no directory"):
        make_keys(tmp_path / "no" / "where", ["a"])
    for names in ([], ["a", "a"], ["../x"], ["a b"], ["a/b"], [""]):
        with pytest.raises(DiscreetError):
            make_keys(tmp_path / "out", names)
    with pytest.raises(DiscreetError, match="neither a host name"):
        make_keys(tmp_path / "out", ["a"], ["not a host"])
    assert list(tmp_path.iterdir()) == []


def test_nodes_make_their_own_pairs_and_the_coordinator_sees_no_private_one(tmp_path):
    own = {name: make_node_keys(tmp_path / f"at-{name}", name) for name in "ab"}
    ring = make_coordinator_keys(tmp_path / "ring", [own[name].public(name) for name in "ab"], ["192.0.2.7"])
    assert ring.registry() == {name: own[name].registry()[name] for name in "ab"}
    assert not (ring.directory / "nodes").exists()
    ring.need(ring.authority, ring.certificate, ring.private)
    for name in "ab":
        assert sorted(path.name for path in own[name].directory.rglob("*") if path.is_file()) == [
            f"{name}.pub",
            "node.key",
        ]
        private = load_ssh_private_key(own[name].node(name).read_bytes(), None)
        assert load_ssh_public_key(ring.public(name).read_bytes()) == private.public_key()
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_public_keys_are_examined_before_anything_is_written(tmp_path):
    own = make_node_keys(tmp_path / "own", "a")
    twin, junk = tmp_path / "b.pub", tmp_path / "c.pub"
    twin.write_bytes(own.public("a").read_bytes())
    junk.write_bytes(own.node("a").read_bytes())
    for files, sentence in (([own.public("a"), twin], "same public key"), ([junk], "is no public key"), ([], "a name")):
        with pytest.raises(DiscreetError, match=sentence):
            make_coordinator_keys(tmp_path / "ring", files)
    with pytest.raises(DiscreetError, match="never overwritten"):
        make_node_keys(tmp_path / "own", "a")
    assert not (tmp_path / "ring").exists()


def test_an_open_private_key_is_refused(tmp_path):
    ring = make_keys(tmp_path / "ring", ["a"])
    ring.need(ring.authority, ring.node("a"))
    ring.node("a").chmod(0o644)
    with pytest.raises(DiscreetError, match="chmod 600"):
        FederationKeys(ring.directory).need(ring.node("a"))
    with pytest.raises(DiscreetError, match="no key file"):
        ring.need(ring.node("b"))


def test_the_coordinators_certificate_is_renewed_by_the_same_authority(tmp_path):
    ring = make_keys(tmp_path / "ring", ["a"], ["coordinator.example"], days=1)
    root, old, key = (path.read_bytes() for path in (ring.authority, ring.certificate, ring.private))
    renew(ring.directory, ["192.0.2.7"])
    assert ring.authority.read_bytes() == root
    assert ring.certificate.read_bytes() != old and ring.private.read_bytes() != key
    leaf = x509.load_pem_x509_certificate(ring.certificate.read_bytes())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(root))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "coordinator.example" in names.get_values_for_type(x509.DNSName)
    assert "192.0.2.7" in [str(one) for one in names.get_values_for_type(x509.IPAddress)]
    assert all(path.stat().st_mode & 0o077 == 0 for path in ring.directory.rglob("*"))
    other = make_keys(tmp_path / "other", ["a"])
    ring.authority_key.write_bytes(other.authority_key.read_bytes())
    with pytest.raises(DiscreetError, match="nothing was renewed"):
        renew(ring.directory)
    ring.authority_key.unlink()
    with pytest.raises(DiscreetError, match="no key file"):
        renew(ring.directory)
