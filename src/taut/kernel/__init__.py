"""From symbols to machine code: SymPy → CasADi → LLVM → callable, with a cache on disk."""
