"""Page code: machine code that finds the pages of a Parquet column, unpacks their codes and counts these.

No length that a file states is believed: every place is held against the end of the bytes before it is read, every
index against its dictionary. What does not fit, or is not known here, is answered by −1, and other readers see to it.

The rule of bins is the sweep's own, and the compiler looks at the age of this file alone: a test asks for its checksum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.loops import once
from discreet.sources import sweep
from discreet.sources.sweep import BASE, BOTTOM, FACTOR, INVERSE, MIDDLE, TILE, TOP

# What is found of a page: its kind, bytes packed and not, values, encoding, where its body begins, and of pages of the
# second version the bytes of levels and whether values are packed.
KIND, WHOLE, PACKED, VALUES, ENCODING, BODY, LEVELS, REPEATS, SQUEEZED = range(9)
DATA, DICTIONARY, DATA_2 = 0, 2, 3  # kinds of pages
RAW, SNAPPY, ZSTD, GZIP = range(4)
BYTES, BITS, SIGNED = range(3)  # of a plain value: how long it is in a page, and of whole numbers the bits that count
WRONG = 255  # no column has so many codes
EVEN_BIN = "e9a7685a0ae3"  # the checksum of the rule of bins and of its constants


def _page_headers(data: Any, size: int, codec: int, found: Any) -> Any:
    """The pages of a column chunk, a row of `found` each, and how many they are.

    Headers are structs of Thrift's compact protocol, at most three deep. Where values are packed, the packed bytes say
    to how many they unpack; that must be what the header says, for nobody compares them later.

    Of Zstandard a page must be one frame, from end to end, so that neighbouring pages can be unpacked in one go: once
    it is read, a header is made into a frame that is to be skipped.
    """
    at: Any = 0
    many: Any = 0
    begin: Any = 0
    last = np.zeros(4, np.int64)
    while at < size:
        if many == len(found):
            return -1
        page, begin = found[many], at
        page[:] = -1
        page[LEVELS], page[REPEATS], page[SQUEEZED] = 0, 0, 1
        depth, under = 0, 0
        levels: Any = 3
        last[0] = 0
        while True:
            if at >= size:
                return -1
            head = np.int64(data[at])
            at += 1
            if head == 0:
                if depth == 0:
                    break
                depth -= 1
                continue
            kind, step = head & 15, head >> 4
            if step == 0:
                return -1
            last[depth] += step
            field, value = last[depth], np.int64(0)
            if kind == 1 or kind == 2:
                value = np.int64(kind == 1)
            elif kind == 4 or kind == 5 or kind == 6 or kind == 8:
                raw, shift = np.int64(0), np.int64(0)
                while True:
                    if at >= size or shift > 56:
                        return -1
                    one = np.int64(data[at])
                    at += 1
                    raw |= (one & 127) << shift
                    shift += 7
                    if one < 128:
                        break
                if kind == 8:
                    if raw > size - at:
                        return -1
                    at += raw
                    continue
                value = (raw >> 1) ^ -(raw & 1)
            elif kind == 12 and depth < 3:
                under = field if depth == 0 else under
                depth += 1
                last[depth] = 0
                continue
            elif kind == 3 or kind == 7:
                at += 1 if kind == 3 else 8
                continue
            else:
                return -1
            if depth == 0:
                if field == 1:
                    page[KIND] = value
                elif field == 2:
                    page[WHOLE] = value
                elif field == 3:
                    page[PACKED] = value
            elif depth == 1 and (under == 5 or under == 7):
                if field == 1:
                    page[VALUES] = value
                elif field == 2:
                    page[ENCODING] = value
                elif field == 3 and under == 5:
                    levels = value
            elif depth == 1 and under == 8:
                if field == 1:
                    page[VALUES] = value
                elif field == 4:
                    page[ENCODING] = value
                elif field == 5:
                    page[LEVELS] = value
                elif field == 6:
                    page[REPEATS] = value
                elif field == 7:
                    page[SQUEEZED] = value
        known = page[KIND] == DATA or page[KIND] == DICTIONARY or page[KIND] == DATA_2
        if not known or levels != 3 or page[VALUES] < 0 or page[ENCODING] < 0 or page[REPEATS] != 0:
            return -1
        page[BODY] = at
        packed, whole, front = page[PACKED], page[WHOLE], page[LEVELS]
        if packed < 0 or packed > size - at or front < 0 or front > packed or front > whole:
            return -1
        at += packed
        start, packed, whole = page[BODY] + front, packed - front, whole - front
        if codec == RAW or page[SQUEEZED] == 0 or (packed == 0 and whole == 0):
            page[SQUEEZED] = 0
            if packed != whole:
                return -1
        elif _unpacked(data, start, at, codec) != whole:
            return -1
        elif codec == ZSTD:
            if not _is_frame(data, start, at) or page[BODY] - begin < 8:
                return -1
            skipped = np.uint64(start - begin - 8) << np.uint64(32) | np.uint64(0x184D2A50)
            for k in range(8):
                data[begin + k] = np.uint8(skipped >> np.uint64(8 * k) & np.uint64(255))
        many += 1
    return many


def _unpacked(data: Any, at: Any, stop: int, codec: int) -> Any:
    """To how many bytes packed ones unpack, as their own format says; its library holds them to that."""
    result: Any = np.int64(0)
    places: Any = 0
    if codec == SNAPPY:
        while at < stop and places < 5:
            result |= (np.int64(data[at]) & 127) << (7 * places)
            places += 1
            at += 1
            if data[at - 1] < 128:
                return result
        return -1
    if codec == GZIP:  # the last four bytes of its only member
        at, places = stop - 4, 4
    else:
        if stop - at < 5 or data[at] != 0x28 or data[at + 1] != 0xB5 or data[at + 2] != 0x2F or data[at + 3] != 0xFD:
            return -1
        said = np.int64(data[at + 4])
        single, kind = (said >> 5) & 1, said >> 6
        places = 1 << kind
        if places == 1 and not single:
            return -1
        named = said & 3
        at += 5 + (1 - single) + ((1 << named) >> 1)
    if at < 0 or stop - at < places:
        return -1
    for k in range(places):
        result |= np.int64(data[at + k]) << (8 * k)
    return result + 256 if codec == ZSTD and places == 2 else result


def _is_frame(data: Any, at: Any, stop: int) -> Any:
    """Whether the blocks of a frame of Zstandard, whose head was looked at by `_unpacked`, end where its bytes do."""
    said = np.int64(data[at + 4])
    single, kind, named = (said >> 5) & 1, said >> 6, said & 3
    places = 1 << kind
    if places == 1 and not single:
        return False
    at += 5 + (1 - single) + ((1 << named) >> 1) + places
    last: Any = np.int64(0)
    while not last:
        if stop - at < 3:
            return False
        block = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
        last, form = block & 1, (block >> 1) & 3
        size = np.int64(1) if form == 1 else block >> 3
        if form == 3 or size > stop - at - 3:
            return False
        at += 3 + size
    return at + (4 if said & 4 else 0) == stop


def _coded(
    data: Any, page: Any, places: Any, optional: Any, table: Any, plain: Any, column: Any, end: float, gone: Any,
    valid: Any, out: Any,
) -> Any:  # fmt: skip
    """The codes of rows of pages, whose bytes lie unpacked one after the other; how many rows they are.

    `table` has the code of each entry of the dictionary, and is empty where there is none; `plain` says what values
    are that lie there themselves, BYTES of 0 that those have no bins of equal width, which `column` and `end` are of.
    `gone` is the code of a missing value. Levels of pages of the second version lie in `data`, the column chunk.
    """
    at: Any = 0
    done: Any = 0
    for p in range(len(places)):
        values, size, front = places[p, VALUES], places[p, WHOLE] - places[p, LEVELS], places[p, LEVELS]
        if values > len(out) - done or size > len(page) - at:
            return -1
        mine = out[done : done + values]
        first, stop, present = at, at + size, values
        if optional:
            if places[p, KIND] == DATA_2:
                present = _page_levels(data, places[p, BODY], places[p, BODY] + front, values, valid)
            else:
                if size < 4:
                    return -1
                first = at + 4
                for k in range(4):
                    first += np.int64(page[at + k]) << (8 * k)
                if first > stop:
                    return -1
                present = _page_levels(page, at + 4, first, values, valid)
        if present < 0:
            return -1
        way = places[p, ENCODING]
        if (way == 2 or way == 8) and len(table) > 0:
            if _indexed(page, first, stop, table, mine[:present]) < 0:
                return -1
        elif way == 0 and plain[BYTES] > 0 and present * plain[BYTES] <= stop - first:
            _binned(page, first, plain, column, end, mine[:present])
        else:
            return -1
        if present < values:
            _spread(valid, present, gone, mine)
        at, done = stop, done + values
    return done


def _binned(page: Any, at: Any, plain: Any, column: Any, end: float, out: Any) -> None:
    """The bins of numbers that lie in bytes from a place on, wherever it is, by the reals of a column."""
    values = np.empty(TILE, np.float64)
    raw, wholes, halves, singles = (
        values.view(np.uint8),
        values.view(np.int64),
        values.view(np.int32),
        values.view(np.float32),
    )
    size, bits = plain[BYTES], plain[BITS]
    for start in range(0, len(out), TILE):
        many = min(TILE, len(out) - start)
        near, mine, each = page[at + size * start :], out[start:], np.uint64(many)
        for i in range(np.uint64(size * many)):
            raw[i] = near[i]
        if size == 4 and bits == 0:
            for i in range(many - 1, -1, -1):
                values[i] = np.float64(singles[i])
        elif bits > 0:
            for i in range(many - 1, -1, -1):
                number = np.int64(halves[i]) if size == 4 else wholes[i]
                number = number << np.int64(64 - bits)
                if plain[SIGNED]:
                    values[i] = np.float64(number >> np.int64(64 - bits))
                else:
                    values[i] = np.float64(np.uint64(number) >> np.uint64(64 - bits))
        for i in range(each):
            mine[i] = _even(
                values[i], column[MIDDLE], column[INVERSE], column[BOTTOM], column[TOP], column[FACTOR], column[BASE],
                end,
            )  # fmt: skip


def _page_levels(data: Any, at: Any, stop: int, size: int, valid: Any) -> Any:
    """How many of so many values are there, −1 if the levels are wrong; which, if some are not."""
    done: Any = 0
    present: Any = 0
    while done < size:
        head, at = _varint(data, at, stop)
        many = min((head >> 1) * (8 if head & 1 else 1), size - done)
        if head < 0 or many <= 0:
            return -1
        if head & 1:
            if head >> 1 > stop - at:
                return -1
            for k in range(many):
                bit = (data[at + (k >> 3)] >> np.uint8(k & 7)) & np.uint8(1)
                valid[done + k] = bit
                present += bit
            at += head >> 1
        else:
            if at >= stop or data[at] > 1:
                return -1
            if data[at] == 1:
                if many == size:
                    return size
                present += many
            valid[done : done + many] = data[at]
            at += 1
        done += many
    return present


def _varint(data: Any, at: Any, stop: int) -> Any:
    """A number below 2**35 and the place after it; −1 if there is none."""
    result, shift = np.int64(0), np.int64(0)
    while at < stop and shift < 35:
        one = np.int64(data[at])
        at += 1
        result |= (one & 127) << shift
        shift += 7
        if one < 128:
            return result, at
    return np.int64(-1), at


def _indexed(data: Any, at: Any, stop: int, table: Any, out: Any) -> Any:
    """Codes by the indices of a page: runs of one index, and groups of eight packed ones; −1 if they are wrong.

    `table` has the code of each entry of the dictionary, and then WRONG: at least 256 places in all.
    """
    size: Any = len(out)
    done: Any = 0
    if size == 0:
        return 0
    if at >= stop or data[at] > 32:
        return -1
    width, beyond = np.int64(data[at]), np.uint64(len(table) - 1)
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    at += 1
    while done < size:
        head, at = _varint(data, at, stop)
        many = min((head >> 1) * (8 if head & 1 else 1), size - done)
        if head < 0 or many <= 0:
            return -1
        if head & 1:
            if (head >> 1) * width > stop - at:
                return -1
            here: Any = np.int64(0)
            if width <= 8:
                # Eight of them begin with a byte; eight bytes hold them.
                whole = max(0, min(many // 8, (stop - at - 8 + width) // width if width else many // 8))
                if width == 0 and stop - at < 8:
                    whole = 0
                w = np.uint64(width)
                for g in range(np.uint64(whole)):
                    word, to = _eight(data, np.uint64(at) + g * w), np.uint64(done) + g * np.uint64(8)
                    for k in range(np.uint64(8)):
                        out[to + k] = table[(word >> (k * w)) & mask]
                here = 8 * np.int64(whole)
            else:
                safe = min(many, (stop - at - 8) * 8 // width) if stop - at >= 8 else 0
                for k in range(np.uint64(safe)):
                    bit = k * np.uint64(width)
                    spot: Any = (_eight(data, np.uint64(at) + (bit >> np.uint64(3))) >> (bit & np.uint64(7))) & mask
                    out[np.uint64(done) + k] = table[min(spot, beyond)]
                here = safe
            for k in range(here, many):
                item: Any = np.uint64(0)
                for b in range(width):
                    place = k * width + b
                    if (data[at + (place >> 3)] >> np.uint8(place & 7)) & np.uint8(1):
                        item |= np.uint64(1) << np.uint64(b)
                out[done + k] = table[min(item, beyond)]
            at += (head >> 1) * width
        else:
            if (width + 7) // 8 > stop - at:
                return -1
            entry: Any = np.uint64(0)
            for b in range((width + 7) // 8):
                entry |= np.uint64(data[at + b]) << np.uint64(8 * b)
            at += (width + 7) // 8
            out[done : done + many] = table[min(entry, beyond)]
        done += many
    most = np.uint8(0)
    for k in range(np.uint64(size)):
        most = max(most, out[k])
    return -1 if most == WRONG else size


def _eight(data: Any, at: Any) -> Any:
    """Eight bytes as one number, the lowest first."""
    word = np.uint64(data[at])
    for k in range(np.uint64(1), np.uint64(8)):
        word |= np.uint64(data[at + k]) << (np.uint64(8) * k)
    return word


def _spread(valid: Any, present: int, gone: int, out: Any) -> None:
    """Put the first codes where values are, and the code of a missing one elsewhere."""
    for k in range(len(out) - 1, -1, -1):
        if valid[k]:
            present -= 1
            out[k] = out[present]
        else:
            out[k] = gone


def _tallied(codes: Any, cells: Any, ends: Any, firsts: Any, joint: Any) -> None:
    """joint[firsts[g]:] counts rows by the index of a group of columns: the label, then index·cells + code of each.

    The label is the first row of `codes`; columns lie in the order of their groups.
    """
    index = np.empty(TILE, np.uint32)
    for at in range(0, codes.shape[1], TILE):
        size = np.uint64(min(TILE, codes.shape[1] - at))
        label = codes[0, at:]
        for g in range(len(ends)):
            for i in range(size):
                index[i] = label[i]
            for j in range(ends[g - 1] if g > 0 else 0, ends[g]):
                column, many = codes[j + 1, at:], np.uint32(cells[j])
                for i in range(size):
                    index[i] = index[i] * many + np.uint32(column[i])
            counts = joint[firsts[g] :]
            for i in range(size):
                counts[index[i]] += np.uint32(1)


_even: Any = None


@once
def compiled_pages() -> Any:
    """(page_headers, coded, binned, tallied) as machine code, which is kept on disk."""
    import numba

    def made(loop: Any, signature: str) -> Any:
        make = numba.njit(signature, nogil=True, error_model="numpy", cache=True, no_cfunc_wrapper=True)
        return make(loop)

    inner = numba.njit(nogil=True, error_model="numpy")
    loops = (_unpacked, _is_frame, _varint, _eight, _page_levels, _indexed, _spread)
    globals().update({loop.__name__: inner(loop) for loop in loops})
    globals().update(_even=numba.njit(inline="always", error_model="numpy")(sweep._even_bin))
    bytes_, numbers = "uint8[::1]", "int64[::1],float64[::1],float64"
    binned = made(_binned, f"void({bytes_},int64,{numbers},{bytes_})")
    globals().update(_binned=binned)
    each = f"{bytes_},{bytes_},int64[:,::1],boolean,{bytes_},{numbers},uint8,{bytes_},{bytes_}"
    return (
        made(_page_headers, f"int64({bytes_},int64,int64,int64[:,::1])"),
        made(_coded, f"int64({each})"),
        binned,
        made(_tallied, "void(uint8[:,::1],int64[::1],int64[::1],int64[::1],uint32[::1])"),
    )
