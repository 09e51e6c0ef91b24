"""What moves rows: contracts, handwritten primitives, generated text, and the compiler behind them."""

from whimbrel.kernels.cache import cache_directory, foundation, keeps_code
from whimbrel.kernels.checked_arithmetic import has_power
from whimbrel.kernels.compile import (
    Compiled,
    CompilePolicy,
    Tier,
    captured,
    finish_compiling,
    forced_tier,
    load_text,
    patience,
    refusal,
    tier,
    watched,
)
from whimbrel.kernels.compiled_function import CompiledForm, with_compiled_form
from whimbrel.kernels.contract import PORTION_ROWS, Kernel, Stateless
from whimbrel.kernels.filter_rows import kept_rows
from whimbrel.kernels.keys import ColumnKeys, IntegerKeys, KeyTable, encode_keys
from whimbrel.kernels.scatter import marked, spread
from whimbrel.kernels.state import FIXED, ObjectState, restored, state_of
from whimbrel.kernels.time_sort import ascends, ordered, time_order, with_gaps

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
    "Stateless",
    "Tier",
    "ascends",
    "cache_directory",
    "captured",
    "encode_keys",
    "finish_compiling",
    "forced_tier",
    "foundation",
    "has_power",
    "keeps_code",
    "kept_rows",
    "load_text",
    "marked",
    "ordered",
    "patience",
    "refusal",
    "restored",
    "spread",
    "state_of",
    "tier",
    "time_order",
    "watched",
    "with_compiled_form",
    "with_gaps",
]
