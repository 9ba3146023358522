"""Total fits: every small table of rows that hold anything, every neighbour, and every choice among a person's rows."""

import itertools
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import discreet.sources as sources
import discreet.sources.fewer as fewer
from discreet import Categorical, Numeric, PrivateNB, Schema, collect
from discreet.mechanisms.noise import ExactSampler
from discreet.sources import read_rows

NAN, INF = math.nan, math.inf
SCHEMA = Schema([Categorical("a", ["p"], other="o"), Numeric("x", 0, 1, step=1, bins=2)], "y", [0, 1])
GAPS = Schema(
    [Categorical("a", ["p"], missing="category"), Numeric("x", 0, 1, step=1, bins=2, missing="bin")], "y", [0, 1]
)
BARE = Schema([Categorical("a", ["p", "q"]), Numeric("x", 0, 1, step=1, bins=2)], "y", [0, 1])
VALUES = (["p", "zz", None], [0, 1.0, "text", INF, None], [0, 1, None, "two"])
UNIVERSE = list(itertools.product(*VALUES))
SCHEMAS = {"other": SCHEMA, "missing": GAPS, "neither": BARE}
DETAIL = ("bins", "moments")


def frame(rows, columns=("a", "x", "y")):
    import pandas as pd

    return pd.DataFrame({name: pd.Series([row[i] for row in rows], dtype=object) for i, name in enumerate(columns)})


def counted(rows, schema, **options):
    return collect(frame(rows), schema, detail=DETAIL, unexpected="absorb", **options)


def listed(rows, schema):
    """The same from lists of lists."""
    return collect([[a, x] for a, x, _ in rows], schema, [y for *_, y in rows], detail=DETAIL, unexpected="absorb")


def place(schema, row):
    """Where a row belongs by the rule of docs/unexpected.md, written once more: cells and class, or None."""
    a, x, y = row
    first, number = schema.features
    if y not in (0, 1):
        return None
    if a == "p":
        cell = 0
    elif first.other_code is not None:
        cell = first.other_code
    elif first.missing_code is not None:
        cell = first.missing_code
    else:
        return None
    if x in (0, 1.0):
        return cell, int(x), y
    return (cell, "missing", y) if number.missing_code is not None else None


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_row_goes_where_the_rule_says(name):
    schema = SCHEMAS[name]
    for row in UNIVERSE:
        found, where = counted([row], schema), place(schema, row)
        assert found.counts.sum() == (where is not None), row
        if where is None:
            continue
        cell, x, y = where
        assert found.counts[y] == 1 and found.tables["a"][y, cell] == 1
        assert found.present["x"][y] == (x != "missing")
        assert found.sums["x"][y] == (0 if x == "missing" else schema.features[1].lattice.half * (2 * x - 1))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_row_adds_what_it_adds_alone_whatever_the_others_are(name):
    schema = SCHEMAS[name]
    some = [*itertools.product(["p", "zz", None], [0, "text", INF, None], [1]), ("p", 0, None), ("zz", 1.0, "two")]
    alone = {row: listed([row], schema) for row in some}
    for one, two in itertools.combinations_with_replacement(some, 2):
        assert listed([one, two], schema) == alone[one] + alone[two], (one, two)
    for rows in itertools.combinations(UNIVERSE[:: len(UNIVERSE) // 9], 3):
        parts = [counted([row], schema) for row in rows]
        assert counted(rows, schema) == listed(rows, schema) == parts[0] + parts[1] + parts[2]


class Recorder(ExactSampler):
    """Remembers the exact integers and scales that a fit hands over, and adds no noise."""

    def __init__(self):
        self.calls = []

    def laplace(self, values, scale):
        self.calls.append((np.array(values).ravel(), scale))
        return np.array(values)


def handed(rows, schema, monkeypatch, **settings):
    """What a fit hands to the sampler: one list of (integers, scale)."""
    recorder = Recorder()
    monkeypatch.setattr("discreet.estimators.base.sampler_for", lambda *_: recorder)
    PrivateNB(1.0, schema=schema, unexpected="absorb", mechanism="laplace", **settings).fit(frame(rows))
    return recorder.calls


def loss(one, two):
    """The largest log-ratio of the two output laws: that of discrete Laplace noise is |distance|/scale."""
    assert [scale for _, scale in one] == [scale for _, scale in two]
    return sum(float(np.abs(a - b).sum() / scale) for (a, scale), (b, _) in zip(one, two, strict=True))


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_no_neighbour_changes_the_law_of_a_fit_by_more_than_epsilon(adjacency, name, monkeypatch):
    schema, base = SCHEMAS[name], [("p", 1.0, 0), ("zz", "text", 1), (None, 0, None)]
    laws = {row: handed([*base, row], schema, monkeypatch, adjacency=adjacency) for row in UNIVERSE}
    if adjacency == "add-remove":
        without = handed(base, schema, monkeypatch, adjacency=adjacency)
        worst = max(loss(without, law) for law in laws.values())
    else:
        worst = max(loss(one, two) for one, two in itertools.combinations(laws.values(), 2))
    assert 0.9 < worst <= 1 + 1e-9


def test_a_fit_that_drops_a_neighbour_of_a_bad_row_would_be_seen(monkeypatch):
    """The planted fault: a row that is left out takes the row before it along."""
    right = sources.absorb.absorb

    def wrong(rows, count):
        kept = right(rows, count)
        lost = rows.size - kept.size
        return kept.part(0, max(kept.size - lost, 0))

    monkeypatch.setattr("discreet.sources.count.absorb", wrong)
    one, two = ("p", 1.0, 0), ("p", 1.0, None)
    assert counted([one, two], BARE) != counted([one], BARE) + counted([two], BARE)


# ---- people with too many rows

PEOPLE = Schema([Categorical("a", ["p", "q"])], "y", [0, 1], id="who")
ROWS = [("p", 0), ("q", 1), ("zz", 0)]


def outcomes(size, most):
    """Every set of rows that may stay."""
    return list(itertools.combinations(range(size), min(size, most)))


def kept_rows(table, most, choice):
    """The rows that stay, each with its owner, if `choice` says which places of each person stay."""
    order = iter(choice)
    data = frame(table, ("who", "a", "y"))
    original = fewer.choose_places
    fewer.choose_places = lambda size, most, draw=None: frozenset(next(order))
    try:
        (rows,) = read_rows(data, PEOPLE, contributions=most, unexpected="absorb")
    finally:
        fewer.choose_places = original
    return [table[i] for i in (range(len(table)) if rows.places is None else rows.places)]


@pytest.mark.parametrize("most", [1, 2])
def test_kept_rows_of_neighbours_differ_in_the_rows_of_one_person_at_most(most):
    """All tables of two people, one of them with up to three rows anywhere, for every outcome of the choice."""
    others = [("b", "p", 0), ("b", "q", 1), ("c", "p", 1)]
    for size in range(4):
        for mine in itertools.product(ROWS[:2], repeat=size):
            for place in (0, 1, len(others))[: 4 - size]:
                table = [*others[:place], *(("z", *row) for row in mine), *others[place:]]
                sizes = Counter(row[0] for row in table)
                many = [who for who in dict.fromkeys(row[0] for row in table) if sizes[who] > most]
                for choice in itertools.product(*(outcomes(sizes[who], most) for who in many)):
                    kept = kept_rows(table, most, choice)
                    count = Counter(row[0] for row in kept)
                    assert max(count.values(), default=0) <= most and count["z"] == min(size, most)
                    # Without z the others keep the same rows if their own coins fall alike.
                    rest = [one for who, one in zip(many, choice, strict=True) if who != "z"]
                    assert kept_rows(others, most, rest) == [row for row in kept if row[0] != "z"]


def test_the_choice_is_even_and_knows_nothing_but_the_number_of_rows():
    """Over every order of the random numbers of four rows, each pair of them stays equally often."""
    found = Counter()
    for order in itertools.permutations(range(4)):
        found[fewer.choose_places(4, 2, lambda n, order=order: np.array(order, np.uint64).tobytes())] += 1
    assert len(found) == 6 and set(found.values()) == {4}


def by_position(self, keys):
    """The planted fault: the rows that stand first among all of even places stay."""
    met, kept = Counter(), []
    for place, key in sorted(enumerate(keys), key=lambda pair: (pair[0] % 2, pair[0])):
        met[key] += 1
        if key is not None and met[key] <= 1:
            kept.append(place)
    return np.isin(np.arange(len(keys)), kept)


def test_a_choice_by_position_would_be_seen(monkeypatch):
    others = [("b", "p", 0), ("b", "q", 1), ("c", "p", 1), ("c", "q", 0)]
    honest = {tuple(kept_rows([*front, *others], 1, [[0], [0]]))[len(front) :] for front in ([], [("z", "p", 0)])}
    assert len(honest) == 1
    monkeypatch.setattr(fewer.Fewer, "mask", by_position)
    found = {tuple(kept_rows([*front, *others], 1, [[0], [0]]))[len(front) :] for front in ([], [("z", "p", 0)])}
    assert len(found) == 2


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_whatever_rows_one_person_has_the_law_moves_by_epsilon_at_most(adjacency, monkeypatch):
    """The law is a mixture over choices; with the others' coins alike, every outcome is within ε of every other."""
    others = [("b", "p", 0), ("b", "q", 1), ("c", "zz", 1)]
    plans = {"adjacency": adjacency, "contributions": 2}

    def law(mine, choice):
        recorder, order = Recorder(), iter(choice)
        monkeypatch.setattr("discreet.estimators.base.sampler_for", lambda *_: recorder)
        monkeypatch.setattr(fewer, "choose_places", lambda size, most, draw=None: frozenset(next(order)))
        model = PrivateNB(1.0, schema=PEOPLE, unexpected="absorb", mechanism="laplace", **plans)
        model.fit(frame([*(("z", *row) for row in mine), *others], ("who", "a", "y")))
        return recorder.calls

    rows = [list(mine) for size in range(4) for mine in itertools.combinations_with_replacement(ROWS, size)]
    laws = [law(mine, [choice]) for mine in rows for choice in outcomes(len(mine), 2)]
    nothing = law([], [])
    if adjacency == "add-remove":
        worst = max(loss(nothing, one) for one in laws)
    else:
        worst = max(loss(one, two) for one, two in itertools.combinations(laws, 2))
    assert 0.9 < worst <= 1 + 1e-9


def test_ids_that_are_missing_are_left_out_and_equal_ones_are_one_person():
    table = [(None, "p", 0), ("1", "p", 0), (1, "q", 1), (1.0, "q", 1), ("x", "p", 1)]
    found = collect(frame(table, ("who", "a", "y")), PEOPLE, contributions=1, unexpected="absorb")
    assert found.counts.sum() == 2


def test_arrow_and_object_frames_agree():
    rows = [row for row in UNIVERSE if row[1] is None or not isinstance(row[1], str)]
    arrow = pa.table({
        "a": pa.array([row[0] for row in rows]),
        "x": pa.array([row[1] for row in rows], pa.float64()),
        "y": pa.array([None if row[2] is None else str(row[2]) for row in rows]),
    })  # fmt: skip
    assert collect(arrow, GAPS, unexpected="absorb") == collect(frame(rows), GAPS, unexpected="absorb")
