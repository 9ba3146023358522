"""Enrolment: who shows an invite once and holds its key gets in; replayed, altered, expired and used ones do not."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from discreet import Categorical, Schema
from discreet.errors import DiscreetError

pytest.importorskip("cryptography")
pytest.importorskip("uvicorn")
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.gossip import enrolment
from discreet.gossip.keys import NetworkKeys, desk_files, revoked
from discreet.nodes.desk import EnrolError
from discreet.nodes.invites import Invite
from discreet.nodes.joining import Joining
from discreet.nodes.keys import make_request
from discreet.nodes.terms import Terms
from tests.nodes.desks import asked, serving
from tests.ports import free_ports

SCHEMA = Schema([Categorical("c", ["p", "q"])], "y", [0, 1])


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def home(tmp_path):
    (port,) = free_ports(1)
    terms = Terms.of("gossip", SCHEMA, members=("a", "b"), organiser=f"127.0.0.1:{port}", epsilon=1.0)
    place = tmp_path / "network"
    place.mkdir()
    enrolment.make_keys(place, [])
    (place / "terms.toml").write_text(terms.text)
    SCHEMA.save(place / "schema.json")
    return place


def test_an_invite_is_one_line_that_a_mail_may_break(home):
    invite = enrolment.desk_of(home).invite(14)[0]
    assert "\n" not in invite.text and len(invite.text) < 400
    assert Invite.read(f"Dear a,\n\n{invite.text.replace(' ', chr(10) + ' ')}\n\nYours") == invite
    assert invite.secret not in (home / "enrolment.json").read_text()  # of a secret only its hash is kept
    assert (home / "enrolment.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("at", range(1, 8))
def test_an_altered_or_cut_invite_is_one_sentence(home, at):
    words = enrolment.desk_of(home).invite(14)[0].text.split()
    other = words[at][:-1] + ("0" if words[at][-1] != "0" else "1")
    with pytest.raises(DiscreetError, match="altered"):
        Invite.read(" ".join([*words[:at], other, *words[at + 1 :]]))
    with pytest.raises(DiscreetError, match="missing"):
        Invite.read(" ".join([*words[:at], *words[at + 1 :]]))


def test_once_for_one_key_and_again_for_the_same(home):
    desk, key = enrolment.desk_of(home), new_key()
    a, b = desk.invite(14)
    first = desk.enrol(asked(a, key))
    assert not first["complete"] and first["members"] == {"a": "h:1"}
    assert desk.enrol(asked(a, key))["certificate"] == first["certificate"]  # an answer that was lost
    with pytest.raises(EnrolError, match="used already"):
        desk.enrol(asked(a, new_key()))
    with pytest.raises(EnrolError, match="this very key"):
        desk.enrol(asked(b, key))
    assert desk.enrol(asked(b, new_key(), address="h:2"))["members"] == {"a": "h:1", "b": "h:2"}
    assert desk.complete and desk.invite(14) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "b"}, "does not hold here"),
        ({"name": "z"}, "does not hold here"),
        ({"secret": "x" * 43}, "does not hold here"),
        ({"kind": "federate"}, "does not hold here"),
        ({"terms": "0" * 64}, "terms have changed"),
        ({"request": "no request"}, "prove"),
        ({"address": "h"}, "HOST:PORT"),
        ({"address": 7}, "HOST:PORT"),
    ],
)
def test_what_is_not_the_invites_is_refused(home, change, sentence):
    desk = enrolment.desk_of(home)
    with pytest.raises(EnrolError, match=sentence):
        desk.enrol(asked(desk.invite(14)[0], new_key(), **change))
    assert desk.joined == [] and not NetworkKeys(home / "keys").issued("a").exists()
    with pytest.raises(EnrolError, match="no request to join"):
        desk.enrol({})


def test_a_request_is_bound_to_its_invite_and_its_key(home):
    desk = enrolment.desk_of(home)
    a, b = desk.invite(14)
    other = make_request(new_key(), "a", b.binding()).decode()  # of another invite, or for another authority
    with pytest.raises(EnrolError, match="prove"):
        desk.enrol(asked(a, new_key(), request=other))
    posed = replace(a, authority="0" * 64)
    with pytest.raises(EnrolError, match="prove"):
        desk.enrol(asked(a, new_key(), request=make_request(new_key(), "a", posed.binding()).decode()))
    with pytest.raises(EnrolError, match="P-256"):
        desk.enrol(asked(a, ec.generate_private_key(ec.SECP384R1())))
    assert desk.joined == []


def test_an_invite_ends_and_a_new_one_ends_the_old(home):
    now = [time.time()]
    desk = replace(enrolment.desk_of(home), clock=lambda: now[0])
    old, _ = desk.invite(14)
    now[0] += 15 * 86400
    with pytest.raises(EnrolError, match="ended on"):
        desk.enrol(asked(old, new_key()))
    fresh, _ = desk.invite(14)
    with pytest.raises(EnrolError, match="does not hold here"):
        desk.enrol(asked(old, new_key()))
    key = new_key()
    desk.enrol(asked(fresh, key))
    now[0] += 15 * 86400
    desk.enrol(asked(fresh, key))  # whoever is in stays in


def test_a_revoked_member_needs_another_invite_and_another_key(home):
    desk, lost = enrolment.desk_of(home), new_key()
    a, b = desk.invite(14)
    desk.enrol(asked(a, lost))
    other = new_key()
    desk.enrol(asked(b, other))
    desk.revoke("a")
    with pytest.raises(EnrolError, match="was revoked"):
        desk.enrol(asked(a, lost))
    assert desk.joined == ["b"] and desk.enrol(asked(b, other))["revoked"]
    assert len(revoked(NetworkKeys(home / "keys").revocations)) == 1
    (again,) = desk.invite(14)  # b is in: it keeps what it has
    assert again.name == "a"
    with pytest.raises(EnrolError, match="key was revoked"):
        desk.enrol(asked(again, lost))
    desk.enrol(asked(again, new_key()))
    assert desk.complete
    with pytest.raises(DiscreetError, match="never invited"):
        desk.revoke("z")
    desk.revoke("a")
    (unused,) = desk.invite(14)
    desk.revoke("a")  # before it has joined
    with pytest.raises(EnrolError, match="'a' was revoked"):
        desk.enrol(asked(unused, new_key()))


@pytest.mark.parametrize("revoked_first", [True, False])
def test_a_key_that_was_taken_back_stays_so_when_its_member_is_dropped_and_comes_back(home, revoked_first):
    desk, lost, whole = enrolment.desk_of(home), new_key(), enrolment.desk_of(home).terms
    a, b = desk.invite(14)
    desk.enrol(asked(a, lost))
    desk.enrol(asked(b, new_key()))
    if revoked_first:
        desk.revoke("a")
    for _ in range(2):
        (home / "terms.toml").write_text(replace(whole, members=("b",)).text)
        desk.invite(14)
        assert "a" not in desk.joined
        with pytest.raises(EnrolError, match="does not hold here"):
            desk.enrol(asked(a, lost))
    (home / "terms.toml").write_text(whole.text)
    again = next(one for one in desk.invite(14) if one.name == "a")
    with pytest.raises(EnrolError, match="key was revoked"):
        desk.enrol(asked(again, lost))
    desk.enrol(asked(again, new_key()))
    assert desk.joined == ["a"]


def test_a_ledger_pays_for_the_delta_of_all_rounds(home):
    terms = replace(enrolment.desk_of(home).terms, delta=1e-6, rounds=3)
    found = enrolment.node_config(home, "a", terms, {"members": {"a": "h:1", "b": "h:2"}}, {})
    assert found["total"] == 3.0 and found["delta"] == 1e-6 and found["total-delta"] == 3e-6


def test_other_terms_end_what_was_agreed(home):
    desk, key = enrolment.desk_of(home), new_key()
    a, _ = desk.invite(14)
    desk.enrol(asked(a, key))
    terms = replace(desk.terms, epsilon=2.0)
    (home / "terms.toml").write_text(terms.text)
    with pytest.raises(EnrolError, match="terms have changed"):
        desk.enrol(asked(a, key))
    assert {one.name for one in desk.invite(14)} == {"a", "b"}
    assert desk.joined == []


@pytest.fixture
def open_desk(home):
    """The desk behind TLS on a port of the loopback."""
    with serving(enrolment.desk_of(home), *desk_files(NetworkKeys(home / "keys"))) as desk:
        yield desk


def test_over_the_wire(open_desk, tmp_path):
    a, b = open_desk.invite(14)
    with pytest.raises(DiscreetError, match="fingerprint is another"):
        Joining(replace(a, authority="0" * 64), wait=0)
    with pytest.raises(DiscreetError, match="terms have changed"):
        Joining(replace(a, terms="0" * 64), wait=0).terms()
    with pytest.raises(DiscreetError, match="do not name"):
        Joining(replace(a, name="z"), wait=0).terms()
    joining, key = Joining(a, wait=0), enrolment.node_key(tmp_path / "a", "a")
    terms = joining.terms()
    assert terms == open_desk.terms and joining.schema(terms) == SCHEMA
    with pytest.raises(DiscreetError, match="schema is not that of the terms"):
        joining.schema(replace(terms, schema="0" * 64))
    with pytest.raises(DiscreetError, match="not all members"):
        joining.enrol_all(key, "h:1")
    assert Joining(b).enrol_all(enrolment.node_key(tmp_path / "b", "b"), "h:2")["complete"]
    code = enrolment.settle(tmp_path / "a", "a", joining.authority, joining.enrol_all(key, "h:1"), terms, None)
    assert code == enrolment.settle(tmp_path / "a", "a", joining.authority, joining.enrol(key, "h:1"), terms, code)
    assert NetworkKeys(tmp_path / "a" / "keys").ring("a").name == "a"
    with pytest.raises(DiscreetError, match="not the one you have compared"):
        enrolment.settle(tmp_path / "a", "a", joining.authority, joining.enrol(key, "h:1"), terms, "0" * 39)
    with pytest.raises(DiscreetError, match="other members than the terms"):
        more = replace(terms, members=("a", "b", "c"))
        enrolment.settle(tmp_path / "a", "a", joining.authority, joining.enrol(key, "h:1"), more, None)
    with pytest.raises(DiscreetError, match="used already"):
        joining.enrol(new_key(), "h:1")
    status, body = joining._ask("POST", "join", b"[]")
    assert status == 403 and b"no request" in body
    assert joining._ask("POST", "join", b"\xff")[0] == 400
    assert joining._ask("POST", "join", b"0" * 70_000)[0] == 413
    assert joining._ask("GET", "enrolment.json")[0] == 404
    assert joining._ask("GET", "../keys/authority/ca.key")[0] == 404


@pytest.mark.parametrize("more", ["second", "key", "words"])
def test_a_pinned_answer_is_one_certificate_and_nothing_else(open_desk, tmp_path, more):
    """What follows the pinned certificate would be trusted as well: the answer is refused, and nothing is sent."""
    from discreet.gossip.keys import make_keys

    make_keys(tmp_path / "other")
    a = open_desk.invite(14)[0]
    alone, other = NetworkKeys(open_desk.home / "keys").authority, NetworkKeys(tmp_path / "other")
    pinned = alone.read_bytes()
    added = {"second": other.authority.read_bytes(), "key": other.authority_key.read_bytes(), "words": b"more\n"}[more]
    for text in (pinned + added, added + pinned):
        alone.write_bytes(text)
        with pytest.raises(DiscreetError, match="certificate of one authority"):
            Joining(a, wait=0)
    alone.write_bytes(pinned.replace(b"\n", b"\r\n"))
    assert Joining(a, wait=0).authority == pinned  # as it is written here


def test_a_port_that_is_taken_is_one_sentence(open_desk):
    port = int(open_desk.terms.organiser.rpartition(":")[2])
    with pytest.raises(DiscreetError, match="cannot listen"):
        enrolment.serve(open_desk.home, "127.0.0.1", port, lambda event, what: None)


def test_a_desk_with_a_foreign_certificate_is_not_spoken_to(open_desk, tmp_path):
    """Whoever shows the pinned authority but holds no key of it gets neither the secret nor the request."""
    from discreet.gossip.keys import make_keys

    make_keys(tmp_path / "other")
    a = open_desk.invite(14)[0]
    joining = Joining(a, wait=0)
    joining.authority = NetworkKeys(tmp_path / "other").authority.read_bytes()
    with pytest.raises(DiscreetError, match="not of the organiser"):
        joining.terms()
    (port,) = free_ports(1)
    with pytest.raises(DiscreetError, match="does not answer"):
        Joining(replace(a, address=f"127.0.0.1:{port}"), wait=0)


def test_what_a_federations_node_keeps_changes_with_its_owners_word_alone(tmp_path):
    pytest.importorskip("flwr")
    from discreet.federated.flower import enrolment as federated
    from discreet.federated.flower.keys import FederationKeys

    place = tmp_path / "federation"
    place.mkdir()
    federated.make_keys(place, ["h.example"])
    terms = Terms.of("federate", SCHEMA, members=("a", "b"), organiser="h.example:1", epsilon=1.0)
    (place / "terms.toml").write_text(terms.text)
    desk = federated.desk_of(place)
    a, b = desk.invite(14)
    key = federated.node_key(tmp_path / "a", "a")
    desk.enrol(asked(b, federated.node_key(tmp_path / "b", "b")))
    answer, authority = desk.enrol(asked(a, key)), desk.authority
    code = federated.settle(tmp_path / "a", "a", authority, answer, terms, None)
    assert FederationKeys(tmp_path / "a" / "keys").names == ["a", "b"]
    assert federated.settle(tmp_path / "b", "b", authority, answer, terms, code) == code  # the same for all partners
    desk.revoke("b")
    assert FederationKeys(place / "keys").names == ["a"]
    (again,) = desk.invite(14)
    desk.enrol(asked(again, federated.node_key(tmp_path / "new", "b")))
    changed = desk.enrol(asked(a, key))
    with pytest.raises(DiscreetError, match="keys of b have changed"):
        federated.settle(tmp_path / "a", "a", authority, changed, terms, None)
    with pytest.raises(DiscreetError, match="not those you have compared"):
        federated.settle(tmp_path / "a", "a", authority, changed, terms, code)
    from discreet.nodes.desk import roster_code
    from discreet.nodes.terms import grouped

    new = grouped(roster_code(changed["registry"]))
    assert federated.settle(tmp_path / "a", "a", authority, changed, terms, new) == new
    posed = {**changed, "registry": {**changed["registry"], "a": changed["registry"]["b"]}}
    with pytest.raises(DiscreetError, match="another key for this node"):
        federated.settle(tmp_path / "a", "a", authority, posed, terms, grouped(roster_code(posed["registry"])))
    # Keys beyond the terms', of which the coordinator says that they are members.
    more = dict.fromkeys(("a", "b", *(f"x{i}" for i in range(28))), changed["registry"]["b"])
    more["a"] = changed["registry"]["a"]
    crowd = {**changed, "registry": more, "members": dict.fromkeys(more)}
    few = {**changed, "registry": {"a": more["a"]}, "members": {"a": None}}
    for lie in (crowd, few):
        with pytest.raises(DiscreetError, match="other members than the terms"):
            federated.settle(tmp_path / "a", "a", authority, lie, terms, grouped(roster_code(lie["registry"])))
    assert FederationKeys(tmp_path / "a" / "keys").names == ["a", "b"]
    with pytest.raises(EnrolError, match="P-384"):
        desk.enrol(asked(desk_again(desk), new_key()))


def desk_again(desk) -> Invite:
    desk.revoke("b")
    return desk.invite(14)[0]
