"""Calling compiled steps from Numba: an address becomes a function."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def call_steps(typing, address, context, state, par, notes, count):
    """``steps(context, state, par, notes, count)`` at `address`; see `taut.kernel.step_code`."""
    signature = types.int64(*([types.int64] * 6))

    def codegen(_, builder, __, args):
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.IntType(64), [*[pointer] * 4, ir.IntType(64)])
        target = builder.inttoptr(args[0], function.as_pointer())
        return builder.call(target, [*(builder.inttoptr(a, pointer) for a in args[1:5]), args[5]])

    return signature, codegen


@intrinsic
def call_map(typing, address, source, target):
    """``((void (*)(const double *, double *)) address)(source, target)``."""
    signature = types.void(*([types.int64] * 3))

    def codegen(context, builder, __, args):
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 2)
        builder.call(
            builder.inttoptr(args[0], function.as_pointer()),
            [builder.inttoptr(a, pointer) for a in args[1:]],
        )
        return context.get_dummy_value()

    return signature, codegen
