"""What a coordinator, a colluding node or somebody on the line tries, and how honest nodes end it."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.federated.secure import (
    AbortError,
    KeySigner,
    RefusedError,
    Round,
    SecureCoordinator,
    SecureError,
    SecureNode,
    TooFewNodesError,
    abandoned,
    accept,
    wire,
)
from discreet.federated.secure.local import run_round
from discreet.federated.secure.masks import public_of
from discreet.federated.secure.statements import Advert
from tests.federated.secure.helpers import advance, names, setting, signers


def key_list(nodes, coordinator):
    """The list of keys as the coordinator would send it, opened up for changes."""
    advance(nodes, coordinator, "key list")
    (blob,) = wire.decode(coordinator.message(next(iter(nodes))), "key list", 1)
    return {name: wire.unpack(entry, 2) for name, entry in wire.read_pairs(blob).items()}


def sent(entries):
    return wire.encode("key list", wire.pack_pairs({name: wire.pack(entry) for name, entry in entries.items()}))


@pytest.mark.parametrize("part", ["masking", "sharing", "commitment"])
def test_a_substituted_public_key_is_detected_by_every_other_node(part):
    _, nodes, coordinator, _, _ = setting(3)
    entries = key_list(nodes, coordinator)
    victim = names(3)[1]
    advert = Advert.from_bytes(entries[victim][0])
    mine = public_of(bytes(range(32)))
    changed = advert._replace(**{part: mine}).to_bytes()
    for name in nodes:
        with pytest.raises(AbortError, match="somebody changed them"):
            nodes[name].answer(sent({**entries, victim: [changed, entries[victim][1]]}))
        with pytest.raises(AbortError, match="the round is over"):  # and it does not come back
            nodes[name].answer(sent(entries))


def test_keys_signed_by_the_coordinator_or_for_a_stranger_are_detected():
    round_, nodes, coordinator, _, _ = setting(3)
    entries = key_list(nodes, coordinator)
    victim, other, last = names(3)
    forged = entries[victim][0]
    mallory = KeySigner.generate()
    with pytest.raises(AbortError, match="not signed by its registered key"):
        nodes[other].answer(sent({**entries, victim: [forged, round_.signed(mallory, "keys", forged)]}))
    with pytest.raises(AbortError, match="not a registered node"):
        nodes[last].answer(sent({**entries, "stranger": [forged, round_.signed(mallory, "keys", forged)]}))


def test_keys_signed_in_another_round_are_refused():
    _, nodes, coordinator, held, signing = setting(3)
    entries = key_list(nodes, coordinator)
    registry = {name: signer.public for name, signer in signing.items()}
    earlier = Round.open(registry, 4)
    victim, other, _ = names(3)
    old = SecureNode(earlier, victim, signing[victim], lambda: held[victim]).answer(earlier.to_bytes())
    _, payload, signature = wire.decode(old, "keys", 3)
    with pytest.raises(AbortError, match="somebody changed them"):
        nodes[other].answer(sent({**entries, victim: [payload, signature]}))
    with pytest.raises(RefusedError, match="somebody changed them"):
        SecureCoordinator(Round.open(registry, 4)).receive(victim, old)


def test_a_node_notices_that_its_own_keys_were_left_out_or_copied():
    round_, nodes, coordinator, _, signing = setting(4, dropouts=1)
    entries = key_list(nodes, coordinator)
    first, second, third, fourth = names(4)
    with pytest.raises(AbortError, match="own keys are missing"):
        nodes[first].answer(sent({name: entries[name] for name in (second, third, fourth)}))
    copied = [entries[third][0], round_.signed(signing[second], "keys", entries[third][0])]
    with pytest.raises(AbortError, match="one node copies another"):
        nodes[fourth].answer(sent({**entries, second: copied}))


def test_keys_of_low_order_are_refused_by_the_coordinator_and_by_nodes():
    round_, nodes, coordinator, _, signing = setting(3)
    bad, other, _ = names(3)
    _, payload, _ = wire.decode(nodes[bad].answer(round_.to_bytes()), "keys", 3)
    zero = Advert(bytes(32), *wire.unpack(payload, 3)[1:]).to_bytes()
    signature = round_.signed(signing[bad], "keys", zero)
    with pytest.raises(RefusedError, match="low order"):
        coordinator.receive(bad, wire.encode("keys", bad.encode(), zero, signature))
    zero = Advert(wire.unpack(payload, 3)[0], bytes(32), wire.unpack(payload, 3)[2]).to_bytes()
    entries = key_list(nodes, coordinator)
    with pytest.raises(AbortError, match="low order"):
        nodes[other].answer(sent({**entries, bad: [zero, round_.signed(signing[bad], "keys", zero)]}))


def test_a_changed_or_misdirected_share_is_detected():
    _, nodes, coordinator, _, _ = setting(3)
    advance(nodes, coordinator, "share list")
    first, second, third = names(3)
    (blob,) = wire.decode(coordinator.message(first), "share list", 1)
    pairs = wire.read_pairs(blob)
    changed = bytes([pairs[second][0] ^ 1]) + pairs[second][1:]
    with pytest.raises(AbortError, match="changed on its way"):
        nodes[first].answer(wire.encode("share list", wire.pack_pairs({**pairs, second: changed})))
    with pytest.raises(AbortError, match="changed on its way"):
        nodes[second].answer(coordinator.message(first))
    (blob,) = wire.decode(coordinator.message(third), "share list", 1)
    pairs = wire.read_pairs(blob)
    with pytest.raises(AbortError, match="changed on its way"):
        nodes[third].answer(wire.encode("share list", wire.pack_pairs({**pairs, first: pairs[second]})))


def unmask_request(round_, nodes, active, dropped, signatures=None):
    given = signatures if signatures is not None else {}
    return wire.encode("unmask", wire.pack_names(active), wire.pack_names(dropped), wire.pack_pairs(given))


def agreed(count=5, dropouts=2, gone=1):
    """A round in which all have signed the survivor set and nobody has opened anything; and those signatures."""
    round_, nodes, coordinator, _held, signing = setting(count, dropouts=dropouts)
    order = list(nodes)
    advance(nodes, coordinator, "share list")
    for name in order[gone:]:
        coordinator.receive(name, nodes[name].answer(coordinator.message(name)))
    coordinator.close()
    survivors = coordinator.message(order[-1])
    signatures = {name: wire.decode(nodes[name].answer(survivors), "agreement", 1)[0] for name in order[gone:]}
    return round_, nodes, coordinator, order[gone:], order[:gone], signatures, signing


def test_both_secrets_of_a_node_are_never_given():
    round_, nodes, _, active, dropped, signatures, _ = agreed()
    request = unmask_request(round_, nodes, active, sorted([*dropped, active[0]]), signatures)
    with pytest.raises(AbortError, match="both"):
        nodes[active[1]].answer(request)
    with pytest.raises(AbortError, match="the round is over"):
        nodes[active[1]].answer(unmask_request(round_, nodes, active, dropped, signatures))


def test_an_answer_holds_one_secret_per_node():
    """The two requests that differ in one node's state get, from all nodes together, one kind of share each."""
    round_, nodes, _, active, dropped, signatures, _ = agreed()
    request = unmask_request(round_, nodes, active, dropped, signatures)
    shares = [wire.read_pairs(wire.decode(nodes[name].answer(request), "unmask shares", 1)[0]) for name in active]
    assert all(set(answer) == {*active, *dropped} for answer in shares)
    for name in active:  # the other request: the first active node is now called dropped
        other = unmask_request(round_, nodes, active[1:], sorted([*dropped, active[0]]), signatures)
        with pytest.raises(RefusedError, match="answers only one"):
            nodes[name].answer(other)


def test_the_lists_must_cover_all_who_shared():
    round_, nodes, _, active, _, signatures, _ = agreed()
    with pytest.raises(AbortError, match="not all who shared"):
        nodes[active[0]].answer(unmask_request(round_, nodes, active, [], signatures))


def test_a_second_survivor_set_is_refused():
    _, nodes, coordinator, active, _, _, _ = agreed()
    other = wire.encode("survivors", wire.pack_names(coordinator.sharing), wire.pack_names(active[1:]))
    with pytest.raises(RefusedError, match="answers only one"):
        nodes[active[1]].answer(other)


def test_a_second_survivor_set_is_refused_after_a_restart():
    round_, nodes, coordinator, active, dropped, signatures, signing = agreed()
    name = active[1]
    memory = nodes[name].to_bytes()
    back = SecureNode.from_bytes(memory, signing[name], lambda: pytest.fail("the vector is drawn once"))
    other = wire.encode("survivors", wire.pack_names(coordinator.sharing), wire.pack_names(active[1:]))
    with pytest.raises(RefusedError, match="answers only one"):
        back.answer(other)
    assert back.answer(coordinator.message(name)) == nodes[name].answer(coordinator.message(name))
    request = unmask_request(round_, nodes, active, dropped, signatures)
    assert back.answer(request) == nodes[name].answer(request)
    again = SecureNode.from_bytes(back.to_bytes(), signing[name], lambda: pytest.fail("the vector is drawn once"))
    assert again.answer(request) == back.answer(request)
    with pytest.raises(RefusedError):
        again.answer(unmask_request(round_, nodes, active[1:], sorted([*dropped, active[0]]), signatures))
    assert back._secrets == again._secrets == []  # nothing is left to give away


def test_two_groups_shown_different_survivors_open_nothing():
    """A coordinator tells one half that a node is in the sum and the other half that it is not."""
    round_, nodes, coordinator, _, _ = setting(6, dropouts=2)
    order = list(nodes)
    advance(nodes, coordinator, "survivors")
    sets = {True: order, False: order[1:]}
    signatures = {True: {}, False: {}}
    for place, name in enumerate(order):
        told = place < 3
        request = wire.encode("survivors", wire.pack_names(order), wire.pack_names(sets[told]))
        signatures[told][name] = wire.decode(nodes[name].answer(request), "agreement", 1)[0]
    for place, name in enumerate(order):
        told = place < 3
        dropped = sorted(set(order) - set(sets[told]))
        mixed = {**signatures[True], **signatures[False]} if place % 2 else signatures[told]
        with pytest.raises(AbortError, match=r"must have signed|shown different ones"):
            nodes[name].answer(unmask_request(round_, nodes, sets[told], dropped, mixed))


def test_signatures_of_another_round_do_not_open_a_sum():
    round_, nodes, _, active, dropped, _, _ = agreed()
    _, _, _, _, _, foreign, _ = agreed()
    with pytest.raises(AbortError, match="has not signed"):
        nodes[active[0]].answer(unmask_request(round_, nodes, active, dropped, foreign))


def test_nodes_end_the_round_before_opening_when_too_few_are_left():
    """The coordinator is the one that lies: it goes on with fewer survivors than the noise is sized for."""
    _, nodes, coordinator, _, _ = setting(5, dropouts=1)  # N' = 4
    advance(nodes, coordinator, "survivors")
    order = list(nodes)
    for name in order[:3]:
        with pytest.raises(TooFewNodesError, match="noise is sized for"):
            nodes[name].answer(wire.encode("survivors", wire.pack_names(order), wire.pack_names(order[:3])))
        with pytest.raises(AbortError):
            nodes[name].answer(unmask_request(None, nodes, order[:3], order[3:]))


def test_colluding_nodes_do_not_count_as_honest_noise():
    _, nodes, coordinator, _, _ = setting(7, colluding=1, dropouts=1)  # N' = 5, so 6 must stay
    advance(nodes, coordinator, "survivors")
    order = list(nodes)
    with pytest.raises(TooFewNodesError):
        nodes[order[0]].answer(wire.encode("survivors", wire.pack_names(order), wire.pack_names(order[:5])))
    request = wire.encode("survivors", wire.pack_names(order), wire.pack_names(order[:6]))
    assert wire.kind_of(nodes[order[1]].answer(request)) == "agreement"


def test_colluding_nodes_and_the_coordinator_cannot_open_a_smaller_sum():
    """With c colluding nodes the shares that honest nodes give for a victim's two secrets never both reach t."""
    round_, nodes, _, active, dropped, signatures, _ = agreed(7, dropouts=3, gone=2)
    request = unmask_request(round_, nodes, active, dropped, signatures)
    answers = [nodes[name].answer(request) for name in active]
    assert len(answers) >= round_.threshold
    for name in dropped:  # those who are out of the sum hold shares too, but were never shown a survivor set
        with pytest.raises(RefusedError, match="out of turn"):
            nodes[name].answer(request)


def test_out_of_turn_and_repeated_requests():
    _, nodes, coordinator, _, _ = setting(3)
    first = names(3)[0]
    invitation = coordinator.message(first)
    assert nodes[first].answer(invitation) == nodes[first].answer(invitation)
    with pytest.raises(RefusedError, match="out of turn"):
        nodes[first].answer(unmask_request(None, nodes, names(3), []))
    other = Round.open({name: node.round.registry[name] for name, node in nodes.items()}, 4)
    with pytest.raises(RefusedError, match="answers only one"):
        nodes[first].answer(other.to_bytes())


def test_a_node_takes_part_on_its_own_terms_only():
    signing = signers(4)
    registry = {name: signer.public for name, signer in signing.items()}
    round_ = Round.open(registry, 6, colluding=1, purpose=b"plan")
    terms = {"registry": registry, "length": 6, "least_honest": 3, "colluding": 1, "purpose": b"plan"}
    assert accept(round_.to_bytes(), **terms) == round_
    swapped = {**registry, names(4)[0]: KeySigner.generate().public}
    for change in (
        {"registry": swapped},
        {"length": 7},
        {"least_honest": 4},
        {"colluding": 0},
        {"purpose": b"other"},
    ):
        with pytest.raises(RefusedError):
            accept(round_.to_bytes(), **{**terms, **change})
    with pytest.raises(SecureError, match="not the one registered"):
        SecureNode(round_, names(4)[0], signing[names(4)[1]], lambda: np.zeros(6, np.int64))


def test_enough_abandonments_prove_that_nothing_was_opened():
    round_, nodes, coordinator, active, _, signatures, _ = agreed(5, dropouts=2, gone=0)
    order = list(nodes)
    statements = [nodes[name].abandon() for name in order[: round_.refusals]]
    assert not abandoned(round_, statements[:-1] * 2)
    assert abandoned(round_, statements)
    request = unmask_request(round_, nodes, active, [], signatures)
    helpers = 0
    for name in order:
        try:
            nodes[name].answer(request)
            helpers += 1
        except AbortError:
            pass
    assert helpers == round_.threshold - 1  # one short of opening
    with pytest.raises(RefusedError, match="already helped"):
        nodes[order[-1]].abandon()
    assert nodes[order[0]].exposed and not coordinator.opened


@pytest.mark.parametrize("curve", [ec.SECP384R1(), ec.SECP256R1()])
def test_the_keys_of_flowers_node_authentication_sign_too(curve):
    signing = {name: KeySigner(ec.generate_private_key(curve)) for name in names(3)}
    round_ = Round.open({name: signer.public for name, signer in signing.items()}, 2, dropouts=1)
    nodes = {
        name: SecureNode(round_, name, signer, lambda: np.array([1, -1], np.int64)) for name, signer in signing.items()
    }
    outcome = run_round(nodes, SecureCoordinator(round_), drops={"share list": names(3)[:1]})
    assert outcome.total.tolist() == [2, -2]
