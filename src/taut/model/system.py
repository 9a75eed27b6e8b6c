"""`System`: what moves.  Coordinates, an energy, constraints, forces; no step size anywhere."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from taut.calls import public
from taut.errors import InputError, ModelError, UnknownName, brief, number
from taut.model.controls import Channel, channels_of, with_controls
from taut.model.drawing import Drawing, drawing_of
from taut.model.equations import Equations, derive
from taut.model.mass import uneven
from taut.model.rates import remedy as instead_of
from taut.model.shown import system_latex
from taut.model.symbols import (
    Vocabulary,
    momenta as momenta_of,
    name_of,
    spelled,
    t,
    velocities as velocities_of,
)
from taut.model.terms import Term, whole
from taut.portable import negative_along
from taut.text import counted

SHARED = "one finite number (all trajectories of a batch share it)"
_FORMS = ("mass", "kinetic", "lagrangian", "hamiltonian")


@public
class System:
    r"""A mechanical system with holonomic constraints.

    .. math:: L(q, \dot q, t), \qquad g(q, t) = 0, \qquad
              \frac{d}{dt} L_{\dot q} - L_q = f(q, \dot q, t) - G^T λ

    Parameters
    ----------
    coordinates : sequence of symbols, length n
        SymPy symbols or dynamicsymbols.
    velocities, momenta : sequences of symbols, length n, optional
        The names of q̇ and p in `kinetic`, `lagrangian`, `forces` and in `hamiltonian`; without
        them ``taut.velocities(q)`` and ``taut.momenta(q)`` are used.
    mass : a number, or (n,) or (n, n) array of numbers or expressions of q
        Kinetic energy ½ q̇ᵀM q̇.  Exactly one of mass, kinetic, lagrangian, hamiltonian is given.
    kinetic, lagrangian, hamiltonian : Expr
        T(q, q̇, t), L(q, q̇, t) or H(q, p, t).
    potential : Expr
        U(q, t), with `mass` or `kinetic`.
    constraints : sequence of Expr, or mapping name → Expr
        g(q, t), each to be zero; a SymPy `Eq` is read as lhs − rhs.
    forces : sequence or mapping of Expr, optional
        Generalised forces f(q, q̇, t): one per coordinate, or {coordinate: force}.
    parameters : mapping name → default value, or sequence of names
        Symbols whose values are set per run; ``None`` for one without a default.
    controls : mapping symbol (or several) → function, `Control` or None
        Symbols in the forces whose values ``function(t, state)`` sets while a run is under way,
        once per step; ``None`` if the function is given to `taut.simulate`.
    drawing : Drawing, optional
        How the system looks in plots, reports and animations; see `taut.Drawing`.

    Examples
    --------
    >>> import taut
    >>> x, y = taut.coordinates("x y")
    >>> taut.System([x, y], mass=[1, 1], potential=10*y, constraints=[x**2 + y**2 - 1])
    System: 2 coordinates, 1 constraint, 1 degree of freedom
    """

    def __init__(
        self,
        coordinates: Sequence[sp.Basic],
        *,
        velocities: Sequence[sp.Basic] | None = None,
        momenta: Sequence[sp.Basic] | None = None,
        mass: Any = None,
        kinetic: Any = None,
        potential: Any = 0,
        lagrangian: Any = None,
        hamiltonian: Any = None,
        constraints: Sequence[Any] | Mapping[str, Any] = (),
        forces: Sequence[Any] | Mapping[Any, Any] | None = None,
        parameters: Mapping[Any, float | None] | Sequence[Any] | None = None,
        controls: Mapping[Any, Any] | None = None,
        drawing: Drawing | None = None,
    ) -> None:
        words = self._words(coordinates, velocities, momenta, parameters, controls)
        given: dict[str, Any] = dict(
            zip(_FORMS, (mass, kinetic, lagrangian, hamiltonian), strict=True)
        )
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) != 1:
            raise ModelError(
                "the energy of a system must be given in exactly one form",
                expected="one of mass=, kinetic=, lagrangian=, hamiltonian=",
                received=" and ".join(chosen) or "none of them",
                remedy="with lagrangian= or hamiltonian= the potential belongs inside",
            )
        form = chosen[0]
        plain = isinstance(potential, int | float) and potential == 0
        if form in ("lagrangian", "hamiltonian") and not plain:
            raise ModelError(
                f"potential= is given beside {form}=",
                remedy=f"put the potential into the {form}",
            )
        q, v, p = self.coordinates, self.velocities, self.momenta
        self.given = {form: given[form], "potential": potential}
        energy = self._energy(form, given[form], potential, words)
        rates = p if form == "hamiltonian" else v
        terms = [
            whole("hamiltonian" if form == "hamiltonian" else "lagrangian", q, [energy], rates)
        ]
        names, exprs = _named(constraints)
        exprs = [e.lhs - e.rhs if isinstance(e, sp.Equality) else e for e in exprs]
        exprs = [words.read(e, f"constraint {k}") for k, e in zip(names, exprs, strict=True)]
        for name, expr in zip(names, exprs, strict=True):
            self._check_constraint(name, expr)
        if exprs:
            terms.append(whole("constraint", q, exprs, names=names))
        if forces is not None:
            terms.append(whole("force", q, self._forces(forces, words), v))
        words.learning = False
        self._finish(terms, drawing)
        self._check_mass(form, given[form])

    @classmethod
    def from_terms(
        cls,
        coordinates: Sequence[sp.Basic],
        terms: Sequence[Term],
        *,
        parameters: Mapping[Any, float | None] | Sequence[Any] | None = None,
        controls: Mapping[Any, Any] | Sequence[Channel] | None = None,
        drawing: Drawing | None = None,
    ) -> System:
        """A system as a sum of terms, each one expression mapped over many instances.

        Examples
        --------
        A planar chain of 300 unit rods hanging from the origin:

        >>> import taut, sympy as sp, numpy as np
        >>> x, y, a, b = sp.symbols("x y a b", real=True); u, w = sp.symbols("u w", real=True)
        >>> n = 300; pairs = np.arange(2*n).reshape(n, 2)
        >>> bodies = taut.Term("lagrangian", (x, y), [(u**2 + w**2)/2 - 10*y], pairs, rates=(u, w))
        >>> first = taut.Term("constraint", (x, y), [x**2 + y**2 - 1], pairs[:1])
        >>> rods = taut.Term("constraint", (x, y, a, b), [(x - a)**2 + (y - b)**2 - 1],
        ...                  np.hstack([pairs[:-1], pairs[1:]]))
        >>> taut.System.from_terms(sp.symbols(f"q0:{2*n}"), [bodies, first, rods])
        System: 600 coordinates, 300 constraints, 300 degrees of freedom
        """
        self = cls.__new__(cls)
        self._name(coordinates, None, None, parameters, controls)
        terms = _listed("terms", terms)
        for term in terms:
            if not isinstance(term, Term):
                raise ModelError("that is no term", expected="taut.Term(…)", received=brief(term))
        kinds = {term.kind for term in terms}
        if len(kinds & {"lagrangian", "hamiltonian", "flow"}) != 1:
            raise ModelError("terms must hold Lagrangian or Hamiltonian summands, and not both")
        known = {name: sp.Symbol(name, real=True) for name in self.parameters} | {t.name: t}
        own, spelled = [], {}
        for term in terms:
            if term.indices.min() < 0 or term.indices.max() >= self.n:
                raise ModelError(
                    f"a {term.kind} term points outside the coordinates",
                    expected=f"indices 0 … {self.n - 1}",
                    received=f"{term.indices.min()} … {term.indices.max()}",
                )
            free = term.free_symbols - term.known_symbols()
            stray = sorted(s.name for s in free if s.name not in known)
            if term.kind == "constraint" and any(e.has(*term.rates) for e in term.expressions):
                raise ModelError("a constraint term depends on velocities", expected="g(q, t)")
            if stray:
                raise ModelError(
                    f"a {term.kind} term contains {', '.join(stray)}, which it does not know",
                    remedy="declare it in the term or in parameters=",
                )
            table = {s: known[s.name] for s in free}
            spelled = {x: s for s, x in table.items()} | spelled
            if table:
                term = replace(term, expressions=[e.xreplace(table) for e in term.expressions])
            own.append(term)
        self._parameters_given = {x: spelled.get(known[x], known[x]) for x in self.parameters}
        self._finish(own, drawing)
        return self

    # ---- construction ------------------------------------------------------------------------

    def _words(self, coordinates, velocities, momenta, parameters, controls=None) -> Vocabulary:
        """Fix the names of everything, once."""
        self._name(coordinates, velocities, momenta, parameters, controls)
        self._vocabulary.learning = True
        return self._vocabulary

    def _name(self, coordinates, velocities, momenta, parameters, controls=None) -> None:
        """The same; symbols, of which large systems have many, are made when they are asked for."""
        self.controls = channels_of(controls)
        parameters = with_controls(parameters, self.controls)
        q = tuple(_listed("coordinates", coordinates))
        if not q:
            raise ModelError("a system needs at least one coordinate", received="none")
        v = None if velocities is None else _listed("velocities", velocities)
        p = None if momenta is None else _listed("momenta", momenta)
        for label, group in (("velocities", v), ("momenta", p)):
            if group is not None and len(group) != len(q):
                raise ModelError(
                    f"{label} do not fit the coordinates",
                    expected=f"{len(q)} symbols",
                    received=len(group),
                )
        if parameters is None:
            parameters = {}
        elif not isinstance(parameters, Mapping):
            parameters = {
                k if isinstance(k, str) else name_of(k): None
                for k in _listed("parameters", parameters)
            }
        given = [(k if isinstance(k, str) else name_of(k), x) for k, x in parameters.items()]
        for name, count in Counter(name for name, _ in given).items():
            if count > 1:
                raise ModelError(f"the name {name!r} is used twice", remedy="rename one")
        self._parameters_given = {
            name: k if isinstance(k, sp.Symbol) else sp.Symbol(name, real=True)
            for (name, _), k in zip(given, parameters, strict=True)
        }
        defaults = dict(given)
        self.n, self._spelled = len(q), (q, v, p)
        if v is not None or p is not None or _ambiguous(q, [name for name, _ in given]):
            _ = self._vocabulary  # says what is wrong
        self.parameters: dict[str, float | None] = {}
        for name, value in defaults.items():
            self.parameters[name] = (
                None if value is None else number(f"parameter {name}", value, SHARED)
            )

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        """All symbols by their names."""
        q, v, p = self._spelled
        q = tuple(sp.Symbol(c, real=True) if isinstance(c, str) else c for c in q)
        v, p = v or velocities_of(q), p or momenta_of(q)
        words = Vocabulary(q, v, p, list(self._parameters_given.values()))
        for foreign, own in zip(q, words.groups[1], strict=True):
            if isinstance(foreign, AppliedUndef):
                words.alias(sp.Derivative(foreign, *foreign.args), own)
        return words

    @cached_property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the coordinates."""
        return self._vocabulary.groups[0]

    @cached_property
    def velocities(self) -> tuple[sp.Symbol, ...]:
        """Symbols of their velocities."""
        return self._vocabulary.groups[1]

    @cached_property
    def momenta(self) -> tuple[sp.Symbol, ...]:
        """Symbols of their momenta."""
        return self._vocabulary.groups[2]

    def _energy(self, form: str, given: Any, potential: Any, words: Vocabulary) -> sp.Expr:
        if form == "mass":
            kinetic = self._kinetic_of_mass(given, words)
        else:
            kinetic = words.read(given, form)
        potential = words.read(potential, "potential")
        allowed = self.momenta if form == "hamiltonian" else self.velocities
        self._forbid(kinetic, form, {*self.velocities, *self.momenta} - set(allowed))
        self._forbid(potential, "potential", {*self.velocities, *self.momenta})
        return kinetic - potential

    def _kinetic_of_mass(self, given: Any, words: Vocabulary) -> sp.Expr:
        rows = np.array(given, dtype=object)
        n, v = self.n, self.velocities
        if rows.ndim == 0:  # the same mass for every coordinate
            rows = np.full(n, given, dtype=object)
        if rows.shape not in ((n,), (n, n)):
            raise ModelError(
                "mass does not fit the coordinates",
                expected=f"shape ({n},) or ({n}, {n})",
                received=rows.shape,
            )
        entries = [words.read(e, "mass") for e in rows.ravel()]
        for entry in entries:
            self._forbid(entry, "mass", {*self.velocities, *self.momenta})
        matrix = sp.diag(*entries) if rows.ndim == 1 else sp.Matrix(n, n, entries)
        self._check_positive(matrix)
        if rows.ndim == 1:
            return sp.Add(*(m * w**2 for m, w in zip(entries, v, strict=True))) / 2
        if (at := uneven(matrix, self.parameters)) is not None:
            i, j = at
            raise ModelError(
                "mass is not symmetric",
                expected="M = Mᵀ",
                received=f"{matrix[i, j]} at ({i}, {j}) and {matrix[j, i]} at ({j}, {i})"[:200],
            )
        return sp.Add(*(matrix[i, j] * v[i] * v[j] for i in range(n) for j in range(n))) / 2

    def _check_positive(self, mass: sp.Matrix) -> None:
        """Where a mass is a number, it must not be negative; kinetic= takes anything regular."""
        wrong = [q.name for q, m in zip(self.coordinates, mass.diagonal(), strict=True)
                 if m.is_number and m.is_negative]  # fmt: skip
        if not wrong and not mass.is_diagonal() and all(e.is_number for e in mass):
            numbers = np.array(mass, dtype=float)
            if (found := negative_along((numbers + numbers.T) / 2)) is not None:
                wrong = [q.name for q, x in zip(self.coordinates, found, strict=True)
                         if abs(x) > 1e-6]  # fmt: skip
        if wrong:
            raise ModelError(
                f"the mass is negative along {', '.join(wrong)}",
                expected="a positive definite mass",
                received=str(mass.tolist())[:120],
                remedy="check its signs; kinetic=… takes an energy that may be negative",
            )

    def _forces(self, forces: Any, words: Vocabulary) -> list[sp.Expr]:
        if isinstance(forces, Mapping):
            by_name = {name_of(k) if not isinstance(k, str) else k: f for k, f in forces.items()}
            known = [q.name for q in self.coordinates]
            for name in by_name:
                if name not in known:
                    raise UnknownName("coordinate", name, known)
            forces = [by_name.get(name, 0) for name in known]
        forces = _listed("forces", forces)
        if len(forces) != self.n:
            raise ModelError(
                "forces do not fit the coordinates",
                expected=f"{self.n} expressions",
                received=len(forces),
            )
        read = [
            words.read(f, f"force on {q}") for f, q in zip(forces, self.coordinates, strict=True)
        ]
        for f in read:
            self._forbid(f, "a force", set(self.momenta))
        return read

    def _forbid(self, expr: sp.Expr, where: str, symbols: set[sp.Symbol]) -> None:
        found = sorted(s.name for s in expr.free_symbols & symbols)
        if found:
            raise ModelError(
                f"{where} may not depend on {', '.join(found)}", received=str(expr)[:120]
            )

    def _check_constraint(self, name: str, expr: sp.Expr) -> None:
        rates = {*self.velocities, *self.momenta}
        if expr.free_symbols & rates:
            raise ModelError(
                f"constraint {name} depends on velocities",
                expected="a holonomic constraint g(q, t)",
                received=str(expr)[:120],
                remedy=instead_of(expr, self.coordinates, self.velocities, self.momenta),
            )
        if not expr.free_symbols & set(self.coordinates):
            raise ModelError(
                f"constraint {name} depends on no coordinate",
                expected="g(q, t) with at least one coordinate",
                received=str(expr)[:120],
            )

    def _finish(self, terms: list[Term], drawing: Drawing | None) -> None:
        self.terms = tuple(terms)
        self._check_controls()
        self.drawing = drawing_of(drawing, self)
        names: list[str] = []
        for term in terms:
            if term.kind == "constraint":
                count = term.instances * len(term.expressions)
                names += term.names or [f"g{len(names) + i}" for i in range(count)]
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ModelError(f"constraints share the name {', '.join(twice)}", remedy="rename one")
        self.constraint_names = tuple(names)

    def _check_mass(self, form: str, given: Any) -> None:
        """∂²L/∂q̇² (or ∂²H/∂p²) must be regular: evaluated at random points, never simplified."""
        if self.n > 12 and form != "mass":
            return  # left to the start, where the compiled Hessian is at hand
        rates = self.momenta if form == "hamiltonian" else self.velocities
        energy = self.terms[0].expressions[0]
        gradient = [energy.diff(r) for r in rates]
        hessian = sp.Matrix([[g.diff(r) for r in rates] for g in gradient])
        symbols = sorted(hessian.free_symbols, key=lambda s: s.name)
        evaluate = sp.lambdify(symbols, hessian, modules="numpy") if symbols else lambda: hessian
        rng = np.random.default_rng(0)
        null = None
        # What saturates, as √(1 + p²) does, is regular where it is slow, whatever the unit of p.
        units = (1.0, 1.0, 1e-8, 1e-16) if symbols else (1.0,)
        for unit in units:
            values = [
                self.parameters.get(s.name) or rng.uniform(0.4, 1.6) * (unit if s in rates else 1.0)
                for s in symbols
            ]
            with np.errstate(all="ignore"):
                values_there = np.array(evaluate(*values), dtype=complex)
            matrix = np.real(values_there)
            if not np.all(np.isfinite(matrix)) or np.any(np.imag(values_there) != 0.0):
                return  # outside the domain at a random point: nothing can be said here
            _, s, vt = np.linalg.svd(balanced(matrix))
            if s[-1] > 1e-12 * s[0]:
                return
            null = vt[-1]
        assert null is not None
        guilty = [q.name for q, x in zip(self.coordinates, null, strict=True) if abs(x) > 1e-6]
        raise ModelError(
            "the mass matrix is singular",
            expected="∂²L/∂q̇∂q̇ regular" if form != "hamiltonian" else "∂²H/∂p∂p regular",
            received=f"a null direction along {', '.join(guilty)}",
            remedy="give every coordinate inertia, or remove it",
        )

    def _check_controls(self) -> None:
        """Controls stand in forces, and nowhere else."""
        used: dict[str, set[str]] = {"force": set()}
        for term in self.terms:
            names = {s.name for s in term.free_symbols}
            used.setdefault(term.kind, set()).update(names & self.controlled)
        forces = used.pop("force")
        for kind, names in used.items():
            if names:
                raise ModelError(
                    f"a {kind} depends on the control {', '.join(sorted(names))}",
                    expected="controls in forces only, so that what they do is work",
                    remedy="write what it does as a force",
                )
        idle = sorted(self.controlled - forces)
        if idle:
            raise ModelError(f"the control {', '.join(idle)} does nothing", expected="it in forces")

    # ---- facts -------------------------------------------------------------------------------

    @cached_property
    def controlled(self) -> set[str]:
        """Names of the parameters that controls set."""
        return {name for channel in self.controls for name in channel.parameters}

    @property
    def c(self) -> int:
        """Number of constraints."""
        return len(self.constraint_names)

    @property
    def form(self) -> str:
        """``"lagrangian"`` or ``"hamiltonian"``: what the terms are summands of.

        A flow ẋ = f(x, t) is the Hamiltonian p·f(x, t) at p = 0.
        """
        return "lagrangian" if any(x.kind == "lagrangian" for x in self.terms) else "hamiltonian"

    given: Mapping[str, Any] | None = None  # the energy as it was given, unless by terms
    flow: Any = None  # the `Flow` that it stands for
    mechanism: Any = None  # the `Mechanism` that it was made of

    @cached_property
    def first_order(self) -> bool:
        """Whether it is a flow: no energy, no momenta."""
        return any(x.kind == "flow" for x in self.terms)

    @cached_property
    def mixed(self) -> bool:
        """Whether it is given by a Lagrangian whose momenta ∂L/∂q̇ depend on q, too."""
        return any(
            e.diff(v).free_symbols & set(x.coordinates)
            for x in self.terms
            if x.kind == "lagrangian"
            for e in x.expressions
            if any(_knows_both(summand, x) for summand in sp.Add.make_args(e))
            for v in x.rates
        )

    @cached_property
    def forced(self) -> bool:
        """Whether non-conservative forces act."""
        return any(x.kind == "force" for x in self.terms)

    @cached_property
    def rheonomic(self) -> bool:
        """Whether a constraint depends on time."""
        return any(t in x.free_symbols for x in self.terms if x.kind == "constraint")

    @cached_property
    def autonomous(self) -> bool:
        """Whether the energy function does not depend on time."""
        energies = (x for x in self.terms if x.kind in ("lagrangian", "hamiltonian"))
        return not any(t in x.free_symbols for x in energies)

    @property
    def conservative(self) -> bool:
        """Whether energy is conserved: no forces, nothing depends on time."""
        return self.first_order or (self.autonomous and not self.forced and not self.rheonomic)

    @cached_property
    def key(self) -> str:
        """A hash of everything that the equations depend on (not of parameter values)."""
        digest = hashlib.sha256()
        digest.update(repr((self.n, self.c, list(self.parameters))).encode())
        if self.controls:
            digest.update(repr(sorted(self.controlled)).encode())
        for x in self.terms:
            symbols = len(x.coordinates), len(x.rates), len(x.constants)
            digest.update(f"{x.kind}{symbols}{' dissipates' * x.dissipates}\n".encode())
            digest.update(_text(*x.coordinates, *x.rates, *x.constants, *x.expressions).encode())
            digest.update(x.indices.tobytes())
            digest.update(x.values.tobytes())
        return digest.hexdigest()

    @cached_property
    def named_key(self) -> str:
        """The key, with the names that things go by."""
        listed = [x and [s if isinstance(s, str) else str(s) for s in x] for x in self._spelled]
        for k, form in ((1, "{}_dot"), (2, "p_{}")):
            if listed[k] == (listed[k] and [form.format(x) for x in listed[0] or ()]):
                listed[k] = None
        return f"{self.key} {listed} {self.constraint_names}"

    def values(self, overrides: Mapping[Any, float] | None = None) -> np.ndarray:
        """Parameter values in order, defaults replaced by `overrides`; none may be missing."""
        values = dict(self.parameters)
        if overrides is not None and not isinstance(overrides, Mapping):
            raise InputError(
                "parameters is not a mapping",
                expected="parameters={name: value, …}",
                received=brief(overrides),
            )
        for key, value in (overrides or {}).items():
            name = key if isinstance(key, str) else name_of(key)
            if name not in values:
                raise UnknownName("parameter", name, values)
            if name in self.controlled:
                raise InputError(
                    f"{name} is set by a control", remedy="simulate(…, controls={…: function})"
                )
            values[name] = number(f"parameter {name}", value, SHARED)
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise InputError(
                f"no value for the parameter{'s'[: len(missing) > 1]} {', '.join(missing)}",
                expected="a number for each",
                remedy=f"simulate(…, parameters={{{missing[0]!r}: …}})",
            )
        return np.array(list(values.values()), dtype=float)

    time = t

    def read(self, expression: Any, where: str = "the expression") -> sp.Expr:
        """An expression, or the one of a `Law`, in the system's own symbols; others are errors.

        Of a mechanism angles and slides of joints are known, too: ``angle_hinge``, ``slide_rail``.
        """
        given = getattr(expression, "expression", expression)
        if self.mechanism is not None:
            given = self.mechanism.in_coordinates(self._vocabulary.scalar(given, where))
        return self._vocabulary.read(given, where)

    @cached_property
    def foreign(self) -> dict[sp.Symbol, sp.Basic]:
        """How the model spells symbols, where that is not as they are spelled here."""
        return {own: x for own, x in self._vocabulary.given.items() if x != own}

    def spelled(self, expression: sp.Expr) -> sp.Expr:
        """An expression in the symbols that the model was written in: `read` the other way."""
        return expression.xreplace(self.foreign)

    def parameter_symbols(self, values: Mapping[str, float]) -> dict[sp.Symbol, float]:
        """Symbols of the parameters with their values."""
        if not isinstance(values, Mapping):
            raise InputError(
                "parameters cannot be read", expected='{"k": 2.0, …}', received=brief(values)
            )
        return {sp.Symbol(x, real=True): values[x] for x in self.parameters if x in values}

    # ---- symbolic views ----------------------------------------------------------------------

    @cached_property
    def constraints(self) -> tuple[sp.Expr, ...]:
        """g(q, t) in the system's own coordinates, in the order of `constraint_names`."""
        return tuple(e for x in self.terms if x.kind == "constraint" for e in self._expanded(x))

    @cached_property
    def forces(self) -> tuple[sp.Expr, ...]:
        """f(q, q̇, t), one per coordinate."""
        total = [sp.Integer(0)] * self.n
        for x in self.terms:
            if x.kind == "force":
                flat = x.indices.ravel()
                for i, f in zip(flat, self._expanded(x, x.forces), strict=True):
                    total[i] += f
        return tuple(total)

    @cached_property
    def energy_function(self) -> sp.Expr:
        """L(q, q̇, t), or H(q, p, t) for a system given by its Hamiltonian."""
        return sp.Add(*(e for x in self.terms if x.kind == self.form for e in self._expanded(x)))

    def _expanded(self, term: Term, expressions: Sequence[sp.Expr] = ()) -> list[sp.Expr]:
        """The expressions of all instances (or others in the same symbols) in our symbols."""
        rates = self.momenta if term.kind == "hamiltonian" else self.velocities
        found = []
        for row, constants in zip(term.indices, term.values, strict=True):
            table: dict[sp.Basic, Any] = {
                s: self.coordinates[i] for s, i in zip(term.coordinates, row, strict=True)
            }
            table |= {s: rates[i] for s, i in zip(term.rates, row, strict=False)}
            table |= {s: sp.Float(x) for s, x in zip(term.constants, constants, strict=True)}
            found += [e.xreplace(table) for e in expressions or term.expressions]
        return found

    def equations(self) -> Equations:
        """The Euler–Lagrange and the constrained canonical equations, unsimplified.

        Renders as LaTeX in Jupyter; ``.euler_lagrange`` and ``.canonical`` are lists of SymPy `Eq`.
        """
        return derive(self)

    def _repr_latex_(self) -> str:
        return system_latex(self) if self.flow is None else self.flow._repr_latex_()

    def __repr__(self) -> str:
        return "System: " + ", ".join(
            (
                counted(self.n, "coordinate"),
                counted(self.c, "constraint"),
                counted(self.n - self.c, "degree of freedom", "degrees of freedom"),
            )
        )


# Terms of beams are long, and the same in all mechanisms.
_text = lru_cache(maxsize=64)(spelled)


def _named(constraints: Sequence[Any] | Mapping[str, Any]) -> tuple[list[str], Sequence[Any]]:
    if isinstance(constraints, Mapping):
        return [str(k) for k in constraints], list(constraints.values())
    listed = _listed("constraints", constraints)
    return [f"g{i}" for i in range(len(listed))], listed


def _listed(what: str, given: Any) -> tuple[Any, ...]:
    """The members of a sequence (a SymPy matrix too), but not the letters of a string."""
    loose = str | bytes | set | frozenset | sp.Expr  # letters, or things in no order
    single = isinstance(given, loose) and not getattr(given, "is_Matrix", False)
    try:
        return tuple(None if single else given)  # type: ignore[arg-type]
    except Exception as error:  # things of somebody's own raise what they like
        raise ModelError(
            f"{what} must be a list", expected=f"{what}=[…]", received=brief(given)
        ) from error


def balanced(matrix: np.ndarray) -> np.ndarray:
    """D A D for a symmetric A (or many) with rows of like size: singular in all units or none."""
    for _ in range(3):
        size = np.sqrt(np.abs(matrix).max(axis=-1))
        scale = 1.0 / np.where(size > 0.0, size, 1.0)
        matrix = scale[..., :, None] * matrix * scale[..., None, :]
    return matrix


def _ambiguous(coordinates: Sequence[Any], parameters: list[str]) -> bool:
    """Whether names of coordinates, velocities, momenta, parameters and time are not all different.

    Or not all of them are names.
    """
    if not set(map(type, coordinates)) <= {str, sp.Symbol}:
        return True
    names = [c if isinstance(c, str) else c.name for c in coordinates]
    every = [t.name, *names, *parameters]
    listed = "\n".join(["", *every, ""])
    if "_dot\n" in listed or "\np_" in listed:
        every += [f"{x}_dot" for x in names] + [f"p_{x}" for x in names]
    return len(set(every)) < len(every)


def _knows_both(summand: sp.Expr, term: Term) -> bool:
    """Whether velocities and coordinates stand in the same summand."""
    free = summand.free_symbols
    return not free.isdisjoint(term.rates) and not free.isdisjoint(term.coordinates)
