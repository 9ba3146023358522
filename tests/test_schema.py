"""A schema is validated, keeps its meaning through files, and has one hash for one meaning."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Categorical, Numeric, Schema, SchemaError, collect
from discreet.features import MAX_CELLS

DATASETS = [
    "accelerometer",
    "adult",
    "australian",
    "car",
    "census_kdd",
    "connect4",
    "glass",
    "kr_vs_kp",
    "mushroom",
    "news20_w100",
    "nursery",
    "pima",
    "seeds",
    "skin",
    "spect",
    "votes",
    "xwindows",
]
X = Numeric("x", 0, 1)


def tiny(**fields):
    return Schema(**{"features": [X], "target": "y", "classes": ["a", "b"], **fields})


# ---- what a feature says about itself


def test_cells_and_labels_of_a_categorical():
    feature = Categorical("c", ["a", 2, True], other="rest", missing="category")
    assert feature.labels == ("a", "2", "true", "rest", "(missing)")
    assert (feature.cells, feature.other_code, feature.missing_code) == (5, 3, 4)
    plain = Categorical("c", ["a"])
    assert (plain.cells, plain.other_code, plain.missing_code) == (1, None, None)


def test_cells_and_labels_of_a_number():
    feature = Numeric("x", 0, 10, bins=4, missing="bin")
    assert feature.edges == (0, 2.5, 5, 7.5, 10)
    assert feature.labels == ("[0, 2.5)", "[2.5, 5)", "[5, 7.5)", "[7.5, 10]", "(missing)")
    assert (feature.cells, feature.missing_code) == (5, 4)
    assert feature.cuts == (-32768, 0, 32768)
    assert Numeric("x", 0, 10).cells == 16


def test_a_number_never_has_more_bins_than_integers():
    assert Numeric("x", 0, 4, integer=True, bins=16).edges == (0, 1, 2, 3, 4, 4)
    assert Numeric("x", 0, 4, integer=True, bins=16).cells == 5
    # Models carry the number of bins, not their edges: the rule must stay as it is.
    assert Numeric("x", 0, 9, integer=True, bins=4).edges == (0, 3, 5, 8, 9)


def test_explicit_edges_and_one_bin():
    assert Numeric("x", 0, 10, bins=[0, 1, 10]).edges == (0, 1, 10)
    assert Numeric("x", 0, 10, bins=1).cells == 1
    assert Numeric("x", 0, 10, bins=np.array([0.0, 3.0, 10.0])).edges == (0, 3, 10)


def test_a_step_shapes_the_lattice():
    assert Numeric("x", 0, 1, step=0.25, bins=4).lattice.half == 2
    assert Numeric("x", 0, 3, step=1, bins=3).lattice.half == 6


def test_huge_and_tiny_ranges():
    for low, high in [(-1e300, 1e300), (0, 2**60), (0, 1e-290), (1e15, 1e15 + 1), (-1e-5, 1e12)]:
        feature = Numeric("x", low, high, bins=2)
        points = [feature.lattice.point(value) for value in (low, (low + high) / 2, high)]
        assert points == [-feature.lattice.half, 0, feature.lattice.half]
    assert Numeric("x", 0, 2**60, integer=True).cells == 16


@pytest.mark.parametrize("upper", [4, 5, 6, 7, 8, 20])
def test_an_integer_below_a_fractional_edge_stays_below_it(upper):
    for edge in np.arange(0.5, upper):
        feature = Numeric("x", 0, upper, integer=True, bins=[0, edge, upper])
        cells = [sum(cut <= feature.lattice.point(value) for cut in feature.cuts) for value in range(upper + 1)]
        assert cells == [int(value > edge) for value in range(upper + 1)], edge


def test_numpy_values_are_taken_for_what_they_are():
    schema = tiny(
        features=[Categorical("c", np.array([3, 1])), Numeric("x", np.float32(0), np.int64(1))],
        classes=np.array([False, True]),
    )
    assert schema.classes == (False, True) and schema.features[0].categories == (3, 1)
    assert schema == tiny(features=[Categorical("c", [3, 1]), X], classes=[False, True])


def test_views_of_a_schema(schema):
    assert schema.names == ("colour", "size", "age", "weight", "dose")
    assert [f.name for f in schema.numeric] == ["age", "weight", "dose"]
    assert [f.name for f in schema.categorical] == ["colour", "size"]
    assert schema.label.categories == ("no", "yes")
    assert schema.class_array().tolist() == ["no", "yes"]
    assert tiny(classes=[2, 1]).class_array().dtype.kind == "i"
    assert tiny(classes=["a", 1]).class_array().tolist() == ["a", 1]


def test_a_schema_cannot_be_changed(schema):
    with pytest.raises(Exception, match="frozen"):
        schema.target = "other"


# ---- validation


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Categorical("", ["a"]), "name: string should have at least 1 character"),
        (lambda: Categorical("c", []), "feature 'c': categories"),
        (lambda: Categorical("c", ["1", 1]), "feature 'c' lists the category '1' twice"),
        (lambda: Categorical("c", ["a"], other="a"), "feature 'c' lists the category 'a' twice"),
        (lambda: Categorical("c", "abc"), "feature 'c': categories"),
        (lambda: Categorical("c", [1.5]), "feature 'c': categories"),
        (lambda: Categorical("c", [None]), "feature 'c': categories"),
        (lambda: Categorical("c", ["a"], missing="bin"), "feature 'c': missing: input should be 'error' or 'category'"),
        (lambda: Categorical("c", ["a"], colour=1), "feature 'c': there is no setting 'colour'"),
        (lambda: Categorical("c", range(MAX_CELLS + 1)), f"more than {MAX_CELLS} categories"),
        (lambda: Numeric("x"), "feature 'x': lower is needed: declare public bounds"),
        (lambda: Numeric("x", 1, 0), "feature 'x': lower must be below upper"),
        (lambda: Numeric("x", 1, 1), "feature 'x': lower must be below upper"),
        (lambda: Numeric("x", math.nan, 1), "feature 'x': lower: input should be a finite number"),
        (lambda: Numeric("x", 0, math.inf), "feature 'x': upper: input should be a finite number"),
        (lambda: Numeric("x", "low", 1), "feature 'x': lower: input should be a valid number"),
        (lambda: Numeric("x", 0, 10**400), "feature 'x': upper: input should be a valid number"),
        (lambda: Numeric("x", 0, 1.5, integer=True), "feature 'x' is an integer, so its bounds must be integers"),
        (lambda: Numeric("x", 0, 1, step=0), "feature 'x': step: input should be greater than 0"),
        (lambda: Numeric("x", 0, 1, step=0.3), "feature 'x': the step 0.3 must divide upper - lower"),
        (lambda: Numeric("x", 0, 1, step=1e-9), "lattice points; choose a larger one"),
        (lambda: Numeric("x", -1e308, 1e308), "feature 'x': the bounds are too far apart or too close together"),
        (lambda: Numeric("x", 0, 5e-324), "feature 'x': the bounds are too far apart or too close together"),
        (lambda: Numeric("x", 0, 1, bins=0), "greater than or equal to 1"),
        (lambda: Numeric("x", 0, 1, bins=10**6), "less than or equal to 65536"),
        (lambda: Numeric("x", 0, 1, bins="few"), "feature 'x': bins"),
        (lambda: Numeric("x", 0, 1, bins=[0, 0.5]), "feature 'x': bins given as edges must run from lower to upper"),
        (lambda: Numeric("x", 0, 1, bins=[0, 0.5, 0.4, 1]), "feature 'x': bin edges must rise"),
        (lambda: Numeric("x", 0, 1, bins=[0, 1e-9, 1]), "bin edges must rise by at least one lattice step"),
        (lambda: Numeric("x", 0, 3, step=1, bins=64), "use fewer bins"),
        (lambda: Numeric("x", 0, 1, missing="category"), "feature 'x': missing: input should be 'error' or 'bin'"),
        (lambda: tiny(classes=["a"]), "a classifier needs at least two classes"),
        (lambda: tiny(classes=[1, "1"]), "the list of classes names one of them twice"),
        (lambda: tiny(classes="ab"), "classes must be a list, such as ['F', 'M'], not 'ab'"),
        (lambda: tiny(classes=range(32001)), "more than 32,000 classes are not supported"),
        (lambda: tiny(features=[]), "features: tuple should have at least 1 item"),
        (lambda: tiny(features=["x"]), "features.0: input should be a valid dictionary"),
        (lambda: tiny(features=[X, X]), "the feature 'x' is declared twice"),
        (lambda: tiny(target=""), "target: string should have at least 1 character"),
        (lambda: tiny(target="x"), "'x' is the target, not a feature"),
        (lambda: tiny(id="x"), "'x' is the id, not a feature"),
        (lambda: tiny(id="y"), "the id column and the target must differ"),
        (lambda: tiny(id=""), "id"),
        (lambda: tiny(version=2), "version: input should be 1"),
        (lambda: tiny(colour=1), "there is no setting 'colour'"),
    ],
)
def test_validation_says_what_is_wrong(make, words):
    with pytest.raises(SchemaError, match=re.escape(words)) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ([], "a schema is a table with the keys target, classes and features"),
        ({"target": "y", "classes": [0, 1]}, "the schema lacks 'features'"),
        ({"classes": [0, 1], "features": []}, "the schema lacks 'target'"),
        ({"target": "y", "features": []}, "the schema lacks 'classes'"),
        ({"target": "y", "classes": [0, 1], "features": [{"name": "x", "lower": 0}]}, "feature 'x': upper"),
        (
            {"target": "y", "classes": [0, 1], "features": [{"name": "x", "lower": 0, "upper": 1, "binz": 3}]},
            "feature 'x': there is no setting 'binz'",
        ),
        (
            {"target": "y", "classes": [0, 1], "features": [{"name": "x", "lower": 2, "upper": 1}]},
            "feature 'x': lower must be below upper",
        ),
        ({"target": "y", "classes": [0, 1], "features": [{"kind": "text", "name": "x"}]}, "'categorical', 'numeric'"),
        ({"target": "y", "classes": [0, 1], "features": [{"name": "x", "self": 1}]}, "malformed"),
        ({"target": "y", "classes": [0, 1], "features": None}, "features: input should be a valid tuple"),
        (
            {"target": "y", "classes": [0, 1], "features": [{"name": "x", "lower": 0, "upper": 1}], "extra": 1},
            "'extra'",
        ),
    ],
)
def test_plain_values_are_validated(fields, words):
    with pytest.raises(SchemaError, match=re.escape(words)):
        Schema.from_dict(fields)


def test_kind_may_be_left_out_of_a_file():
    fields = {
        "target": "y",
        "classes": [0, 1],
        "features": [{"name": "x", "lower": 0, "upper": 1}, {"name": "c", "categories": ["a"]}],
    }
    assert Schema.from_dict(fields).features == (X, Categorical("c", ["a"]))


# ---- files and hashes

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = st.one_of(st.booleans(), st.integers(-(2**70), 2**70), WORDS)


def one_value(value):
    """Equal for declared values that a schema refuses side by side: True and "true", True and 1."""
    return (
        str(int(value))
        if isinstance(value, bool)
        else {"true": "1", "false": "0"}.get(str(value).lower(), str(value).lower())
    )


@st.composite
def schemas(draw):
    names = draw(st.lists(WORDS, min_size=3, max_size=5, unique=True))
    target, person, *rest = names
    features = []
    for name in rest:
        if draw(st.booleans()):
            values = draw(st.lists(VALUES, min_size=1, max_size=5, unique_by=one_value))
            taken = {str(value).lower() for value in values}
            other = draw(st.none() | WORDS.filter(lambda word, taken=taken: word.lower() not in taken))
            features.append(Categorical(name, values, other, missing=draw(st.sampled_from(["error", "category"]))))
        else:
            low, width = draw(st.integers(-1000, 1000)), draw(st.integers(1, 1000))
            features.append(
                Numeric(
                    name,
                    low / 10,
                    (low + width) / 10,
                    bins=draw(st.integers(1, 20)),
                    missing=draw(st.sampled_from(["error", "bin"])),
                )
            )
    classes = draw(st.lists(VALUES, min_size=2, max_size=4, unique_by=one_value))
    return Schema(features=features, target=target, classes=classes, id=draw(st.sampled_from([None, person])))


@pytest.mark.parametrize("suffix", [".toml", ".json", ".TOML", ".JSON", ""])
def test_a_file_keeps_the_schema(schema, tmp_path, suffix):
    path = tmp_path / f"schema{suffix}"
    schema.save(path, comment="line one\nline two")
    again = Schema.load(path)
    assert again == schema and again.hash == schema.hash and again.features == schema.features
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    if suffix in {".toml", ""}:
        assert path.read_text().startswith("# line one\n# line two\n")


@given(schemas())
def test_any_schema_survives_both_kinds_of_file(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("round")
    for name in ("s.toml", "s.json"):
        drawn.save(folder / name)
        again = Schema.load(folder / name)
        assert again.hash == drawn.hash
        assert again.to_dict() == drawn.to_dict()
        assert [type(c) for c in again.classes] == [type(c) for c in drawn.classes]


def test_the_hash_is_pinned():
    schema = Schema(
        features=[
            Categorical("sex", ["f", "m"], other="x", missing="category"),
            Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100]),
        ],
        target="ill",
        classes=[0, 1],
        id="person",
    )
    # Stored models and statistics carry this hash: it must never change for the same meaning.
    assert schema.hash == "ceb1d12b114095129ec1059d950aebfac7b39de5d8de984f26f5205f069c9e3e"


def test_the_hash_does_not_depend_on_how_the_schema_was_written(tmp_path):
    by_hand = tmp_path / "hand.toml"
    by_hand.write_text(
        'classes = ["a", "b"]\ntarget = "y"\n\n[[features]]\nupper = 1\nlower = 0.0\nname = "x"\nbins = 16\n'
    )
    assert Schema.load(by_hand).hash == tiny().hash
    assert hash(Schema.load(by_hand)) == hash(tiny())
    assert tiny(features=[Numeric("x", -0.0, 1)]) == tiny()


@pytest.mark.parametrize(
    "other",
    [
        lambda: tiny(classes=["b", "a"]),
        lambda: tiny(classes=["a", "c"]),
        lambda: tiny(target="z"),
        lambda: tiny(id="p"),
        lambda: tiny(inferred=True),
        lambda: tiny(features=[Numeric("x", 0, 2)]),
        lambda: tiny(features=[Numeric("x", 0, 1, integer=True)]),
        lambda: tiny(features=[Numeric("x", 0, 1, bins=15)]),
        lambda: tiny(features=[Numeric("x", 0, 1, step=0.03125)]),
        lambda: tiny(features=[Numeric("x", 0, 1, missing="bin")]),
        lambda: tiny(features=[Numeric("w", 0, 1)]),
        lambda: tiny(features=[X, Numeric("w", 0, 1)]),
    ],
)
def test_another_meaning_has_another_hash(other):
    assert other().hash != tiny().hash and other() != tiny()


def test_a_schema_equals_nothing_else():
    assert tiny() != tiny().to_dict() and tiny() != "x"


def test_a_byte_order_mark_is_no_part_of_a_schema_file(tmp_path):
    tiny().save(tmp_path / "s.toml")
    marked = tmp_path / "m.toml"
    marked.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "s.toml").read_bytes())
    assert Schema.load(marked) == tiny()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.toml", b"x = ", "not valid TOML"),
        ("s.json", b'{"target": ', "not valid JSON"),
        ("s.toml", b"\xff\xfe\x00", "not valid TOML"),
        ("s.json", b"[" * 100_000, "nested too deeply"),
        ("s.toml", b"x = " + b"[" * 5000, "nested too deeply"),
        ("s.json", b"[]", "target, classes and features"),
        ("s.json", b'{"target": "y", "classes": [0, 1], "features": [{"name": "x", "lower": NaN}]}', "NaN"),
        ("s.toml", b"", "lacks 'target'"),
        (
            "s.toml",
            b'target = "y"\nclasses = [0, 1]\n[[features]]\nname = "x"\nlower = nan\nupper = 1',
            "feature 'x': lower: input should be a finite number",
        ),
    ],
)
def test_a_damaged_schema_file_is_named(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SchemaError, match=re.escape(words)) as caught:
        Schema.load(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_an_absent_schema_file_is_named(tmp_path):
    with pytest.raises(SchemaError, match=r"cannot read the schema .*absent\.toml: No such file"):
        Schema.load(tmp_path / "absent.toml")
    with pytest.raises(SchemaError, match="Is a directory"):
        Schema.load(tmp_path)


def test_saving_into_nowhere_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        tiny().save(tmp_path / "absent" / "s.toml")
    assert not list(tmp_path.iterdir())


# ---- the manifest of reference data


@pytest.mark.data
@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_fits_its_schema(data_dir, name, tmp_path):
    manifest = data_dir / "datasets.json"
    entry = next(e for e in json.loads(manifest.read_text())["datasets"] if e["name"] == name)
    schema = Schema.from_manifest(manifest, name)
    declared = [item["name"] for item in (*entry["numeric"], *entry["categorical"])]
    assert list(schema.names) == declared
    assert list(schema.classes) == entry["classes"] and schema.target == entry["target"]
    counts = collect(data_dir / entry["file"], schema).counts
    assert dict(zip(map(str, schema.classes), counts.tolist(), strict=True)) == {
        str(label): entry["class_counts"].get(str(label), 0) for label in schema.classes
    }
    assert parquet.read_metadata(data_dir / entry["file"]).num_rows == counts.sum()
    schema.save(tmp_path / "s.toml")
    assert Schema.load(tmp_path / "s.toml") == schema


@pytest.mark.data
def test_the_list_of_data_sets_is_whole(data_dir):
    manifest = json.loads((data_dir / "datasets.json").read_text())
    assert sorted(entry["name"] for entry in manifest["datasets"]) == DATASETS


@pytest.mark.data
def test_features_can_be_dropped_and_bins_chosen(data_dir):
    manifest = data_dir / "datasets.json"
    schema = Schema.from_manifest(manifest, "adult", drop=["fnlwgt", "education"], bins=8)
    assert len(schema.features) == 12 and not {"fnlwgt", "education"} & set(schema.names)
    assert {feature.cells for feature in schema.numeric} == {8}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"datasets": [{"name": "a"}]}', "manifest"),
        ("[]", "not a manifest"),
        ('{"datasets": [', "not a manifest"),
        ('{"datasets": 3}', "not a manifest"),
        (
            '{"datasets": [{"name": "a", "numeric": [{"name": "x", "bounds": [1]}], "categorical": [], "target": "y",'
            ' "classes": [0, 1]}]}',
            "feature 'x': upper",
        ),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path, content, words):
    path = tmp_path / "datasets.json"
    path.write_text(content)
    with pytest.raises(SchemaError, match=words):
        Schema.from_manifest(path, "a")


def test_an_unknown_data_set_is_refused_with_the_list(tmp_path):
    path = tmp_path / "datasets.json"
    path.write_text('{"datasets": [{"name": "b"}, {"name": "a"}]}')
    with pytest.raises(SchemaError, match="no data set 'c'; it has a, b"):
        Schema.from_manifest(path, "c")
    with pytest.raises(SchemaError, match="cannot read the manifest"):
        Schema.from_manifest(tmp_path / "absent.json", "a")
