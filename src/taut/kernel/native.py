"""LLVM IR text → machine code in this process, through a cache on disk.

The cache holds object files named by a hash of the IR, the CPU with its features, and the
versions of LLVM and of this package; see `vault` for what is trusted.  A cache that cannot be
written is silently not used.

LLVM has one context for the whole process, which Numba compiles in, too: whoever uses it holds
Numba's lock for compilers.  No other lock of taut's is taken while that one is held.  Signals wait
meanwhile: llvmlite's own lock and its ends of objects do not survive an error between two lines.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from taut._version import __version__
from taut.errors import InputError, place
from taut.interrupts import unbroken
from taut.kernel.forks import compiler_lock
from taut.kernel.vault import read_checked, write_checked

WIDTHS = (1, 2, 4, 8)  # doubles that are computed side by side


def cache_directory() -> Path:
    """Where compiled code is kept: ``$TAUT_CACHE_DIR``, else the user's cache directory."""
    chosen = os.environ.get("TAUT_CACHE_DIR", "").strip()
    if chosen:
        return place(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "taut"
    except RuntimeError:  # a user without a home: a place where nothing can be written
        return Path(os.devnull) / "taut"


@contextmanager
def _alone() -> Iterator[None]:
    """LLVM for this thread; before a function, its variables end in here, too."""
    with unbroken(), compiler_lock:
        yield


class Native:
    """A compiled module: keep it alive as long as its addresses are used."""

    @_alone()
    def __init__(self, object_code: bytes) -> None:
        self._places: dict[str, int] = {}
        # The engine owns its target machine and disposes of it, so it gets one of its own.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Address of a function."""
        if name not in self._places:  # who asks again does not wait for a compiler
            with _alone():
                self._places[name] = self._engine.get_function_address(name)
        assert self._places[name], name
        return self._places[name]


def compiled(ir: str, effort: int | None = None, *, draft: bool = False) -> Native:
    """`ir` as machine code, from the cache if it is there.

    With an `effort` code is translated as it stands: for long rows of operations without a branch,
    in which there is nothing to be found (and rearranging them takes registers), that is the best.
    1 looks for registers with care; 0 takes a fifth of the time, for code that is little used.
    A `draft` is made with effort 0, unless the cache has something better.
    """
    return Native(object_code(ir, effort, draft=draft))


def object_code(ir: str, effort: int | None = None, *, draft: bool = False) -> bytes:
    """The object file of `ir`, from the cache or compiled and put there."""
    found = read_checked(_place(ir, effort))
    if found is None and draft:
        return object_code(ir, 0)
    if found is None:
        found = _compile(ir) if effort is None else _compile(ir, effort)
        write_checked(_place(ir, effort), found)
    return found


def _place(ir: str, effort: int | None) -> Path:
    return cache_directory() / (_key(ir if effort is None else f"; plain {effort}\n{ir}") + ".o")


@_alone()
def _compile(ir: str, effort: int | None = None) -> bytes:
    machine = _target_machine(3 if effort is None else effort)
    module = llvm.parse_assembly(ir)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    if effort is not None:
        return machine.emit_object(module)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # Packing unrelated scalars into vectors lengthens the chain that a step waits for.
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _target_machine(effort: int = 3) -> llvm.TargetMachine:
    target, cpu, features = _host()
    return target.create_target_machine(cpu=cpu, features=features, opt=effort, jit=True)


@cache
def _host() -> tuple[llvm.Target, str, str]:
    """What code is made for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), features


def lanes() -> int:
    """Doubles per SIMD register of this CPU, doubled where that hides latency.

    ``$TAUT_LANES`` says otherwise: every CPU runs every width, with the same bits.
    """
    chosen = os.environ.get("TAUT_LANES", "").strip()
    if chosen:
        if chosen not in map(str, WIDTHS):
            raise InputError(
                "TAUT_LANES is no width",
                expected="1, 2, 4 or 8 numbers side by side",
                received=chosen,
                remedy="unset it: the width of this CPU is known",
            )
        return int(chosen)
    return _own_lanes()


@unbroken()
def _own_lanes() -> int:
    return 8 if llvm.get_host_cpu_features().get("avx512f") else 4


@cache
@_alone()
def _platform() -> bytes:
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    words = (llvm.get_host_cpu_name(), features, version, llvmlite.__version__, __version__)
    return "\n".join(words).encode()


def _key(ir: str) -> str:
    return hashlib.sha256(_platform() + b"\n" + ir.encode()).hexdigest()[:40]
