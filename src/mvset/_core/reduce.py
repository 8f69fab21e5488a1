"""Reductions that LLVM turns into vector code.

numba's ``min``/``max`` on floats keep a NaN check that blocks vectorisation; a comparison and a select, both
flagged ``fast``, do not. An argmax needs no second search when the index rides in the low bits of the value.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

INDEX_BITS = 11  # arrays reduced with `tagged` have at most 2**11 entries
INDEX_MASK = (1 << INDEX_BITS) - 1


def _fast_select(operator: str) -> Any:
    @intrinsic
    def select(_context: Any, a: Any, b: Any) -> Any:
        def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
            holds = builder.fcmp_ordered(operator, args[0], args[1], flags=["fast"])
            return builder.select(holds, args[0], args[1], flags=["fast"])

        return a(a, b), codegen

    return select


float_max = _fast_select(">")
float_min = _fast_select("<")


@intrinsic
def int_max(_context: Any, a: Any, b: Any) -> Any:
    """Larger of two integers."""

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.select(builder.icmp_signed(">", args[0], args[1]), args[0], args[1])

    return a(a, b), codegen


@intrinsic
def tagged(_context: Any, value: Any, index: Any) -> Any:
    """Integer ordered like the float32 `value` >= 0 (to 12 bits), with `index` in its low bits.

    Negative values give negative integers: any non-negative one wins against them.
    """

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        bits = builder.and_(builder.bitcast(args[0], i32), ir.Constant(i32, ~INDEX_MASK))
        return builder.or_(bits, builder.trunc(args[1], i32))

    return types.int32(types.float32, index), codegen


@intrinsic
def reciprocal_guess(_context: Any, value: Any) -> Any:
    """1/value for a positive float32, to 12 %: one integer subtraction, to be refined by a Newton step."""

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        bits = builder.sub(ir.Constant(i32, 0x7EF311C7), builder.bitcast(args[0], i32))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.float32), codegen
