"""Sources: the only room that touches rows; they come out as exact Statistics or coded, whatever they came from.

`open` reads them, `register` adds a kind of source. Other rooms import from here alone, never from a module inside.
"""

from __future__ import annotations

from discreet.sources import files, lazy, spark, tables  # noqa: F401 - they register themselves
from discreet.sources.absorb import Absorbed, new_reading, watching
from discreet.sources.addresses import Address, is_address
from discreet.sources.asks import Workers
from discreet.sources.beside import checked_run
from discreet.sources.blocks import BLOCK, SMALL, Rows, in_threads, shared, spans, workers
from discreet.sources.carried import read_carried
from discreet.sources.coded import Cells, Held, cells_at, cells_of, encode_rows, hold, hold_rows
from discreet.sources.columns import GONE, Codes, Column, Numbers, Points, make_column
from discreet.sources.count import BINS
from discreet.sources.counted import CountedRows
from discreet.sources.fewer import Draw
from discreet.sources.files import spooled
from discreet.sources.frames import as_matrix, label_values, open_frame
from discreet.sources.held import HeldRows, Parts
from discreet.sources.kept import RowTable, keep_rows
from discreet.sources.keptcodes import CodedTable
from discreet.sources.kernels import compiled
from discreet.sources.lazy import has_names, is_lazy, picked
from discreet.sources.part import deal_rows
from discreet.sources.parted import collect_parted
from discreet.sources.program import Program
from discreet.sources.shape import charge, check_shape, trusting
from discreet.sources.source import (
    NO_ROWS,
    Progress,
    Source,
    check_columns,
    check_lasting,
    check_people,
    collect,
    is_aligned,
    is_outside,
    read_rows,
    rows_of,
)
from discreet.sources.source import open_source as open
from discreet.sources.spark import watched as watched_spark
from discreet.sources.spill import let_go
from discreet.sources.streams import Stream, opened, register, require
from discreet.sources.sweep import worthwhile
from discreet.sources.tables import Table

# fmt: off
__all__ = [
    "BINS",
    "BLOCK",
    "GONE",
    "NO_ROWS",
    "SMALL",
    "Absorbed",
    "Address",
    "Cells",
    "CodedTable",
    "Codes",
    "Column",
    "CountedRows",
    "Draw",
    "Held",
    "HeldRows",
    "Numbers",
    "Parts", "Points", "Program", "Progress",
    "RowTable",
    "Rows",
    "Source",
    "Stream",
    "Table",
    "Workers",
    "as_matrix",
    "cells_at",
    "cells_of",
    "charge",
    "check_columns",
    "check_lasting",
    "check_people",
    "check_shape",
    "checked_run",
    "collect",
    "collect_parted",
    "compiled",
    "deal_rows",
    "encode_rows",
    "has_names",
    "hold",
    "hold_rows",
    "in_threads",
    "is_address",
    "is_aligned",
    "is_lazy",
    "is_outside",
    "keep_rows",
    "label_values",
    "let_go",
    "make_column",
    "new_reading",
    "open",
    "open_frame", "opened",
    "picked",
    "read_carried", "read_rows",
    "register",
    "require",
    "rows_of",
    "shared", "spans", "spooled",
    "trusting",
    "watched_spark",
    "watching",
    "workers", "worthwhile",
]
# fmt: on
