"""Each scheme against its own equations, written down once more in NumPy, and what they promise."""

from itertools import pairwise

import numpy as np
import pytest

import taut
from taut import lie
from taut.errors import InputError, UnknownName
from taut.lie import SE3
from taut.march.loop import BLOCKS_FULL, HEAD
from taut.methods.fields import SCHEMES, Hamel, Poisson, Variational, scheme_of

bracket, dual = lie.se3.bracket, lie.se3.dual
NAMES = ("poisson", "hamel", "variational")
schemes = pytest.mark.parametrize("method", NAMES)


def positive(rng, diagonal):
    """A positive definite matrix near a diagonal one, with coupling of everything."""
    root = np.diag(np.sqrt(diagonal)) @ (np.eye(6) + 0.1 * rng.normal(size=(6, 6)))
    return root @ root.T


INERTIA, STIFFNESS = np.array([0.02, 0.03, 0.02, 1, 1, 1]), np.array([2, 2, 2, 50, 90, 50.0])


def crooked(rng, diagonal=False, **options):
    """A beam with full or diagonal matrices and a crooked reference shape, and a start."""
    nodes = options.pop("nodes", 9)
    beam = taut.Beam(
        1,
        inertia=[0.02, 0.05, 0.03, 1, 1, 1] if diagonal else positive(rng, INERTIA),
        stiffness=STIFFNESS if diagonal else positive(rng, STIFFNESS),
        nodes=nodes,
        curvature=(0.5, -0.4, 1.0),
        **options,
    )
    strain = 0.1 * rng.normal(size=(nodes - 1, 6))
    return beam, {"strain0": strain, "v0": 0.3 * rng.normal(size=(nodes, 6)), "step": 4e-3}


def poses(run):
    found = np.zeros((*run.positions.shape[:2], 4, 4))
    found[..., :3, :3], found[..., :3, 3], found[..., 3, 3] = run.frames, run.positions, 1
    return found


def chi_of(run):
    return run.strain + run.mesh.reference


def force(run, row, acting=0.0):
    """F of all nodes per length, from the strain of a state."""
    mesh, chi = run.mesh, chi_of(run)[row]
    ds = mesh.spacing[0]
    n = np.einsum("eij,ej->ei", mesh.stiffness, run.strain[row])
    turned = 0.5 * ds * dual(chi, n)
    total = np.zeros((mesh.nodes, 6))
    total[:-1] += n - turned
    total[1:] -= n + turned
    return total / mesh.weight[:, None] + acting


def velocity(run, momentum):
    return np.linalg.solve(run.mesh.inertia, momentum[..., None])[..., 0]


def compatible(run, row, zeta):
    """What CS (54) leaves, given the velocities of the step after a state."""
    h, ds, chi = run.step, run.mesh.spacing[0], chi_of(run)
    middle = 0.5 * (chi[row] + chi[row + 1])
    slope = (zeta[1:] - zeta[:-1]) / ds + bracket(middle, 0.5 * (zeta[1:] + zeta[:-1]))
    return chi[row + 1] - chi[row] - h * slope


def moved(run, row, zeta):
    """What g' = g cay(h ζ) leaves."""
    return poses(run)[row + 1] - poses(run)[row] @ SE3.cay_ad(run.step * zeta)


# ---- the equations -----------------------------------------------------------------------------


matter = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


@matter
@pytest.mark.parametrize("cells", ["half", "full"])
def test_poisson_is_cs_53_and_54(rng, cells, diagonal):
    """With the printed start the momenta that are carried are shown: μⁿ of the paper."""
    beam, start = crooked(rng, diagonal, cells=cells)
    run = taut.simulate(beam, **start, duration=0.2, method=Poisson(start="printed"))
    mu = run.momentum
    for k in range(len(run) - 1):
        mean = 0.5 * (mu[k] + mu[k + 1])
        left = mu[k + 1] - mu[k] - run.step * (force(run, k) + dual(velocity(run, mean), mean))
        assert np.abs(left).max() < 1e-14
        new = velocity(run, mu[k + 1])
        assert np.abs(compatible(run, k, new)).max() < 1e-14
        assert np.abs(moved(run, k, new)).max() < 1e-14
    np.testing.assert_allclose(
        mu[0], np.einsum("nij,nj->ni", beam.inertia, start["v0"]), rtol=0, atol=1e-15
    )


def test_full_cells_are_the_papers_ends(rng):
    """(53) at j = 0 with γ = 0 beyond: n_{½}/Δs − ½[χ, n]*, nothing halved."""
    beam, start = crooked(rng, cells="full")
    run = taut.simulate(beam, **start, duration=start["step"], method=Poisson(start="printed"))
    ds = beam.spacing
    n = beam.stiffness[0] @ run.strain[0, 0]
    wanted = n / ds - 0.5 * dual(chi_of(run)[0, 0], n)
    mean = run.momentum[:, 0].mean(axis=0)
    found = (run.momentum[1, 0] - run.momentum[0, 0]) / run.step
    found -= dual(np.linalg.solve(beam.inertia[0], mean), mean)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11)


def test_the_printed_configuration_moves_with_the_old_velocity(rng):
    beam, start = crooked(rng)
    run = taut.simulate(
        beam, **start, duration=0.1, method=Poisson(start="printed", pose="printed")
    )
    for k in range(len(run) - 1):
        assert np.abs(moved(run, k, velocity(run, run.momentum[k]))).max() < 1e-14
    assert run.certificate.compatibility > 5e-2  # and drifts away from the strain
    usual = taut.simulate(beam, **start, duration=0.1, method="poisson")
    assert usual.certificate.compatibility < 1e-2


def test_the_staggered_start_is_the_same_scheme_half_a_step_earlier(rng):
    """From the mean of two momenta it takes the printed scheme's way, and shows means."""
    beam, start = crooked(rng)
    printed = taut.simulate(beam, **start, duration=0.2, method=Poisson(start="printed"))
    mean = 0.5 * (printed.momentum[1:] + printed.momentum[:-1])
    start = {"strain0": start["strain0"], "momentum0": mean[0], "step": start["step"]}
    run = taut.simulate(beam, **start, duration=0.2, method="poisson")
    np.testing.assert_allclose(run.strain, printed.strain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.positions, printed.positions, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.momentum[:-1], mean, rtol=0, atol=1e-12)


def repeated(start, function):
    x = start
    for _ in range(100):
        x = function(x)
    return x


@matter
def test_hamel_is_the_trapezoidal_rule(rng, diagonal):
    """Momenta half a step before and after each state, from the one that is shown there."""
    beam, start = crooked(rng, diagonal)
    run = taut.simulate(beam, **start, duration=0.2, method="hamel")
    half, after = 0.5 * run.step, None
    for k in range(len(run) - 1):
        f, shown = force(run, k), run.momentum[k]
        before = repeated(shown, lambda m, x=shown - half * f: x - half * dual(velocity(run, m), m))
        if after is not None:
            np.testing.assert_allclose(before, after, rtol=0, atol=1e-14)
        after = repeated(shown, lambda m, x=shown + half * f: x + half * dual(velocity(run, m), m))
        brackets = 0.5 * (dual(velocity(run, after), after) + dual(velocity(run, before), before))
        assert np.abs(after - before - run.step * (f + brackets)).max() < 1e-14
        assert np.abs(compatible(run, k, velocity(run, after))).max() < 1e-14
        assert np.abs(moved(run, k, velocity(run, after))).max() < 1e-14


def lagrangian(run, first, second):
    """L_d of two configurations, shapes (nodes, 4, 4)."""
    mesh, h = run.mesh, run.step
    zeta = SE3.cay_ad_inverse(SE3.inverse(first) @ second) / h
    kinetic = 0.5 * np.einsum("n,ni,nij,nj->", mesh.weight, zeta, mesh.inertia, zeta)
    ds = mesh.spacing
    gamma = SE3.cay_ad_inverse(SE3.inverse(first[:-1]) @ first[1:]) / ds[:, None] - mesh.reference
    return h * (kinetic - 0.5 * np.einsum("e,ei,eij,ej->", ds, gamma, mesh.stiffness, gamma))


def slopes(function, pose, size=2e-3):
    """Derivatives along g exp(ε e), all nodes and axes, by differences of sixth order."""
    found = np.zeros((len(pose), 6))
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    for node in range(len(pose)):
        for axis, e in enumerate(np.eye(6)):
            for many, weight in weights.items():
                for sign in (1, -1):
                    other = pose.copy()
                    other[node] = pose[node] @ SE3.exp(sign * many * size * e)
                    found[node, axis] += sign * weight * function(other) / size
    return found


@matter
def test_variational_is_stationary(rng, diagonal):
    """The discrete Euler–Lagrange equations, by differences of the discrete Lagrangian.

    The momentum that is shown is that before the kick and half of the kick.
    """
    beam, start = crooked(rng, diagonal, nodes=3)
    step = 0.02
    run = taut.simulate(beam, **{**start, "step": step}, duration=5 * step, method="variational")
    g, weight = poses(run), run.mesh.weight[:, None]
    for k in (1, 4):
        before = slopes(lambda x, k=k: lagrangian(run, g[k - 1], x), g[k])  # π, w per node
        after = -slopes(lambda x, k=k: lagrangian(run, x, g[k + 1]), g[k])  # π without its kick
        np.testing.assert_allclose(before, after, rtol=0, atol=1e-9)
        still = lambda x: lagrangian(run, x, x)  # −h V: the slope is h F  # noqa: E731
        kick = slopes(still, g[k])
        np.testing.assert_allclose(run.momentum[k] * weight, before + 0.5 * kick, rtol=0, atol=1e-9)
    assert run.certificate.compatibility < 1e-14


def test_loads_and_gravity_act_at_the_time_of_the_strain(rng):
    """In the equation of motion of the Poisson scheme; those of the others are the same."""
    beam, start = crooked(rng, gravity=(1, -2, 3))
    t, s = taut.t, taut.s
    beam.load(at="tip", force=(1, 2 * t, 0), moment=(0.1, 0, t))
    beam.load(at=0.5, force=(0, 1, t), follower=True)
    beam.load(at="all", force=(s * t, 0, 1), moment=(0, 0, 0.1 * s))
    run = taut.simulate(beam, **start, duration=0.1, t0=0.3, method=Poisson(start="printed"))
    mu, mesh = run.momentum, run.mesh
    none, gap = np.zeros(9), np.diff(mesh.s)
    reach = np.zeros(9)  # ∫ N_j s ds: an edge gives each end what its lever says
    reach[:-1] += gap * (2 * mesh.s[:-1] + mesh.s[1:]) / 6
    reach[1:] += gap * (mesh.s[:-1] + 2 * mesh.s[1:]) / 6
    for k in range(len(run) - 1):
        now, frames = run.t[k], run.frames[k]
        dead = np.zeros((9, 6))
        dead[-1] += [0.1, 0, now, 1, 2 * now, 0]
        dead += np.stack([none, none, 0.1 * reach, reach * now, none, mesh.weight], axis=1)
        local = np.einsum("nji,npj->npi", frames, dead.reshape(9, 2, 3)).reshape(9, 6)
        local[4] += [0, 0, 0, 0, 1, now]
        fall = np.zeros((9, 6))
        fall[:, 3:] = np.einsum("nji,j->ni", frames, [1.0, -2, 3])
        acting = local / mesh.weight[:, None] + np.einsum("nij,nj->ni", mesh.inertia, fall)
        mean = 0.5 * (mu[k] + mu[k + 1])
        f = force(run, k, acting)
        left = mu[k + 1] - mu[k] - run.step * (f + dual(velocity(run, mean), mean))
        assert np.abs(left).max() < 1e-14


# ---- what they promise -------------------------------------------------------------------------


@schemes
def test_the_way_back(rng, method):
    beam, start = crooked(rng)
    run = taut.simulate(beam, **start, duration=2, method=method)
    turned = taut.Beam(
        1, inertia=beam.inertia, stiffness=beam.stiffness, nodes=9, curvature=(0.5, -0.4, 1.0),
        at=run.positions[-1, 0], frame=run.frames[-1, 0],
    )  # fmt: skip
    back = taut.simulate(
        turned,
        strain0=run.strain[-1],
        momentum0=-run.momentum[-1],
        duration=2,
        step=run.step,
        method=method,
    )
    np.testing.assert_allclose(back.strain[::-1], run.strain, rtol=0, atol=1e-11)
    np.testing.assert_allclose(back.momentum[::-1], -run.momentum, rtol=0, atol=1e-11)
    np.testing.assert_allclose(back.positions[::-1, 0], run.positions[:, 0], rtol=0, atol=1e-11)
    assert np.abs(run.strain[-1] - run.strain[0]).max() > 0.1


def smooth(nodes):
    """Data that satisfy the conditions of free ends: no stress there, no slope of velocities."""
    beam = taut.Beam(1, inertia=INERTIA, stiffness=STIFFNESS, nodes=nodes)
    strain, v0 = np.zeros((nodes - 1, 6)), np.zeros((nodes, 6))
    inner, slope = np.sin(np.pi * beam.middles) ** 4, np.cos(np.pi * beam.places)
    strain[:, 0], strain[:, 2], strain[:, 1] = 0.6 * inner, -0.4 * inner, 0.3 * inner
    strain[:, 4] = 0.02 * inner
    v0[:, 3], v0[:, 5], v0[:, 1] = 0.3, -0.2 * slope**4, 0.5 * slope**4
    return beam, strain, v0


def state(run, every=1):
    """Positions, frames and strain at the end, of every k-th node."""
    return np.concatenate([run.positions[-1, ::every].ravel(), run.frames[-1, ::every].ravel()])


@schemes
def test_order_two_in_time(method):
    beam, strain, v0 = smooth(17)
    found = []
    for step in (1e-3, 5e-4, 2.5e-4):
        run = taut.simulate(beam, strain0=strain, v0=v0, duration=0.2, step=step, method=method)
        found.append(np.concatenate([state(run), run.strain[-1].ravel(), run.momentum[-1].ravel()]))
    one, two = (np.linalg.norm(a - b) for a, b in pairwise(found))
    assert np.log2(one / two) == pytest.approx(2, abs=0.05)


@schemes
def test_order_two_in_space(method):
    found = []
    for many in (2, 4, 8):
        beam, strain, v0 = smooth(16 * many + 1)
        run = taut.simulate(beam, strain0=strain, v0=v0, duration=0.2, step=5e-4, method=method)
        found.append(state(run, many))
    one, two = (np.linalg.norm(a - b) for a, b in pairwise(found))
    assert np.log2(one / two) == pytest.approx(2, abs=0.05)


def test_full_cells_and_the_printed_start_are_of_first_order():
    """The printed start in time, full cells at the ends in space."""
    found = []
    beam, strain, v0 = smooth(17)
    settings = {"duration": 0.2, "strain0": strain, "v0": v0, "method": Poisson(start="printed")}
    for step in (5e-4, 2.5e-4, 1.25e-4):
        found.append(state(taut.simulate(beam, **settings, step=step)))
    one, two = (np.linalg.norm(a - b) for a, b in pairwise(found))
    assert np.log2(one / two) == pytest.approx(1, abs=0.1)
    found = []
    for many in (2, 4, 8):
        beam, strain, v0 = smooth(16 * many + 1)
        full = taut.Beam(1, inertia=INERTIA, stiffness=STIFFNESS, nodes=beam.nodes, cells="full")
        run = taut.simulate(full, strain0=strain, v0=v0, duration=0.2, step=5e-4, method="poisson")
        found.append(state(run, many))
    one, two = (np.linalg.norm(a - b) for a, b in pairwise(found))
    assert np.log2(one / two) == pytest.approx(1, abs=0.15)


def test_poisson_and_hamel_differ_at_second_order():
    beam, strain, v0 = smooth(17)
    differences = []
    for step in (4e-3, 2e-3):
        settings = {"strain0": strain, "v0": v0, "duration": 0.4, "step": step}
        one, two = (taut.simulate(beam, **settings, method=m) for m in ("poisson", "hamel"))
        differences.append(np.abs(one.strain - two.strain).max())
    assert differences[0] / differences[1] == pytest.approx(4, rel=0.1)
    assert 0 < differences[1] < 1e-3


# ---- symplecticity -----------------------------------------------------------------------------

NODES, STEP = 3, 0.03


def started(pose, momentum, method, steps=2):
    """Poses and momenta (of whole nodes) after some steps, from any poses and momenta."""
    first = taut.Beam(
        1,
        inertia=INERTIA,
        stiffness=STIFFNESS,
        nodes=NODES,
        at=pose[0, :3, 3],
        frame=pose[0, :3, :3],
    )
    chi = SE3.cay_ad_inverse(SE3.inverse(pose[:-1]) @ pose[1:]) / first.spacing
    settings = {"strain0": chi - first.reference, "momentum0": momentum / first.weights[:, None]}
    run = taut.simulate(first, **settings, duration=steps * STEP, step=STEP, method=method)
    return poses(run)[-1], run.momentum[-1] * first.weights[:, None]


def form(momentum):
    """dθ of θ = Σ⟨p, g⁻¹dg⟩ on pairs (ξ, δp), all nodes: ⟨δp, ξ'⟩ − ⟨δp', ξ⟩ − ⟨p, [ξ, ξ']⟩."""
    n = 6 * NODES
    found = np.zeros((2 * n, 2 * n))
    found[n:, :n], found[:n, n:] = np.eye(n), -np.eye(n)
    for j, p in enumerate(momentum):
        here = slice(6 * j, 6 * j + 6)
        found[here, here] = -np.einsum("ijk,k->ij", lie.se3.structure, p)
    return found


def defect(rng, method):
    """|DΦᵀ Ω DΦ − Ω|, with DΦ by differences of fourth order."""
    beam = taut.Beam(1, inertia=INERTIA, stiffness=STIFFNESS, nodes=NODES)
    steps = beam.spacing * (beam.reference + 0.3 * rng.normal(size=(NODES - 1, 6)))
    pose = [SE3.exp(0.3 * rng.normal(size=6))]
    for step in steps:
        pose.append(pose[-1] @ SE3.cay_ad(step))
    pose, momentum = np.array(pose), 0.2 * rng.normal(size=(NODES, 6)) * INERTIA
    end, last = started(pose, momentum, method)
    n, size = 6 * NODES, 1e-3
    jacobian = np.zeros((2 * n, 2 * n))
    for column in range(2 * n):
        j, axis = divmod(column % n, 6)
        for many, weight in ((1, 8 / 12), (2, -1 / 12)):
            for sign in (1, -1):
                g, p = pose.copy(), momentum.copy()
                if column < n:
                    g[j] = g[j] @ SE3.exp(sign * many * size * np.eye(6)[axis])
                else:
                    p[j, axis] += sign * many * size * INERTIA[axis]
                there, after = started(g, p, method)
                turned = SE3.log(SE3.inverse(end) @ there)
                both = np.concatenate([turned.ravel(), (after - last).ravel()])
                unit = size if column < n else size * INERTIA[axis]
                jacobian[:, column] += sign * weight * both / unit
    gap = jacobian.T @ form(last) @ jacobian - form(momentum)
    return float(np.abs(gap).max())


def test_the_variational_scheme_is_symplectic(rng):
    """In the canonical form of T*SE(3)ᴺ, left-trivialised; that of the Poisson scheme is not."""
    assert defect(rng, "variational") < 2e-7
    assert defect(rng, "poisson") > 1e-3


# ---- long runs ---------------------------------------------------------------------------------


def gentle(nodes):
    """A soft beam that tumbles and bends, from smooth data."""
    beam = taut.Beam(1, inertia=INERTIA, stiffness=STIFFNESS, nodes=nodes, at=(0.3, -0.2, 0.1))
    strain, v0 = np.zeros((nodes - 1, 6)), np.zeros((nodes, 6))
    strain[:, 0] = 0.4 * np.sin(np.pi * beam.middles) ** 2
    v0[:, 3], v0[:, 5], v0[:, 2] = 0.15 * np.cos(np.pi * beam.places), 0.1, 0.2
    return beam, {"strain0": strain, "v0": v0}


def test_momenta_in_space_are_kept_to_round_off_for_ever():
    beam, start = gentle(31)
    run = taut.simulate(beam, **start, duration=200, step=2e-3, every=100, method="variational")
    assert run.certificate.steps == 100_000
    momenta = run.certificate.momenta
    assert momenta["linear"] < 1e-12
    assert momenta["angular"] < 1e-12
    assert run.certificate.kept == {"linear": True, "angular": True}


@schemes
def test_energy_does_not_drift_in_a_million_steps(method):
    beam, start = gentle(31)
    run = taut.simulate(beam, **start, duration=2000, step=2e-3, every=10_000, method=method)
    certificate = run.certificate
    assert certificate.steps == 1_000_000
    assert not certificate.drifts
    means = run.books[HEAD : HEAD + int(run.books[BLOCKS_FULL])]
    tenth = len(means) // 10
    change = means[-tenth:].mean() - means[:tenth].mean()
    assert abs(change) < 0.05 * certificate.energy.band
    assert certificate.energy.band < 0.01 * certificate.energy0
    assert certificate.orthogonality < 1e-14


# ---- the catalogue -----------------------------------------------------------------------------


def test_names():
    assert set(SCHEMES) >= {"poisson", "hamel", "variational"}
    assert scheme_of("poisson", beam=True) == Poisson()
    assert scheme_of("auto", beam=True) == Variational()
    assert scheme_of("auto", beam=False) == Poisson()
    assert scheme_of(Hamel(), beam=False) == Hamel()
    for scheme in SCHEMES.values():
        assert scheme.source
        assert scheme.order == 2


def test_names_that_are_not_there():
    with pytest.raises(UnknownName, match="did you mean 'poisson'"):
        scheme_of("poison", beam=True)
    with pytest.raises(UnknownName, match="no method for fields called 'variational'"):
        scheme_of("variational", beam=False)
    with pytest.raises(InputError, match="neither a name nor a scheme"):
        scheme_of(taut.Rattle(), beam=True)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="reads strains from poses"):
        scheme_of(Variational(), beam=False)
    with pytest.raises(UnknownName, match="there is no start called 'first'"):
        Poisson(start="first")
    with pytest.raises(UnknownName, match="there is no pose called 'old'"):
        Poisson(pose="old")
