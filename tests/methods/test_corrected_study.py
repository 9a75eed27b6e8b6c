"""What docs/corrections.md tells users, measured again; and that its tables are those of today."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

DOCS = Path(__file__).parents[2] / "docs"
if not DOCS.exists():
    pytest.skip("the pages are not in the source archive", allow_module_level=True)


@pytest.fixture(scope="module")
def study():
    return runpy.run_path(str(DOCS / "corrections.py"))


@pytest.fixture(scope="module")
def rows(study):
    """(system, method, corrected, how) → Row."""
    found = {}
    for make in study["CASES"]:
        _, listed = study["measured"](make)
        found |= {(make.__name__, r.method, r.corrected, r.how): r for r in listed}
    return found


REGULAR = ("kepler", "toda", "euler", "spherical")
ROUND_OFF = 1e-13
BETTER = {"kepler": 300, "toda": 1.4, "euler": 10, "spherical": 2000}


@pytest.mark.parametrize("name", [*REGULAR, "henon_heiles"])
def test_the_laws_of_the_study_are_laws(study, name):
    import taut

    case = study[name]()
    for law in case.laws.values():
        assert taut.conserved(case.model, proposed=law).verified == "normal form"


def test_paths_are_those_of_scipy(study):
    """Kepler's closed form and the reference of the rigid body, by another solver."""
    kepler = study["kepler"]()
    t = np.linspace(0, 10, 21)

    def pull(_, z):
        return [z[2], z[3], *(-z[:2] / np.hypot(*z[:2]) ** 3)]

    found = solve_ivp(pull, (0, 10), [*kepler.q0, *kepler.v0], "DOP853", t, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kepler.exact(t), found.y[:2].T, rtol=0, atol=1e-9)

    body = study["euler"]()
    run = body.simulate("dop853", every=100)
    a, k = np.array([1, 2, 3]), 0.4
    found = solve_ivp(
        lambda _, x: np.cross(x, x / a) + k * np.array([x[1], -x[0], 0]),
        (0, body.duration), body.q0, "DOP853", run.t, rtol=1e-13, atol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose(run.q, found.y.T, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("base", ["rk4", "rattle"])
def test_all_laws_are_kept_to_round_off(rows, name, base):
    assert all(x < ROUND_OFF for x in rows[name, base, "all", "iterated"].laws.values())
    other = rows[name, base, "all", "one step" if base == "rk4" else "symmetric"]
    assert all(x < 1e-11 for x in other.laws.values())


@pytest.mark.parametrize("name", REGULAR)
def test_all_laws_improve_the_path_of_rk4(rows, name):
    plain, held = (rows[name, "rk4", *x].path for x in (("none", ""), ("all", "one step")))
    assert plain > BETTER[name] * held


def test_the_energy_alone_fixes_the_period(rows):
    plain, held = (
        rows["kepler", "rk4", *x].path for x in (("none", ""), ("energy", "one step"))
    )  # fmt: skip
    assert plain > 30 * held


@pytest.mark.parametrize("name", ["toda", "euler"])
def test_the_energy_alone_can_spoil_the_path(rows, name):
    plain, held = (rows[name, "rk4", *x].path for x in (("none", ""), ("energy", "iterated")))
    assert held > 1.3 * plain


@pytest.mark.parametrize(
    ("name", "base", "law"),
    [("toda", "rk4", "P"), ("toda", "rk4", "Σq − tP"), ("toda", "rattle", "P"),
     ("kepler", "rattle", "L"), ("spherical", "rattle", "L")],
)  # fmt: skip
def test_the_energy_alone_damages_what_the_method_had_kept(rows, name, base, law):
    assert rows[name, base, "none", ""].laws[law] < ROUND_OFF
    damaged = rows[name, base, "energy", "iterated"]
    assert damaged.laws["E"] < ROUND_OFF
    assert damaged.laws[law] > 1e-5


@pytest.mark.parametrize("name", REGULAR)
def test_a_higher_order_does_more_for_the_path_than_correcting_rattle(rows, name):
    higher = rows[name, "gauss-lobatto-4", "none", ""].path
    for how in ("iterated", "symmetric"):
        assert higher < rows[name, "rattle", "all", how].path / 10


def test_what_is_not_corrected_drifts_unless_the_correction_is_symmetric(study):
    band, drifting, symmetric = (sizes for *_, sizes in study["grown"]())
    assert band[-1] == pytest.approx(band[0], rel=0.05)
    assert symmetric[-1] == pytest.approx(symmetric[0], rel=0.05)
    assert drifting[-1] > 100 * drifting[0]


def test_chaotic_motion_gains_nothing(rows):
    for base in ("rk4", "rattle"):
        for row in (("none", ""), ("energy", "iterated")):
            assert rows["henon_heiles", base, *row].path > 0.5
    assert rows["henon_heiles", "rk4", "energy", "iterated"].laws["E"] < ROUND_OFF


def test_a_correction_takes_symplecticity_away(study):
    import taut

    case = study["kepler"]()
    held = taut.Corrected("rattle", [case.laws["E"]], iterate=True)
    defects = [
        taut.simulate(
            case.model, q0=case.q0, v0=case.v0, duration=6, step=case.step, method=m, laws=None
        ).certificate.symplecticity
        for m in ("rattle", held)
    ]
    assert defects[0] < 1e-13
    assert defects[1] > 1e-6


@pytest.mark.parametrize("iterate", [False, True])
@pytest.mark.parametrize("name", ["kepler", "euler"])
def test_with_nothing_to_hold_the_method_is_left_as_it_is(study, name, iterate):
    import taut

    case = study[name]()
    start = {"q0": case.q0} | ({} if case.v0 is None else {"v0": case.v0})
    plain, held = (
        taut.simulate(case.model, **start, duration=50 * case.step, step=case.step, method=m)
        for m in ("rk4", taut.Corrected("rk4", [], iterate=iterate))
    )
    np.testing.assert_allclose(held.q, plain.q, rtol=0, atol=1e-14)


def test_the_page_shows_these_tables(study):
    """Every number of the page is, within a factor of two, what is measured today."""
    page = (DOCS / "corrections.md").read_text()
    for begin, made in ((study["BEGIN"], study["tables"]()), (study["LATER"], study["growth"]())):
        shown = page.partition(f"{begin}\n")[2].partition(study["END"])[0].strip().splitlines()
        today = made.strip().splitlines()
        assert len(shown) == len(today) > 3
        for one, two in zip(shown, today, strict=True):
            for a, b in zip(one.split("|"), two.split("|"), strict=True):
                x, y = (_read(cell) for cell in (a, b))
                if isinstance(x, str) or isinstance(y, str):
                    assert x == y
                else:
                    assert x < 1e-11 > y or 0.5 <= x / y <= 2


def _read(cell):
    text = cell.strip().replace("−", "-")
    if text == "round-off":
        return 1e-14
    try:
        return float(text)
    except ValueError:
        return text
