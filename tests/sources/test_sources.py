"""Every source gives the same integers for the same rows, in any order, any chunking and on either path."""

from __future__ import annotations

import csv
import decimal
import gzip
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from discreet import Categorical, DataError, Numeric, PrivateNB, Schema, Statistics, StatisticsError, Table, collect
from discreet.sources.draft import draft
from discreet.sources.files import _ends_in_quotes
from discreet.sources.streams import opened
from discreet.statistics import DETAILS


def by_hand(schema, records):
    """The statistics of rows, counted one by one in plain Python."""
    zero = Statistics.empty(schema, DETAILS)
    blocks = {kind: {name: v.copy() for name, v in getattr(zero, kind).items()} for kind in ("tables", "present")}
    blocks |= {
        kind: {name: v.copy() for name, v in getattr(zero, kind).items()} for kind in ("sums", "squares", "lattice")
    }
    counts = zero.counts.copy()
    for record in records:
        label = schema.label.lookup.find(record[schema.target])
        counts[label] += 1
        for feature in schema.features:
            value = record[feature.name]
            gone = value is None or value != value
            if isinstance(feature, Categorical):
                blocks["tables"][feature.name][label, feature.missing_code if gone else feature.lookup.code(value)] += 1
                continue
            if gone:
                blocks["tables"][feature.name][label, feature.missing_code] += 1
                continue
            point = feature.lattice.point(min(max(value, feature.lower), feature.upper))
            blocks["tables"][feature.name][label, sum(cut <= point for cut in feature.cuts)] += 1
            blocks["present"][feature.name][label] += 1
            blocks["sums"][feature.name][label] += point
            blocks["squares"][feature.name][label] += point * point
            blocks["lattice"][feature.name][label, point + feature.lattice.half] += 1
    tables = blocks.pop("tables")
    return Statistics(schema, counts, tables, **blocks)


@pytest.fixture(scope="module")
def expected(schema, frame):
    return by_hand(schema, frame.to_dict("records"))


def count(data, schema, y=None):
    return collect(data, schema, y, detail=DETAILS)


@pytest.fixture(params=["numpy", "compiled"])
def path(request, monkeypatch):
    """Count and score by plain NumPy, or by the compiled loops however few the rows."""
    if request.param == "compiled":
        monkeypatch.setattr("discreet.sources.count.SMALL", 0)
        monkeypatch.setattr("discreet.bayes.score.SMALL", 0)
    return request.param


def write_csv(frame, file, **options):
    """A CSV file as the standard library writes it; missing values are empty."""
    settings = {"delimiter": ",", "lineterminator": "\n", "quoting": csv.QUOTE_MINIMAL} | options
    opener = gzip.open if str(file).endswith(".gz") else open
    with opener(file, "wt", encoding=settings.pop("encoding", "utf-8"), newline="") as out:
        writer = csv.writer(out, **settings)
        writer.writerow(frame.columns)
        for row in frame.itertuples(index=False):
            writer.writerow(["" if value is None or value != value else value for value in row])
    return file


# ---- data frames


def nullable(frame):
    return frame.convert_dtypes()


def categorised(frame):
    return frame.astype({"colour": "category", "size": "category", "ill": "category"})


FRAMES = {
    "pandas": lambda f: f,
    "pandas nullable": nullable,
    "pandas category": categorised,
    "pandas string": lambda f: f.astype({"colour": "string", "ill": "string"}),
    "pandas arrow": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "pandas objects": lambda f: f.astype(object),
    "pandas single precision": lambda f: f.astype(
        {"weight": "float32", "dose": "float32", "age": "int16", "size": "int8"}
    ),
    "pandas floats": lambda f: f.astype({"age": float, "size": float}),
    "pandas texts": lambda f: f.astype({"age": str, "size": str, "dose": str}),
    "pandas odd index": lambda f: f.set_index(np.arange(len(f))[::-1] % 7),
    "pandas more columns": lambda f: f.assign(extra="x")[["extra", *f.columns[::-1]]],
    "polars": pl.from_pandas,
    "polars lazy": lambda f: pl.from_pandas(f).lazy(),
    "polars categorical": lambda f: pl.from_pandas(f).with_columns(pl.col("colour", "ill").cast(pl.Categorical)),
    "polars chunks": lambda f: pl.concat([pl.from_pandas(f[:100]), pl.from_pandas(f[100:])], rechunk=False),
    "arrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
    "arrow batch": lambda f: pa.RecordBatch.from_pandas(f, preserve_index=False),
    "arrow chunks": lambda f: pa.concat_tables(
        [pa.Table.from_pandas(f[i : i + 37], preserve_index=False) for i in range(0, len(f), 37)]
    ),
    "arrow dictionary": lambda f: pa.Table.from_pandas(categorised(f), preserve_index=False),
    "arrow chunks of different dictionaries": lambda f: pa.concat_tables(
        [
            pa.Table.from_pandas(
                f[i : i + 11].assign(colour=f.colour[i : i + 11].astype("category")), preserve_index=False
            )
            for i in range(0, len(f), 11)
        ]
    ),
    "arrow decimals": lambda f: pa.Table.from_pandas(f, preserve_index=False).set_column(
        4, "dose", pa.array([decimal.Decimal(str(v)) for v in f.dose], pa.decimal128(12, 4))
    ),
    "arrow large strings": lambda f: pa.Table.from_pandas(f, preserve_index=False).set_column(
        0, "colour", pa.array(f.colour, pa.large_string())
    ),
    "arrow string views": lambda f: pa.Table.from_pandas(f, preserve_index=False).set_column(
        0, "colour", pa.array(f.colour, pa.string_view())
    ),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_every_frame_gives_the_same_integers(make, schema, frame, expected, path):
    data = make(frame)
    assert count(data, schema) == expected


@pytest.mark.parametrize("wrap", [list, tuple, np.array, pd.Series, pl.Series, pa.array], ids=lambda w: w.__name__)
def test_labels_may_be_given_apart(wrap, schema, frame, expected):
    features = frame.drop(columns="ill")
    assert count(features, schema, wrap(frame.ill.tolist())) == expected


def test_labels_given_apart_win_over_the_target_column(schema, frame, expected):
    assert count(frame.assign(ill="no"), schema, frame.ill) == expected


def test_a_frame_with_numbered_columns_meets_names_of_digits():
    schema = Schema(features=[Numeric("0", 0, 4), Numeric("1", 0, 4)], target="y", classes=[0, 1])
    data = np.array([[1, 2], [3, 4]])
    assert count(pd.DataFrame(data), schema, [0, 1]) == count(data, schema, [0, 1])


# ---- arrays

CODED = Schema(
    features=[Categorical("a", [0, 1, 2]), Categorical("b", ["0", "1", "3"], other="else"), Numeric("x", 0, 8, bins=5)],
    target="y",
    classes=[0, 1],
)


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 3, 400), rng.integers(0, 5, 400), rng.integers(0, 12, 400)]
    return np.column_stack(columns), rng.integers(0, 2, 400)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "kind", ["int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "float16", "object"]
)
def test_every_array_gives_the_same_integers(kind, order, matrix, path):
    X, y = matrix
    expected = by_hand(
        CODED, [dict(zip("abxy", map(int, (*row, label)), strict=True)) for row, label in zip(X, y, strict=True)]
    )
    assert count(np.asarray(X, dtype=kind, order=order), CODED, y) == expected


@pytest.mark.parametrize("kind", [">i4", ">i8", ">f4", ">f8", "<U3", "longdouble"])
def test_unusual_types_of_array(kind, matrix, path):
    X, y = matrix
    assert count(X.astype(kind), CODED, y) == count(X, CODED, y)


@pytest.mark.parametrize(
    "view",
    [
        lambda X: X[::-1][::-1],
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.asfortranarray(X)[:, :],
        lambda X: X.tolist(),
    ],
    ids=["reversed", "strided", "fortran", "lists"],
)
def test_views_and_lists(view, matrix, path):
    X, y = matrix
    assert count(view(X), CODED, y) == count(X.copy(), CODED, y)


def test_a_read_only_array(matrix, path):
    X, y = matrix
    frozen = X.astype(float)
    frozen.flags.writeable = False
    assert count(frozen, CODED, y) == count(X, CODED, y)


def test_text_and_boolean_labels(matrix):
    X, y = matrix
    words = Schema(features=CODED.features, target="y", classes=["no", "yes"])
    flags = Schema(features=CODED.features, target="y", classes=[False, True])
    expected = count(X, CODED, y)
    for schema, labels in [
        (words, np.array(["no", "yes"])[y]),
        (words, np.array(["no", "yes"], object)[y]),
        (flags, y.astype(bool)),
        (flags, y),
        (CODED, y.astype(bool)),
        (CODED, y.astype(str)),
        (CODED, y.astype(float)),
        (CODED, y[:, None]),
    ]:
        found = count(X, schema, labels)
        assert found.counts.tolist() == expected.counts.tolist()
        assert all(np.array_equal(found.tables[name], table) for name, table in expected.tables.items())


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "float32"])
def test_categories_that_the_type_of_the_data_cannot_hold(kind, path):
    schema = Schema(features=[Categorical("a", [-1, 1, 1000], other="else")], target="y", classes=[0, 1])
    assert count(np.array([[1], [2], [1]]).astype(kind), schema, [0, 1, 1]).tables["a"].tolist() == [
        [0, 1, 0, 0],
        [0, 1, 0, 1],
    ]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64"])
def test_categories_far_above_the_data(kind, path):
    schema = Schema(features=[Categorical("a", [1000, 2000], other="else")], target="y", classes=[0, 1])
    assert count(np.array([[0], [1]]).astype(kind), schema, [0, 1]).tables["a"].tolist() == [[0, 0, 1], [0, 0, 1]]


ORDERS = pytest.mark.parametrize("categories", [[-2, -1, 0, 1], [1, 0, -1, -2], [0, -2, 5, -1]], ids=str)


def cells(categories, values, kind):
    """The cells that single values are counted in; an undeclared value is `other`, NaN is `missing`."""
    feature = Categorical("a", categories, other="other", missing="category")
    schema = Schema(features=[feature], target="y", classes=[0, 1])
    X = np.array(values, kind)[:, None]
    tables = [count(X[i : i + 1], schema, [0]).tables["a"] for i in range(len(X))]
    assert np.array_equal(sum(tables), count(X, schema, np.zeros(len(X))).tables["a"])
    return [feature.labels[int(table[0].argmax())] for table in tables]


@ORDERS
def test_a_value_close_to_a_category_is_another_value(categories, path):
    close = [1e-20, -1e-20, 0.5, np.nextafter(-1, 0), np.nextafter(-1, -2), -2.5, 1e300, -1e300]
    assert cells(categories, close, np.float64) == ["other"] * len(close)
    assert cells(categories, [0.0, -0.0, -1.0, -2.0, np.nan], np.float64) == ["0", "0", "-1", "-2", "(missing)"]
    assert cells(categories, [0.0, 1e-20, -1.5, -2.0, np.nan], np.float32) == ["0", "other", "other", "-2", "(missing)"]


@ORDERS
def test_a_large_integer_is_no_category_by_wrapping_round(categories, path):
    assert cells(categories, [2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1, 0, 2**32], np.uint64) == [
        *["other"] * 4,
        "0",
        "other",
    ]
    large = [2**63 - 1, -(2**63), 2**32, 2**32 - 1, -(2**32), -1, 0]
    assert cells(categories, large, np.int64) == [*["other"] * 5, "-1", "0"]
    assert cells(categories, [2**32 - 1, 2**32 - 2, 0], np.uint32) == ["other", "other", "0"]
    assert cells(categories, [255, 254, 0], np.uint8) == ["other", "other", "0"]
    assert cells(categories, [127, -128, -1, 0], np.int8) == ["other", "other", "-1", "0"]


def test_a_text_category_that_looks_like_a_digit_but_is_none():
    schema = Schema(features=[Categorical("a", ["²", "1"])], target="y", classes=[0, 1])
    assert count(np.array([[1], [1]]), schema, [0, 1]).tables["a"].tolist() == [[0, 1], [0, 1]]


def test_categories_spread_too_wide_for_a_table(path):
    schema = Schema(features=[Categorical("a", [0, 2**40, -(2**62)])], target="y", classes=[0, 1])
    found = count(np.array([[0], [2**40], [-(2**62)]]), schema, [0, 1, 1])
    assert found.tables["a"].tolist() == [[1, 0, 0], [0, 1, 1]]


# ---- order and chunking


def test_row_order_does_not_matter(schema, frame, expected, path):
    for seed in range(3):
        assert count(frame.sample(frac=1, random_state=seed), schema) == expected


@pytest.mark.parametrize("size", [1, 7, 64, 599, 600])
def test_chunks_add_up(size, schema, frame, expected):
    total = Statistics.empty(schema, DETAILS)
    for start in range(0, len(frame), size if size > 1 else 50):
        total = total + count(frame[start : start + (size if size > 1 else 50)], schema)
    assert total == expected


@pytest.mark.parametrize("batch", [13, 2048])
def test_the_batches_of_a_file_do_not_matter(batch, schema, frame, expected, tmp_path, monkeypatch, path):
    monkeypatch.setattr("discreet.sources.tables.BATCH", batch)
    feather.write_feather(frame, tmp_path / "d.arrow", chunksize=97)
    frame.to_parquet(tmp_path / "d.parquet", row_group_size=101)
    assert count(tmp_path / "d.arrow", schema) == expected
    assert count(tmp_path / "d.parquet", schema) == expected


def test_both_paths_agree_on_many_rows(schema, frame):
    """Enough rows for the compiled threads by themselves, in blocks that do not divide them evenly."""
    many = pd.concat([frame] * 180, ignore_index=True)
    one = count(frame, schema)
    found = count(many, schema)
    assert found.counts.tolist() == (one.counts * 180).tolist()
    for kind in ("tables", "sums", "squares", "present", "lattice"):
        for name, values in getattr(one, kind).items():
            assert np.array_equal(getattr(found, kind)[name], values * 180), (kind, name)


@pytest.mark.parametrize("upper", [2**21, 2**20])
def test_square_sums_beyond_64_bits_are_caught(upper):
    """2**23 rows at the end of the finest lattice have squares that add up to 2**63; half the range is harmless."""
    schema = Schema(features=[Numeric("x", 0, upper, step=1, bins=2)], target="y", classes=[0, 1])
    X, y = np.broadcast_to(np.int32(upper), (2**23, 1)), np.broadcast_to(np.int8(1), 2**23)
    if upper == 2**21:
        with pytest.raises(StatisticsError, match="64-bit"):
            collect(X, schema, y)
    else:
        assert collect(X, schema, y).squares["x"].tolist() == [0, 2**61]


# ---- files

DELIMITED = {
    "plain": {},
    "everything quoted": {"quoting": csv.QUOTE_ALL},
    "semicolons": {"delimiter": ";"},
    "tabs": {"delimiter": "\t"},
    "bars": {"delimiter": "|"},
    "byte order mark": {"encoding": "utf-8-sig"},
    "carriage returns": {"lineterminator": "\r\n"},
    "quoted, marked and carriage returns": {
        "quoting": csv.QUOTE_ALL,
        "encoding": "utf-8-sig",
        "lineterminator": "\r\n",
    },
}


@pytest.mark.parametrize("options", DELIMITED.values(), ids=DELIMITED.keys())
@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz"])
def test_every_csv_file_gives_the_same_integers(name, options, schema, frame, expected, tmp_path):
    assert count(write_csv(frame, tmp_path / name, **options), schema) == expected


@pytest.mark.parametrize("name", ["d.tsv", "d.txt", "d", "d.data"])
def test_a_text_file_by_any_name(name, schema, frame, expected, tmp_path):
    assert count(write_csv(frame, tmp_path / name, delimiter="\t"), schema) == expected


def test_csv_without_a_last_line_end_and_with_blank_lines(schema, frame, expected, tmp_path):
    file = write_csv(frame, tmp_path / "d.csv")
    file.write_text(file.read_text().rstrip("\n"))
    assert count(file, schema) == expected
    file.write_text(file.read_text() + "\n\n\n")
    assert count(file, schema) == expected


AWKWARD = [
    "a,b",
    'say "hi"',
    "two\nlines",
    "semi;colon",
    "tab\there",
    "#hash",
    " space ",
    "é漢",
    "it's",
    "NULL",
    "nan",
    "a|b",
]


@pytest.mark.parametrize("options", [{}, {"delimiter": ";"}, {"delimiter": "\t"}, {"lineterminator": "\r\n"}])
def test_awkward_texts_survive_csv(options, tmp_path):
    schema = Schema(
        features=[Categorical("na,me", AWKWARD), Numeric("x", 0, 1)], target='y "q"', classes=["yes, sir", "no"]
    )
    data = pd.DataFrame({"na,me": AWKWARD * 3, "x": 0.5, 'y "q"': ["yes, sir", "no", "no"] * len(AWKWARD)})
    expected = by_hand(schema, data.to_dict("records"))
    assert count(write_csv(data, tmp_path / "d.csv", **options), schema) == expected


def test_a_quoted_delimiter_in_the_header_does_not_decide(tmp_path):
    schema = Schema(features=[Numeric("a;b;c", 0, 2)], target="y", classes=["n", "p"])
    (tmp_path / "d.csv").write_text('"a;b;c",y\n1,n\n2,p\n')
    assert count(tmp_path / "d.csv", schema).counts.tolist() == [1, 1]


def test_a_row_that_looks_like_a_comment_is_not_dropped(tmp_path):
    schema = Schema(features=[Categorical("a", ["#x", "x"])], target="y", classes=["n", "p"])
    (tmp_path / "d.csv").write_text("a,y\nx,n\n#x,p\n#x,p\n")
    assert count(tmp_path / "d.csv", schema).tables["a"].tolist() == [[0, 1], [2, 0]]


TEXTS = Schema([Categorical("a", ["x", "y"], other="?")], "b", ["0", "1"])


@pytest.mark.parametrize("unexpected", ["refuse", "absorb"])
def test_line_ends_in_quotes_are_no_rows_wherever_they_stand(unexpected, tmp_path):
    """A file that a reader with several threads would cut within the quotes, where each line looks like a row."""
    value = '"' + "x,1\n" * 300_000 + '"'
    (tmp_path / "long.csv").write_text("a,b\n" + f"{value},0\n" * 30)
    found = collect(tmp_path / "long.csv", TEXTS, unexpected=unexpected)
    assert found.counts.tolist() == [30, 0]


@pytest.mark.parametrize("unexpected", ["refuse", "absorb"])
@pytest.mark.parametrize(
    "body", ['x,0\n"y,1\nx,1\n', 'x,0\n"y,1', 'x,0\nx,"1\n', 'x,0\n"""y,1\n', 'x,0\n"y"x,1\nx,0\n']
)
@pytest.mark.parametrize("name", ["open.csv", "open.csv.gz"])
def test_a_quote_that_is_not_closed_is_noticed(body, name, unexpected, tmp_path):
    (tmp_path / name).write_bytes((gzip.compress if name.endswith("gz") else bytes)(f"a,b\nx,0\n{body}".encode()))
    with pytest.raises(DataError, match="quote"):
        collect(tmp_path / name, TEXTS, unexpected=unexpected)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
@pytest.mark.parametrize(
    ("body", "open_"),
    [("", False), ('"x","y"\n', False), ('"x"",""y","', True), ('p"q,"r\n', True), ('p"q,"r"\n', False), ('"""', True),
     ('""""', False), ('a,"b\n\n\n\n\n\n\n\n\n\n', True), ('"a\n",b\n' * 9, False), ('"a\n""",b\n' * 9 + '"', True)],
)  # fmt: skip
def test_the_end_of_a_file_is_inside_quotes_or_not(body, open_, size, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.sources.files._BLOCK", size)
    (tmp_path / "t.csv").write_text(f"a,b\n{body}")
    assert _ends_in_quotes(str(tmp_path / "t.csv"), ",") == open_


def test_names_that_differ_in_case_only(tmp_path):
    schema = Schema(features=[Numeric("A", 0, 2), Numeric("a", 0, 2)], target="y", classes=["n", "p"])
    data = pd.DataFrame({"A": [0.0, 1.0], "a": [2.0, 2.0], "y": ["n", "p"]})
    data.to_parquet(tmp_path / "d.parquet")
    expected = count(data, schema)
    feather.write_feather(data, tmp_path / "d.arrow")
    assert count(tmp_path / "d.arrow", schema) == expected
    assert count(tmp_path / "d.parquet", schema) == expected
    assert count(write_csv(data, tmp_path / "d.csv"), schema) == expected


def binary_files(frame, folder):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(table, folder / "a.parquet", row_group_size=50)
    parquet.write_table(pa.Table.from_pandas(categorised(frame), preserve_index=False), folder / "b.parquet")
    parquet.write_table(table, folder / "c.pq", compression="zstd")
    parquet.write_table(table, folder / "no suffix")
    feather.write_feather(table, folder / "a.arrow", compression="uncompressed")
    feather.write_feather(table, folder / "b.feather", compression="zstd")
    feather.write_feather(pa.Table.from_pandas(categorised(frame), preserve_index=False), folder / "c.ipc")
    feather.write_feather(table, folder / "d.unknown")
    return sorted(folder.iterdir())


def test_every_binary_file_gives_the_same_integers(schema, frame, expected, tmp_path):
    files = binary_files(frame, tmp_path)
    assert len(files) == 8
    for file in files:
        assert count(file, schema) == expected, file.name
        assert count(str(file), schema) == expected, file.name


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_several_files_by_a_pattern(suffix, schema, frame, expected, tmp_path):
    write = {"csv": write_csv, "parquet": lambda f, p: f.to_parquet(p), "arrow": feather.write_feather}[suffix]
    for i, start in enumerate(range(0, 600, 200)):
        write(frame[start : start + 200].reset_index(drop=True), tmp_path / f"part-{i}.{suffix}")
    assert count(f"{tmp_path}/part-*.{suffix}", schema) == expected
    assert count(f"{tmp_path}/part-[012].{suffix}", schema) == expected
    assert count(f"{tmp_path}/part-?.{suffix}", schema).counts.sum() == 600
    assert count(f"{tmp_path}/part-[01].{suffix}", schema) == by_hand(schema, frame[:400].to_dict("records"))
    with pytest.raises(DataError, match="no file matches"):
        count(f"{tmp_path}/absent-*.{suffix}", schema)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_columns_of_several_files_are_told_apart_by_name(suffix, tmp_path):
    schema = Schema(features=[Numeric("u", 0, 10), Numeric("v", 0, 10)], target="y", classes=["n", "p"])
    data = pd.DataFrame({"u": [1.0, 2.0], "v": [9.0, 8.0], "y": ["n", "p"]})
    write = {"csv": write_csv, "parquet": lambda f, p: f.to_parquet(p), "arrow": feather.write_feather}[suffix]
    write(data, tmp_path / f"1.{suffix}")
    write(data[["v", "u", "y"]], tmp_path / f"2.{suffix}")
    expected = count(data, schema) + count(data, schema)
    try:
        found = count(f"{tmp_path}/*.{suffix}", schema)
    except DataError:
        return  # to refuse such files is sound as well
    assert found == expected


MIXED = Schema([Numeric("a", 0, 4, missing="bin")], "y", ["n", "p"], id="who")


@pytest.mark.parametrize("unexpected", ["refuse", "absorb"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "parts",
    [
        [[1, 2], [1.5, 2.5]],
        [[1, 2, None], [1.5, 2.5]],
        [[None], [1.5, 2.5]],
        [[None], ["1.5"], [2]],
        [[1, 2], ["1.5", "2.5"], [2.5]],
        [["1.5"], [3, 4]],
        [[True, False], [3, 2]],
        [[decimal.Decimal("1.25")], [decimal.Decimal("1.3"), decimal.Decimal("2.125")]],
        [[1], [2**63 - 1]],
    ],
    ids=str,
)
def test_the_types_of_one_file_do_not_re_code_another(parts, suffix, unexpected, tmp_path):
    write = {"parquet": parquet.write_table, "arrow": feather.write_feather}[suffix]
    values = [value for part in parts for value in part]
    for order in (parts, parts[::-1]):
        for i, part in enumerate(order):
            names = range(10 * i, 10 * i + len(part))
            who = [str(n) for n in names] if i % 2 else list(names)
            write(pa.table({"a": part, "y": ["n"] * len(part), "who": who}), tmp_path / f"{i}.{suffix}")
        listed = {"a": values, "y": ["n"] * len(values), "who": range(len(values))}
        expected = collect(pd.DataFrame(listed, dtype=object), MIXED, detail=DETAILS, unexpected=unexpected)
        found = collect(f"{tmp_path}/*.{suffix}", MIXED, detail=DETAILS, contributions=1, unexpected=unexpected)
        assert found == expected


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_people_are_counted_over_all_files(suffix, tmp_path):
    write = {"parquet": parquet.write_table, "arrow": feather.write_feather}[suffix]
    write(pa.table({"a": [1, 2], "y": ["n", "p"], "who": [1, 2]}), tmp_path / f"1.{suffix}")
    write(pa.table({"a": [1.5], "y": ["n"], "who": ["2.0"]}), tmp_path / f"2.{suffix}")
    with pytest.raises(DataError, match="more than 1 row"):
        collect(f"{tmp_path}/*.{suffix}", MIXED, contributions=1)
    assert collect(f"{tmp_path}/*.{suffix}", MIXED, contributions=2).counts.tolist() == [2, 1]
    assert collect(f"{tmp_path}/*.{suffix}", MIXED, contributions=1, unexpected="absorb").counts.sum() == 2


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_with_other_columns_are_refused_and_drafts_see_all_files(suffix, tmp_path):
    write = {"parquet": parquet.write_table, "arrow": feather.write_feather}[suffix]
    write(pa.table({"a": list(range(20)), "y": ["n", "p"] * 10}), tmp_path / f"1.{suffix}")
    write(pa.table({"a": [1.5], "y": ["n"]}), tmp_path / f"2.{suffix}")
    assert draft(f"{tmp_path}/*.{suffix}", target="y").schema.features[0].integer is False
    write(pa.table({"a": [1.5], "b": [1], "y": ["n"]}), tmp_path / f"3.{suffix}")
    with pytest.raises(DataError, match="other columns"):
        collect(f"{tmp_path}/*.{suffix}", Schema([Numeric("a", 0, 4)], "y", ["n", "p"]))


def test_no_row_of_a_second_csv_file_is_taken_for_its_header(tmp_path):
    schema = Schema(features=[Numeric("u", 0, 10)], target="y", classes=["n", "p"])
    (tmp_path / "1.csv").write_text("u,y\n1,n\n")
    (tmp_path / "2.csv").write_text("1,n\n2,p\n")
    with pytest.raises(DataError):
        count(f"{tmp_path}/*.csv", schema)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_a_file_whose_name_looks_like_a_pattern_is_itself(suffix, schema, frame, expected, tmp_path):
    write = {"csv": write_csv, "parquet": lambda f, p: f.to_parquet(p), "arrow": feather.write_feather}[suffix]
    write(frame[:10], tmp_path / f"a1.{suffix}")
    write(frame, tmp_path / f"a[1].{suffix}")
    assert count(tmp_path / f"a[1].{suffix}", schema) == expected


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("folder", ["ill=no", "age=50"])
def test_a_folder_name_never_replaces_a_column(suffix, folder, schema, frame, expected, tmp_path):
    write = {"csv": write_csv, "parquet": lambda f, p: f.to_parquet(p), "arrow": feather.write_feather}[suffix]
    (tmp_path / folder).mkdir()
    write(frame, tmp_path / folder / f"d.{suffix}")
    assert count(tmp_path / folder / f"d.{suffix}", schema) == expected


def test_progress_counts_every_row(schema, frame, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.sources.tables.BATCH", 2048)
    many = pd.concat([frame] * 10)
    many.to_parquet(tmp_path / "d.parquet")
    seen = []
    collect(tmp_path / "d.parquet", schema, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6000, 6000) and len(seen) > 1 and seen == sorted(seen)


def test_prediction_keeps_the_order_of_the_rows(schema, frame, tmp_path, monkeypatch, path):
    many = pd.concat([frame] * 9, ignore_index=True)
    model = PrivateNB(schema=schema, epsilon=5.0, random_state=0).fit(many).model_
    expected = model.predict_joint_log_proba(many)
    monkeypatch.setattr("discreet.sources.tables.BATCH", 2048)
    many.to_parquet(tmp_path / "d.parquet", row_group_size=1000)
    feather.write_feather(many, tmp_path / "d.arrow", chunksize=1000)
    write_csv(many, tmp_path / "d.csv")
    for name in ("d.parquet", "d.arrow", "d.csv"):
        assert np.array_equal(model.predict_joint_log_proba(tmp_path / name), expected), name
        assert np.array_equal(model.predict(tmp_path / name), model.classes[expected.argmax(axis=1)]), name


@pytest.mark.parametrize("threads", ["1", "3"])
def test_row_groups_of_any_sizes_come_in_order(threads, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.sources.tables.BATCH", 50)
    monkeypatch.setenv("DISCREET_THREADS", threads)
    sizes, start = [1, 99, 1, 350, 0, 40, 60, 100, 7, 7, 7, 200], 0
    with parquet.ParquetWriter(tmp_path / "d.parquet", pa.schema([("x", pa.int64())])) as writer:
        for size in sizes:
            writer.write_table(pa.table({"x": np.arange(start, start + size)}))
            start += size
    with opened(tmp_path / "d.parquet") as stream:
        found = [batch["x"].to_numpy() for batch in stream.batches(["x"])]
        assert np.array_equal(np.concatenate(found), np.arange(start))
        assert max(map(len, found)) == 100 and len(found) < len(sizes) + 3
        assert len(next(stream.batches(["x"]))["x"]) == 100  # and whoever stops there waits for nothing


@pytest.mark.parametrize("numeric", ["histogram", "gaussian", "truncated-gaussian"])
def test_both_paths_score_alike(numeric, schema, frame, monkeypatch):
    model = PrivateNB(schema=schema, epsilon=5.0, numeric=numeric, random_state=0).fit(frame).model_
    plain, best = model.predict_joint_log_proba(frame), model.predict(frame)
    monkeypatch.setattr("discreet.bayes.score.SMALL", 0)
    np.testing.assert_allclose(model.predict_joint_log_proba(frame), plain, rtol=1e-12)
    assert np.array_equal(model.predict(frame), best)
    for bad, words in [
        (frame.assign(colour="pink"), "column 'colour' holds 'pink'"),
        (frame.assign(age=np.inf), "column 'age' holds an infinite value"),
        (frame.assign(age=np.nan), "column 'age' has a missing value"),
    ]:
        with pytest.raises(DataError, match=words):
            model.predict(bad)


# ---- databases


def test_a_duckdb_table(schema, frame, expected):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    connection.execute('CREATE VIEW "odd name; --" AS SELECT * FROM people')
    assert count(Table(connection, "people"), schema) == expected
    assert count(Table(connection, "main.people"), schema) == expected
    assert count(Table(connection, "odd name; --"), schema) == expected
    assert connection.execute("SELECT count(*) FROM people").fetchone() == (600,)  # the connection stays open
    with pytest.raises(DataError, match="absent"):
        count(Table(connection, "absent"), schema)


def test_a_registered_frame_and_a_temporary_table_of_duckdb(schema, frame, expected):
    connection = duckdb.connect()
    connection.register("people", frame)
    connection.execute("CREATE TEMP TABLE passing AS SELECT * FROM people")
    assert count(Table(connection, "passing"), schema) == expected
    assert count(Table(connection, "people"), schema) == expected


def test_a_table_behind_any_db_api(schema, frame, expected):
    connection = sqlite3.connect(":memory:")
    frame.to_sql("people", connection, index=False)
    assert count(Table(connection, "people"), schema) == expected
    assert count(Table(connection, "main.people"), schema) == expected
    connection.execute('CREATE TABLE "odd name; --" AS SELECT * FROM people')
    assert count(Table(connection, "odd name; --"), schema) == expected
    assert connection.execute("SELECT count(*) FROM people").fetchone() == (600,)
    with pytest.raises(DataError, match=r"the database refuses to read .*absent"):
        count(Table(connection, "absent"), schema)


def test_a_right_to_some_columns_is_enough_behind_any_db_api(schema, frame, expected):
    connection = sqlite3.connect(":memory:")
    frame.assign(secret="s").to_sql("people", connection, index=False)

    def authorize(action, table, column, *_):
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_READ and column == "secret" else sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)
    with pytest.raises(sqlite3.DatabaseError, match="secret"):
        connection.execute("SELECT * FROM people")
    assert count(Table(connection, "people"), schema) == expected
    assert count(Table(Stranger(connection), "main.people"), schema) == expected
    with pytest.raises(DataError, match="no column 'a'"):
        count(Table(Stranger(connection), "main.people"), Schema([Categorical("a", ["x"])], "y", [0, 1]))


class Stranger:
    """A connection of which nobody knows that it is SQLite's."""

    def __init__(self, connection):
        self.connection = connection

    def cursor(self):
        return self.connection.cursor()


def test_text_of_sqlite_that_is_none():
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE t (a TEXT, b TEXT); INSERT INTO t VALUES ('x', '0'), (CAST(x'ff' AS TEXT), '1'), ('y', '1')"
    )
    for unexpected in ("refuse", "absorb"):
        found = collect(Table(connection, "t"), TEXTS, unexpected=unexpected)
        assert found.tables["a"].tolist() == [[1, 0, 0], [0, 1, 1]]
    assert connection.text_factory is str


def test_a_database_of_more_rows_than_one_fetch(schema, frame):
    connection = sqlite3.connect(":memory:")
    many = pd.concat([frame] * 120)
    many.to_sql("people", connection, index=False)
    assert collect(Table(connection, "people"), schema) == collect(many, schema)


# ---- missing and infinite values


@pytest.mark.parametrize("value", [None, np.nan])
def test_missing_values_follow_the_policy(value, path):
    lenient = Schema(
        features=[Categorical("c", ["a"], missing="category"), Numeric("x", 0, 1, bins=2, missing="bin")],
        target="y",
        classes=[0, 1],
    )
    strict = Schema(features=[Categorical("c", ["a"]), Numeric("x", 0, 1, bins=2)], target="y", classes=[0, 1])
    X = np.array([["a", 0.2], [value, 0.8], ["a", value]], dtype=object)
    found = count(X, lenient, [0, 1, 1])
    assert found.tables["c"].tolist() == [[1, 0], [1, 1]]
    assert found.tables["x"].tolist() == [[1, 0, 0], [0, 1, 1]]
    assert found.present["x"].tolist() == [1, 1]
    with pytest.raises(DataError, match="column 'c' has a missing value: fill it in, or declare missing = 'category'"):
        count(X[:2], strict, [0, 1])
    with pytest.raises(DataError, match="column 'x' has a missing value: fill it in, or declare missing = 'bin'"):
        count(X[[0, 2]], strict, [0, 1])


def test_a_missing_value_never_lands_in_the_other_bucket(path):
    schema = Schema(features=[Categorical("c", ["a"], other="z")], target="y", classes=[0, 1])
    with pytest.raises(DataError, match="missing value"):
        count(pd.DataFrame({"c": ["a", None], "y": [0, 1]}), schema)
    coded = Schema(features=[Categorical("c", [1], other="z")], target="y", classes=[0, 1])
    with pytest.raises(DataError, match="missing value"):
        count(np.array([[1.0], [np.nan]]), coded, [0, 1])
    assert count(np.array([[1.0], [1.5]]), coded, [0, 1]).tables["c"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("missing", ["error", "bin"])
def test_infinite_values_are_refused(value, missing, path):
    schema = Schema(features=[Numeric("x", 0, 1, missing=missing)], target="y", classes=[0, 1])
    for kind in (np.float64, np.float32):
        with pytest.raises(DataError, match="column 'x' holds an infinite value"):
            count(np.array([[0.5], [value]], kind), schema, [0, 1])


@pytest.mark.parametrize("value", [1e308, -1e308, 1.7e308])
def test_finite_values_however_large_are_clipped(value, path):
    schema = Schema(features=[Numeric("x", -3, 1)], target="y", classes=[0, 1])
    half = schema.features[0].lattice.half
    found = count(np.array([[value], [value]]), schema, [0, 1])
    assert found.sums["x"].tolist() == [np.sign(value) * half] * 2


def test_a_missing_label_is_refused(schema, frame, path):
    with pytest.raises(DataError, match="column 'ill' has a missing value"):
        count(frame.assign(ill=[None, *frame.ill[1:]]), schema)


# ---- people with several rows

IDS = Schema(features=[Numeric("x", 0, 1)], target="y", classes=[0, 1], id="who")


def id_sources(folder, who):
    data = pd.DataFrame({"who": who, "x": 0.5, "y": [0, 1] * (len(who) // 2)})
    data.to_parquet(folder / "d.parquet")
    feather.write_feather(data, folder / "d.arrow")
    feather.write_feather(data.astype({"who": "category"}), folder / "e.arrow")
    duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
    duck.execute("CREATE TABLE people AS SELECT * FROM data")
    data.to_sql("people", lite, index=False)
    return {
        "pandas": data,
        "category": data.astype({"who": "category"}),
        "polars": pl.from_pandas(data),
        "arrow": pa.Table.from_pandas(data, preserve_index=False),
        "parquet": folder / "d.parquet",
        "arrow file": folder / "d.arrow",
        "dictionary file": folder / "e.arrow",
        "csv": write_csv(data, folder / "d.csv"),
        "duckdb": Table(duck, "people"),
        "sqlite": Table(lite, "people"),
    }


@pytest.mark.parametrize("who", [["a", "b", "a", "c", "a", "d"], [7, 8, 7, 9, 7, 10]], ids=["texts", "numbers"])
def test_more_rows_per_person_than_promised_are_refused(who, tmp_path):
    for name, data in id_sources(tmp_path, who).items():
        for most in (1, 2):
            with pytest.raises(DataError, match=f"id column 'who' stands in more than {most} row"):
                collect(data, IDS, contributions=most)
        assert collect(data, IDS, contributions=3).counts.tolist() == [3, 3], name
        assert collect(data, IDS).counts.tolist() == [3, 3], name


def test_a_missing_id_is_refused(tmp_path):
    for name, data in id_sources(tmp_path, ["a", None, "b", "c"]).items():
        with pytest.raises(DataError, match="the id column 'who' has missing values"):
            collect(data, IDS, contributions=5)
            pytest.fail(name)


def test_an_id_column_that_is_not_there_is_refused():
    with pytest.raises(DataError, match="no column 'who'"):
        collect(pd.DataFrame({"x": [0.5], "y": [0]}), IDS, contributions=1)
    with pytest.raises(DataError, match="the schema names the id column 'who': pass a data frame"):
        collect(np.array([[0.5]]), IDS, [0], contributions=1)


def test_private_nb_enforces_contributions():
    data = pd.DataFrame({"who": ["a", "a", "b"], "x": 0.5, "y": [0, 1, 1]})
    with pytest.raises(DataError, match="raise contributions"):
        PrivateNB(schema=IDS).fit(data)
    assert PrivateNB(schema=IDS, contributions=2).fit(data).certificate_.contributions == 2


def test_a_nameless_column_such_as_a_written_index_is_no_feature(schema, frame, expected, tmp_path):
    frame.to_csv(tmp_path / "indexed.csv")
    assert count(tmp_path / "indexed.csv", schema) == expected


@pytest.mark.parametrize("values", [["p", 1, "p"], ["1", 2.5, None], [True, "unknown", pd.NA], [1, None, "q"]])
def test_values_of_several_types_in_one_column(values):
    cells = ["p", "1", "2.5", "q", "unknown", "true"]
    schema = Schema(features=[Categorical("a", cells, missing="category")], target="y", classes=["n", 1])
    data = pd.DataFrame({"a": pd.Series(values, dtype=object), "y": pd.Series(["n", 1, "n"], dtype=object)})
    found = count(data, schema)
    assert found == count(data[["a"]].to_numpy(dtype=object), schema, data["y"])
    assert found.tables["a"][:, -1].sum() == sum(v is None or v is pd.NA for v in values)


def test_bounds_beyond_what_doubles_resolve_give_the_same_sums_in_parts(path):
    schema = Schema(features=[Numeric("x", 2**53 - 1, 2**53 + 2, bins=2)], target="y", classes=[0, 1])
    X, y = np.full((4, 1), 2.0**60), [0, 1, 0, 1]
    whole = collect(X, schema, y)
    assert whole == collect(X[:2], schema, y[:2]) + collect(X[2:], schema, y[2:])
    assert whole.sums["x"].tolist() == [2 * schema.features[0].lattice.point(2**53 + 2)] * 2
