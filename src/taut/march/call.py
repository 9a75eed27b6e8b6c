"""Calling compiled steps from Numba: an address becomes a function."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def call_steps(typing, address, context, state, par, notes, count, store, until, every):
    """``steps(context, state, …)`` at `address`; see `taut.kernel.step_code`."""
    signature = types.int64(*([types.int64] * 9))

    def codegen(_, builder, __, args):
        pointer = ir.IntType(8).as_pointer()
        whole = ir.IntType(64)
        kinds = [*[pointer] * 4, whole, pointer, whole, whole]
        function = ir.FunctionType(whole, kinds)
        given = [
            builder.inttoptr(a, kind) if kind is pointer else a
            for a, kind in zip(args[1:], kinds, strict=True)
        ]
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), given)

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


@intrinsic
def _call_sweep(typing, address, rows, stride, par, first, last, sums):
    """``sweep(rows, …, sums)`` at `address`; see `taut.kernel.sweep_code`."""
    signature = types.int64(*([types.int64] * 7))

    def codegen(_, builder, __, args):
        pointer, whole = ir.IntType(8).as_pointer(), ir.IntType(64)
        kinds = [pointer, whole, pointer, whole, whole, pointer]
        function = ir.FunctionType(whole, kinds)
        given = [
            builder.inttoptr(a, kind) if kind is pointer else a
            for a, kind in zip(args[1:], kinds, strict=True)
        ]
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), given)

    return signature, codegen


call_sweep: Any = _call_sweep
