"""Messages that formats cannot read: each is a dead letter with a shared reason, and the connection stays."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc

import whimbrel as wb
from whimbrel.connect.feeds.formats.decode import Format, decode
from whimbrel.connect.feeds.formats.python_records import Records
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.formats.string_records import TextRecords

FIELDS = pa.schema({"at": pa.int64(), "x": pa.int64()})


ROWS = pa.record_batch({"at": [1, 2], "x": [1, 2]})


def arrow(times: int = 1, batch: pa.RecordBatch = ROWS) -> bytes:
    sink = io.BytesIO()
    with ipc.new_stream(sink, batch.schema) as writer:
        for _ in range(times):
            writer.write_batch(batch)
    return sink.getvalue()


def test_a_number_that_is_not_whole_is_no_integer() -> None:
    messages = [{"at": at, "x": x} for at, x in enumerate([1, 2.0, 2.5, Decimal(3), Decimal("3.5"), None])]
    found = decode(Records(), messages, pa.schema({"at": pa.int64(), "x": pa.int32()}))
    assert found.rows.to_pylist() == [messages[at] for at in (0, 1, 3, 5)]
    assert found.malformed == [(2, "'x' must be an integer"), (4, "'x' must be an integer")]


def test_an_arrow_message_may_be_cut_anywhere_and_costs_itself() -> None:
    whole = arrow()
    end = len(whole) - 8  # a stream need not say that it ends
    format = format_of("arrow", "")
    for known in (False, True):  # whether it has read such a message before
        for cut in {*range(len(whole))} - {end}:
            found = decode(format if known else format_of("arrow", ""), [whole, whole[:cut], whole], FIELDS)
            assert (found.rows.num_rows, [number for number, _ in found.malformed]) == (4, [1]), (known, cut)


def test_arrow_messages_of_any_kind_follow_each_other() -> None:
    texts = pa.record_batch({"x": pa.array(["b", "a", "b"]).dictionary_encode(), "at": pa.array([3, 4, 5])})
    one, open_end, two, others, none = (
        arrow(), arrow()[:-8], arrow(2), arrow(batch=texts), arrow(batch=texts.slice(0, 0)))
    x = pa.schema({"at": pa.int16(), "x": pa.string()})
    format = format_of("arrow", "")
    for messages in ([one, open_end], [one, open_end, one], [two, one], [one], [others, one, others], [others], [none],
                     [one], [one, none, two, one]):
        found = decode(format, messages, x)
        apart = [decode(format_of("arrow", ""), [message], x) for message in messages]
        assert found.rows.to_pylist() == [row for each in apart for row in each.rows.to_pylist()]
        assert (found.each.tolist(), found.malformed) == ([int(*each.each) for each in apart], [])


@pytest.mark.parametrize(("format", "bad"), [
    (Records(), [{"at": "five"}, {"at": "six"}]), (Records(), [{"at": 300}, {"at": 301}]),
    (Records(), [{"at": [1]}, {"at": [2, 3]}]), (TextRecords(), [{"at": b"it's"}, {"at": b"'no' 1"}]),
    (format_of("csv", ""), [b"one", b"two"]), (format_of("csv", ""), [b"300", b"301"]),
    (format_of("json", ""), [b'{"at": 300}', b'{"at": 301}']),
    (format_of("json", ""), [b'{"at": "a"}', b'{"at": "b"}']),
    (format_of("arrow", ""), [arrow()[:350], arrow()[:360]]),
])
def test_a_reason_is_shared_by_messages_that_are_wrong_alike(format: Format, bad: list[Any]) -> None:
    found = decode(format, bad, pa.schema({"at": pa.int8()}))
    assert len(found.malformed) == 2
    assert len({why for _, why in found.malformed}) == 1


@pytest.mark.parametrize(("message", "why"), [
    (b"\x02\x10", "not an Avro record of this schema"), (b"\x02\x02\x10ab", "an Avro record that is cut short"),
    (b"\x02\x00\x00", "extra bytes after the Avro record"), (b"", "an Avro record that is cut short")])
def test_what_is_wrong_with_an_avro_record_is_said_in_words(message: bytes, why: str) -> None:
    format = wb.feeds.Avro({"type": "record", "name": "row", "fields": [
        {"name": "at", "type": "long"}, {"name": "x", "type": ["null", "string"]}]})
    assert decode(format, [message], pa.schema({"at": pa.int64()})).malformed == [(0, why)]
