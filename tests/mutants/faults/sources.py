"""Faults of the reader: what a row adds must depend on that row and the schema alone, and nobody has too many rows."""

from tests.mutants.fault import Room

plant = Room("sources")
SOURCE = "sources/test_source.py"
KEPT = f"{SOURCE}::test_class_counts_are_of_the_rows_that_a_fit_keeps"
SHARED = f"{SOURCE}::test_other_bins_share_what_is_held_and_other_rules_read_again"
PEOPLE = f"{SOURCE}::test_class_counts_refuse_what_a_fit_refuses_of_people_and_labels"
ALONE = "test_total.py::test_a_row_is_read_alike_alone_and_among_others"
MANY = "test_total.py::test_every_source_keeps_as_many_rows_of_a_person"
SUMS = "sources/test_held.py::test_sums_are_exact_or_at_the_end_of_64_bits"
ONE = "sources/test_people.py::test_spellings_of_one_id_are_one_person_everywhere"
KEYS = "sources/test_shape.py::test_json_keys_cost_the_same_whether_a_line_has_them_or_not"
TRUST = "sources/test_counted.py::test_a_certificate_says_that_counts_were_taken_on_trust"
FILES = "sources/engines/test_spark_files.py::test"
SIDES = "evaluation/test_holdout.py::test_a_row_is_on_one_side_and_not_by_where_it_stands"

plant("read-before-the-charge", "sources/shape.py",
      "        check_columns(source, schema, labelled=labelled and not is_aligned(source), plan=plan)\n    return",
      "        check_columns(source, schema, labelled=labelled, plan=plan)\n"
      "        if schema is not None:\n"
      '            __import__("discreet").collect(source, schema)\n    return',
      "rows of a file are looked at before anybody has paid for them", "sources/test_shape.py::test_no_row_is_looked_at")
plant("keys-before-the-charge", "sources/jsonlines.py",
      "    def rejected(self)",
      "    def serve(self, schema: Any, plan: Any = None) -> None:\n"
      "        rows = list(self._rows())\n"
      "        if plan is not None and not all(any(name in row for row in rows) for name in schema.names):\n"
      '            raise DataError("a key is in no line")\n\n'
      "    def rejected(self)",
      "whether any line of JSON has a key is told to who has paid nothing", KEYS)
plant("names-before-the-charge", "sources/jsonlines.py",
      "        for path in paths:\n            with", "        len(self.names)\n        for path in paths:\n            with",
      "the first lines of JSON are read before anybody has paid for them", KEYS)
plant("not-charged", "sources/shape.py",
      "return payer.charge(plan.node, plan.budget, plan.unit, owner, schema=schema)",
      "return payer.afford(plan.budget, plan.node)",
      "no fit costs anything in the ledger", "sources/test_shape.py::test_a_good_source_is_charged")
plant("counts-taken-silently", "sources/counted.py",
      "return (COUNTED, APART) if self.apart else (COUNTED,)", "return ()",
      "a certificate does not say that counts in the place of rows were taken on trust", TRUST)
plant("parts-trusted-silently", "sources/counted.py",
      "told, parts = self.apart or other.apart or apart,", "told, parts = False,",
      "a certificate does not say that somebody's word keeps people in one part", TRUST)
plant("trust-not-certified", "privacy/certifier.py",
      "(*stated, *plan.trusts, ", "(*stated, ",
      "certificates leave out what was taken on trust", TRUST)
plant("trust-of-batches-lost", "bayes/release.py",
      "(*self.plan.trusts, *other.plan.trusts)", "(*self.plan.trusts,)",
      "what a later batch takes on trust is in no certificate", TRUST)
plant("changed-files-read", "sources/streams.py",
      "if after != before:", "if not limited and after != before:",
      "people have more rows than were counted, in a file that is written meanwhile",
      f"{SOURCE}::test_a_file_that_is_written_after_its_ids_were_counted_is_refused")
plant("changed-files-counted", "sources/streams.py",
      "if after != before:", "if limited and after != before:",
      "a row that moves while a file is read counts twice",
      f"{SOURCE}::test_a_file_that_is_written_while_it_is_read_is_refused")
plant("sides-of-files-that-changed", "sources/part.py",
      "if now != self.seen[0]:", "if False:",
      "rows that move in a file are trained on and held out",
      "evaluation/test_holdout.py::test_a_file_that_changes_between_its_sides_is_refused")
plant("changed-sides-counted", "sources/part.py",
      "        return self.inner.stamps()", "        return None",
      "a row that moves while a side is read counts twice",
      "evaluation/test_holdout.py::test_a_file_that_changes_while_a_side_is_read_is_refused")
plant("changing-statements-read", "sources/postgres.py",
      "        if not self.steady:\n            raise DataError(\n", "        if False:\n            raise DataError(\n",
      "ids and rows come from two states of a table",
      "sources/test_sql.py::test_ids_and_rows_that_two_statements_see_differently_are_refused")
plant("part-merged-twice", "sources/counted.py",
      "if set(self.parts) & set(other.parts):", "if False:",
      "every row of a part counts twice at the price of one",
      "sources/test_counted.py::test_a_part_is_merged_once")
plant("dealt-by-order-of-codes", "nodes/estimator.py",
      "is_outside(X) and not is_aligned(X)", "False",
      "which node holds a row depends on other rows of its partition",
      "nodes/test_estimator.py::test_rows_without_an_order_are_not_dealt_by_place")
plant("left-out-rows-counted", "sources/asks.py",
      "label = checked(rows).label", "label = rows.label",
      "class counts have rows that the model leaves out for what other columns hold", KEPT)
plant("labels-alone-counted", "sources/asks.py",
      "        if source.total:\n            found = source.map(_fitting_labels)",
      "        if False:\n            found = source.map(_fitting_labels)",
      "class counts of a file are those of its labels, whatever rows the model leaves out", KEPT)
plant("people-not-checked", "sources/source.py",
      "            refuse_people(self.schema, self.contributions, people)\n", "            return True\n",
      "people have more rows than the noise is for", PEOPLE)
plant("people-not-reduced", "sources/source.py",
      "return not people.missing and people.most()[0] <= self.contributions", "return True",
      "people keep more rows than the noise is for", MANY)
plant("rows-without-id-stay", "sources/fewer.py",
      "kept.append(self.unknown or key is not None)", "kept.append(True)",
      "rows of nobody knows whom stay, whatever their number", MANY)
plant("one-row-too-many", "sources/fewer.py",
      'np.argsort(numbers, kind="stable")[:most]', 'np.argsort(numbers, kind="stable")[: most + 1]',
      "people keep a row more than the noise is for", MANY)
plant("people-forgotten-between-batches", "sources/fewer.py",
      "        kept = []\n        for key in keys:\n", "        kept = []\n        self.met.clear()\n        for key in keys:\n",
      "a person keeps as many rows of every batch as of all together",
      f"{SOURCE}::test_a_person_keeps_as_many_rows_however_they_come_in_batches")
plant("choice-by-position", "sources/fewer.py",
      'np.argsort(numbers, kind="stable")[:most]', "np.arange(size)[:most]",
      "which rows of a person stay follows from where they stand, not from coins of their own",
      "exhaustive/test_total.py::test_the_choice_is_even_and_knows_nothing_but_the_number_of_rows")
plant("spellings-are-people", "sources/people.py",
      "        if pc.any(numbered).as_py():\n", "        if False:\n",
      "one person with an id in two spellings counts as two", ONE)
plant("missing-ids-unseen", "sources/people.py",
      "        if gone.any():\n            self.missing = True\n", "        if gone.any():\n",
      "rows without an id are not noticed", "sources/test_people.py::test_a_missing_id_is_refused_beside_any_other")
plant("absorbed-where-most-are", "sources/absorb.py",
      "    codes[bad] = place\n", "    codes[bad] = np.bincount(codes[~bad], minlength=1).argmax()\n",
      "a value without a place goes to the cell that most other rows have", ALONE)
plant("absorbed-number-is-the-median", "sources/absorb.py",
      "values[bad] = np.nan", "values[bad] = np.nanmedian(np.where(bad, 0.0, values))",
      "a number without a place counts as one in the middle of the other rows", ALONE)
plant("one-bad-row-takes-all", "sources/absorb.py",
      "                kept &= ~bad\n", "                kept &= not bad.any()\n",
      "one row without a place leaves out every other row of its batch", ALONE)
plant("held-under-any-schema", "sources/source.py",
      "if shared and (found.draw is None) == (data.draw is None) and _without_bins(data.schema) == _without_bins(schema):", "if shared:",
      "rows coded by other bounds and classes are taken for those of this schema", SHARED)
plant("held-under-other-bounds", "sources/source.py",
      "(one.name, one.lower, one.upper, one.lattice, one.missing_code is None, one.reading)\n        if", "(one.name,)\n        if",
      "numbers clipped to other bounds are taken for those of this schema", SHARED)
plant("held-under-another-reading", "sources/source.py", "one.missing_code is None, one.reading)",
      "one.missing_code is None)", "numbers that another rule read from texts are taken for those of this schema",
      "sources/test_numbers_as_they_come.py::test_what_is_held_is_not_shared_with_other_rules")
plant("scaled-in-the-engine", "sources/sqlcount.py", "else NUMBERS if one.direct else ())", "else NUMBERS)",
      "an engine counts a number that is on a scale as if it were its own place",
      "sources/test_sql.py::test_an_engine_counts_no_number_that_is_on_a_scale_and_no_date")
plant("held-under-any-rules", "sources/source.py",
      "shared = isinstance(data, Source) and (data.labelled, data.contributions, data.unexpected) == rules",
      "shared = isinstance(data, Source)",
      "rows of people with too many are shared with a fit that has to refuse them", SHARED)
plant("sums-wrap", "sources/held.py",
      "return np.where(over, np.where(upper < 0, ends.min, ends.max), found)", "return found",
      "a sum that leaves 64 bits comes out at the other end", SUMS)
plant("batches-wrap", "statistics.py",
      "return np.where(over, np.where(left < 0, -_LIMIT - 1, _LIMIT), total) if over.any() else total", "return total",
      "a sum over batches that leaves 64 bits comes out at the other end",
      "test_total.py::test_sums_that_leave_64_bits_are_held_there")
plant("dealt-by-index", "sources/part.py",
      "held_out = coins.held(0, rows.size, keys)", "held_out = np.arange(rows.size) % 5 == 0",
      "a row more shifts every other row between training and testing", SIDES)
plant("trained-on-all", "sources/part.py",
      "return rows.take(np.flatnonzero(~held_out)), ", "return rows.take(np.arange(rows.size)), ",
      "rows held out are trained on as well, and the cost is that of one", SIDES)
plant("file-trained-on-all", "sources/part.py",
      "mine = coins.held(start, size, keys) == self.part.held",
      "mine = (coins.held(start, size, keys) == self.part.held) | (not self.part.held)",
      "rows of a file that are held out are trained on as well",
      "evaluation/test_holdout.py::test_the_sides_of_a_file_have_every_row_once")
plant("seeded-choice-for-a-real-fit", "sources/source.py",
      "if shared and (found.draw is None) == (data.draw is None) and ", "if shared and ",
      "rows that a seed chose among those of a person serve a fit that is said to be no simulation",
      "sources/test_source.py::test_rows_that_a_seed_chose_do_not_serve_a_fit_that_no_seed_repeats")
BESIDE = "sources/test_beside.py"
plant("people-of-partitions-apart", "sources/people.py",
      "        fresh._salt, fresh._factors = self._salt, self._factors\n", "",
      "a person with rows in two partitions counts as two",
      f"{BESIDE}::test_people_are_counted_over_all_partitions")
plant("refusal-of-a-worker-unheard", "sources/beside.py",
      '        if "refused" in head:\n', "        if False:\n",
      "rows of a partition with a value that has no place are left out in silence",
      f"{BESIDE}::test_a_bad_row_is_refused_in_the_same_words")
plant("workers-read-by-other-rules", "sources/asks.py",
      "times.astype(np.uint32)", "np.minimum(times, 1).astype(np.uint32)",
      "rows that are alike count once",
      f"{BESIDE}::test_alike_rows_travel_once_and_count_as_often_as_they_are")
plant("a-crowd-beside-the-rows", "sources/source.py",
      "            if self._within(stream):\n                task", "            if True:\n                task",
      "workers count all rows of people who have too many",
      f"{BESIDE}::test_people_are_counted_over_all_partitions")

SWEEP = "sources/test_sweep.py::test_every_column_counts_as_on_the_plain_path"
plant("sweep-rounds-otherwise", "sources/sweep.py",
      "_ROUND = 1.5 * 2.0**52", "_ROUND = 1.5 * 2.0**51",
      "numbers of large tables are rounded otherwise than those of small ones", SWEEP)
plant("rows-between-threads-count-twice", "sources/blocks.py",
      "return list(pairwise(ends))", "return [(a, min(b + 1, size)) for a, b in pairwise(ends)]",
      "a row counts twice where the rows of two threads meet", SWEEP)
plant("points-that-waited-count-again", "sources/sweep.py",
      "waiting = (at - start) % room if room else 0", "waiting = (at - start) % (room + tile) % room if room else 0",
      "points of some rows are counted in place of others",
      "sources/test_sweep.py::test_points_that_wait_are_counted_once")
plant("columns-beside-each-other-swapped", "sources/sweep.py",
      "for lanes in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in (low, high)",
      "for lanes in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in (high, low)",
      "columns of a matrix are read in each other's place",
      "sources/test_sweep.py::test_columns_that_lie_beside_each_other_count_as_on_the_plain_path")
plant("a-gap-between-columns-overlooked", "sources/program.py",
      "near = whole[j, ADDRESS] == whole[last, ADDRESS] + widths[j]", "near = whole[j, ADDRESS] > whole[last, ADDRESS]",
      "a column of a matrix is read as the one after it",
      "sources/test_sweep.py::test_fours_are_columns_of_one_matrix")

PAGES = "sources/test_pages.py::test"
plant("indices-beyond-their-dictionary", "sources/pagecode.py",
      "return -1 if most == WRONG else size", "return size",
      "an index that no dictionary has is counted somewhere",
      f"{PAGES}_an_index_beyond_its_dictionary_is_refused")
plant("missing-in-pages-is-the-first-cell", "sources/pages.py",
      "column.gone, valid, out[done:]", "0, valid, out[done:]",
      "missing values of Parquet files count for the first cell",
      f"{PAGES}_usual_files_are_counted_without_decoding")
plant("cells-that-no-schema-has", "sources/count.py",
      "return None if counts[classes] or any(table.bad for table in tables) else _statistics",
      "return None if counts[classes] else _statistics",
      "rows of Parquet files that should be refused are counted",
      f"{PAGES}_values_without_a_cell_are_left_to_the_reader_of_rows")
plant("pages-unpack-to-any-size", "sources/pagecode.py",
      "elif _unpacked(data, start, at, codec) != whole:", "elif _unpacked(data, start, at, codec) < 0:",
      "bytes that nobody wrote are counted as values",
      f"{PAGES}_a_page_that_unpacks_to_more_than_it_says_is_refused")
plant("frames-that-end-in-the-next-page", "sources/pagecode.py",
      "if not _is_frame(data, start, at) or page[BODY] - begin < 8:", "if page[BODY] - begin < 8:",
      "bytes of one page are taken for those of another",
      f"{PAGES}_a_page_is_one_frame_from_end_to_end")
plant("room-for-any-page", "sources/pages.py",
      "if (places[:, WHOLE] > _PAGE).any():", "if (places[:, WHOLE] < 0).any():",
      "a few bytes of a file take all memory",
      f"{PAGES}_a_page_of_absurd_size_is_refused_before_it_is_unpacked")
plant("room-for-any-chunk", "sources/pages.py",
      " or size > os.fstat(file).st_size - start", "",
      "a footer takes memory for bytes that its file does not have",
      f"{PAGES}_a_chunk_that_is_larger_than_its_file_is_refused_before_there_is_room_for_it")
plant("types-of-the-file-that-was-there", "sources/pages.py",
      " or now != list(fields)", "",
      "a file that took another's place is counted by columns that it does not have",
      f"{PAGES}_a_file_that_another_takes_the_place_of_is_counted_by_its_own_types")
plant("values-of-another-width", "sources/pages.py",
      " or int(stored[2]) != max(4, holds.itemsize)", "",
      "bytes beyond a page are counted as values",
      f"{PAGES}_values_are_of_the_width_and_family_that_their_type_says")
plant("plain-numbers-with-a-sign", "sources/pages.py",
      'bits, self.kind.kind == "i"], np.int64)', "bits, True], np.int64)",
      "a number without a sign has another cell in a page than beside its dictionary",
      f"{PAGES}_plain_values_of_every_type_fall_into_the_bins_of_their_doubles")
plant("gzip-of-any-length", "sources/pages.py",
      "if len(page) != size or not reader.eof or reader.unused_data:", "if len(page) > size:",
      "memory that nobody wrote is counted as values",
      f"{PAGES}_a_page_of_gzip_is_one_member_and_nothing_else")
plant("rows-vanish-from-damaged-files", "sources/files.py",
      "    if missing:  #", "    if False:  #",
      "rows of a damaged file are left out without a word",
      f"{PAGES}_rows_do_not_vanish_where_a_column_has_too_few_values")
plant("footers-of-chunks-elsewhere", "sources/footer.py",
      "_CHUNK: _Shape = {1: (_NEVER, None), 3:", "_CHUNK: _Shape = {3:",
      "bytes of this file are counted for those of another",
      "sources/test_footer.py::test_chunks_in_other_files_and_encrypted_ones_are_not_for_us")

# ---- counting inside engines

SQL = "sources/test_sql.py"
TIES = f"{SQL}::test_ties_ends_and_neighbours_of_every_point_are_rounded_alike"
LEFT = f"{SQL}::test_a_row_is_left_out_for_any_column_and_every_absorbed_value_is_told"
plant("ties-away-from-zero-in-sql", "sources/sql.py",
      '"round_even({}, 0)"', '"round({})"',
      "an engine rounds ties otherwise than the lattice does", TIES)
plant("numbers-not-clipped-in-sql", "sources/sql.py",
      "{value} > {number(feature.lower)} AND {value} < {number(feature.upper)}", "{value} > {number(-1e300)} AND {value} < {number(1e300)}",
      "a number lies beyond the ends of its lattice, and the noise is for less", TIES)
plant("infinite-numbers-clipped-in-sql", "sources/sql.py",
      "f\"{infinite if kind in {'double', 'real', 'numeric'} else ''}\"", 'f""',
      "an infinite number counts as the bound, where rows in memory are refused",
      f"{SQL}::test_a_bad_value_is_refused_by_the_sentence_of_a_local_reading")
plant("texts-by-collation", "sources/sql.py",
      '\'{} COLLATE "C"\'', '"{}"',
      "texts that a collation takes for equal are one category, whichever of them comes first",
      f"{SQL}::test_texts_are_parted_by_their_bytes_whatever_the_collation")
plant("truth-values-as-they-are-in-sql", "sources/sql.py",
      "            return f\"CAST(CAST({item} AS integer) AS {self.double})\"", "            return item",
      "a truth value is no number to an engine", f"{SQL}::test_people_are_counted_by_the_server_as_they_are_here")
plant("rows-leave-for-one-column", "sources/sqlcount.py",
      'self._stays(name, one) for name, one in leaving.items()', 'self._stays(name, one) for name, one in list(leaving.items())[:1]',
      "rows with a value that has no place are counted, or whole tables streamed for them", LEFT)
plant("states-of-a-table-mixed", "sources/sqlcount.py",
      '            if "" in found and not np.array_equal(found[""].table, part[""].table):\n', "            if False:\n",
      "statistics are put together of different states of a table",
      f"{SQL}::test_statements_that_see_different_rows_are_not_put_together")
plant("sums-wrap-in-sql", "sources/sqlcount.py",
      "        if not self.total:\n            raise StatisticsError(OVERFLOW)\n        return _LIMIT if value > 0 else -_LIMIT - 1",
      "        return (value + _LIMIT + 1) % 2**64 - _LIMIT - 1",
      "a sum past 64 bits wraps, and moves by more than the noise is for",
      f"{SQL}::test_sums_do_not_wrap_and_end_where_64_bits_do")
plant("ids-by-spelling-in-sql", "sources/postgres.py",
      "        if several:\n", "        if False:\n",
      "ids that write one number in two ways are two people",
      f"{SQL}::test_people_are_counted_by_the_server_as_they_are_here")
CODED = "sources/test_sqlcoded.py"
AS_MEMORY = f"{CODED}::test_what_is_absorbed_or_refused_is_what_memory_absorbs_or_refuses"
OCTAVES = f"{CODED}::test_octaves_are_told_apart_to_the_last_bit"
plant("ties-away-from-zero-in-postgresql", "sources/sql.py",
      '"bigint", "round({})"', '"bigint", "round(CAST({} AS numeric))"',
      "a server rounds ties otherwise than the lattice does", TIES)
plant("alike-rows-of-a-server-once", "sources/sqlcoded.py",
      "ends = np.cumsum(packed[:, -1])", "ends = np.cumsum(np.minimum(packed[:, -1], 1))",
      "rows that are alike count once", f"{CODED}::test_alike_rows_come_once_and_count_as_often_as_they_are")
plant("infinite-numbers-of-a-server-kept", "sources/sqlcoded.py",
      "= GONE, ODD", "= GONE, 0",
      "a row with an infinite number is held as one in the middle, where memory leaves it out", AS_MEMORY)
plant("bad-categories-of-a-server-kept", "sources/sqlcoded.py",
      "        code = self.engine.dialect.coded(*view[feature.name], values, cells + 1)\n",
      "        values = {one: min(code, cells - 1) for one, code in values.items()}\n"
      "        code = self.engine.dialect.coded(*view[feature.name], values, cells + 1)\n",
      "rows with a value without a place are held as of the last category", AS_MEMORY)
plant("unseen-values-of-a-server", "sources/sqlcoded.py",
      "        if (codes > cells).any():\n", "        if False:\n",
      "values that another statement has not seen are taken for bad ones",
      f"{CODED}::test_where_statements_may_see_different_rows_one_statement_reads_them")
plant("statements-of-other-rows-coded", "sources/sqlcoded.py",
      ".values() if self.engine.steady else None", ".values()",
      "values are listed of one state of a table, and rows coded of another",
      f"{CODED}::test_where_statements_may_see_different_rows_one_statement_reads_them")
plant("parts-of-octaves-rounded-in-sql", "sources/sql.py",
      " - 1) * {parts}) AS", " - 1) * {parts} + 0.5) AS",
      "private bounds count a number in the part next to its own", OCTAVES)
plant("limits-of-octaves-in-sql", "sources/sql.py",
      "(parts - 1 if sign > 0 else 0)", "0",
      "numbers at the upper limit count as the least of their octave", OCTAVES)
plant("scores-of-curves-by-codes", "bayes/model.py",
      "self.by_codes = all(one.by_cell is not None for one in self.likelihoods)", "self.by_codes = True",
      "a private evaluation scores rounded numbers where the model has curves",
      f"{CODED}::test_bounds_and_evaluations_ask_for_no_raw_values")
plant("limits-of-merged-parts", "sources/counted.py",
      "(max(most) if apart else sum(most))", "max(most)",
      "a person with rows in two merged files has more than the noise is for",
      "sources/test_counted.py::test_limits_of_people_add_up_unless_nobody_is_in_two_parts")
plant("password-in-an-address", "sources/addresses.py",
      "        if self.file is None and _has_secret(self.address):\n", "        if False:\n",
      "passwords stand on command lines", "e2e/test_database_cli.py::test_a_bad_address_is_one_sentence")
plant("plans-taken-for-plain-files", "sources/sparkfiles.py",
      "        if not all(_is(listed.apply(i), _ATTRIBUTE) for i in range(listed.size())):\n            return None\n", "",
      "columns that a query computes are read from its files as they were", f"{FILES}_no_other_plan_is_taken_for_plain_files")
plant("changed-files-read-by-executors", "sources/sparkfiles.py",
      "if (found.st_size, found.st_mtime_ns) != stamp:", "if False:",
      "tasks read different states of a file, and a row in two of them",
      f"{FILES}_a_file_that_changes_before_it_is_read_is_refused")
plant("numbers-of-several-ids-choose-rows", "sources/fewer.py",
      "frozenset() if several(key) else choose_places(size, most, draw)", "choose_places(size, most, draw)",
      "rows of a person push out those of another whose long id has the same double, and take their place",
      "sources/test_people.py::test_a_number_that_may_stand_for_several_ids_keeps_none_of_too_many_rows")
plant("volatile-policies-read-twice", "sources/postgres.py",
      "WHERE c.relrowsecurity AND p.polcmd IN ('*', 'r') ", "WHERE false AND p.polcmd IN ('*', 'r') ",
      "ids of a table are counted by one answer of its row policy, and rows by another",
      "sources/test_sql.py::test_a_row_policy_that_answers_differently_each_time_is_refused_too")
plant("volatile-operators-read-twice", "sources/postgres.py",
      "opfuncid|aggfnoid|winfnoid|opno|opnos|", "aggfnoid|winfnoid|",
      "ids of a view whose operator is volatile are counted in one answer of it, and rows in another",
      "sources/test_sql.py::test_a_view_that_answers_differently_each_time_is_refused_where_people_have_a_limit")
plant("volatile-views-read-twice", "sources/postgres.py",
      "        if self.volatile:\n            raise", "        if False:\n            raise",
      "ids of a view are counted in one answer of it, and rows in another",
      "sources/test_sql.py::test_a_view_that_answers_differently_each_time_is_refused_where_people_have_a_limit")
plant("digests-of-several-ids-look-like-one", "sources/asks.py",
      "first & 0x7F | (0x80 if several(key) else 0)", "first & 0x7F",
      "ids that share a double push out each other's rows once they are digests",
      "sources/test_keptcodes.py::test_a_digest_that_several_ids_may_have_keeps_none_of_too_many_rows")
