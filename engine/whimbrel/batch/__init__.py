"""Columnar batches of a stream's rows, in Arrow layouts."""

from whimbrel.batch.arrow import columns_from_arrow, record_batches, schema_from_arrow, table_from_batches, table_schema
from whimbrel.batch.batch import Batch, Ticks
from whimbrel.batch.canonical_types import logical_type, plain_array, plain_type
from whimbrel.batch.column import Column, frozen
from whimbrel.batch.decimal_integers import scaled, unscaled
from whimbrel.batch.exact_values import InexactError, exact_value, may_lose
from whimbrel.batch.fixed_width import Mask, numpy_type
from whimbrel.batch.memory_budget import SPACIOUS_BYTES, check_memory, out_of_memory
from whimbrel.batch.pulse import Pulse
from whimbrel.batch.sample_blocks import SampleBlocks
from whimbrel.batch.schema import Field, Schema
from whimbrel.batch.segment_arrow import runs_of, segments_of_lists
from whimbrel.batch.segment_type import COMPLEX64, COMPLEX128, SegmentType, sample_dtype, sample_type
from whimbrel.batch.segments import Segments
from whimbrel.batch.shared_times import surroundings
from whimbrel.batch.storage import PreallocatedStorage, Storage, keep_freed_memory
from whimbrel.batch.string_buffers import text_buffers
from whimbrel.batch.time_bounds import check_reach, elapsed

__all__ = [
    "COMPLEX64",
    "COMPLEX128",
    "SPACIOUS_BYTES",
    "Batch",
    "Column",
    "Field",
    "InexactError",
    "Mask",
    "PreallocatedStorage",
    "Pulse",
    "SampleBlocks",
    "Schema",
    "SegmentType",
    "Segments",
    "Storage",
    "Ticks",
    "check_memory",
    "check_reach",
    "columns_from_arrow",
    "elapsed",
    "exact_value",
    "frozen",
    "keep_freed_memory",
    "logical_type",
    "may_lose",
    "numpy_type",
    "out_of_memory",
    "plain_array",
    "plain_type",
    "record_batches",
    "runs_of",
    "sample_dtype",
    "sample_type",
    "scaled",
    "schema_from_arrow",
    "segments_of_lists",
    "surroundings",
    "table_from_batches",
    "table_schema",
    "text_buffers",
    "unscaled",
]
