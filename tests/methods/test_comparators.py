"""What people use today: coefficients, textbooks, projections, and what is refused."""

import itertools

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import dop853_coefficients

import taut
from taut.kernel.compile import workshop
from taut.kernel.fused import fuse
from taut.kernel.step_code import steps_code
from taut.methods import (
    CATALOGUE,
    GGL,
    Baumgarte,
    ExplicitRK,
    ImplicitTrapezoid,
    Projected,
    SymplecticEuler,
    tableaux,
)
from taut.methods.explicit_tableaux import TABLEAUX, defect, order_of, trees

x, y = Q = taut.coordinates("x y")
u, w = taut.velocities(Q)
px, py = taut.momenta(Q)
START = {"q0": [1, 0], "v0": [0, 1.5]}
NEW = [
    "rk4", "dopri5", "dop853", "projected-rk4", "projected-dop853", "baumgarte", "ggl",
    "implicit-trapezoid", "generalized-alpha",
]  # fmt: skip


@pytest.fixture(scope="module")
def curved():
    """A q-dependent mass on an ellipse: nothing is affine."""
    return taut.System(
        Q,
        mass=[[2 + x**2, x * y / 4], [x * y / 4, 1 + y**2]],
        potential=3 * y + sp.cos(x),
        constraints=[x**2 + 2 * y**2 - 1],
    )


@pytest.fixture(scope="module")
def pendulum():
    return taut.System(Q, mass=[1, 1], potential=10 * y, constraints=[x**2 + y**2 - 1])


class TestTableaux:
    def test_numbers_of_rooted_trees(self):
        """Cayley 1857."""
        assert [len(trees(k)) for k in range(1, 10)] == [1, 1, 2, 4, 9, 20, 48, 115, 286]

    @pytest.mark.parametrize(("name", "order"), [("rk4", 4), ("dopri5", 5), ("dop853", 8)])
    def test_conditions_hold_to_round_off_and_no_further(self, name, order):
        a, b = ExplicitRK(name).arrays
        for k in range(1, order + 1):
            assert defect(a, b, k) < 5e-16
        assert defect(a, b, order + 1) > 1e-9
        assert ExplicitRK(name).order == order_of(a, b) == order

    @pytest.mark.parametrize("name", TABLEAUX)
    def test_every_coefficient_is_pinned_by_the_conditions(self, name):
        a, b = ExplicitRK(name).arrays
        orders = range(1, ExplicitRK(name).order + 1)
        for i, j in np.argwhere(a):
            wrong = a.copy()
            wrong[i, j] *= 1 + 1e-8
            assert max(defect(wrong, b, k) for k in orders) > 5e-15, (i, j)
        for i in np.flatnonzero(b):
            wrong = b.copy()
            wrong[i] *= 1 + 1e-11
            assert max(defect(a, wrong, k) for k in orders) > 1e-14, i

    @pytest.mark.parametrize("name", ["rk4", "dopri5"])
    def test_fifteen_digits_make_an_order_and_ten_do_not(self, name):
        """The weights still add up to 1."""
        a, b = ExplicitRK(name).arrays
        i, j = np.flatnonzero(b)[[0, -1]]
        for error, order in ((1e-14, ExplicitRK(name).order), (2e-11, 1)):
            given = b.copy()
            given[[i, j]] += error, -error
            assert order_of(a, given) == order

    def test_dop853_is_the_published_one(self):
        a, b = ExplicitRK("dop853").arrays
        np.testing.assert_array_equal(a, dop853_coefficients.A[:12, :12])
        np.testing.assert_array_equal(b, dop853_coefficients.B)
        np.testing.assert_allclose(a.sum(axis=1), dop853_coefficients.C[:12], atol=1e-14)

    def test_conditions_by_hand(self):
        """Σ bᵢ cᵢ² = 1/3 and Σ bᵢ aᵢⱼ cⱼ = 1/6 are the two of order three."""
        a, b = np.random.default_rng(1).random((2, 3, 3))[0], np.array([0.2, 0.3, 0.5])
        c = a.sum(axis=1)
        gaps = (b @ c**2 - 1 / 3) / max(b @ c**2, 1), (b @ a @ c - 1 / 6) / max(b @ a @ c, 1)
        assert defect(a, b, 3) == pytest.approx(max(map(abs, gaps)))

    @pytest.mark.parametrize("s", range(1, 7))
    def test_radau(self, s):
        nodes = tableaux.radau_nodes(s)
        with mp.workdps(50):
            assert nodes[-1] == 1
            (weights,) = tableaux.integrals(nodes, [1])
            for k in range(2 * s):
                found = sum(b * c**k for b, c in zip(weights, nodes, strict=True))
                gap = abs(found - mp.mpf(1) / (k + 1))
                assert gap < 1e-40 if k < 2 * s - 1 else gap > 1e-12
        _, a = GGL(s).coefficients
        (b,) = tableaux.rounded([weights])
        np.testing.assert_array_equal(a[-1], b)  # stiffly accurate, to the last bit

    def test_radau_of_order_three_is_the_published_one(self):
        c, a = GGL(2).coefficients
        np.testing.assert_allclose(c, [1 / 3, 1], atol=1e-16)
        np.testing.assert_allclose(a, [[5 / 12, -1 / 12], [3 / 4, 1 / 4]], atol=1e-16)


class TestExplicit:
    @pytest.mark.parametrize("name", TABLEAUX)
    def test_without_constraints_it_is_the_textbook(self, name):
        """Against a loop over the tableau in NumPy."""
        system = taut.System(Q, mass=[1, 2], potential=x**4 + x * y**2 + y**2)
        run = taut.simulate(system, q0=[1, 0], v0=[0, 1], duration=1, step=0.05, method=name)
        a, b = ExplicitRK(name).arrays

        def slope(s):
            q, p = s[:2], s[2:]
            return np.array([*(p / [1, 2]), -4 * q[0] ** 3 - q[1] ** 2, -2 * q[1] * (q[0] + 1)])

        s = np.array([1.0, 0.0, 0.0, 2.0])
        for _ in range(20):
            k = np.zeros((len(b), 4))
            for i in range(len(b)):
                k[i] = slope(s + 0.05 * a[i] @ k)
            s = s + 0.05 * b @ k
        np.testing.assert_allclose([*run.q[-1], *run.p[-1]], s, atol=2e-14)

    def test_with_constraints_it_is_the_textbook_on_the_reduced_equations(self, pendulum):
        """λ of the pendulum by hand: (|v|² − 10 y)/(2 |q|²) for g = |q|² − 1."""
        run = taut.simulate(pendulum, **START, duration=1, step=0.05, method="rk4", project=True)

        def slope(s):
            q, v = s[:2], s[2:]
            lam = (v @ v - 10 * q[1]) / (2 * q @ q)
            return np.array([*v, *(np.array([0, -10]) - 2 * lam * q)])

        s = np.array([1.0, 0.0, 0.0, 1.5])
        for _ in range(20):
            k1 = slope(s)
            k2 = slope(s + 0.025 * k1)
            k3 = slope(s + 0.025 * k2)
            k4 = slope(s + 0.05 * k3)
            s = s + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        np.testing.assert_allclose([*run.q[-1], *run.v[-1]], s, atol=1e-13)

    def test_a_tableau_of_ones_own(self, curved):
        heun = ([[0, 0], [1, 0]], [0.5, 0.5])
        method = ExplicitRK(heun)
        assert (method.order, method.name, method.label) == (2, "explicit-rk", "explicit-rk")
        assert method == ExplicitRK(([[], [1]], (0.5, 0.5)))
        assert hash(method) == hash(ExplicitRK(tuple(map(np.array, heun))))
        exact = taut.simulate(curved, **START, duration=1, step=0.01, method="gauss-lobatto-8")
        errors = [
            abs(taut.simulate(curved, **START, duration=1, step=h, method=method).q[-1]
                - exact.q[-1]).max()
            for h in (0.02, 0.01)
        ]  # fmt: skip
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.15)

    @pytest.mark.parametrize(
        ("given", "what"),
        [
            ("rk5", "no tableau called 'rk5'"),
            (([[0.5]], [1]), "not explicit"),
            (([[0, 1], [1, 0]], [0.5, 0.5]), "not explicit"),
            (([[0]], [0.5]), "do not add up"),
            (([[0, 0], [1, 0]], [1]), "no tableau"),
            (([[np.nan]], [1]), "no tableau"),
            (([], []), "no tableau"),
            (3, "no tableau"),
            ((1,), "no tableau"),
        ],
    )
    def test_what_is_refused(self, given, what):
        with pytest.raises(taut.InputError, match=what):
            ExplicitRK(given)


class TestBaumgarte:
    def test_without_rates_it_is_its_base(self, curved):
        runs = [
            taut.simulate(curved, **START, duration=2, step=0.05, method=m)
            for m in (Baumgarte(0, 0, "dopri5"), "dopri5")
        ]
        np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-13)

    def test_the_constraints_obey_its_equation(self, pendulum):
        """From a start off the constraints, g decays as the damped oscillator does."""
        alpha, beta = 1.5, 4.0
        # An inconsistent start would be refused: the constraint jumps after a second instead.
        shifted = taut.System(Q, mass=[1, 1], potential=10 * y, constraints=[
            x**2 + y**2 - 1 - sp.Piecewise((sp.Rational(1, 100), taut.t >= 1), (0, True))
        ])  # fmt: skip
        moved = taut.simulate(shifted, **START, duration=3, step=0.01,
                              method=Baumgarte(alpha, beta, "dop853"))  # fmt: skip
        late = moved.t >= 1
        t, g = moved.t[late] - 1, moved.constraints[late, 0]
        found = solve_ivp(lambda _, s: [s[1], -2 * alpha * s[1] - beta**2 * s[0]], (0, 2),
                          [g[0], moved.hidden[late, 0][0]], t_eval=t, rtol=1e-10,
                          atol=1e-14).y[0]  # fmt: skip
        assert abs(g[0]) == pytest.approx(0.01, rel=0.2)
        np.testing.assert_allclose(g, found, atol=2e-7)
        assert np.ptp(found) > 0.01

    def test_rates_help_until_they_are_stiff(self, pendulum):
        """α = β is the double root −α of the constraints' oscillator: RK4 needs h α < 2.79."""

        def largest(alpha, step):
            method = Baumgarte(alpha, alpha)
            run = taut.simulate(pendulum, **START, duration=20, step=step, method=method)
            return run.certificate.max_g

        assert largest(5, 0.02) < 0.1 * largest(0, 0.02)
        assert largest(2.5 / 1e-3, 1e-3) < 1e-3
        with pytest.raises(taut.StepError) as caught:
            largest(2.9 / 1e-3, 1e-3)
        assert np.all(np.isfinite(caught.value.partial.q))

    def test_options(self):
        assert Baumgarte().base == ExplicitRK("rk4")
        assert Baumgarte(1, 2, "dop853").order == 8
        assert Baumgarte(1, 2) == Baumgarte(1.0, 2.0, ExplicitRK())
        assert Baumgarte(1, 2).label == "baumgarte (1, 2, rk4)"
        with pytest.raises(taut.InputError, match="alpha is negative"):
            Baumgarte(-1, 1)
        with pytest.raises(taut.InputError, match="beta is not finite"):
            Baumgarte(1, np.inf)
        with pytest.raises(taut.InputError, match="alpha is not a number"):
            Baumgarte("five")
        with pytest.raises(taut.UnknownName, match="rk44"):
            Baumgarte(1, 1, "rk44")


class TestProjected:
    def test_of_a_method_that_needs_none_changes_nothing(self, curved):
        runs = [
            taut.simulate(curved, **START, duration=1, step=0.05, method=m)
            for m in (Projected(CATALOGUE["gauss-lobatto-4"]), "gauss-lobatto-4")
        ]
        np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-13)
        np.testing.assert_allclose(runs[0].p, runs[1].p, atol=1e-12)

    def test_is_the_nearest_point_in_the_metric_of_the_mass(self):
        """One step: M(q₁ − q̂) is along G(q̂)ᵀ, p₁ − p̂ along G(q₁)ᵀ."""
        system = taut.System(Q, mass=[1, 5], potential=10 * y, constraints=[x**2 + 2 * y**2 - 1])
        free, held = (
            taut.simulate(system, **START, duration=0.2, step=0.2, method=m)
            for m in ("rk4", "projected-rk4")
        )
        move = [1, 5] * (held.q[1] - free.q[1])
        push = held.p[1] - free.p[1]
        assert np.linalg.norm(move) > 1e-4
        assert np.linalg.norm(push) > 1e-4
        for vector, (a, b) in ((move, free.q[1]), (push, held.q[1])):
            normal = np.array([2 * a, 4 * b])
            assert abs(vector @ [-normal[1], normal[0]]) < 1e-12 * np.linalg.norm(normal)

    def test_names_and_claims_follow_the_base(self):
        method = Projected(Baumgarte(2, 3, "dopri5"))
        assert (method.name, method.order, method.keeps_constraints) == (
            "projected-baumgarte", 5, True,
        )  # fmt: skip
        assert not method.symplectic
        assert Projected(CATALOGUE["time-element-independent"]).charted
        assert Projected(CATALOGUE["gauss-lobatto-8"]).depth == 4
        assert "rk4" in Projected(ExplicitRK()).key
        assert Projected(SymplecticEuler()).label == "projected-symplectic-euler"

    @pytest.mark.parametrize("base", [None, 3, ExplicitRK])
    def test_what_is_no_method(self, base):
        with pytest.raises(taut.InputError, match="neither a name nor a method"):
            Projected(base)

    def test_a_name_will_do(self):
        assert Projected("rk4") == Projected(ExplicitRK("rk4"))

    def test_with_a_chart_and_a_start_of_its_own(self, curved):
        base = taut.TimeElement("independent", start="paper")
        run = taut.simulate(curved, **START, duration=1, step=0.05, method=Projected(base))
        assert run.certificate.max_g < 2e-15
        plain = taut.simulate(curved, **START, duration=1, step=0.05, method=base)
        np.testing.assert_allclose(run.q, plain.q, atol=1e-12)


class TestImplicit:
    @pytest.mark.parametrize("s", [1, 2, 3, 4])
    def test_order_of_every_number_of_stages(self, s, curved):
        exact = taut.simulate(curved, **START, duration=1, step=0.005, method="gauss-lobatto-8")
        counts = {1: (100, 200, 400), 2: (30, 40, 60), 3: (20, 25, 30), 4: (10, 12, 14)}[s]
        for part in ("q", "p"):
            errors = []
            for n in counts:
                run = taut.simulate(curved, **START, duration=1, step=1 / n, method=GGL(s))
                errors.append(abs(getattr(run, part)[-1] - getattr(exact, part)[-1]).max())
            slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
            assert slope == pytest.approx(2 * s - 1, abs=0.35)

    def test_the_energy_falls(self, pendulum):
        """Radau IIA damps."""
        run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=20, step=0.1, method=GGL(1))
        assert np.all(np.diff(run.energy) < 1e-13)
        assert run.energy[-1] < -1

    @pytest.mark.parametrize("stages", [0, 7, 2.5, True, None])
    def test_stages_out_of_range(self, stages):
        with pytest.raises(taut.InputError, match="stages is out of range"):
            GGL(stages)

    def test_units_of_the_coordinates_do_not_matter(self):
        """The second multiplier acts through the mass: kilometres and metres give one motion."""
        km = taut.System(Q, mass=[1, 4], potential=3 * y, constraints=[x**2 + 2 * y**2 - 1])
        k = 1000
        m = taut.System(
            Q, mass=[1, sp.Rational(4, k**2)], potential=3 * y / k,
            constraints=[x**2 + 2 * (y / k) ** 2 - 1],
        )  # fmt: skip
        for method in (GGL(2), ImplicitTrapezoid(), Projected(ExplicitRK())):
            one = taut.simulate(km, **START, duration=1, step=0.1, method=method)
            two = taut.simulate(m, q0=[1, 0], v0=[0, 1500], duration=1, step=0.1, method=method)
            np.testing.assert_allclose(two.q / [1, k], one.q, atol=1e-12)


def test_corrections_are_orthogonal_in_the_metric_of_where_they_act():
    """One step with M(q, t) and G(q, t): M w is along Gᵀ, both at the end or where rk4 has landed.

    w is what q moves by besides the velocities of the scheme.
    """
    mass = sp.Matrix([[2 + x**2 + taut.t, x * y / 4], [x * y / 4, 1 + y**2 + 3 * taut.t]])
    held = (x - taut.t / 3) ** 2 + 2 * y**2 * (1 + taut.t) - 1
    system = taut.System(Q, mass=mass.tolist(), potential=10 * y, constraints=[held])
    h = 0.2
    euler, trapezoid, free, near = (
        taut.simulate(system, q0=[1, 0], v0=[1 / 3, 1.5], duration=h, step=h, method=m)
        for m in (GGL(1), ImplicitTrapezoid(), "rk4", "projected-rk4")
    )
    moves = [
        (euler.q[1], euler.q[1] - euler.q[0] - h * euler.v[1]),
        (trapezoid.q[1], np.diff(trapezoid.q, axis=0)[0] - h / 2 * trapezoid.v.sum(axis=0)),
        (free.q[1], near.q[1] - free.q[1]),
    ]
    across = sp.Matrix([-held.diff(y), held.diff(x)])
    for place, w in moves:
        here = dict(zip((*Q, taut.t), (*place, h), strict=True))
        metric, tangent = (np.array(a.subs(here), dtype=float) for a in (mass, across))
        assert np.linalg.norm(w) > 1e-4
        assert abs(tangent[:, 0] @ metric @ w) < 1e-11 * np.linalg.norm(w)


def forced():
    system = taut.System(
        Q,
        mass=[1, 2],
        potential=5 * y,
        constraints=[(x - sp.sin(taut.t) / 3) ** 2 + y**2 - 1],
        forces=[-u / 5, -w / 5 + sp.cos(3 * taut.t)],
    )
    return system, {"q0": [1, 0], "v0": [1 / 3, 1]}


def hamiltonian():
    """Not quadratic in p, so that every stage is a Newton iteration."""
    energy = sp.sqrt(1 + px**2 + py**2) + y + px**2 * y**2 / 5
    moving = (x - sp.sin(taut.t) / 3) ** 2 + y**2 - 1
    system = taut.System(Q, hamiltonian=energy, constraints=[moving], forces=[-u / 5, 0])
    return system, {"q0": [1, 0], "v0": [1 / 3, 0.3]}


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("make", [forced, hamiltonian], ids=lambda f: f.__name__)
def test_order_with_forces_and_a_moving_constraint(name, make):
    """Errors against a fine run of order eight, which is none of these methods."""
    system, start = make()
    order = CATALOGUE[name].order
    exact = taut.simulate(
        system, **start, duration=1, step=1 / 100, method="gauss-lobatto-8", project=True
    )
    counts = {2: (40, 60, 80), 4: (40, 50, 64), 5: (20, 25, 32), 8: (6, 7, 8)}[order]
    for part in ("q", "p"):
        errors = []
        for n in counts:
            run = taut.simulate(system, **start, duration=1, step=1 / n, method=name, project=True)
            errors.append(abs(getattr(run, part)[-1] - getattr(exact, part)[-1]).max())
        slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
        assert order - 0.5 < slope < order + (0.5 if order < 5 else 2)
    if CATALOGUE[name].keeps_constraints:
        assert run.certificate.max_g < 2e-15
        if CATALOGUE[name].keeps_hidden:
            assert run.certificate.max_hidden < 1e-13


# ------------------------------------------------------------------- what they cost


def rods(n):
    q = taut.coordinates(" ".join(f"x{i} y{i}" for i in range(n)))
    points = [(0, 0), *zip(q[::2], q[1::2], strict=True)]
    held = [(a - c) ** 2 + (b - d) ** 2 - 1 for (a, b), (c, d) in itertools.pairwise(points)]
    return taut.System(q, mass=[1] * 2 * n, potential=10 * sum(q[1::2]), constraints=held)


def test_instructions_grow_in_proportion_to_the_stages():
    """Not with their square: the slopes of earlier stages are shared, not written out again."""
    system = rods(2)

    def lines(stages):
        method = ExplicitRK((np.diag([0.5] * (stages - 1), -1), [1 / stages] * stages))
        return steps_code(fuse(system, method)).count("\n")

    four, eight, sixteen = map(lines, (4, 8, 16))
    assert sixteen - eight == pytest.approx(2 * (eight - four), rel=0.01)
    assert eight - four < 4 * 250


def test_no_graph_is_copied(monkeypatch):
    """The work of fusing, counted in nodes of the graphs that are substituted into."""
    import taut.kernel.eliminate as room

    visited = []
    real = room.ca.substitute

    class Counted:
        def __getattr__(self, name):
            return getattr(real_ca, name)

        def substitute(self, *arguments):
            given = arguments[0] if isinstance(arguments[0], list) else [arguments[0]]
            visited.append(sum(real_ca.n_nodes(e) for e in given))
            return real(*arguments)

    real_ca = room.ca
    monkeypatch.setattr(room, "ca", Counted())
    counts = []
    for name in ("rk4", "dop853"):
        visited.clear()
        fuse(rods(2), CATALOGUE[name])
        counts.append(sum(visited))
    assert counts[1] < 4.5 * counts[0]  # three times as many stages


def test_many_stages_are_unrolled_where_they_are_explicit():
    shop = workshop(rods(6))
    assert shop.unrolled(CATALOGUE["dop853"])
    assert shop.unrolled(CATALOGUE["projected-dop853"])
    assert not shop.unrolled(CATALOGUE["ggl"])
