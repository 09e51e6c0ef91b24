"""LLVM intrinsics for compiled primitives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whimbrel.kernels.c_library import in_compiled_code
from whimbrel.kernels.primitives.arithmetic.c_math import C_NAMES
from whimbrel.kernels.primitives.hashing.prefetch import prefetch


def instruction(function: Callable[..., Any]) -> Any:
    """What stands for a primitive in compiled code; None where its text is compiled like any other."""
    if function in C_NAMES:
        return in_compiled_code(C_NAMES[function])
    return _prefetch() if function is prefetch else None


@functools.cache
def _prefetch() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    asked = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    read, keep, data = (ir.Constant(number, flag) for flag in (0, 3, 1))  # to read, in every cache, not code

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        called = builder.module.declare_intrinsic("llvm.prefetch", [byte], asked)
        builder.call(called, [address, read, keep, data])
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def prefetched(_: Any, array: Any, position: Any) -> Any:
        return types.void(array, position), generate

    return prefetched
