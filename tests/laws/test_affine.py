"""Momenta, rotations, boosts and scalings without a search, of many bodies in any surroundings."""

from collections import Counter
from itertools import combinations

import pytest
import sympy as sp

import taut
from taut.laws import alone
from taut.laws.affine import Affine
from taut.laws.budget import Budget, Spent, limited
from taut.laws.find import Finder
from taut.laws.known import laws_of

TURN = sp.Matrix([[3, 4, 0], [-4, 3, 0], [0, 0, 5]]) / 5
TURN = TURN * sp.Matrix([[13, 0, 0], [0, 5, 12], [0, -12, 5]]) / 13


def bodies(count, power=1, masses=None, soft=0, around=None, turn=None, springs=()):
    """So many points that attract each other, with a field around them."""
    names = taut.coordinates(" ".join(f"{a}{i}" for i in range(count) for a in "xyz"))
    places = [sp.Matrix(names[3 * i : 3 * i + 3]) for i in range(count)]
    masses = masses or [sp.Integer(i + 1) for i in range(count)]
    well = 0
    for i, j in combinations(range(count), 2):
        apart = places[i] - places[j]
        well -= masses[i] * masses[j] / sp.sqrt(apart.dot(apart) + soft) ** power
    for i, j, k, rest in springs:
        apart = places[i] - places[j]
        well += k * (sp.sqrt(apart.dot(apart)) - rest) ** 2 / 2
    if around is not None:
        well += sum(around((turn or sp.eye(3)) * r) for r in places)
    own = sorted(str(s) for s in set().union(*(sp.sympify(m).free_symbols for m in masses)))
    mass = [m for m in masses for _ in range(3)]
    return taut.System(names, mass=mass, potential=well, parameters=own)


def kinds(model):
    found = Affine(model).found()
    assert all(x.formal for x in found)
    return Counter(x.kind for x in found)


GALILEI = {"energy": 1, "momentum": 3, "angular momentum": 3, "boost": 3}
WALL = {"energy": 1, "momentum": 2, "angular momentum": 1, "boost": 2}
WALLS = {
    "polynomial": lambda r: r[2] ** 4,
    "exponential": lambda r: sp.exp(r[2]),
    "cosine": lambda r: sp.cos(r[2]),
    "logarithm": lambda r: sp.log(r[2] ** 2 + 1),
    "hyperbolic": lambda r: sp.tanh(r[2]),
}


@pytest.mark.parametrize("given", [
    {}, {"soft": sp.Rational(1, 100)}, {"power": 3}, {"springs": [(0, 1, 3, 2), (1, 2, 2, 1)]},
    {"masses": sp.symbols("m1:5", positive=True)}, {"masses": [1.0, 9.547e-4, 2.858e-4, 1.66e-7]},
])  # fmt: skip
def test_ten_laws_of_bodies_that_attract_each_other(given):
    assert kinds(bodies(4, **given)) == GALILEI


@pytest.mark.parametrize("name", WALLS)
def test_a_wall_that_breaks_one_direction_which_is_no_axis(name):
    """Its poles and functions were one group with all of the rest, and took the whole budget."""
    assert kinds(bodies(5, around=WALLS[name], turn=TURN)) == WALL


def test_poles_have_equations_of_their_own():
    """Rational potentials were one group: the sum of 36 quotients took the whole budget."""
    with limited(Budget(4.0, 20.0)):
        found = kinds(bodies(9, power=2))
    assert found == GALILEI | {"point symmetry": 1, "scaling": 1}


def held_together(count, axes, order, kind="springs", masses=None):
    """Points between springs, or springs and gravity, or with rods from each to the next."""
    names = taut.coordinates(" ".join(f"{a}{i}" for i in range(count) for a in axes))
    places = [sp.Matrix(names[len(axes) * i :][: len(axes)]) for i in range(count)]
    masses = masses or [1 + sp.Rational(3 * i, 10) for i in range(count)]
    squares = {
        (i, j): (places[i] - places[j]).dot(places[i] - places[j])
        for i, j in combinations(range(count), 2)
    }
    rods = [squares[i, i + 1] - 1 for i in range(count - 1)] if kind == "rods" else []
    well = sum(
        -masses[i] * masses[j] / sp.sqrt(r) if kind == "mixed" and (i + j) % 2 else r
        for (i, j), r in squares.items()
    )
    mass = {x: m for place, m in zip(places, masses, strict=True) for x in place}
    if order == "by axis":
        names = [place[k] for k in range(len(axes)) for place in places]
    elif order == "mixed up":
        names = [names[k * 5 % len(names)] for k in range(len(names))]
    return taut.System(names, mass=[mass[x] for x in names], potential=well, constraints=rods)


@pytest.mark.parametrize("order", ["by body", "by axis", "mixed up"])
@pytest.mark.parametrize(("axes", "kind"), [
    ("xyz", "springs"), ("xyz", "mixed"), ("xyz", "rods"), ("xy", "springs"),
])  # fmt: skip
def test_momenta_do_not_wait_for_all_other_symmetries(axes, kind, order):
    """Springs have many: none was shown of seven bodies, since looking for all took too long."""
    count = 7 if len(axes) == 3 else 8
    found = Affine(held_together(count, axes, order, kind)).plain()
    assert all(x.formal for x in found)
    galilei = GALILEI if len(axes) == 3 else WALL
    assert Counter(x.kind for x in found) == galilei


@pytest.mark.parametrize("order", ["by body", "by axis", "mixed up"])
def test_bodies_of_one_mass_are_told_apart_by_their_names(order):
    model = held_together(7, "xyz", order, masses=[1] * 7)
    found = Affine(model).plain()
    assert Counter(x.kind for x in found) == GALILEI


def test_boosts_of_many_bodies_in_momenta():
    """Their G is linear in q; beyond twelve coordinates it was left out without a word."""
    model = held_together(5, "xyz", "by body")
    p, energy = model.momenta, model.energy_function
    mass = [energy.diff(v, 2) for v in model.velocities]
    kinetic = sum(x**2 / m for x, m in zip(p, mass, strict=True)) / 2
    still = dict.fromkeys(model.velocities, 0)
    by_momenta = taut.System(model.coordinates, hamiltonian=kinetic - energy.xreplace(still))
    assert Counter(x.kind for x in Affine(by_momenta).plain()) == GALILEI


def test_a_certificate_has_momenta_where_time_for_the_others_is_over(monkeypatch):
    monkeypatch.setattr(alone, "OTHERS", 1e-6)
    found = laws_of(held_together(7, "xyz", "by axis"), {})
    assert Counter(x.kind for x in found) == GALILEI
    assert found.stopped.startswith("beyond translations, rotations of bodies and boosts: degree 2")
    assert "of the search for other symmetries its budget" in found.stopped
    assert found.complete.startswith("laws of translations, rotations of bodies and boosts;")


def test_what_was_found_first_is_not_found_again():
    """Together they are as many as one search of all finds: of two bodies and a spring."""
    affine = Affine(held_together(2, "xy", "by body"))
    found = [*affine.plain(), *affine.others()]
    whole = Affine(affine.action.model)._among(list(range(len(affine.columns))))
    assert len({x.expression for x in found}) == len(found) == len(whole)


def test_what_is_no_symmetry_is_not_found():
    centre = kinds(bodies(3, around=lambda r: -1 / sp.sqrt(r.dot(r))))
    assert centre == {"energy": 1, "angular momentum": 3}
    moved = sp.Matrix([1, 2, 3])
    off = bodies(3, around=lambda r: -1 / sp.sqrt((r - moved).dot(r - moved)) + (r.dot(r)) ** 2)
    assert kinds(off) == {"energy": 1, "angular momentum": 1}
    oblong = bodies(3, around=lambda r: r[0] ** 4 + 2 * r[1] ** 4 + 3 * r[2] ** 4)
    assert kinds(oblong) == {"energy": 1}


def test_numerators_that_move_keep_their_poles_with_the_rest():
    """x⁴/(1 + x²) = x² − 1 + 1/(1 + x²): parts of one law may stand in different summands."""
    x, y = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    split = x**4 / (1 + x**2) - 1 / (1 + x**2) - x**2  # −1, in three summands
    assert kinds(taut.System(q, mass=1, potential=split + y**4)) >= Counter(energy=1, momentum=1)
    apart = 1 / (x**2 - 1) - 1 / (2 * (x - 1)) + 1 / (2 * (x + 1))  # 0
    assert kinds(taut.System(q, mass=1, potential=apart + y**4)) >= Counter(energy=1, momentum=1)
    moving = taut.System(q, lagrangian=u * v - sp.log(x))  # (x, −y), with G = −t
    law = x * v - y * u + taut.t
    assert any(sp.expand(f.expression**2 - law**2) == 0 for f in Affine(moving).found())


def test_time_may_be_stretched_where_nothing_else_is_kept():
    (z,) = q = taut.coordinates("z")
    (w,) = taut.velocities(q)
    t = taut.t
    emden = taut.System(q, lagrangian=t**2 * (w**2 / 2 - z**6 / 6))
    (law,) = taut.conserved(emden)
    known_law = t**3 * w**2 + t**3 * z**6 / 3 + t**2 * z * w
    assert sp.simplify(sp.cancel(law.expression / known_law)).is_number
    assert taut.conserved(emden).complete.startswith("complete: every law of degree ≤ 4")


def test_why_there_are_none_is_said_of_both_searches(monkeypatch):
    """It was 'degree 2 takes …' where the search for symmetries had run out of time."""
    monkeypatch.setattr(alone, "BUDGET", (1e-6, 60.0))
    found = laws_of(bodies(7, soft=sp.Rational(1, 7)), {})
    assert isinstance(found, taut.InputError)
    assert str(found).startswith("degree 2 takes")
    assert "of the search for symmetries its budget, 1e-06 s of work, was spent" in str(found)


def test_a_degree_that_was_not_finished_gives_no_sums_of_laws(monkeypatch):
    """A boost was a sum of boosts and products, called a point symmetry, where time was short."""
    x, _ = q = taut.coordinates("x y")
    u, v = taut.velocities(q)
    finder = Finder(taut.System(q, mass=1), (), None)
    finder.at(1)
    before = list(finder.found)
    assert {law.expression for law in before} == {u, v}
    made = [(u**2 + v, {}), (x - taut.t * u, {})]

    def short(functions, residues, known):
        if not made:
            raise Spent("it is over", False)
        return made.pop(0)

    monkeypatch.setattr(finder, "_recovered", short)
    with pytest.raises(Spent):
        finder.at(2)
    assert finder.found == before
    finder.complete_unfinished()
    assert [law.expression for law in finder.found[2:]] == [x - taut.t * u]
