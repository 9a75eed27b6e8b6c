"""The energy–momentum method: what it keeps, what it does not, and where it might go wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import fsolve

import taut
from taut.errors import InconsistentStart, InputError, ModelError, StepError
from taut.methods import EnergyMomentum
from taut.model.terms import Term

T = taut.t
x, y, z = taut.coordinates("x y z")
u, v, w = taut.velocities([x, y, z])
px, py, pz = taut.momenta([x, y, z])
R2 = x**2 + y**2 + z**2
BOTH = pytest.mark.parametrize("hidden", [False, True])


def run(system, start, method, duration, step, **options):
    return taut.simulate(system, duration=duration, step=step, method=method, **start, **options)


def band(trajectory):
    """Of the energy, relative to its own size and that of the motion."""
    energy = trajectory.energy
    size = np.abs(energy).max() + np.abs(trajectory.v * trajectory.p).sum(axis=-1).max()
    return np.ptp(energy) / size


def change(trajectory, law):
    values = trajectory.evaluate(law)
    return np.abs(values - values[0]).max()


# ------------------------------------------------------------------- systems


def spherical():
    """A charge on a sphere, in the field of gravity and of another charge on its axis."""
    potential = 10 * z + 3 / sp.sqrt(x**2 + y**2 + (z - 2) ** 2)
    system = taut.System([x, y, z], mass=[1, 1, 1], potential=potential, constraints=[R2 - 1])
    return system, {"q0": [0.6, 0, -0.8], "v0": [0, 1.5, 0]}, [x * py - y * px]


def spring_pendulum():
    potential = 200 * (sp.sqrt(R2) - 1) ** 2
    system = taut.System([x, y, z], mass=[2, 2, 2], potential=potential)
    laws = [x * py - y * px, y * pz - z * py, z * px - x * pz]
    return system, {"q0": [1.1, 0, 0.2], "v0": [0.3, 1.5, -0.4]}, laws


def bodies(dimension):
    """Two bodies with a rod between them, and a third one on a spring, free in space."""
    q = taut.coordinates(" ".join(f"{s}{i}" for i in range(3) for s in "xyz"[:dimension]))
    points = [q[i * dimension : (i + 1) * dimension] for i in range(3)]

    def square(i, j):
        return sum((a - b) ** 2 for a, b in zip(points[i], points[j], strict=True))

    masses = [m for m in (1, 2, 3) for _ in range(dimension)]
    system = taut.System(
        q,
        mass=masses,
        potential=40 * (sp.sqrt(square(1, 2)) - 1) ** 2 + 2 / sp.sqrt(square(0, 2)),
        constraints=[square(0, 1) - 1],
    )
    p = system.momenta
    momenta = [p[i * dimension : (i + 1) * dimension] for i in range(3)]
    linear = [sum(column) for column in zip(*momenta, strict=True)]
    planes = [(0, 1), (1, 2), (2, 0)] if dimension == 3 else [(0, 1)]
    angular = [
        sum(r[i] * m[j] - r[j] * m[i] for r, m in zip(points, momenta, strict=True))
        for i, j in planes
    ]
    q0 = np.array([[0, 0, 0], [1, 0, 0], [1, 1.2, 0.3]])[:, :dimension].ravel()
    # The centre of mass is at rest: far from the origin q has fewer digits.
    v0 = np.array([[0, 0.5, 0.1], [0, -0.4, 0.25], [0, 0.1, -0.2]])[:, :dimension].ravel()
    return system, {"q0": q0, "v0": v0}, linear + angular


def joint_hamiltonian():
    """Not separable, and a function of |q|², |p|² and q·p."""
    dot, p2, r2 = x * px + y * py, px**2 + py**2, x**2 + y**2
    energy = p2 / 2 + dot**2 / 5 + sp.sqrt(1 + p2) / (1 + r2) + r2**2
    system = taut.System([x, y], hamiltonian=energy)
    return system, {"q0": [1, 0.3], "p0": [0.2, 1]}, [x * py - y * px]


SYMMETRIC = {
    "spherical": spherical,
    "spring pendulum": spring_pendulum,
    "bodies in the plane": lambda: bodies(2),
    "bodies in space": lambda: bodies(3),
    "H of q and p": joint_hamiltonian,
}


def curved():
    """Mass matrix that depends on q."""
    mass = [
        [2 + x**2, x * y / 4, 0],
        [x * y / 4, 1 + y**2, sp.sin(z) / 3],
        [0, sp.sin(z) / 3, 1.5],
    ]
    system = taut.System([x, y, z], mass=mass, potential=z + sp.cos(x), constraints=[R2 - 1])
    return system, {"q0": [0.6, 0, 0.8], "v0": [0, 1, 0]}


def hamiltonian():
    energy = sp.sqrt(1 + px**2 + py**2 * (1 + x**2)) + pz**2 / 2 + px * py * z / 5 + sp.exp(x * y)
    system = taut.System([x, y, z], hamiltonian=energy + z, constraints=[R2 - 1])
    return system, {"q0": [0.6, 0, -0.8], "v0": [0, 0.5, 0]}


def gyroscopic():
    energy = (u**2 + v**2 + w**2) / 2 + sp.exp(x) * v - x * u * z
    system = taut.System([x, y, z], lagrangian=energy - z**3, constraints=[R2 - 1])
    return system, {"q0": [0.6, 0, -0.8], "v0": [0, 1, 0]}


# ------------------------------------------------------------------- energy


@BOTH
@pytest.mark.parametrize("make", SYMMETRIC.values(), ids=SYMMETRIC)
def test_energy_and_momenta(make, hidden):
    """Over 10⁵ steps, large ones: round-off."""
    system, start, laws = make()
    facts = run(
        system, start, EnergyMomentum(hidden=hidden), 5000, 0.05, every=10,
        laws={str(i): law for i, law in enumerate(laws)},
    )  # fmt: skip
    assert band(facts) < 2e-13
    assert facts.certificate.max_g < 1e-13
    if hidden:
        assert facts.certificate.max_hidden < 1e-12
    for watched in facts.certificate.watched:
        assert watched.largest_change < 5e-12 * max(1, abs(watched.first))


@BOTH
@pytest.mark.parametrize("make", [curved, hamiltonian, gyroscopic], ids=lambda f: f.__name__)
def test_energy_of_any_system(make, hidden):
    system, start = make()
    facts = run(system, start, EnergyMomentum(hidden=hidden), 5000, 0.05, every=10)
    assert band(facts) < 3e-13
    assert facts.certificate.max_g < 1e-14
    # Without the hidden constraint p leaves the tangent space by O(h²), and no further.
    limit = (0, 1e-13) if hidden else (1e-5, 0.1)
    assert limit[0] <= facts.certificate.max_hidden < limit[1]
    assert not facts.certificate.drifts


def test_the_other_methods_have_a_band():
    """Guards the tests above: at such steps the energy of RATTLE is not constant."""
    system, start, _ = spherical()
    assert band(run(system, start, "rattle", 50, 0.05)) > 1e-4


@BOTH
def test_energy_is_that_of_the_state_shown(hidden):
    """E from q and p by hand, not from what the method carries."""
    system, start, _ = spherical()
    facts = run(system, start, EnergyMomentum(hidden=hidden), 100, 0.05)
    potential = sp.lambdify((x, y, z), 10 * z + 3 / sp.sqrt(x**2 + y**2 + (z - 2) ** 2))
    energy = (facts.p**2).sum(axis=1) / 2 + potential(*facts.q.T)
    assert np.ptp(energy) < 1e-12
    assert np.array_equal(facts.p, facts.v)


# ------------------------------------------------------------------- momenta, plain and given


def quartic():
    """|q|⁴ multiplied out: its symmetry is not to be seen."""
    potential = sp.expand((x**2 + y**2) ** 2) / 4
    return taut.System([x, y], mass=[1, 1], potential=potential), {"q0": [1, 0], "v0": [0.3, 0.7]}


def test_plain_form_keeps_energy_only():
    system, start = quartic()
    plain = run(system, start, EnergyMomentum(), 500, 0.1)
    assert band(plain) < 1e-13
    assert change(plain, x * py - y * px) > 1e-4
    assert "plain form in x, y" in str(plain.certificate)
    assert "momenta need not be kept" in plain.certificate.to_dict()["method_notes"]["energy by"]


def test_given_invariants_keep_momenta():
    system, start = quartic()
    given = run(system, start, EnergyMomentum(invariants=[x**2 + y**2]), 500, 0.1)
    assert band(given) < 1e-13
    assert change(given, x * py - y * px) < 1e-13
    assert "keep momenta" in given.certificate.to_dict()["method_notes"]["energy by"]
    assert "x**2 + y**2" in given.method.label


def test_given_invariants_of_terms():
    """Written in the local coordinates of a term; other terms have their own."""
    a, b, p, r = sp.symbols("a b p r", real=True)
    energy = (p**2 + r**2) / 2 - sp.expand((a**2 + b**2) ** 2)
    terms = [Term("lagrangian", (a, b), [energy], [[0, 1], [2, 3]], rates=(p, r))]
    system = taut.System.from_terms(sp.symbols("q0:4"), terms)
    start = {"q0": [1, 0, 0, 0.5], "v0": [0.2, 1, -1, 0.3]}
    plain, given = (
        run(system, start, EnergyMomentum(invariants=x), 100, 0.1) for x in ((), [a**2 + b**2])
    )
    for k in (0, 2):
        turns = [x.q[:, k] * x.p[:, k + 1] - x.q[:, k + 1] * x.p[:, k] for x in (plain, given)]
        assert np.ptp(turns[0]) > 1e-4
        assert np.ptp(turns[1]) < 1e-13


def test_translations_are_kept_with_a_mass_that_depends_on_q():
    """Two angles, coupled by their difference only: p_a + p_b is kept, and so is the energy."""
    a, b = taut.coordinates("a b")
    pa, pb = taut.momenta([a, b])
    mass = [[2, sp.cos(a - b)], [sp.cos(a - b), 1]]
    system = taut.System([a, b], mass=mass, potential=sp.cos(a - b) / 2)
    facts = run(system, {"q0": [0, 1], "v0": [1, -0.5]}, EnergyMomentum(), 50, 0.1)
    assert band(facts) < 1e-13
    assert change(facts, pa + pb) < 1e-13
    assert "translations" in facts.certificate.to_dict()["method_notes"]["energy by"]


def test_a_cyclic_coordinate_beside_the_plain_form():
    """Polar coordinates with a mass that is plain in r and z: p_θ is kept."""
    r, theta, s = taut.coordinates("r theta s")
    mass = [1 + sp.sin(r * s**2) ** 2, r**2 * sp.exp(r * s), 1]
    system = taut.System([r, theta, s], mass=mass, potential=r**2 + s**2)
    facts = run(system, {"q0": [1, 0, 0.4], "v0": [0.1, 1, 0]}, EnergyMomentum(), 200, 0.1)
    assert band(facts) < 1e-13
    assert change(facts, system.momenta[1]) < 1e-14


def test_options():
    assert EnergyMomentum(invariants=None) == EnergyMomentum() == EnergyMomentum([])
    assert EnergyMomentum(x**2) == EnergyMomentum([x**2]) != EnergyMomentum()
    assert EnergyMomentum("x**2 + y**2").key == EnergyMomentum([x**2 + y**2]).key
    with pytest.raises(InputError, match="hidden"):
        EnergyMomentum(hidden="yes")
    with pytest.raises(ModelError, match="an invariant"):
        EnergyMomentum(invariants=[[x]])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([sp.sqrt(x)], "not quadratic"),
        ([x**3 + y], "not quadratic"),
        ([x + sp.Symbol("a")], "no function of the system's coordinates"),
    ],
)
def test_wrong_invariants_are_told(given, words):
    system, start = quartic()
    with pytest.raises(InputError, match=words):
        run(system, start, EnergyMomentum(invariants=given), 1, 0.1)


def test_nonlinear_constraints_through_invariants():
    """√(x² + y² + z²) = 1 instead of a quadratic constraint: the same manifold and momenta."""
    system = taut.System([x, y, z], mass=[1, 1, 1], potential=10 * z, constraints=[sp.sqrt(R2) - 1])
    for hidden in (False, True):
        facts = run(
            system,
            {"q0": [0.6, 0, -0.8], "v0": [0, 1, 0]},
            EnergyMomentum(hidden=hidden),
            500,
            0.05,
        )
        assert band(facts) < 1e-13
        assert change(facts, x * py - y * px) < 1e-12
        assert (facts.certificate.max_hidden < 1e-13) == hidden


def test_plain_constraints():
    """A surface without symmetry, no polynomial: the discrete derivative is the plain one."""
    surface = z - sp.sin(x * y**2) - sp.exp(x * y / 4) / 3
    system = taut.System([x, y, z], mass=[1, 2, 1], potential=10 * R2, constraints=[surface])
    for hidden in (False, True):
        facts = run(
            system, {"q0": [0.5, 0, 1 / 3], "v0": [0.3, 1, 1 / 24]}, EnergyMomentum(hidden=hidden),
            500, 0.02, project=True,
        )  # fmt: skip
        assert band(facts) < 1e-13
        assert facts.certificate.max_g < 1e-14
        assert (facts.certificate.max_hidden < 1e-12) == hidden


# ------------------------------------------------------------------- what the certificate says


def test_verdicts_of_the_certificate():
    """Round-off walks, which is no drift; what was not asked for is not called broken."""
    system, start, _ = spherical()
    rows = {
        hidden: {row[0]: row[1:] for row in facts.certificate.rows()}
        for hidden in (False, True)
        for facts in [run(system, start, EnergyMomentum(hidden=hidden), 500, 0.02)]
    }
    assert rows[False]["max |G q̇ + ∂g/∂t|"][1] == "not asked for"
    assert rows[True]["max |G q̇ + ∂g/∂t|"][1] == "round-off"
    for found in rows.values():
        assert found["energy drift"][1] not in ("drifts", "wanders")
        assert found["energy by"] == (
            "x**2 + y**2 + (z - 2)**2", "symmetries shared with the masses keep momenta"
        )  # fmt: skip
        assert found["constraints by"][1] == "exact"


def test_energy_that_is_not_kept_is_not_called_round_off(monkeypatch):
    """The claim of a method does not hide what was measured."""
    from taut.methods import Rattle

    system, start, _ = spherical()
    monkeypatch.setattr(Rattle, "keeps_energy", True)
    rows = {row[0]: row for row in run(system, start, "rattle", 500, 0.02).certificate.rows()}
    assert rows["energy drift"][2] not in ("", "round-off")


def test_a_batch_is_its_members():
    system, start, _ = spherical()
    v0 = np.array([[0, 1.5, 0], [0, -0.5, 0], [0, 0, 0]])
    for hidden in (False, True):
        method = EnergyMomentum(hidden=hidden)
        batch = taut.simulate(system, q0=start["q0"], v0=v0, duration=1, step=0.02, method=method)
        for k in range(3):
            alone = run(system, {"q0": start["q0"], "v0": v0[k]}, method, 1, 0.02)
            assert np.array_equal(batch.q[k], alone.q)
            assert np.array_equal(batch.p[k], alone.p)


# ------------------------------------------------------------------- rest and turning points


@BOTH
def test_rest_at_equilibrium(hidden):
    """Nothing moves, and nothing is divided by zero."""
    system, _, _ = spherical()
    facts = run(system, {"q0": [0, 0, -1], "v0": 0}, EnergyMomentum(hidden=hidden), 10, 0.05)
    assert np.abs(facts.q - [0, 0, -1]).max() < 1e-15
    assert np.abs(facts.p).max() < 1e-13


@BOTH
def test_start_from_rest_and_turning_points(hidden):
    """A planar swing: the path is traced back and forth, with a turning point in each period."""
    system, _, _ = spherical()
    facts = run(
        system, {"q0": [0.6, 0, -0.8], "v0": 0}, EnergyMomentum(hidden=hidden), 2000, 0.02, every=1
    )
    assert band(facts) < 1e-13
    assert np.abs(facts.q[:, 1]).max() == 0.0
    turns = np.flatnonzero(np.diff(np.sign(facts.v[:, 0])))
    assert len(turns) > 500
    assert facts.certificate.most_iterations <= 4


def test_a_spring_at_its_natural_length():
    """U and U' vanish there; U is all round-off."""
    system, _, _ = spring_pendulum()
    still = run(system, {"q0": [1, 0, 0], "v0": 0}, EnergyMomentum(), 10, 0.05)
    assert np.ptp(still.q, axis=0).max() == 0.0
    small = run(system, {"q0": [1 + 1e-9, 0, 0], "v0": 0}, EnergyMomentum(), 100, 0.01)
    assert np.abs(small.q[:, 0] - 1).max() < 1.01e-9
    assert np.abs(small.q[:, 0] - 1).max() > 0.99e-9


def test_large_steps_are_stable():
    """Steps of two thirds of a period of the spring, at which RATTLE does not live long."""
    system, start, laws = spring_pendulum()
    with pytest.raises(StepError):
        run(system, start, "rattle", 3000, 0.3)
    facts = run(system, start, EnergyMomentum(), 3000, 0.3)
    assert band(facts) < 3e-12
    assert change(facts, laws[0]) < 1e-11


# ------------------------------------------------------------------- order, return, forces


@BOTH
@pytest.mark.parametrize("make", [hamiltonian, gyroscopic], ids=lambda f: f.__name__)
def test_order(make, hidden):
    system, start = make()
    exact = run(system, start, "gauss-lobatto-6", 1, 0.005)
    errors = []
    for count in (20, 40, 80):
        facts = run(system, start, EnergyMomentum(hidden=hidden), 1, 1 / count)
        errors.append(
            [np.abs(getattr(facts, k)[-1] - getattr(exact, k)[-1]).max() for k in ("q", "p")]
        )
    rates = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert rates == pytest.approx(2, abs=0.1)


@BOTH
@pytest.mark.parametrize("make", [curved, hamiltonian], ids=lambda f: f.__name__)
def test_there_and_back(make, hidden):
    system, start = make()
    out = run(system, start, EnergyMomentum(hidden=hidden), 5, 0.05)
    there = {"q0": out.q[-1], "p0": -out.p[-1]}
    back = run(system, there, EnergyMomentum(hidden=hidden), 5, 0.05)
    assert back.q[-1] == pytest.approx(out.q[0], abs=1e-11)
    assert back.p[-1] == pytest.approx(-out.p[0], abs=1e-11)


def test_momenta_that_are_not_tangent():
    """Are states of this method, but of no other; velocities must be tangent for all."""
    system, start, _ = spherical()
    out = run(system, start, EnergyMomentum(), 5, 0.05)
    there = {"q0": out.q[-1], "p0": out.p[-1]}
    assert band(run(system, there, EnergyMomentum(), 1, 0.05)) < 1e-13
    for other in ("rattle", EnergyMomentum(hidden=True)):
        with pytest.raises(InconsistentStart):
            run(system, there, other, 1, 0.05)
    with pytest.raises(InconsistentStart):
        run(system, {"q0": out.q[-1], "v0": out.v[-1]}, EnergyMomentum(), 1, 0.05)
    projected = run(system, there, EnergyMomentum(), 1, 0.05, project=True)
    assert np.abs(projected.q[0] @ projected.v[0]) < 1e-14


@BOTH
def test_work_of_forces(hidden):
    """In each step E changes by f(q̄, v̄)·Δq: exactly, if the hidden constraint asks for nothing."""
    system = taut.System(
        [x, y], mass=[1, 2], potential=10 * y, constraints=[x**2 + y**2 - 1],
        forces=[-u * abs(u) / 5, sp.cos(2 * T) - v / 10],
    )  # fmt: skip
    facts = run(system, {"q0": [1, 0], "v0": 0}, EnergyMomentum(hidden=hidden), 20, 0.05)
    dq, middle = np.diff(facts.q, axis=0), (facts.v[1:] + facts.v[:-1]) / 2
    time = (facts.t[1:] + facts.t[:-1]) / 2
    force = np.stack([-middle[:, 0] * abs(middle[:, 0]) / 5, np.cos(2 * time) - middle[:, 1] / 10])
    assert np.diff(facts.energy) == pytest.approx((force.T * dq).sum(axis=1), abs=3e-14)
    assert np.ptp(facts.energy) > 1


@BOTH
def test_balance_with_a_moving_constraint(hidden):
    """Energy minus work: of second order, as the certificate measures it."""
    moving = (x - sp.sin(3 * T) / 5) ** 2 + y**2 - 1
    system = taut.System([x, y], mass=[1, 1], potential=10 * y, constraints=[moving])
    start = {"q0": [1, 0], "v0": [0.6, 0.2]}
    bands = [
        run(system, start, EnergyMomentum(hidden=hidden), 10, h).certificate.energy.band
        for h in (0.02, 0.01)
    ]
    assert 3.5 < bands[0] / bands[1] < 4.5
    facts = run(system, start, EnergyMomentum(hidden=hidden), 10, 0.02).certificate
    assert facts.max_g < 1e-14
    assert (facts.max_hidden < 1e-13) == hidden


def test_a_long_chain_of_springs_and_rods():
    """60 bodies as terms, assembled: energy, linear and angular momentum."""
    a, b, c, d, p, r, k = sp.symbols("a b c d p r k", real=True)
    n = 60
    pairs = np.arange(2 * n).reshape(n, 2)
    links = np.hstack([pairs[:-1], pairs[1:]])
    distance = (a - c) ** 2 + (b - d) ** 2
    terms = [
        Term("lagrangian", (a, b), [(p**2 + r**2) / 2], pairs, rates=(p, r)),
        Term("lagrangian", (a, b, c, d), [-k * (sp.sqrt(distance) - 1) ** 2], links[::2],
             constants=(k,), values=np.linspace(10, 40, len(links[::2]))),
        Term("constraint", (a, b, c, d), [distance - 1], links[1::2]),
    ]  # fmt: skip
    system = taut.System.from_terms(sp.symbols(f"q0:{2 * n}"), terms)
    q0 = np.zeros(2 * n)
    q0[::2] = np.arange(n)
    v0 = np.zeros(2 * n)
    v0[1::2] = np.sin(np.arange(n) / 3)
    for hidden in (False, True):
        facts = run(system, {"q0": q0, "v0": v0}, EnergyMomentum(hidden=hidden), 20, 0.05)
        assert band(facts) < 1e-12
        points, momenta = facts.q.reshape(-1, n, 2), facts.p.reshape(-1, n, 2)
        linear = momenta.sum(axis=1)
        turn = (points[..., 0] * momenta[..., 1] - points[..., 1] * momenta[..., 0]).sum(axis=1)
        assert np.ptp(linear, axis=0).max() < 1e-12
        assert np.ptp(turn) < 1e-10
        assert np.ptp(facts.q[:, 1]) > 0.5


# ------------------------------------------------------------------- another road


def quotient(f, slope, a, b):
    return (f(b) - f(a)) / (b - a) if abs(b - a) > 1e-9 else slope((a + b) / 2)


def by_hand(q, p, h, hidden):
    """One step for `spherical`, as in the papers, solved by SciPy: q₁, p₁ and λ."""
    axis = np.array([0.0, 0.0, 2.0])

    def residual(unknowns):
        q1, p1, (lam, mu) = unknowns[:3], unknowns[3:6], unknowns[6:]
        middle, mean = (q + q1) / 2, (p + p1) / 2
        w0, w1 = ((s - axis) @ (s - axis) for s in (q, q1))
        slope = quotient(lambda w: 3 / np.sqrt(w), lambda w: -1.5 * w**-1.5, w0, w1)
        force = -np.array([0, 0, 10.0]) - slope * 2 * (middle - axis)
        drift, kick = mean, h * force - lam * 2 * middle
        if hidden:  # ψ = 2 q·p: D_pψ = 2 q̄, D_qψ = 2 p̄
            drift, kick = drift + mu * 2 * middle, kick - h * mu * 2 * mean
        last = [q1 @ q1 - 1, q1 @ p1 if hidden else mu]
        return np.concatenate([q1 - q - h * drift, p1 - p - kick, last])

    found = fsolve(residual, np.concatenate([q + h * p, p, [0, 0]]), xtol=1e-12)
    return found[:3], found[3:6]


@BOTH
def test_the_scheme_of_the_papers(hidden):
    system, start, _ = spherical()
    facts = run(system, start, EnergyMomentum(hidden=hidden), 1, 0.05)
    q, p = facts.q[0], facts.p[0]
    for k in range(1, 21):
        q, p = by_hand(q, p, 0.05, hidden)
        assert facts.q[k] == pytest.approx(q, abs=1e-11)
        assert facts.p[k] == pytest.approx(p, abs=1e-10)


def test_the_scheme_for_a_mass_that_depends_on_q():
    """D_pH at both ends of q and D_qH at both ends of p, by difference quotients of H."""
    m = 2 + sp.sin(x)
    system = taut.System([x], mass=[m], potential=sp.cos(3 * x))
    facts = run(system, {"q0": [0.3], "v0": [0.8]}, EnergyMomentum(), 2, 0.1)

    def energy(q, p):
        return p**2 / (2 * (2 + np.sin(q))) + np.cos(3 * q)

    h = 0.1
    q, p = facts.q[0, 0], facts.p[0, 0]
    for k in range(1, 21):

        def residual(new, q=q, p=p):
            q1, p1 = new
            dq, dp = q1 - q, p1 - p
            drift = (energy(q, p1) - energy(q, p) + energy(q1, p1) - energy(q1, p)) / (2 * dp)
            pull = (energy(q1, p) - energy(q, p) + energy(q1, p1) - energy(q, p1)) / (2 * dq)
            return [dq - h * drift, dp + h * pull]

        guess = [facts.q[k, 0] + 1e-3, facts.p[k, 0] - 1e-3]
        q, p = fsolve(residual, guess, xtol=1e-12)
        assert (facts.q[k, 0], facts.p[k, 0]) == pytest.approx((q, p), abs=1e-10)
