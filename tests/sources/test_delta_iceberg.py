"""Tables of Delta and Iceberg through engines, which are replaced where they meet their extensions: the call that is
made, that nothing can be written, and the sentence where an extension is not there.
"""

from types import SimpleNamespace

import duckdb
import pytest

from discreet import Address, Budget, DataError, Ledger, PrivateNB, collect
from discreet.sources import spark as of_spark


class Extended:
    """A DuckDB whose extensions for tables of files are there: they read a Parquet file."""

    def __init__(self, connection):
        self.connection, self.asked = connection, []
        for scan in ("delta_scan", "iceberg_scan"):
            connection.execute(f"CREATE TEMP MACRO {scan}(place) AS TABLE SELECT * FROM read_parquet(place)")

    def execute(self, query, *parameters):
        self.asked.append((query, *parameters))
        return self.connection.execute("SELECT 1" if query.startswith("LOAD") else query, *parameters)

    def sql(self, query, **settings):
        self.asked.append((query, settings.get("params")))
        return self.connection.sql(query, **settings)

    def close(self):
        self.connection.close()


@pytest.fixture
def rows(frame, tmp_path):
    (tmp_path / "visits").mkdir()
    frame.to_parquet(tmp_path / "visits" / "part.parquet")
    return frame


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_duckdb_scans_a_table_that_lies_in_files_by_its_extension(kind, schema, rows, tmp_path, monkeypatch):
    made, connect = [], duckdb.connect

    def extended(*arguments, **settings):
        made.append((Extended(connect(*arguments, **settings)), arguments, settings))
        return made[-1][0]

    monkeypatch.setattr(duckdb, "connect", extended)
    place = f"{tmp_path}/visits/it's.parquet"  # a place goes as a parameter, whatever it holds
    (tmp_path / "visits" / "part.parquet").rename(place)
    table = Address("duckdb:", f"{kind}:{place}")
    assert collect(table, schema) == collect(rows, schema)
    assert PrivateNB(1.0, schema=schema).fit(table).certificate_.epsilon == "1"
    for one, *_ in made:
        asked = [query for query, *_ in one.asked]
        fetched = asked.index("SET autoinstall_known_extensions = false")
        assert fetched < asked.index(f"LOAD {kind}") and not any("INSTALL" in query for query in asked)
        read = [(query, *given) for query, *given in one.asked if "_scan" in query]
        assert read and all(f"FROM {kind}_scan(?)" in query and given == [place] for query, given in read)
        written = ("INSERT", "COPY", "CREATE", "ATTACH", "UPDATE", "DELETE")
        assert not any(query.startswith(written) for query in asked)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_an_extension_that_is_not_there_is_one_sentence_and_nothing_is_charged(kind, schema, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # where nobody has installed any
    ledger = Ledger(Budget(1))
    with pytest.raises(DataError, match=f"^DuckDB's {kind} extension is not installed: run INSTALL {kind} in DuckDB"):
        PrivateNB(1.0, schema=schema).fit(Address("duckdb:", f"{kind}:{tmp_path}"), ledger=ledger)
    assert not ledger.nodes


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_spark_is_asked_for_the_format(kind):
    calls = []

    def load(place):
        calls.append(place)
        if place == "/absent":
            raise RuntimeError(f"[DATA_SOURCE_NOT_FOUND] Failed to find the data source: {kind}. Make sure …")
        return "the frame"

    read = SimpleNamespace(format=lambda name: calls.append(name) or SimpleNamespace(load=load))
    assert of_spark.table_of(SimpleNamespace(read=read), (kind, "/data/visits")) == "the frame"
    assert calls == [kind, "/data/visits"]  # a reader alone: nothing is written
    with pytest.raises(DataError, match=f"^this Spark cannot read {kind} tables: name their package"):
        of_spark.table_of(SimpleNamespace(read=read), (kind, "/absent"))
    assert Address("spark:local[2]", f"{kind}:/data/visits").path == (kind, "/data/visits")
