"""Kernels: their contracts, handwritten primitives, generated code and the compiler."""

from whimbrel.kernels.cache import cache_directory, dependency_digest, keeps_code
from whimbrel.kernels.checked_arithmetic import has_power
from whimbrel.kernels.compile import (
    Compiled,
    CompilePolicy,
    Tier,
    captured,
    finish_compiling,
    forced_tier,
    load_text,
    refusal,
    tier,
    wait_for_compiler,
    watched,
)
from whimbrel.kernels.compiled_function import CompiledForm, with_compiled_form
from whimbrel.kernels.contract import PORTION_ROWS, Kernel, Stateless
from whimbrel.kernels.filter_rows import selected_rows
from whimbrel.kernels.gather import PrefetchingStorage
from whimbrel.kernels.keys import ColumnKeys, IntegerKeys, KeyTable, decode_keys, encode_keys
from whimbrel.kernels.sample_runs import SampleRuns
from whimbrel.kernels.scatter import marked, spread
from whimbrel.kernels.scratch import scratch
from whimbrel.kernels.state import FIXED, ObjectState, restored, state_of
from whimbrel.kernels.time_sort import ascends, ordered, shuffled_order, time_order, with_gaps

__all__ = [
    "FIXED",
    "PORTION_ROWS",
    "ColumnKeys",
    "CompilePolicy",
    "Compiled",
    "CompiledForm",
    "IntegerKeys",
    "Kernel",
    "KeyTable",
    "ObjectState",
    "PrefetchingStorage",
    "SampleRuns",
    "Stateless",
    "Tier",
    "ascends",
    "cache_directory",
    "captured",
    "decode_keys",
    "dependency_digest",
    "encode_keys",
    "finish_compiling",
    "forced_tier",
    "has_power",
    "keeps_code",
    "load_text",
    "marked",
    "ordered",
    "refusal",
    "restored",
    "scratch",
    "selected_rows",
    "shuffled_order",
    "spread",
    "state_of",
    "tier",
    "time_order",
    "wait_for_compiler",
    "watched",
    "with_compiled_form",
    "with_gaps",
]
