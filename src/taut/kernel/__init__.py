"""From symbols to machine code: SymPy → CasADi → LLVM → callable, with a cache on disk."""

from taut.kernel import graph_lock  # before anything is built

__all__ = ["graph_lock"]
