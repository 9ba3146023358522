"""A CSV file whose engine begins when rows are wanted: a failed start is told each time, in the same words."""

import pytest

from discreet import DataError
from discreet.sources import files


def test_a_failed_start_is_tried_again(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n0,1\n")
    source = files.open_files(str(path))
    path.unlink()
    said = []
    for _ in range(2):
        with pytest.raises(DataError) as refused:
            source.items  # noqa: B018  # what begins the engine
        said.append(str(refused.value))
    assert said[0] == said[1]
    path.write_text("a,y\n0,1\n")
    assert source.items
    source.close()
