"""Sums and products of SX: what the operators do, in a tenth of the time.

The operators of CasADi look for the type that both operands have in common first; elimination
written out is thousands of them.
"""

from __future__ import annotations

from functools import partial

import casadi as ca

SX = ca.SX

plus = partial(SX.binary, ca.OP_ADD)
minus = partial(SX.binary, ca.OP_SUB)
times = partial(SX.binary, ca.OP_MUL)
over = partial(SX.binary, ca.OP_DIV)
less = partial(SX.binary, ca.OP_LT)
larger_of = partial(SX.binary, ca.OP_FMAX)
size_of = partial(SX.unary, ca.OP_FABS)
no = partial(SX.unary, ca.OP_NOT)
