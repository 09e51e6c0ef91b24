"""What moves rows: contracts, handwritten primitives, generated text, and the compiler behind them."""

from whimbrel.kernels.cache import cache_directory, foundation
from whimbrel.kernels.compile import Compiled, Tier, forced_tier, load_text, patience, refusal, tier
from whimbrel.kernels.contract import Kernel, Stateless
from whimbrel.kernels.keys import ColumnKeys, IntegerKeys, KeyTable, encode_keys

__all__ = [
    "ColumnKeys", "Compiled", "IntegerKeys", "Kernel", "KeyTable", "Stateless", "Tier", "cache_directory",
    "encode_keys", "forced_tier", "foundation", "load_text", "patience", "refusal", "tier",
]
