"""Tables of prefixes, for the longest one of an address."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import logical_type
from whimbrel.errors import ExpressionError, near_match
from whimbrel.expr.ip_addresses import IpAddresses, read_column
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.packets.longest_prefix import find_ranges, split_ranges

Array = np.ndarray[Any, Any]

_FORM: Final = r"^(?P<address>[^/]+)(?P<slash>/(?P<bits>[0-9]{1,3}))?$"
_HINT: Final = "Use a prefix, such as 10.0.0.0/8 or 2001:db8::/32."
_BLOCKS: Final = 1 << 16
_split, _find = Compiled(split_ranges), Compiled(find_ranges)


def halves(hextets: Array) -> tuple[Array, Array]:
    """Hextets of addresses as two integers of 64 bits."""
    whole = np.ascontiguousarray(hextets.astype(">u2")).view(">u8").astype(np.uint64)
    return np.ascontiguousarray(whole[:, 0]), np.ascontiguousarray(whole[:, 1])


@dataclass(frozen=True)
class _Ranges:
    """Where the longest prefix changes, for one version."""

    version: int
    begins: Array
    high: Array
    low: Array
    owners: Array

    def find(self, hextets: Array) -> Array:
        """The prefix of each address; -1 without one."""
        high, low = halves(hextets)
        found = np.empty(len(hextets), np.int64)
        blocks = np.ascontiguousarray(hextets[:, 6 if self.version == 4 else 0])
        _find(high, low, blocks, self.begins, self.high, self.low, self.owners, found)
        return found


class PrefixTable:
    """Prefixes of IPv4 and IPv6, each with a value.

    Made by :func:`prefix_table`. It does not change.

    Parameters
    ----------
    prefixes : pyarrow.Array of strings
    values : pyarrow.Array
    where : str
        The call, for errors.

    Raises
    ------
    ExpressionError
        For a text that is not a prefix, one with bits after its length, and one that appears twice.
    """

    def __init__(self, prefixes: pa.Array, values: pa.Array, where: str) -> None:
        self.values = values
        self.type: pa.DataType = logical_type(values.type)
        parts = pc.extract_regex(prefixes, _FORM)
        found = read_column(pc.struct_field(parts, "address").cast(pa.string()))
        sizes = np.where(found.versions == 4, 32, 128)
        texts = pc.struct_field(parts, "bits")
        given = pc.if_else(pc.equal(pc.fill_null(texts, ""), ""), "999", pc.fill_null(texts, "")).cast(pa.int64())
        bits = np.where(np.asarray(given) == 999, sizes, np.asarray(given))
        _refuse((found.versions == 0) | (bits > sizes), prefixes, "{!r} is not a prefix.", where, _HINT)
        bits = bits + 128 - sizes  # as if all had 128
        masks = _masks(np.arange(129))[bits]
        _refuse((found.hextets & ~masks).any(axis=1) & (found.versions > 0), prefixes,
                "{!r} has bits after its length.", where, "Use the first address of the prefix.")
        self._ranges = [self._ranges_of(version, found, bits, masks, prefixes, where) for version in (4, 6)
                        if (found.versions == version).any()]
        self.digest = hashlib.blake2b(repr((prefixes.to_pylist(), values.to_pylist())).encode(),
                                      digest_size=6).hexdigest()

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"prefix_table(<{len(self):,} prefixes, {self.digest}>)"

    def values_of(self, addresses: IpAddresses) -> Any:
        """The value of the longest prefix of each address; null without one."""
        places = np.full(len(addresses.versions), -1, np.int64)
        for ranges in self._ranges:
            rows = np.flatnonzero(addresses.versions == ranges.version)
            if len(rows) == len(places):
                places = ranges.find(addresses.hextets)
            elif len(rows):
                places[rows] = ranges.find(addresses.hextets[rows])
        return self.values.take(pa.array(places, mask=places < 0))

    def _ranges_of(self, version: int, found: IpAddresses, bits: Array, masks: Array, prefixes: pa.Array,
                   where: str) -> _Ranges:
        rows = np.flatnonzero(found.versions == version)
        high, low = halves(found.hextets[rows])
        order = np.lexsort((bits[rows], low, high))
        rows, high, low = rows[order], high[order], low[order]
        again = (high[1:] == high[:-1]) & (low[1:] == low[:-1]) & (bits[rows][1:] == bits[rows][:-1])
        _refuse(np.append(False, again), prefixes.take(pa.array(rows)), "The prefix {!r} appears twice.", where,
                "Keep one row for each prefix.")
        last_high, last_low = halves(found.hextets[rows] | ~masks[rows])
        most = np.uint64(2**64 - 1)
        after_low = last_low + np.uint64(1)
        after_high = last_high + (last_low == most)
        is_last = (last_low == most) & (last_high == most)
        start_high, start_low = np.zeros((2, 2 * len(rows) + 1), np.uint64)
        owners = np.zeros(2 * len(rows) + 1, np.int64)
        count = _split(high, low, last_high, last_low, after_high, after_low, is_last, start_high, start_low, owners)
        start_high, start_low, owners = start_high[:count], start_low[:count], owners[:count]
        blocks = np.arange(_BLOCKS, dtype=np.uint64) << np.uint64(16 if version == 4 else 48)
        begins = np.searchsorted(start_low if version == 4 else _first_of(start_high, start_low), blocks, "right") - 1
        begins = np.append(begins, count - 1).astype(np.int64)
        return _Ranges(version, begins, start_high, start_low, np.where(owners < 0, -1, rows[owners]))


def _first_of(high: Array, low: Array) -> Array:
    """Halves to search for an address whose low half is 0: a range that begins after it counts as later."""
    later = (low > 0) & (high < np.uint64(2**64 - 1))
    return high + later.astype(np.uint64)


def _masks(bits: Array) -> Array:
    """The leading bits of addresses, as hextets."""
    each = np.clip(bits[:, None] - 16 * np.arange(8), 0, 16)
    return (0xFFFF ^ (0xFFFF >> each)).astype(np.uint16)


def network_masks(version: int, bits: int) -> Array:
    """So many leading bits of addresses of a version, as eight hextets."""
    return _masks(np.array([min(bits + 96 if version == 4 else bits, 128)]))[0]


def _refuse(wrong: Array, prefixes: pa.Array, what: str, where: str, hint: str) -> None:
    if wrong.any():
        raise ExpressionError(what.format(prefixes[int(np.argmax(wrong))].as_py())[:160], where=where, hint=hint)


def prefix_table(prefixes: Any, *, prefix: str = "prefix", value: str | None = None) -> PrefixTable:
    """A table of prefixes, for :meth:`~whimbrel.expr.ip_methods.IpFunctions.lookup`.

    Parameters
    ----------
    prefixes : mapping, iterable of str, or table of Arrow, pandas or Polars
        Prefixes as texts, such as ``"10.0.0.0/8"`` or ``"2001:db8::/32"``. An address alone is a prefix of all
        its bits. A mapping has a value for each one.
    prefix : str
        The column of prefixes in a table.
    value : str, optional
        The column of values in a table. Default: the prefix itself.

    Raises
    ------
    ExpressionError
        For a text that is not a prefix, one with bits after its length, and one that appears twice.

    Examples
    --------
    >>> import whimbrel as wb
    >>> sites = wb.prefix_table({"10.0.0.0/8": "office", "10.1.0.0/16": "lab", "2001:db8::/32": "lab"})
    >>> log = wb.from_arrow({"at": [0, 1, 2, 3], "ip": ["10.2.3.4", "10.1.0.1", "2001:db8::7", "8.8.8.8"]}, time="at")
    >>> log.select(site=wb.col.ip.ip.lookup(sites)).collect()["site"].to_pylist()
    ['office', 'lab', 'lab', None]
    """
    where = "prefix_table(...)"
    if isinstance(prefixes, Mapping):
        try:
            texts, values = pa.array(list(prefixes), pa.string()), pa.array(list(prefixes.values()))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ExpressionError(f"All prefixes must be texts, and their values of one type: {error}."[:160],
                                  where=where, hint='Use for example {"10.0.0.0/8": "office"}.') from None
        return PrefixTable(texts, values, where)
    if hasattr(prefixes, "__arrow_c_stream__") or hasattr(prefixes, "to_arrow"):
        table = pa.table(prefixes.to_arrow() if hasattr(prefixes, "to_arrow") else prefixes)
        for name in (prefix, value or prefix):
            if name not in table.column_names:
                raise ExpressionError(f"The table has no column {name!r}.", where=where,
                                      hint=near_match(name, table.column_names))
        columns = [_one_array(table[name]) for name in (prefix, value or prefix)]
    elif isinstance(prefixes, Iterable) and not isinstance(prefixes, str):
        try:
            columns = [pa.array(list(prefixes), pa.string())] * 2
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ExpressionError(f"All prefixes must be texts: {error}."[:160], where=where,
                                  hint='Use a mapping for values, such as {"10.0.0.0/8": "office"}.') from None
    else:
        raise ExpressionError(f"prefixes must be a mapping, a table or an iterable of texts, got {prefixes!r}."[:160],
                              where=where, hint='Use for example {"10.0.0.0/8": "office"}.')
    if not (pa.types.is_string(columns[0].type) or pa.types.is_large_string(columns[0].type)):
        raise ExpressionError(f"Prefixes must be texts, got {columns[0].type}.", where=where, hint=_HINT)
    return PrefixTable(columns[0].cast(pa.string()), columns[1], where)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    whole = whole if isinstance(whole, pa.Array) else whole.combine_chunks()
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole
