"""What the tests of the kernel room share: native maps, and a choice of back end."""

import ctypes
from functools import cache

import numpy as np
import pytest

import taut.kernel.compile as compile_room
from taut.kernel.native import compiled
from taut.kernel.step_code import map_code

OTHERS = {}  # workshops by the rules that they keep


class NativeMap:
    """A compiled SX function, called by address: (inputs, lanes) → (outputs, lanes)."""

    def __init__(self, function, lanes=1):
        self.ir = map_code(function, lanes)
        self.inputs, self.outputs, self.lanes = function.nnz_in(), function.nnz_out(), lanes
        self._native = compiled(self.ir)
        pointer = ctypes.POINTER(ctypes.c_double)
        self._call = ctypes.CFUNCTYPE(None, pointer, pointer)(self._native.address("map"))

    def __call__(self, x):
        """The outputs; one dimension in, one dimension out."""
        x = np.asarray(x, dtype=float)
        source = np.ascontiguousarray(x.reshape(self.inputs, self.lanes))
        # A guard on either side: a kernel writes its outputs and nothing else.
        target = np.full((self.outputs + 2, self.lanes), 7.25)
        pointer = ctypes.POINTER(ctypes.c_double)
        self._call(source.ctypes.data_as(pointer), target[1:].ctypes.data_as(pointer))
        assert np.all(target[[0, -1]] == 7.25)
        return target[1:-1, 0] if x.ndim == 1 else target[1:-1]


@pytest.fixture(scope="session")
def native_map():
    """``native_map(function, lanes=1)``: the function as machine code."""
    return NativeMap


@pytest.fixture
def afresh(monkeypatch):
    """``afresh()``: what is compiled from now on, with other rules, is for this test alone.

    Tests that say ``afresh(rules)`` with the same word share what they compile.
    """

    def choose(rules=None):
        other = cache(compile_room._workshop.__wrapped__)
        found = OTHERS.setdefault(rules, other) if rules else other
        monkeypatch.setattr(compile_room, "_workshop", found)

    return choose


@pytest.fixture
def backend(monkeypatch):
    """``backend("fused")`` or ``backend("assembled")``: by which steps are compiled from now on."""

    def choose(name):
        limit = {"fused": 10**9, "assembled": -1}[name]
        monkeypatch.setattr(compile_room, "FUSED_LIMIT", limit)

    return choose
