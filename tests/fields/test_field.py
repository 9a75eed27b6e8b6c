"""Fields in Hamel form: waves, strands on Lie algebras, their equations, and what is refused."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import taut
from taut import lie
from taut.errors import InputError, UnstableStep

schemes = pytest.mark.parametrize("method", ["poisson", "hamel"])
g, m = taut.coordinates("gamma mu")
s = taut.s
SOLVABLE = lie.algebra({(0, 1): {1: 1}, (0, 2): {1: 0.5, 2: 2}}, "d a b", name="solvable")
ENDS = [("free", "free"), ("clamped", "free"), ("clamped", "clamped"), "periodic"]


def string(nodes=41, density=m**2 / 2 + g**2 / 2, **options):
    settings = {"strain": [g], "momentum": [m], "length": 1, "nodes": nodes, **options}
    return taut.Field(lie.abelian(1), density, **settings)


# ---- the wave equation -------------------------------------------------------------------------

PI = np.pi


def standing(shape, *modes):
    """u(s, t) of standing waves."""
    return lambda x, t: sum(shape(k * PI * x) * np.cos(k * PI * t) for k in modes)


def running(x, t):
    """Two waves that run into each other."""
    return sum(np.exp(np.sin(2 * PI * (x + way * t))) for way in (1, -1))


PROFILES = {  # that fit the ends, and start from rest
    "free": standing(np.cos, 1, 2),
    "clamped": standing(np.sin, 1, 3),
    "both": standing(np.sin, 0.5, 1.5),
    "periodic": running,
}
HELD = {
    "free": ("free", "free"),
    "clamped": ("clamped", "clamped"),
    "both": ("clamped", "free"),
    "periodic": "periodic",
}


def strain_of(field, profile, t):
    return (
        np.diff(profile(np.append(field.places, field.middles[-1] + field.spacing / 2), t))[
            : len(field.middles)
        ]
        / field.spacing
    )


@schemes
@pytest.mark.parametrize("kind", PROFILES)
def test_waves_that_go_one_edge_in_a_step_are_exact(method, kind):
    """d'Alembert's solution at the nodes: also where waves are turned back."""
    field, profile = string(ends=HELD[kind]), PROFILES[kind]
    step = field.spacing
    start = strain_of(field, profile, 0)[:, None]
    run = taut.simulate(field, strain0=start, duration=100 * step, step=step, method=method)
    for k in (1, 17, 100):
        t = k * step
        wanted = strain_of(field, profile, t)
        np.testing.assert_allclose(run.strain[k, :, 0], wanted, rtol=0, atol=1e-12)
        speed = (profile(field.places, t + step) - profile(field.places, t - step)) / (2 * step)
        np.testing.assert_allclose(run.momentum[k, :, 0], speed, rtol=0, atol=1e-12)


@schemes
@pytest.mark.parametrize("kind", PROFILES)
def test_other_steps_are_of_second_order(method, kind):
    profile, errors = PROFILES[kind], []
    for nodes in (40, 80, 160):
        field = string(nodes + (kind != "periodic"), ends=HELD[kind])
        start = strain_of(field, profile, 0)[:, None]
        run = taut.simulate(field, strain0=start, duration=0.8, step=0.5 / nodes, method=method)
        errors.append(np.abs(run.strain[-1, :, 0] - strain_of(field, profile, 0.8)).max())
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.1)


def test_a_moving_wave_starts_from_strain_and_momentum_at_one_time():
    """To the right: second order needs the momentum at the time of the strain."""
    errors = []
    for nodes in (40, 80, 160):
        field = string(nodes, ends="periodic")

        def wave(x):
            return np.exp(np.sin(2 * np.pi * x))

        start = {"strain0": wave(field.middles)[:, None], "momentum0": -wave(field.places)[:, None]}
        run = taut.simulate(field, **start, duration=0.5, step=0.25 / nodes)
        wanted = -wave(field.places - 0.5)
        errors.append(np.abs(run.momentum[-1, :, 0] - wanted).max())
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.1)


# ---- against the method of lines ---------------------------------------------------------------


def lines(field, velocity, stress):
    """The semi-discrete equations (34), (35) of a field, once more in NumPy: ẏ of y = (γ, μ)."""
    bracket, dual = field.algebra.bracket, field.algebra.dual
    ds, weight, links = field.spacing, field.weights[:, None], len(field.middles)
    left = np.arange(links)
    right = (left + 1) % field.nodes
    still = [k for k, end in zip((0, -1), field.ends, strict=True) if end == "clamped"]

    def slope(_, y):
        gamma, mu = np.split(y.reshape(-1, field.size), [links])
        zeta, n = velocity(mu), stress(gamma)
        zeta[still] = 0
        chi = gamma + field.reference
        first = (zeta[right] - zeta[left]) / ds + bracket(chi, 0.5 * (zeta[left] + zeta[right]))
        total = np.zeros_like(mu)
        turned = 0.5 * ds * dual(chi, n)
        np.add.at(total, left, n - turned)
        np.add.at(total, right, -n - turned)
        second = dual(zeta, mu) + total / weight
        second[still] = 0
        return np.concatenate([first, second]).ravel()

    return slope


def solved(field, slope, strain, momentum, duration):
    y = np.concatenate([strain, momentum]).ravel()
    end = solve_ivp(slope, (0, duration), y, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    return np.split(end.reshape(-1, field.size), [len(field.middles)])


def symbols(n):
    return taut.coordinates(f"g1:{n + 1}"), taut.coordinates(f"m1:{n + 1}")


def strand(algebra, nodes=9, **options):
    """A quadratic density with unequal coefficients, as a field and as functions of arrays."""
    n = algebra.dimension
    strain, momentum = symbols(n)
    heavy, stiff = 1 + np.arange(n) / n, 3 + np.arange(n) % 3
    density = sum(c * x**2 / 2 for c, x in zip(heavy, momentum, strict=True))
    density += sum(c * x**2 / 2 for c, x in zip(stiff, strain, strict=True))
    settings = {"strain": strain, "momentum": momentum, "length": 1, "nodes": nodes, **options}
    field = taut.Field(algebra, density, **settings)
    return field, (lambda mu: heavy * mu), (lambda gamma: stiff * gamma)


ALGEBRAS = [lie.so3, lie.se2, lie.se3, SOLVABLE, lie.so3 * lie.abelian(1)]


CASES = [(lie.so3, ends, "poisson") for ends in ENDS] + [(lie.so3, ENDS[1], "hamel")]
CASES += [(a, ("clamped", "free"), "poisson") for a in ALGEBRAS[1:]]
CASES += [(SOLVABLE, "periodic", "hamel")]


@pytest.mark.parametrize(
    ("algebra", "ends", "method"), CASES, ids=[f"{a.name}-{b}-{c}" for a, b, c in CASES]
)
def test_strands_on_any_algebra_converge_to_the_method_of_lines(rng, algebra, ends, method):
    n = algebra.dimension
    reference = 0.3 * rng.normal(size=n)
    field, velocity, stress = strand(algebra, ends=ends, reference=reference)
    links = len(field.middles)
    strain, momentum = 0.3 * rng.normal(size=(links, n)), 0.3 * rng.normal(size=(9, n))
    for k, end in zip((0, -1), field.ends, strict=True):
        momentum[k] *= end != "clamped"
    exact = solved(field, lines(field, velocity, stress), strain, momentum, 0.5)
    errors = []
    for step in (0.5 / 80, 0.5 / 160):
        run = taut.simulate(
            field, strain0=strain, momentum0=momentum, duration=0.5, step=step, method=method
        )
        errors.append(
            max(np.abs(run.strain[-1] - exact[0]).max(), np.abs(run.momentum[-1] - exact[1]).max())
        )
    assert errors[1] < 0.02
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


@schemes
def test_a_string_that_is_not_linear(method):
    """h = μ²/2 + 1 − cos γ, with strains up to one."""
    field = string(17, density=m**2 / 2 + 1 - sp.cos(g))
    strain = np.sin(np.pi * field.middles)[:, None] ** 2
    momentum = np.zeros((17, 1))
    slope = lines(field, lambda mu: mu.copy(), np.sin)
    exact = solved(field, slope, strain, momentum, 1.0)
    errors = []
    for step in (0.02, 0.01):
        run = taut.simulate(field, strain0=strain, duration=1, step=step, method=method)
        errors.append(np.abs(run.strain[-1] - exact[0]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    np.testing.assert_allclose(run.stress, np.sin(run.strain), rtol=0, atol=1e-15)


@schemes
def test_densities_that_depend_on_the_place(method):
    """Momenta see s of the nodes, strains that of the edges."""
    field = string(17, density=m**2 / (2 + s) + (1 + s**2) * g**2 / 2, ends=("clamped", "free"))
    strain = np.sin(np.pi * field.middles)[:, None]
    slope = lines(
        field,
        lambda mu: 2 * mu / (2 + field.places[:, None]),
        lambda x: (1 + field.middles[:, None] ** 2) * x,
    )
    exact = solved(field, slope, strain, np.zeros((17, 1)), 1.0)
    errors = []
    for step in (0.01, 0.005):
        run = taut.simulate(field, strain0=strain, duration=1, step=step, method=method)
        errors.append(np.abs(run.momentum[-1] - exact[1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_rods_on_a_circle(rng):
    """A field without stress on so(3): every node is a free top."""
    strain, momentum = symbols(3)
    heavy = np.array([1.0, 2.0, 3.0])
    density = sum(c * x**2 / 2 for c, x in zip(heavy, momentum, strict=True)) + 0 * strain[0]
    field = taut.Field(lie.so3, density, strain=strain, momentum=momentum, length=1, nodes=4)
    start = rng.normal(size=(4, 3))
    run = taut.simulate(field, momentum0=start, duration=1, step=1e-3, method="hamel")
    exact = solve_ivp(
        lambda _, y: np.cross(y.reshape(4, 3), heavy * y.reshape(4, 3)).ravel(),
        (0, 1), start.ravel(), method="DOP853", rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(run.momentum[-1], exact.y[:, -1].reshape(4, 3), rtol=0, atol=1e-5)
    assert run.limit == np.inf
    # The midpoint rule keeps energy and |μ| of a top exactly.
    size = np.linalg.norm(run.momentum, axis=2)
    np.testing.assert_allclose(size, size[:1].repeat(len(run), 0), rtol=0, atol=1e-5)
    assert run.certificate.energy.band < 1e-4 * run.energy[0]


# ---- against beams -----------------------------------------------------------------------------

INERTIA, STIFFNESS = [0.02, 0.03, 0.02, 1, 1, 1], [2, 2, 2, 50, 90, 50.0]


def beam(nodes=9, **options):
    return taut.Beam(1, inertia=INERTIA, stiffness=STIFFNESS, nodes=nodes, **options)


def quadratic(algebra, which, reference, **options):
    """The same per length, for the entries of a beam's six-vectors that are named."""
    n = algebra.dimension
    strain, momentum = symbols(n)
    density = sum(x**2 / (2 * INERTIA[i]) for i, x in zip(which, momentum, strict=True))
    density += sum(STIFFNESS[i] * x**2 / 2 for i, x in zip(which, strain, strict=True))
    settings = {"strain": strain, "momentum": momentum, "length": 1, "reference": reference}
    return taut.Field(algebra, density, **settings, **{"nodes": 9, **options})


@schemes
@pytest.mark.parametrize("ends", [("free", "free"), ("clamped", "free")], ids=str)
def test_a_field_on_se3_is_a_beam(rng, method, ends):
    strain, v0 = 0.1 * rng.normal(size=(8, 6)), 0.3 * rng.normal(size=(9, 6))
    v0[0] *= ends[0] != "clamped"
    start = {"strain0": strain, "duration": 0.4, "step": 4e-3, "method": method}
    one = taut.simulate(beam(ends=ends), v0=v0, **start)
    field = quadratic(lie.se3, range(6), [0, 0, 0, 0, 1, 0], ends=ends)
    two = taut.simulate(field, momentum0=v0 * INERTIA, **start)
    np.testing.assert_allclose(two.strain, one.strain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.momentum, one.momentum, rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.energy, one.energy, rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.velocity, one.velocity, rtol=0, atol=1e-11)
    assert two.limit == pytest.approx(one.limit, rel=0.2)


@schemes
def test_a_field_on_se2_is_a_beam_in_the_plane(rng, method):
    which = [2, 3, 4]  # about the third axis, along the first and the second
    strain, v0 = np.zeros((8, 6)), np.zeros((9, 6))
    strain[:, which], v0[:, which] = 0.1 * rng.normal(size=(8, 3)), 0.3 * rng.normal(size=(9, 3))
    settings = {"duration": 0.4, "step": 4e-3, "method": method}
    one = taut.simulate(beam(), strain0=strain, v0=v0, **settings)
    momentum = (v0 * INERTIA)[:, which]
    field = quadratic(lie.se2, which, [0, 0, 1])
    two = taut.simulate(field, strain0=strain[:, which], momentum0=momentum, **settings)
    np.testing.assert_allclose(two.strain, one.strain[..., which], rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.momentum, one.momentum[..., which], rtol=0, atol=1e-12)


# ---- equations ---------------------------------------------------------------------------------


def test_the_equations_of_the_wave():
    first, second = string().equations()
    gamma, mu = sp.Function("gamma")(s, taut.t), sp.Function("mu")(s, taut.t)
    assert first == sp.Eq(gamma.diff(taut.t), mu.diff(s), evaluate=False)
    assert second == sp.Eq(mu.diff(taut.t), gamma.diff(s), evaluate=False)


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=[a.name for a in ALGEBRAS])
def test_the_equations_conserve_energy(algebra):
    """h_γ γ̇ + h_μ μ̇ = ∂_s ⟨h_γ, h_μ⟩, whatever the density."""
    n = algebra.dimension
    strain, momentum = symbols(n)
    density = sum((i + 1) * x**2 / 2 for i, x in enumerate(momentum))
    density += sum(x**2 + x**3 / (i + 1) for i, x in enumerate(strain))
    field = taut.Field(
        algebra,
        density,
        strain=strain,
        momentum=momentum,
        length=1,
        nodes=3,
        reference=range(1, n + 1),
    )
    equations = field.equations()
    along = {x: sp.Function(x.name)(s, taut.t) for x in (*strain, *momentum)}
    slopes = [sp.diff(density, x).xreplace(along) for x in (*strain, *momentum)]
    change = sum(d * e.rhs for d, e in zip(slopes, equations, strict=True))
    flux = sum(a * b for a, b in zip(slopes[:n], slopes[n:], strict=True))
    assert sp.expand((change - sp.diff(flux, s)).doit()) == 0
    assert [e.lhs for e in equations] == [sp.Derivative(x, taut.t) for x in along.values()]


def test_the_equations_are_those_that_are_solved(rng):
    """Of smooth data on so(3), their right sides at the middle of a fine grid."""
    field, velocity, stress = strand(lie.so3, nodes=401, reference=[0.2, 0.5, -0.3])

    def data(x, phase):
        return np.stack([np.sin((k + 2) * x + phase) for k in range(3)], axis=-1)

    y = np.concatenate([data(field.middles, 0.1), data(field.places, 0.7)])
    found = lines(field, velocity, stress)(0, y.ravel()).reshape(-1, 3)
    values = {}
    for names, phase in ((field.strain, 0.1), (field.momentum, 0.7)):
        for k, x in enumerate(names):
            values[sp.Function(x.name)(s, taut.t)] = sp.sin((k + 2) * s + phase)
    right = [e.rhs.subs(values).doit() for e in field.equations()]
    for k in range(3):
        at = {s: field.middles[200]}
        assert found[200, k] == pytest.approx(float(right[k].subs(at)), abs=1e-4)
        at = {s: field.places[200]}
        assert found[400 + 200, k] == pytest.approx(float(right[3 + k].subs(at)), abs=1e-4)


def test_references_that_vary_have_a_name_in_the_equations():
    field = string(reference=[s**2])
    assert field.reference[:, 0] == pytest.approx(field.middles**2, abs=1e-16)
    strain, momentum = symbols(3)
    density = sum(x**2 for x in (*strain, *momentum))
    settings = {"strain": strain, "momentum": momentum, "length": 1}
    bent = taut.Field(lie.so3, density, **settings, reference=[s, 0, 1])
    assert "chi0_g1(s)" in str(bent.equations()[1].rhs)
    few = taut.Field(lie.so3, density, **settings, nodes=3, reference=[s * (1 - s), 0, 1])
    assert "chi0_g1(s)" in str(few.equations()[1].rhs)  # though it is the same at both edges
    assert r"\begin{aligned}" in bent.latex()
    assert r"\frac{\partial}{\partial t}" in bent.latex()


# ---- runs --------------------------------------------------------------------------------------


@schemes
def test_energy_and_what_follows_from_states(rng, method):
    field, velocity, stress = strand(lie.so3, ends="periodic")
    strain, momentum = 0.3 * rng.normal(size=(2, 9, 3))
    run = taut.simulate(
        field, strain0=strain, momentum0=momentum, duration=1, step=0.01, method=method
    )
    np.testing.assert_allclose(run.velocity, velocity(run.momentum), rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.stress, stress(run.strain), rtol=0, atol=1e-15)
    kinetic = 0.5 * np.einsum("j,tji,tji->t", field.weights, run.momentum, run.velocity)
    potential = 0.5 * field.spacing * np.einsum("tei,tei->t", run.strain, run.stress)
    np.testing.assert_allclose(run.kinetic, kinetic, rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.potential, potential, rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.energy, kinetic + potential, rtol=0, atol=1e-15)
    assert run.certificate.energy0 == pytest.approx(run.energy[0], abs=1e-15)
    assert run.certificate.energy.band == pytest.approx(np.ptp(run.energy), abs=1e-14)
    assert run.certificate.momenta == {}
    for name in ("positions", "frames", "spatial_momentum", "linear_momentum"):
        with pytest.raises(AttributeError, match="of beams"):
            getattr(run, name)


def test_the_total_momentum_of_an_abelian_field():
    for ends, kept in ((("free", "free"), True), ("periodic", True), (("clamped", "free"), False)):
        field = string(20, ends=ends)
        strain = np.sin(3 * field.middles)[:, None]
        run = taut.simulate(field, strain0=strain, momentum0=[0.5], duration=5, step=0.02)
        assert run.certificate.kept == {"total": kept}
        assert (run.certificate.momenta["total"] < 1e-13) == kept


def test_parameters():
    c, rho = sp.symbols("c rho")
    wave = string(density=m**2 / (2 * rho) + rho * c**2 * g**2 / 2, parameters=["c", rho])
    strain = np.sin(np.pi * wave.middles)[:, None] ** 2
    settings = {"strain0": strain, "duration": 0.25, "step": 0.005}
    run = taut.simulate(wave, **settings, parameters={"c": 2, "rho": 3})
    assert run.parameters == {"c": 2.0, "rho": 3.0}
    assert run.limit == pytest.approx(wave.spacing / 2, rel=1e-12)
    twice = taut.simulate(wave, **settings, parameters={c: 4, rho: 3})
    half = taut.simulate(
        wave, **{**settings, "step": 0.01, "duration": 0.5}, parameters={c: 2, rho: 3}
    )
    np.testing.assert_allclose(half.strain, twice.strain, rtol=0, atol=1e-13)
    again = run.continue_(0.25)
    whole = taut.simulate(wave, **{**settings, "duration": 0.5}, parameters={"c": 2, "rho": 3})
    assert np.array_equal(again.strain, whole.strain)
    assert np.array_equal(again.energy, whole.energy)


def test_parameters_with_defaults():
    c = sp.Symbol("c")
    wave = string(density=m**2 / 2 + c**2 * g**2 / 2, parameters={c: 2})
    assert taut.simulate(wave, duration=1, step=0.01).parameters == {"c": 2.0}
    assert taut.simulate(wave, duration=1, step=0.01, parameters={"c": 0.5}).parameters == {
        "c": 0.5
    }
    with pytest.raises(InputError, match="no parameter d"):
        taut.simulate(wave, duration=1, step=0.01, parameters={"d": 1})
    with pytest.raises(InputError, match="parameter c is not finite"):
        taut.simulate(wave, duration=1, step=0.01, parameters={"c": np.inf})
    bare = string(density=m**2 / 2 + c**2 * g**2 / 2, parameters="c rho")
    with pytest.raises(InputError, match="without a value: c, rho"):
        taut.simulate(bare, duration=1, step=0.01)


@schemes
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_steps_below_the_limit_are_stable_and_steps_above_are_not(rng, ends, method):
    field, _, _ = strand(lie.so3, nodes=12, ends=ends, reference=[0.4, 0.1, -0.2])
    links = len(field.middles)
    start = {"strain0": 1e-4 * rng.normal(size=(links, 3)), "method": method}
    limit = taut.simulate(field, **start, duration=0.01, step=0.001).limit
    assert taut.simulate(field, **start, duration=1).step <= limit / 2
    calm = taut.simulate(field, **start, duration=500 * limit, step=0.995 * limit)
    assert calm.energy[-1] < 100 * calm.energy[0]
    with (
        pytest.warns(UnstableStep, match="beyond the limit of stability"),
        pytest.raises(taut.StepError, match="blown up"),
    ):
        taut.simulate(field, **start, duration=1000 * limit, step=1.05 * limit)


def test_the_limit_is_that_of_the_stiffest_place():
    """A short pulse on a string that hardens, among many nodes: waves in it are faster."""
    g, m = taut.coordinates("gamma mu")
    density = m**2 / 2 + g**2 / 2 + 25 * g**4
    settings = {"strain": [g], "momentum": [m], "length": 1, "nodes": 601}
    string = taut.Field(taut.lie.abelian(1), density, **settings)
    pulse = np.exp(-(((string.middles - 0.51234) / 0.002) ** 2))[:, None]
    run = taut.simulate(string, strain0=pulse, duration=0.05)
    highest = np.abs(pulse).max()
    assert run.limit == pytest.approx(string.spacing / np.sqrt(1 + 300 * highest**2), rel=1e-9)
    assert run.certificate.energy.band < 0.5 * run.certificate.energy0


@pytest.mark.parametrize("cells", ["half", "full"])
def test_the_limit_knows_the_mass_at_nodes(cells):
    """It is least at a free end, and not in the middle of the edge there."""
    g, m = taut.coordinates("gamma mu")
    density = m**2 / (2 * (taut.s + 0.01)) + g**2 / 2
    settings = {"strain": [g], "momentum": [m], "length": 1, "nodes": 21, "cells": cells}
    line = taut.Field(taut.lie.abelian(1), density, **settings)
    start = 0.01 * np.sin(9 * line.middles)[:, None]
    limit = taut.simulate(line, strain0=start, duration=0.01, step=1e-3).limit
    calm = taut.simulate(line, strain0=start, duration=500 * limit, step=0.99 * limit)
    assert calm.certificate.energy.band < 0.5 * calm.certificate.energy0


def test_a_stress_at_the_start_is_no_blow_up():
    """The energy vanishes at the start and all along, its parts do not."""
    field = string(21, density=m**2 / 2 + g + g**2 / 2)
    run = taut.simulate(field, duration=3, step=0.01)
    assert abs(run.energy[0]) < 1e-30
    assert run.kinetic.max() > 0.1
    assert np.abs(run.energy).max() < 1e-3


def test_clamped_nodes_show_no_velocity():
    g, m = taut.coordinates("gamma mu")
    density = m**2 / 2 - sp.Rational(3, 10) * m * g + g**2 / 2
    settings = {"strain": [g], "momentum": [m], "length": 1, "nodes": 9}
    line = taut.Field(lie.abelian(1), density, **settings, ends=("clamped", "free"))
    run = taut.simulate(line, strain0=[0.1], duration=0.5, step=0.01)
    assert not run.velocity[:, 0].any()
    assert np.abs(run.velocity[:, 1:]).max() > 0.01


def test_clamped_nodes_start_at_rest():
    run = taut.simulate(string(ends=("clamped", "free")), momentum0=[1.0], duration=0.1, step=0.01)
    assert np.all(run.momentum[:, 0] == 0)
    assert run.momentum[0, 1] == 1
    field, _, _ = mixing(lie.so3, ("clamped", "free"))
    start = {"strain0": 0.1, "duration": 0.1, "step": 0.01}
    one, two = np.ones((2, 9, 3))
    two[0] = 0
    a, b = (taut.simulate(field, momentum0=x, **start) for x in (one, two))
    assert np.array_equal(a.strain, b.strain)


# ---- densities that are no sums ----------------------------------------------------------------


@schemes
def test_kinetic_energies_that_are_not_quadratic(rng, method):
    """On so(3): order two, and the momentum that is given is the first."""
    strain, momentum = symbols(3)
    density = sum(x**2 / 2 + x**4 / 4 for x in momentum) + momentum[0] * momentum[1]
    density += sum((i + 1) * x**2 for i, x in enumerate(strain))
    settings = {"strain": strain, "momentum": momentum, "length": 1, "nodes": 9}
    field = taut.Field(lie.so3, density, **settings, reference=[0.2, 0.5, -0.3])
    swap = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    slope = lines(field, lambda mu: mu + mu**3 + mu @ swap, lambda x: 2 * x * [1, 2, 3])
    start = {"strain0": 0.3 * rng.normal(size=(8, 3)), "momentum0": rng.normal(size=(9, 3))}
    exact = solved(field, slope, *start.values(), 0.3)
    errors = []
    for step in (0.3 / 120, 0.3 / 240):
        run = taut.simulate(field, **start, duration=0.3, step=step, method=method)
        np.testing.assert_allclose(run.momentum[0], start["momentum0"], rtol=0, atol=4e-15)
        errors.append(np.abs(run.momentum[-1] - exact[1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def mixing(algebra, ends, nodes=9):
    """h = ½|μ|² + ½|γ|² + ⟨γ, μ⟩/5, and its derivatives on the grid."""
    strain, momentum = symbols(algebra.dimension)
    density = sum(x**2 / 2 for x in (*strain, *momentum))
    density += sum(a * b for a, b in zip(strain, momentum, strict=True)) / 5
    settings = {"strain": strain, "momentum": momentum, "length": 1, "nodes": nodes, "ends": ends}
    field = taut.Field(algebra, density, **settings)
    links = len(field.middles)
    right = (np.arange(links) + 1) % nodes
    sides = np.zeros(nodes)
    np.add.at(sides, np.arange(links), 1)
    np.add.at(sides, right, 1)

    def velocity(gamma, mu):
        mean = np.zeros_like(mu)
        np.add.at(mean, np.arange(links), gamma)
        np.add.at(mean, right, gamma)
        return mu + mean / sides[:, None] / 5

    return field, velocity, lambda gamma, mu: gamma + (mu[:links] + mu[right]) / 10


MIXTURES = [(lie.so3, ends) for ends in ENDS] + [(lie.abelian(1), "periodic")]


@pytest.mark.parametrize(("algebra", "ends"), MIXTURES, ids=[f"{a.name}-{b}" for a, b in MIXTURES])
def test_densities_that_mix_strains_and_momenta(rng, algebra, ends):
    """They converge to the method of lines, with order one; energy stays at order two."""
    field, velocity, stress = mixing(algebra, ends)
    n, links = field.size, len(field.middles)
    strain, momentum = 0.3 * rng.normal(size=(links, n)), 0.3 * rng.normal(size=(9, n))
    for k, end in zip((0, -1), field.ends, strict=True):
        momentum[k] *= end != "clamped"

    def slope(t, y):
        gamma, mu = np.split(y.reshape(-1, n), [links])
        fixed = velocity(gamma, mu), stress(gamma, mu)
        return lines(field, lambda _: fixed[0], lambda _: fixed[1])(t, y)

    exact = solved(field, slope, strain, momentum, 0.4)
    errors, bands = [], []
    for step in (1e-3, 5e-4):
        run = taut.simulate(field, strain0=strain, momentum0=momentum, duration=0.4, step=step)
        gaps = run.strain[-1] - exact[0], run.momentum[-1] - exact[1]
        errors.append(max(np.abs(x).max() for x in gaps))
        bands.append(run.certificate.energy.band)
    assert errors[1] < 2e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1, abs=0.25)
    assert np.log2(bands[0] / bands[1]) == pytest.approx(2, abs=0.25)
    assert run.energy[0] == pytest.approx(run.certificate.energy0, abs=1e-15)
    both = velocity(run.strain[7], run.momentum[7]), stress(run.strain[7], run.momentum[7])
    for k, end in zip((0, -1), field.ends, strict=True):
        both[0][k] *= end != "clamped"
    np.testing.assert_allclose(run.velocity[7], both[0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(run.stress[7], both[1], rtol=0, atol=1e-14)


def test_runs_of_mixing_densities_go_on_and_end_between_steps(rng):
    field, _, _ = mixing(lie.so3, "periodic")
    start = {"strain0": 0.3 * rng.normal(size=(9, 3)), "momentum0": 0.3 * rng.normal(size=(9, 3))}
    settings = {**start, "step": 0.01, "every": 3}
    whole = taut.simulate(field, duration=0.4, **settings)
    run = taut.simulate(field, duration=0.17, **settings).continue_(0.23)
    for name in ("t", "strain", "momentum", "books"):
        assert np.array_equal(getattr(run, name), getattr(whole, name))
    short = taut.simulate(field, duration=0.405, **settings)
    assert short.t[-2:] == pytest.approx([0.39, 0.405])
    fine = taut.simulate(field, duration=0.405, **{**settings, "step": 0.001})
    assert np.abs(short.strain[-1] - fine.strain[-1]).max() < 0.02
    with pytest.raises(InputError, match="hamel is not for densities that mix"):
        taut.simulate(field, duration=0.4, **settings, method="hamel")


@pytest.mark.parametrize("density", [g * m, m**2 / 2 + sp.cos(g) * (1 - m), m**2 / (2 + g**2)])
def test_conserved_energies_of_other_mixtures(density):
    field = string(17, density=density + m**2 / 2 + g**2 / 2, ends="periodic")
    strain = 0.3 * np.sin(2 * PI * field.middles)[:, None]
    run = taut.simulate(field, strain0=strain, momentum0=[0.1], duration=2, step=1e-3)
    assert np.ptp(run.energy) < 1e-3 * np.abs(run.energy).max()
    assert run.certificate.momenta["total"] < 1e-12


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "density", [g * m, (g + m) ** 2, sp.sin(g + m), sp.sqrt(1 + m**2 + g**2), m**2 / (1 + g)]
)
def test_what_mixes_is_a_part_of_its_own(density):
    field = taut.Field(taut.lie.abelian(1), density, strain=[g], momentum=[m], length=1, nodes=5)
    assert field.mixed
    whole = field.kinetic + field.potential + field.mixing
    assert sp.expand(whole - sp.expand(density)) == 0
    assert not taut.Field(
        taut.lie.abelian(1), m**2 + sp.sin(g), strain=[g], momentum=[m], length=1
    ).mixed


def test_densities_that_can_be_separated_after_all():
    field = string(density=(g + m) ** 2 / 2 - g * m)
    assert field.kinetic == m**2 / 2
    assert field.potential == g**2 / 2
    assert not field.mixed
    assert string(density=(g + m) ** 2 / 2).mixing == g * m


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 1}, "a field needs nodes"),
        ({"nodes": 2.5}, "a field needs nodes"),
        ({"nodes": True}, "a field needs nodes"),
        ({"length": 0}, "the length of a field is not positive"),
        ({"length": -1}, "the length of a field is not positive"),
        ({"length": "long"}, "the length of a field is not a number"),
        ({"length": np.nan}, "the length of a field is not finite"),
        ({"ends": ("free", "pinned")}, "an end cannot be read"),
        ({"ends": "free"}, "the ends cannot be read"),
        ({"ends": ("free",)}, "the ends cannot be read"),
        ({"cells": "quarter"}, "cells are unknown"),
        ({"strain": [g, m]}, "the strain does not fit the algebra"),
        ({"momentum": []}, "the momentum does not fit the algebra"),
        ({"momentum": [g]}, "the name 'gamma' is used twice"),
        ({"density": m**2 + taut.t * g**2}, "the density depends on time"),
        ({"density": m**2 + sp.Symbol("k") * g**2}, "contains k"),
        ({"density": sp.nan * m}, "the density is not finite"),
        ({"reference": [1, 2]}, "the reference strain does not fit the algebra"),
        ({"reference": [sp.Symbol("q")]}, "contains q"),
        ({"reference": [taut.t]}, "the reference strain depends on time"),
        ({"reference": [1 / (s - sp.Rational(1, 80))]}, "the reference strain is not finite"),
        ({"parameters": {"c": "fast"}}, "parameter c is not a number"),
        ({"parameters": 3}, "the parameters cannot be read"),
        ({"strain": g}, "the strain cannot be read"),
        ({"momentum": None}, "the momentum cannot be read"),
        ({"reference": 3}, "the reference strain cannot be read"),
    ],
)  # fmt: skip
def test_fields_that_cannot_be(options, message):
    with pytest.raises(taut.TautError, match=message):
        string(**options)


def test_a_reference_is_made_of_numbers_and_the_place():
    with pytest.raises(InputError, match="depends on more than the place"):
        string(reference=["p"], parameters={"p": 2})


def test_casimirs_go_by_the_brackets_and_not_by_the_name(rng):
    lorentz = {("x", "y"): {"t": -1}, ("y", "t"): {"x": 1}, ("t", "x"): {"y": 1}}
    strain, momentum = symbols(3)
    settings = {"strain": strain, "momentum": momentum, "length": 1, "nodes": 4}
    density = sum(x**2 for x in (*strain, *momentum))
    named = taut.Field(lie.algebra(lorentz, "x y t", "so(3)"), density, **settings)
    assert named.bracket(rng.normal(size=(3, 3)), rng.normal(size=(4, 3))).casimirs() == []


def test_full_cells_are_not_for_densities_that_mix():
    """Their energy is that of half cells: it would not be kept."""
    mixed = m**2 / 2 + m * g / 5 + g**2 / 2
    with pytest.raises(InputError, match="have half cells at their ends"):
        string(density=mixed, cells="full")
    assert string(density=mixed, cells="full", ends="periodic").mixed


def test_an_algebra_is_needed():
    with pytest.raises(InputError, match="a field needs a Lie algebra"):
        taut.Field(3, m**2, strain=[g], momentum=[m], length=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a field needs a Lie algebra"):
        taut.Field(lie.SE3, m**2, strain=[g], momentum=[m], length=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"strain0": np.zeros((40, 2))}, "strain0 has the wrong shape"),
        ({"strain0": np.zeros(40)}, "strain0 has the wrong shape"),
        ({"momentum0": np.zeros((40, 1))}, "momentum0 has the wrong shape"),
        ({"strain0": "bent"}, "strain0 cannot be read"),
        ({"strain0": [[np.nan]] * 40}, "strain0 is not finite"),
        ({"momentum0": [np.inf]}, "momentum0 is not finite"),
        ({"v0": [1.0]}, "a field starts from momenta"),
        ({"q0": [1.0]}, "fields and beams take no q0"),
        ({"method": "variational"}, "no method for fields called 'variational'"),
        ({"parameters": {"c": 1}}, "the field has no parameter c"),
        ({"parameters": 3}, "the parameters cannot be read"),
        ({"strain0": 1j * np.ones((40, 1))}, "strain0 cannot be read"),
    ],
)
def test_starts_that_cannot_be(start, message):
    with pytest.raises(taut.TautError, match=message):
        taut.simulate(string(), **start, duration=1, step=0.01)


def test_a_density_that_is_not_smooth_at_the_start():
    field = string(density=m**2 / 2 + sp.sqrt(s) * sp.log(sp.Abs(g)))
    strain = np.where(np.arange(40) == 0, 0.0, 1.0)[:, None]
    with pytest.raises(InputError, match=r"not smooth at the start, s = 0\.0125") as caught:
        taut.simulate(field, strain0=strain, duration=1, step=0.01)
    assert caught.value.received == "strain [0.0], momentum [0.0]"


def test_a_step_beyond_the_limit_gets_no_advice_that_does_not_help():
    """There is no implicit scheme for fields."""
    with pytest.warns(UnstableStep) as heard:
        taut.simulate(string(), duration=1, step=0.1)
    assert "implicit" not in str(heard[0].message)
    with pytest.raises(InputError, match="the strain cannot be read"):
        string().bracket("bent")


def test_how_a_field_is_shown():
    text = repr(string())
    assert "R^1" in text
    assert "41 nodes" in text
    assert "ends free and free" in text
    assert "periodic" in repr(string(ends="periodic"))


def test_what_a_density_does_not_know_is_said_in_its_own_words():
    """No coordinates, no time: a field φ is there by its derivative γ alone."""
    phi = sp.Symbol("phi")
    with pytest.raises(taut.ModelError) as caught:
        taut.Field(
            taut.lie.abelian(1), m**2 / 2 + g**2 / 2 - sp.cos(phi), strain=[g], momentum=[m],
            length=1, nodes=9,
        )  # fmt: skip
    text = str(caught.value)
    assert "the density contains phi, which the field does not know" in text
    assert "only gamma, mu, s\n" in text
    assert "have no place in a density" in text
