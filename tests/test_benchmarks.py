"""The benchmarks: peers solve taut's equations, curves and costs are read right."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.special import roots_laguerre

from taut.kernel.compile import workshop
from taut.methods import CATALOGUE

FOLDER = Path(__file__).parents[1] / "benchmarks"
if not FOLDER.exists():
    pytest.skip("the benchmarks are not in the source archive", allow_module_level=True)
sys.path.append(str(FOLDER))  # the benchmarks import each other by name
angles, curves, work_precision = map(import_module, ("angles", "curves", "work_precision"))
corrections, kept_factors, paste = map(import_module, ("corrections", "kept_factors", "paste"))
c_beam = import_module("c_beam")

CHAINS = [angles.DOUBLE, angles.TRIPLE, angles.chain(5)]


@pytest.fixture(params=CHAINS, ids=[c.name for c in CHAINS])
def chain(request):
    return request.param


def random_state(chain):
    return np.random.default_rng(chain.links).normal(size=2 * chain.links)


def motion(chain, state, turn):
    """(v, v̇) of the masses, by differences of the positions along θ(s) = θ + s θ̇ + s² θ̈/2."""
    n, s = chain.links, 1e-3
    shift = np.arange(-3, 4)[:, None] * s
    path = chain.places(
        np.hstack([state[:n] + shift * state[n:] + shift**2 / 2 * turn, np.zeros((7, n))])
    )
    first = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    second = np.array([2, -27, 270, -490, 270, -27, 2]) / 180
    return first @ path / s, second @ path / s**2


@pytest.mark.parametrize("form", [angles.by_mass_matrix, angles.by_tensions])
def test_angles_and_cartesian_coordinates_accelerate_alike(chain, form):
    state, problem = random_state(chain), chain.taut_problem()
    found = form(chain)(0.0, state)
    np.testing.assert_array_equal(found[: chain.links], state[chain.links :])
    q = chain.places(state)
    v, acceleration = motion(chain, state, found[chain.links :])
    system = problem.system
    values = system.values(problem.parameters)
    mass = np.repeat(chain.masses, 2)
    ours, _ = workshop(system).mechanics.accelerations(q, v, mass * v, 0.0, values)
    np.testing.assert_allclose(np.ravel(ours), acceleration, rtol=0, atol=2e-8)


def test_energy_and_start_are_those_of_the_problem(chain):
    problem = chain.taut_problem()
    np.testing.assert_allclose(chain.places(chain.start), problem.q0, rtol=0, atol=1e-15)
    energy = next(f.energy for f in problem.facts if f.energy and f.accuracy < 1e-9)
    assert chain.energy(chain.start) == pytest.approx(energy, abs=1e-13)


def test_the_energy_does_not_change_along_the_motion(chain):
    state, rates = random_state(chain), angles.by_mass_matrix(chain)
    step = 1e-4 * rates(0.0, state)
    slope = (chain.energy(state + step) - chain.energy(state - step)) / 2e-4
    assert slope == pytest.approx(0, abs=1e-4)
    wrong = step * np.r_[np.ones(chain.links), 1.01 * np.ones(chain.links)]
    assert abs(chain.energy(state + wrong) - chain.energy(state - wrong)) / 2e-4 > 1e-3


@pytest.mark.parametrize("links", [2, 6, 10])
def test_small_swings_have_the_frequencies_of_laguerre(links):
    """ω² = g x with L_N(x) = 0, for equal masses on equal rods."""
    chain = angles.chain(links)
    rates, small = angles.by_mass_matrix(chain), 1e-7
    tilts = [np.r_[small * np.eye(links)[i], np.zeros(links)] for i in range(links)]
    stiffness = -np.array([rates(0.0, tilt)[links:] for tilt in tilts]).T / small
    squares = np.sort(np.linalg.eigvals(stiffness).real)
    np.testing.assert_allclose(squares, roots_laguerre(links)[0], rtol=1e-9)


@pytest.mark.parametrize("form", ["heyoka_lagrangian", "heyoka_tensions"])
def test_heyoka_is_given_the_same_equations(chain, form):
    heyoka = pytest.importorskip("heyoka")
    variables, rates = zip(*getattr(angles, form)(chain), strict=True)
    state = random_state(chain)
    order = [str(v) for v in variables]
    names = [f"{x}{i}" for x in ("theta", "rate") for i in range(chain.links)]
    assert order == names
    found = heyoka.cfunc(list(rates), vars=list(variables))(state)
    np.testing.assert_allclose(found, angles.by_mass_matrix(chain)(0.0, state), rtol=1e-11)


# ---- reading curves ------------------------------------------------------------------------------


def law(walls, order=4):
    return [(wall, wall**-order) for wall in walls]


def test_times_at_equal_error_lie_on_the_law():
    assert curves.time_at(law([1, 2, 4, 8]), 1e-2) == pytest.approx(10**0.5)
    assert curves.time_at(law([1, 2]), 1e-2) is None
    assert curves.time_at(law([4, 8]), 1e-2) == 4  # it costs no more than that
    assert curves.time_at([(1, 0.1), (2, 0.0)], 1e-2) == 2
    assert curves.time_at([], 1e-2) is None


def test_a_curve_that_comes_down_twice_counts_once():
    assert curves.time_at([(1, 1), (2, 1e-4), (4, 1), (8, 1e-8)], 1e-2) == pytest.approx(2**0.5)


def curve(solver, family, factor):
    """The law of order 4, `factor` times as slow as it could be."""
    points = [curves.Point("", 0, e, long=[factor * wall]) for wall, e in law([50, 100, 200])]
    return curves.Curve(solver, family, points)


def chains(*factors):
    """taut takes these multiples of another's time, from two links on."""
    theirs = curve("theirs", "heyoka", 1)
    return {links: [curve("rattle", "taut", f), theirs] for links, f in enumerate(factors, start=2)}


def test_who_enters():
    """Every method without a chart: all of them serve every system."""
    everyone = work_precision.catalogue(0)
    assert {"rattle", "precise-element", "rk4"} <= set(everyone)
    assert set(CATALOGUE) - set(everyone) == {x for x, m in CATALOGUE.items() if m.charted}
    symplectic = [x for x in everyone if CATALOGUE[x].symplectic]
    assert work_precision.catalogue(0, symplectic=True) == symplectic
    assert work_precision.catalogue(4) == [x for x in everyone if CATALOGUE[x].order >= 4]


def test_overtaking_is_for_good():
    said = work_precision.overtaking
    assert said(chains(3, 2, 1.5), "theirs") == "taut does not overtake theirs up to 4 links"
    assert "from 2 links" in said(chains(0.5, 0.5), "theirs")
    assert "from 5 links" in said(chains(0.5, 2, 1.1, 0.9, 0.8), "theirs")
    assert said(chains(0.5), "nobody") is None


def test_the_best_of_a_family_and_its_target():
    here = [
        curve("rk4", "taut", 1),
        curve("lobatto-4", "taut", 7),
        *chains(2)[2],
        curve("scipy", "SciPy", 15),
    ]
    fair = work_precision.fair(here)  # rk4 is there to be compared with
    assert curves.best(here, "taut", work_precision.ENERGY)[1] == "rk4"
    assert curves.best(fair, "taut", work_precision.ENERGY)[1] == "rattle"
    assert curves.best(here, "nobody", 1e-8) is None
    rows = work_precision.ratios("here", here, {"heyoka": 10, "SciPy": 0.1})
    assert [(row.value, row.met) for row in rows] == [
        (pytest.approx(2), True),
        (pytest.approx(2 / 15), False),
    ]


# ---- what a correction costs ---------------------------------------------------------------------


def test_every_correction_is_measured_and_holds_its_laws():
    few = corrections.Amounts(steps=50, repeats=1)
    for case in corrections.cases():
        wanted = corrections.ways(case)
        assert len(wanted) == (3 if len(case.laws) == 1 else 5)
        found = corrections.costs(case, "rattle", few)
        assert [(c.how, c.laws) for c in found] == wanted
        assert all(c.corrected > 0 < c.alone for c in found)
        assert [c.corrected for c in corrections.costs(case, "rk4", few)].count(None) == 1
        for how, count in wanted:
            held = corrections.corrected(case, "rattle", how, count)
            assert (held.iterate, held.symmetric) == (how == "iterated", how == "symmetric")
            run = case.run(held, 200)
            kept = [abs(np.ptp(run.evaluate(law))) < 1e-9 for law in case.laws]
            assert all(kept[:count])
            assert count == len(kept) or not all(kept)


def test_medians_are_of_calls_in_turns():
    order = []
    values = iter([9, 9, 1, 5, 3, 4, 2, 60])  # the first call of each is not counted

    def call(name):
        order.append(name)
        return next(values)

    found = corrections.medians({n: lambda n=n: call(n) for n in "ab"}, 3)
    assert "".join(order) == "abababab"
    assert found == {"a": 2, "b": 5}


def test_the_table_of_costs():
    def cost(base, how, corrected):
        return corrections.Cost("orbit", base, 1, how, 200.0, corrected)

    rows = [cost("rk4", "iterated", 300.0), cost("rk4", "symmetric", None)]
    rows += [cost("gauss-lobatto-4", "iterated", 190.0), cost("gauss-lobatto-4", "symmetric", 800)]
    assert corrections.table(rows).splitlines() == [
        "| orbit | ns | 1 law, iterated | 1 law, symmetric |",
        "|---|---|---|---|",
        "| `rk4` | 200 | +50 % |  |",
        "| `gauss-lobatto-4` | 200 | −5 % | +300 % |",
    ]


@pytest.mark.parametrize("what", ["corrections", "factors", "beams", "mechanisms"])
def test_tables_have_their_places_on_the_page(what, tmp_path, monkeypatch):
    page = FOLDER.parent / "docs" / "benchmarks.md"
    (tmp_path / "docs").mkdir()
    copy = tmp_path / "docs" / "benchmarks.md"
    copy.write_text(page.read_text())
    monkeypatch.setattr(paste, "ROOT", tmp_path)
    getattr(paste, f"{what}_into_the_docs")("| new |\n")
    mark = f"{getattr(paste, what.upper())}\n"
    before, after = (p.read_text().partition(mark) for p in (page, copy))
    assert before[:2] == after[:2]
    old, new = (x[2].partition("\n<!-- end -->\n") for x in (before, after))
    block = "```text\n| new |\n```" if what in ("beams", "mechanisms") else "| new |"
    assert new == (block, *old[1:])


def test_one_run_is_pasted_into_both_readmes(tmp_path, monkeypatch):
    names = {
        "README.md": "| | time per step |\n| 17.5 ns |\n\n| tolerance 3 |",
        "README.zh-CN.md": "| | 每步耗时 |\n| 17.5 ns |\n\n| 容差 3 |",
        "docs/benchmarks.md": "```text\nprinted\n```",
    }
    (tmp_path / "docs").mkdir()
    for name in names:
        (tmp_path / name).write_text((FOLDER.parent / name).read_text())
    monkeypatch.setattr(paste, "ROOT", tmp_path)
    monkeypatch.setattr(paste, "speed_table", lambda rows: f"| | time per step |\n| {rows} |")
    monkeypatch.setattr(paste, "peer_table", lambda results: "| tolerance 3 |")
    paste.into_the_docs("printed\n", {"rows": "17.5 ns"})
    for name, pasted in names.items():
        head, rest = (FOLDER.parent / name).read_text().split(f"{paste.BEGIN}\n")
        tail = rest.partition(f"\n{paste.END}")[2]
        assert tail
        expected = f"{head}{paste.BEGIN}\n{pasted}\n{paste.END}{tail}"
        assert (tmp_path / name).read_text() == expected


def test_kept_factors_are_measured_against_new_ones():
    few = kept_factors.Amounts(duration=0.6, repeats=1)
    found = kept_factors.saved("bodies", kept_factors.bodies, 4, 0.02, few)
    assert found.price > 2
    assert found.new[0] > 0 < found.kept[0]
    assert found.kept[1] > found.new[1] >= 1  # iterations
    assert kept_factors.table([found]).splitlines()[2].startswith("| bodies | 4 | 0.02 | ")


# ---- beams ---------------------------------------------------------------------------------------


def any_beam(nodes):
    """A short beam without any symmetry, also of its section."""
    rng, paper = np.random.default_rng(nodes), c_beam.paper_like(nodes)
    beam = c_beam.cs_plain.Beam(length=paper.beam.length, nodes=nodes)
    vars(beam)["inertia"] = beam.inertia * [1, 1.3, 0.6, 1, 1, 1]  # in place of cached values
    vars(beam)["stiffness"] = beam.stiffness * [1, 0.7, 1.4, 0.8, 1, 1.1]
    spread = [6, 6, 6, 1, 1, 1] * rng.normal(size=(nodes, 6))
    return c_beam.cs_plain.Start(
        beam,
        paper.mu + beam.inertia * spread,
        paper.gamma + 0.1 * rng.normal(size=paper.gamma.shape),
        paper.frames,
        paper.positions,
    )


@pytest.mark.skipif(c_beam.compiler() is None, reason="there is no gcc")
@pytest.mark.parametrize("lanes", [None, 4])
def test_c_beam_is_the_plain_scheme(lanes, tmp_path):
    run = c_beam.build(tmp_path, *([f"-DLANES={lanes}"] if lanes else []))
    for nodes in (2, 8, 9, 19):
        start = any_beam(nodes)
        found = c_beam.disagreement(run, start, 5)
        assert len(found) == 5
        assert max(found.values()) < 1e-13, found
        bare, whole = (run(start, 5, energy=wanted) for wanted in (False, True))
        assert bare.energy is None
        np.testing.assert_allclose(bare.mu, whole.mu, rtol=0, atol=1e-13)
        assert whole.sweeps >= 5 * 2
        assert c_beam.c_seconds(run, start, 5) > 0


@pytest.mark.skipif(c_beam.compiler() is None, reason="there is no gcc")
def test_c_beam_says_what_it_cannot_do(tmp_path):
    run, start = c_beam.build(tmp_path), any_beam(3)
    with pytest.raises(RuntimeError, match="converge"):
        run(start, 5, step=0.5)
    vars(start.beam)["inertia"] = start.beam.inertia * [1, 1, 1, 1, 2, 1]
    with pytest.raises(ValueError, match="direction"):
        run(start, 5)


@pytest.mark.skipif(c_beam.compiler() is None, reason="there is no gcc")
def test_plain_beams_are_timed_along_a_run(tmp_path):
    run, start = c_beam.build(tmp_path), any_beam(3)
    first, second = c_beam.along(run, start, steps=4, parts=2)
    plain = c_beam.cs_plain.poisson(start, c_beam.STEP, 3)
    for found, n in ((first, 1), (second, 3)):
        np.testing.assert_allclose(found.gamma, plain.gamma[n], rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.positions, plain.positions[n], rtol=0, atol=1e-13)
    assert (c_beam.plain_costs([first, second], 1) > 0).all()


def test_plain_beams_are_timed():
    assert all(c_beam.plain_seconds(scheme, any_beam(3), 2) > 0 for scheme in c_beam.SCHEMES)
    answers = iter([3, 7, 1, 9])
    assert c_beam.best([lambda: next(answers), lambda: next(answers)], 2) == [1, 7]


ENERGIES = """
import elastica_rod
rod = elastica_rod.Rod(20)
rod.march(1)
print(*rod.energy())
rod.march(50)
print(*rod.energy())
"""


def test_the_rod_of_pyelastica_keeps_its_energy():
    """As plain Python: what takes half a minute to compile is needed for 51 steps only."""
    pytest.importorskip("elastica")
    path = os.pathsep.join(sys.path)
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    said = subprocess.run([sys.executable, "-c", ENERGIES], env=environment, check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    (kinetic, potential), after = np.array([x.split() for x in said.splitlines()], float)
    bent = 1e7 * 0.1**4 / (4 * np.pi) / 2 * 2 * np.pi / 3
    assert potential == pytest.approx(bent * 19 / 20, rel=0.001)  # ends do not bend
    assert abs(after[0] - kinetic) > 1
    assert sum(after) == pytest.approx(kinetic + potential, rel=0.01)


@pytest.mark.parametrize("name", ["oscillator", "gyrostat", "spherical_pendulum"])
def test_three_roads_lead_to_as_many_laws(name):
    roads = import_module("laws")
    count, _ = roads.by_primes(name, 2)
    assert roads.by_sympy(name, 2) == roads.by_svd(name, 2) == count > 0
    assert roads.row(name)[0] == name


def test_a_road_that_takes_too_long_is_stopped(monkeypatch):
    roads = import_module("laws")
    monkeypatch.setattr(roads, "LIMIT", 0.05)
    assert roads.limited(roads.by_svd, "kovalevskaya", 4) is None
