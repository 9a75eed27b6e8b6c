"""The operators as numbers (`Mechanics`) and as graphs (`Operators`), against SymPy by hand."""

import functools

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sparse
import sympy as sp

import taut
from taut.kernel.evaluate import Mechanics, solve
from taut.kernel.fused import accelerations
from taut.kernel.operators import SPACES, Operators
from taut.model.terms import Term

T = taut.t
NAMES = ("q", "v", "p", "a", "r", "lam")
OPERATORS = {
    "link": "qvp",
    "force": "qvp",
    "pull": "qvp",
    "rate": "qvpar",
    "respond": "qvpar",
    "g": "q",
    "size": "q",
    "push": ("q", "lam"),
    "hidden": "qv",
    "hidden_rate": "qva",
    "whole": "qvp",
    "energy": "qvp",
    "power": ("q", "v", "p", "lam"),
    "jumps": "qvp",
}


# ------------------------------------------------------------------- systems with everything


def lagrangian_system():
    """Mass of q, gyroscopic and explicitly time-dependent terms, forces, moving constraints."""
    x, y, z = q = taut.coordinates("x y z")
    u, v, w = taut.velocities(q)
    k, c = sp.symbols("k c")
    kinetic = (1 + x**2) * u**2 / 2 + (2 + sp.sin(y)) * v**2 / 2 + w**2 + x * y * u * v / 3
    return taut.System(
        q,
        lagrangian=kinetic + (x * v - y * u) * 2 + T * x * u / 5 - k * sp.cos(x) * z - T**2 * y,
        constraints=[x**2 + y**2 + z**2 - (1 + sp.sin(T) / 10) ** 2, x * y - z * sp.exp(-T)],
        forces=[-c * u + sp.sin(T), x * w, -v * abs(v)],
        parameters={"k": 3.0, "c": 0.25},
    )


def quartic_system():
    """A Lagrangian that is not quadratic in the velocities."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    energy = u**2 / 2 + v**2 + (u**2 + v**2) ** 2 / 8 + x * u * v / 4
    return taut.System(q, lagrangian=energy - x * y - y**4, constraints=[x**2 + 2 * y**2 - 1])


def hamiltonian_system():
    """Not separable, not quadratic, of time, with forces and a moving constraint."""
    x, y, z = q = taut.coordinates("x y z")
    px, py, pz = taut.momenta(q)
    u, v, w = taut.velocities(q)
    k = sp.Symbol("k")
    energy = (1 + y**2) * px**2 / 2 + py**2 / 2 + pz**2 + px * py * sp.sin(x) / 4 + px**4 / 20
    return taut.System(
        q,
        hamiltonian=energy + px * sp.sin(T) / 3 + k * x**2 * z + T * y,
        constraints=[x**2 + y**2 + z**2 - 1 - sp.sin(T) / 5],
        forces=[sp.cos(T) - u / 3, 0, -w * v],
        parameters={"k": 1.5},
    )


def system_of_terms():
    """Several types, several instances, constants of their own, constraints of two rows."""
    a, b, c, u, w, m, length, stiff = sp.symbols("a b c u w m L s", real=True)
    gravity = sp.Symbol("G")
    values = np.array([[1.0], [2.0], [0.5], [3.0]])
    terms = [
        Term("lagrangian", (a,), [m * u**2 / 2], np.arange(4)[:, None], (u,), (m,), values),
        Term("lagrangian", (a, b), [a * b * u * w / 9 - gravity * b], [[0, 1], [3, 2]], (u, w)),
        Term(
            "lagrangian", (a, b), [-stiff * (a - b - sp.sin(T)) ** 2 / 2], [[2, 0], [1, 3]],
            constants=(stiff,), values=[[4.0], [7.0]],
        ),
        Term(
            "constraint", (a, b, c), [a**2 + b * c - length, a * b - T * c], [[0, 1, 2]],
            constants=(length,), values=[[1.5]],
        ),
        Term("force", (a, b), [-u * a, T - w], [[3, 0], [1, 2], [0, 1]], (u, w)),
        Term("constraint", (a,), [a**3 - T], [[3]]),
    ]  # fmt: skip
    return taut.System.from_terms(sp.symbols("q0:4"), terms, parameters={"G": 9.81})


MAKE = {
    "lagrangian": lagrangian_system,
    "quartic": quartic_system,
    "hamiltonian": hamiltonian_system,
    "terms": system_of_terms,
}


def potentials(name, q):
    """What of the energy is a force: the summands that know the time, at rest."""
    if name == "terms":
        return (
            # s (d − sin t)²/2 without what is steady in it, s d²/2 + s/4
            -4 * (q[2] - q[0]) * sp.sin(T) - 7 * (q[1] - q[3]) * sp.sin(T) - 11 * sp.cos(2 * T) / 4
        )
    return {"lagrangian": T**2, "quartic": 0, "hamiltonian": T}[name] * q[1]


class ByHand:
    """The operators by their definitions, differentiated by SymPy, evaluated with 30 digits.

    In none of the systems anything jumps, and `potential` is what of them is a load.
    """

    def __init__(self, system, potential):
        self.system = system
        n, c = system.n, system.c
        q, v, p = (sp.Matrix(x) for x in (system.coordinates, system.velocities, system.momenta))
        a, r, lam = (
            sp.Matrix(sp.symbols(f"{name}0:{size}"))
            for name, size in (("acc", n), ("rate", n), ("lam", c))
        )
        self.vectors = {"q": q, "v": v, "p": p, "a": a, "r": r, "lam": lam}
        e, g = system.energy_function, sp.Matrix(system.constraints)
        f = sp.Matrix(system.forces)
        jacobian = g.jacobian(q) if c else sp.zeros(0, n)
        drift = g.diff(T) if c else g
        hidden = jacobian * v + drift

        def gradient(x):
            return sp.Matrix([e.diff(s) for s in x])

        if system.form == "lagrangian":
            slope = gradient(v)
            total = slope.jacobian(v) * a + slope.jacobian(q) * v + slope.diff(T)
            whole, explicit = (v.T * slope)[0] - e, -e.diff(T)
            force, response = gradient(q) + f, slope.jacobian(v) * a
        else:
            slope = gradient(p)
            total = slope.jacobian(p) * r + slope.jacobian(q) * v + slope.diff(T)
            whole, explicit = e, e.diff(T)
            force, response = -gradient(q) + f, slope.jacobian(p) * r
        load = -sp.Matrix([potential]).jacobian(q)
        explicit -= sp.diff(potential, T)
        work = explicit + (load * v)[0] + (f.T * v)[0]
        self.formulas = {
            "link": -slope,
            "force": force,
            "pull": force - f,
            "rate": -total,
            "respond": -response,
            "g": g,
            "size": g.applyfunc(lambda e: sp.Add(*map(sp.Abs, sp.Add.make_args(e)))),
            "push": jacobian.T * lam if c else sp.zeros(n, 1),
            "hidden": hidden,
            "hidden_rate": jacobian * a + hidden.jacobian(q) * v + hidden.diff(T) if c else g,
            "whole": sp.Matrix([whole]),
            "energy": sp.Matrix([whole - potential]),
            "power": sp.Matrix([work + ((lam.T * drift)[0] if c else 0)]),
            "jumps": sp.zeros(1, 1),
        }

    def value(self, expression, t, par, **given):
        """A matrix of expressions at numbers, with 30 digits."""
        table = {T: t}
        names = {s.name: s for s in expression.free_symbols}
        for name, number in zip(self.system.parameters, par, strict=True):
            if name in names:
                table[names[name]] = number
        for name, numbers in given.items():
            table |= dict(zip(self.vectors[name], numbers, strict=True))
        symbols = list(table)
        with mp.workdps(30):
            f = sp.lambdify(symbols, expression.doit(), modules="mpmath")
            found = f(*(mp.mpf(float(table[s])) for s in symbols))
            return np.array(found.tolist(), dtype=float).reshape(expression.shape)

    def apply(self, operator, t, par, **given):
        return self.value(self.formulas[operator], t, par, **given).ravel()

    def derivative(self, operator, by, t, par, **given):
        matrix = self.formulas[operator].jacobian(self.vectors[by])
        return self.value(matrix, t, par, **given)


@functools.cache
def made(name):
    system = MAKE[name]()
    rng = np.random.default_rng(len(name))
    sizes = dict.fromkeys(NAMES[:-1], system.n) | {"lam": system.c}
    states = {name: rng.uniform(0.3, 1.2, (5, size)) for name, size in sizes.items()}
    states["v"][:, ::2] *= -1
    hand = ByHand(system, potentials(name, system.coordinates))
    return system, hand, Mechanics(system), states


@pytest.fixture(params=MAKE)
def case(request):
    """(system, by hand, Mechanics, random states)."""
    return made(request.param)


def row(states, k, names=NAMES):
    return {name: states[name][k] for name in names}


def close(a, b, rtol=1e-13):
    return np.allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.abs(b).max(initial=0.0)))


# ------------------------------------------------------------------- value by value


def test_every_operator_is_tried():
    """Here, or in `test_discrete` if it is a mean between two states."""
    assert set(OPERATORS) == {name for name in SPACES if not name.startswith("mean_")}


@pytest.mark.parametrize("operator", OPERATORS)
def test_mechanics_by_hand(operator, case):
    system, hand, mechanics, states = case
    par = system.values()
    for k, t in enumerate((0.0, 0.7, -1.3)):
        given = row(states, k, OPERATORS[operator])
        wanted = hand.apply(operator, t, par, **row(states, k))
        got = mechanics.apply(operator, t, par, **given)
        assert got.shape == wanted.shape
        assert close(got, wanted), operator


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_by_hand(operator, case):
    system, hand, _, states = case
    ops, par = Operators(system), system.values()
    symbols = {name: ca.SX.sym(name, states[name].shape[1]) for name in NAMES}
    t = ca.SX.sym("t")
    given = {name: symbols[name] for name in OPERATORS[operator]}
    f = ca.Function("f", [*symbols.values(), t, ops.par], [ops.apply(operator, t, **given)])
    for k, when in enumerate((0.0, 0.7, -1.3)):
        numbers = row(states, k)
        got = np.array(f(*numbers.values(), when, par)).ravel()
        assert close(got, hand.apply(operator, when, par, **numbers)), operator


def test_operators_by_name_add_the_vector_that_belongs_to_no_term(case):
    system, hand, _, states = case
    ops, par, x = Operators(system), system.values(), row(states, 0)
    q, v, p, a, r, lam = (ca.DM(x[name]) for name in NAMES)
    first = {"lagrangian": ("p", "r"), "hamiltonian": ("v", "a")}[system.form]
    t = ca.SX(0.4)
    found = {
        "link": (ops.link(q, v, p, t), x[first[0]]),
        "rate": (ops.rate(q, v, p, a, r, t), x[first[1]]),
        "respond": (ops.respond(q, v, p, a, r, t), x[first[1]]),
        "force": (ops.force(q, v, p, t), 0),
        "pull": (ops.apply("pull", t, q=q, v=v, p=p), 0),
        "g": (ops.g(q, t), 0),
        "size": (ops.apply("size", t, q=q), 0),
        "push": (ops.push(q, t, lam), 0),
        "hidden": (ops.hidden(q, v, t), 0),
        "hidden_rate": (ops.hidden_rate(q, v, a, t), 0),
        "whole": (ops.apply("whole", t, q=q, v=v, p=p), 0),
        "energy": (ops.energy(q, v, p, t), 0),
        "power": (ops.power(q, v, p, lam, t), 0),
        "jumps": (ops.jumps(q, v, p, t), 0),
    }
    assert set(found) == set(OPERATORS)
    for operator, (expression, extra) in found.items():
        got = np.array(ca.Function("f", [ops.par], [expression])(par)).ravel()
        assert close(got, extra + hand.apply(operator, 0.4, par, **x)), operator


@pytest.mark.parametrize("name", ["lagrangian", "terms"])
def test_kept_constraints_are_the_rows_of_all(name):
    system, hand, _, states = made(name)
    keep = [system.c - 1, 0]
    ops, par, x = Operators(system, keep), system.values(), row(states, 0)
    assert ops.c == 2
    lam = np.zeros(system.c)
    lam[keep] = (2.0, -3.0)
    g = ca.Function("f", [ops.par], [ops.g(ca.DM(x["q"]), ca.SX(0.4))])(par)
    push = ops.push(ca.DM(x["q"]), ca.SX(0.4), ca.DM([2.0, -3.0]))
    assert close(np.array(g).ravel(), hand.apply("g", 0.4, par, **x)[keep])
    got = np.array(ca.Function("f", [ops.par], [push])(par)).ravel()
    assert close(got, hand.apply("push", 0.4, par, **(x | {"lam": lam})))


@pytest.mark.parametrize("operator", OPERATORS)
def test_many_states_at_once(operator, case):
    """A batch, each row at a time of its own, is its rows."""
    system, _, mechanics, states = case
    par, times = system.values(), np.array([0.0, 0.7, -1.3, 0.1, 2.0])
    given = {name: states[name] for name in OPERATORS[operator]}
    together = mechanics.apply(operator, times, par, **given)
    rows = [
        mechanics.apply(operator, t, par, **row(states, k, OPERATORS[operator]))
        for k, t in enumerate(times)
    ]
    assert np.array_equal(together, np.array(rows))
    same_time = mechanics.apply(operator, 0.7, par, **given)
    assert np.array_equal(same_time[1], rows[1])


@pytest.mark.parametrize("name", ["lagrangian", "hamiltonian", "terms"])
def test_parameters_count(name):
    system, hand, mechanics, states = made(name)
    other = 2.0 * system.values() + 0.1
    x = row(states, 0, "qvp")
    got = mechanics.apply("force", 0.2, other, **x)
    assert close(got, hand.apply("force", 0.2, other, **row(states, 0)))
    assert not close(got, mechanics.apply("force", 0.2, system.values(), **x))


# ------------------------------------------------------------------- what jumps in time


def loaded(form, load):
    """A mass on a spring under a load x·f(t), or under f(t) as a force."""
    (x,), (px,) = q, p = taut.coordinates("x"), taut.momenta(taut.coordinates("x"))
    (u,) = taut.velocities(q)
    if form == "force":
        return taut.System(q, lagrangian=u**2 - x**2, forces=[load])
    if form == "lagrangian":
        return taut.System(q, lagrangian=u**2 - x**2 + x * load)
    return taut.System(q, momenta=p, hamiltonian=px**2 / 4 + x**2 - x * load)


def mean_by_hand(before, after, cut, begin, end):
    """The mean of a function with two branches over a span, as a function of the time in it."""
    cut, middle = min(max(cut, begin), end), (begin + end) / 2
    found = sp.S.Zero
    for branch, a, b in ((before, begin, cut), (after, cut, end)):
        share = (b - a) / (end - begin)
        found += share * branch.subs(T, (a + b) / 2 + share * (T - middle))
    return found


@pytest.mark.parametrize("form", ["force", "lagrangian", "hamiltonian"])
@pytest.mark.parametrize(
    ("before", "after"), [(0, 3), (2 + T, T**2), (1 - T, T - 1)], ids=["step", "branch", "bend"]
)
def test_jumps_are_differences_of_means(form, before, after):
    """Those before t and after t, of a force and of its slope, the cut being at 1."""
    before, after, cut = sp.sympify(before), sp.sympify(after), sp.Integer(1)
    system = loaded(form, sp.Piecewise((after, cut <= T), (before, True)))
    ops = Operators(system)
    assert ops.switched
    half, state = sp.Rational(1, 8), [ca.SX(x) for x in (0.3, -0.7, 1.1)]
    seen = []
    for at in (sp.Rational(3, 4), sp.Rational(15, 16), sp.Rational(33, 32), sp.Rational(3, 2)):
        sides = [(at - half, at), (at, at + half)]
        one, two = (mean_by_hand(before, after, cut, *side) for side in sides)
        wanted = sum(abs(sp.diff(two - one, T, k).subs(T, at)) for k in (0, 1))
        # A load that changes smoothly has the same mean and slope on both sides.
        smooth = abs(at - cut) > half
        assert (wanted == 0) == smooth
        ops.window = ca.SX(float(at - half)), ca.SX(float(at + half))
        found = ca.Function("f", [ops.par], [ops.jumps(*state, ca.SX(float(at)))])(0)
        assert float(found) == pytest.approx(float(wanted), rel=1e-8, abs=0)
        seen.append(wanted)
    assert len(set(seen)) == 3


@pytest.mark.parametrize("name", [*MAKE, "one branch of many"])
def test_what_does_not_jump_is_not_switched(name):
    """Whatever else it does: no term is looked at for jumps, nor are powers found twice."""
    if name in MAKE:
        system = made(name)[0]
    else:  # where it jumps is a matter of place, or of speed
        x, y = q = taut.coordinates("x y")
        u, _ = taut.velocities(q)
        cases = sp.Piecewise((T * x, x > sp.sin(T)), (0, True))
        system = taut.System(q, mass=1, potential=cases, forces=[-sp.sign(u), abs(y) * T])
    assert not Operators(system).switched
    assert not any(x.has("jumps") for x in Operators(system).locals)


# ------------------------------------------------------------------- derivatives

DERIVATIVES = [
    ("g", "q"),
    ("hidden", "q"),
    ("hidden", "v"),
    ("hidden_rate", "v"),
    ("hidden_rate", "a"),
    ("push", "q"),
    ("push", "lam"),
    ("force", "q"),
    ("force", "v"),
    ("force", "p"),
    ("link", "q"),
    ("link", "v"),
    ("link", "p"),
    ("rate", "v"),
    ("respond", "a"),
    ("respond", "r"),
    ("whole", "q"),
    ("whole", "v"),
    ("energy", "q"),
    ("energy", "v"),
    ("energy", "p"),
    ("power", "q"),
    ("power", "v"),
    ("power", "lam"),
]


@pytest.mark.parametrize(("operator", "by"), DERIVATIVES, ids=lambda name: name)
def test_derivatives(operator, by, case):
    system, hand, mechanics, states = case
    par, x = system.values(), row(states, 1)
    given = row(states, 1, OPERATORS[operator])
    got = mechanics.derivative(operator, by, 0.3, par, **given)
    wanted = hand.derivative(operator, by, 0.3, par, **x)
    assert sparse.issparse(got)
    assert got.shape == wanted.shape
    assert close(got.toarray(), wanted, rtol=1e-12)


@pytest.mark.parametrize(("operator", "by"), DERIVATIVES, ids=lambda name: name)
def test_derivatives_at_many_states(operator, by, case):
    system, _, mechanics, states = case
    par, given = system.values(), {name: states[name] for name in OPERATORS[operator]}
    together = mechanics.derivatives(operator, by, 0.3, par, **given)
    for k, one in enumerate(together):
        alone = mechanics.derivative(operator, by, 0.3, par, **row(states, k, OPERATORS[operator]))
        assert close(one, alone.toarray(), rtol=1e-15)


def test_the_jacobian_is_that_of_the_constraints(case):
    system, hand, mechanics, states = case
    par, q = system.values(), states["q"][2]
    got = mechanics.jacobian(q, 0.3, par).toarray()
    assert close(got, hand.derivative("g", "q", 0.3, par, **row(states, 2)))


def test_the_mass(case):
    system, hand, mechanics, states = case
    par, x = system.values(), row(states, 2)
    got = mechanics.mass(x["q"], x["v"], x["p"], 0.3, par)
    name = "a" if system.form == "lagrangian" else "r"
    hessian = -hand.derivative("respond", name, 0.3, par, **x)
    wanted = hessian if system.form == "lagrangian" else np.linalg.inv(hessian)
    assert close(got, wanted, rtol=1e-12)


# ------------------------------------------------------------------- the Legendre pair


def test_momentum_and_velocity_are_inverse(case):
    system, hand, mechanics, states = case
    par, q, v, p = system.values(), *(states[name] for name in "qvp")
    t = np.array([0.0, 0.7, -1.3, 0.1, 2.0])
    assert close(mechanics.velocity(q, mechanics.momentum(q, v, t, par), t, par), v, rtol=1e-14)
    assert close(mechanics.momentum(q, mechanics.velocity(q, p, t, par), t, par), p, rtol=1e-13)
    # … and the explicit one of the two is the gradient.
    if system.form == "lagrangian":
        slope = -hand.apply("link", 0.7, par, **row(states, 1))
        assert close(mechanics.momentum(q[1], v[1], 0.7, par), slope)
    else:
        slope = -hand.apply("link", 0.7, par, **row(states, 1))
        assert close(mechanics.velocity(q[1], p[1], 0.7, par), slope)


def relativistic(form):
    q = taut.coordinates("x y")
    (u, v), (px, py) = taut.velocities(q), taut.momenta(q)
    if form == "lagrangian":
        return taut.System(q, lagrangian=-sp.sqrt(1 - (u**2 + v**2) / 16))
    return taut.System(q, hamiltonian=4 * sp.sqrt(16 + px**2 + py**2))


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_fast_particles(form):
    """Near the speed of light a full Newton step would leave the domain."""
    system = relativistic(form)
    mechanics, par, q = Mechanics(system), np.zeros(0), np.zeros(2)
    for speed in (0.1, 3.0, 3.9, 3.999):
        v = speed * np.array([0.6, -0.8])
        mass = (1 / 16 if form == "lagrangian" else 1.0) / np.sqrt(1 - speed**2 / 16)
        assert close(mechanics.momentum(q, v, 0.0, par), mass * v, rtol=1e-9)
        assert close(mechanics.velocity(q, mass * v, 0.0, par), v, rtol=1e-12)
    assert mechanics.velocity(q, np.zeros(2), 0.0, par).tolist() == [0.0, 0.0]


# ------------------------------------------------------------------- accelerations and power


def test_accelerations_satisfy_the_equations_of_motion(case):
    system, hand, mechanics, states = case
    par, t = system.values(), 0.3
    x = row(states, 1, "qvp")
    x |= _linked(system, mechanics, x, t, par)
    a, lam = mechanics.accelerations(*x.values(), t, par)
    force = hand.apply("force", t, par, **x)
    r = force - hand.apply("push", t, par, q=x["q"], lam=lam)
    rate = hand.apply("rate", t, par, **x, a=a, r=r)
    first = r if system.form == "lagrangian" else a
    size = np.abs(force).max() + np.abs(r).max() + np.abs(a).max()
    assert np.abs(first + rate).max() <= 1e-12 * size
    assert np.abs(hand.apply("hidden_rate", t, par, **x, a=a)).max() <= 1e-12 * size


def test_accelerations_as_a_graph_are_the_same(case):
    system, _, mechanics, states = case
    par, t = system.values(), 0.3
    x = row(states, 1, "qvp")
    x |= _linked(system, mechanics, x, t, par)
    ops = Operators(system)
    graph = accelerations(ops, *(ca.DM(x[name]) for name in "qvp"), ca.SX(t))
    got = ca.Function("f", [ops.par], list(graph))(par)
    for one, two in zip(got, mechanics.accelerations(*x.values(), t, par), strict=True):
        assert close(np.array(one).ravel(), two, rtol=1e-11)


def test_power_is_the_rate_of_the_energy(case):
    """dE/dt = E_q v + E_v a (or E_p ṗ) + E_t on a state that satisfies the hidden constraints."""
    system, hand, mechanics, states = case
    par, t = system.values(), 0.3
    x = row(states, 2, "qvp")
    # The constraints are to hold only as G v + g_t = 0: project the velocity.
    g = mechanics.jacobian(x["q"], t, par).toarray()
    x["v"] = x["v"] - np.linalg.pinv(g) @ mechanics.hidden(x["q"], x["v"], t, par)
    x["p"] = mechanics.momentum(x["q"], x["v"], t, par)
    a, lam = mechanics.accelerations(*x.values(), t, par)
    r = mechanics.apply("force", t, par, **x) - mechanics.push(x["q"], t, lam, par)
    rates = ("v", a) if system.form == "lagrangian" else ("p", r)
    total = sum(
        float(hand.derivative("energy", name, t, par, **x)[0] @ rate)
        for name, rate in (("q", x["v"]), rates)
    )
    total += float(hand.value(hand.formulas["energy"].diff(taut.t), t, par, **x)[0, 0])
    got = mechanics.power(*x.values(), lam, t, par)
    assert got == pytest.approx(total, rel=1e-11)


def _linked(system, mechanics, x, t, par):
    """The one of v and p that follows from the other."""
    if system.form == "lagrangian":
        return {"p": mechanics.momentum(x["q"], x["v"], t, par)}
    return {"v": mechanics.velocity(x["q"], x["p"], t, par)}


def test_redundant_constraints_share_the_load():
    """Of all multipliers that give the same force, the shortest."""
    x, y = taut.coordinates("x y")
    once = taut.System([x, y], mass=[1, 2], potential=10 * y, constraints=[x**2 + y**2 - 1])
    g = x**2 + y**2 - 1
    thrice = taut.System([x, y], mass=[1, 2], potential=10 * y, constraints=[g, 2 * g, -2 * g])
    q, v, none = np.array([0.6, -0.8]), np.array([0.8, 0.6]), np.zeros(0)
    a, lam = Mechanics(once).accelerations(q, v, v * [1, 2], 0.0, none)
    b, many = Mechanics(thrice).accelerations(q, v, v * [1, 2], 0.0, none)
    assert close(a, b)
    assert close(many, lam[0] * np.array([1, 2, -2]) / 9, rtol=1e-12)


def test_without_constraints():
    x, y = taut.coordinates("x y")
    system = taut.System([x, y], mass=[1, 2], potential=x**2 + 3 * y)
    m, none = Mechanics(system), np.zeros(0)
    a, lam = m.accelerations(np.array([1.0, 5.0]), np.zeros(2), np.zeros(2), 0.0, none)
    assert a.tolist() == [-2.0, -1.5]
    assert lam.shape == (0,)
    assert m.g(np.ones((4, 2)), 0.0, none).shape == (4, 0)
    assert m.jacobian(np.ones(2), 0.0, none).shape == (0, 2)


# ------------------------------------------------------------------- large


def chain(n):
    x, y, a, b, u, w = sp.symbols("x y a b u w", real=True)
    pairs = np.arange(2 * n).reshape(n, 2)
    terms = [
        Term("lagrangian", (x, y), [(u**2 + w**2) / 2 - 10 * y], pairs, (u, w)),
        Term("constraint", (x, y), [x**2 + y**2 - 1], pairs[:1]),
        Term(
            "constraint", (x, y, a, b), [(x - a) ** 2 + (y - b) ** 2 - 1],
            np.hstack([pairs[:-1], pairs[1:]]),
        ),
    ]  # fmt: skip
    return taut.System.from_terms(sp.symbols(f"q0:{2 * n}"), terms)


def test_a_long_chain_at_rest_hangs_by_its_weight():
    """λ of rod k carries the n − k bodies below: 2λ = 10 (n − k)."""
    n = 200
    system, none = chain(n), np.zeros(0)
    m = Mechanics(system)
    q = np.zeros(2 * n)
    q[1::2] = -np.arange(1.0, n + 1)
    a, lam = m.accelerations(q, np.zeros(2 * n), np.zeros(2 * n), 0.0, none)
    assert np.abs(a).max() <= 1e-9
    # g = |q_k − q_{k−1}|² − 1 has the gradient 2 (q_k − q_{k−1}) in the lower body.
    assert close(2 * lam, 10.0 * (n - np.arange(n)), rtol=1e-11)
    assert m.jacobian(q, 0.0, none).nnz <= 4 * n
    assert m.energy(q, np.zeros(2 * n), q, 0.0, none) == pytest.approx(-5 * n * (n + 1))


@pytest.mark.parametrize("n", [5, 59, 60, 61, 150])
def test_solve_is_dense_or_sparse(n, rng):
    matrix = sparse.csr_matrix(np.diag(rng.uniform(1, 2, n)) + np.diag(np.full(n - 1, 0.3), 1))
    for right in (rng.uniform(-1, 1, n), rng.uniform(-1, 1, (n, 3))):
        assert np.allclose(matrix @ solve(matrix, right), right, rtol=0, atol=1e-13)


def test_masses_that_differ_by_any_factor_have_their_multipliers():
    """λ of a heavy and of a light pendulum in one system are those of each alone."""
    a, b, c, d = q = taut.coordinates("a b c d")
    rods = [a**2 + b**2 - 1, c**2 + d**2 - 1]
    both = taut.System(
        q, mass=[1e12, 1e12, 1e-12, 1e-12], potential=1e13 * b + 1e-11 * d, constraints=rods
    )
    place, pace = np.array([0.6, -0.8, 0.6, -0.8]), np.array([0.8, 0.6, 0.8, 0.6])
    mechanics, none = Mechanics(both), np.zeros(0)
    p = mechanics.momentum(place, pace, 0.0, none)
    rates, lam = mechanics.accelerations(place, pace, p, 0.0, none)
    np.testing.assert_allclose(lam / [1e12, 1e-12], [4.5, 4.5], rtol=1e-12)
    np.testing.assert_allclose(rates[:2], rates[2:], rtol=1e-12)


@pytest.mark.parametrize(
    ("kinetic", "constant"),
    [("u**2 + w**2", True), ("u**2*x + w**2", False), ("u**4 + w**2", False),
     ("u**2*(2 + sin(t)) + w**2", False), ("k*u**2 + u*w + w**2", True)],
)  # fmt: skip
def test_whether_the_mass_is_constant(kinetic, constant):
    q = taut.coordinates("x y")
    u, w = taut.velocities(q)
    k = sp.Symbol("k")
    names = {"x": q[0], "u": u, "w": w, "t": taut.t, "k": k}
    energy = sp.sympify(kinetic, locals=names)
    s = taut.System(q, kinetic=energy, parameters={"k": 2.0})
    assert Mechanics(s).constant_mass == constant


def test_whether_the_mass_of_a_hamiltonian_is_constant():
    q = taut.coordinates("x y")
    px, py = taut.momenta(q)
    for energy, constant in ((px**2 + py**2 + q[0], True), (px**4 + py**2 + px**2, False)):
        assert Mechanics(taut.System(q, hamiltonian=energy)).constant_mass == constant
