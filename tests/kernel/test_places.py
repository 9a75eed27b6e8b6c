"""Nodes and edges: brackets, solutions of linear equations, poses, forces, against taut.lie."""

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from taut import lie
from taut.kernel.places import Edge, Layout, Medium, Node, Place, applied, quadratic
from taut.lie import SE3, SO3

SOLVABLE = lie.algebra({(0, 1): {1: 1}, (0, 2): {1: 0.5, 2: 2}}, "d a b", name="solvable")
ALGEBRAS = [lie.so3, lie.se2, lie.se3, SOLVABLE, lie.abelian(2), lie.so3 * lie.se2]
every = pytest.mark.parametrize("algebra", ALGEBRAS, ids=[a.name for a in ALGEBRAS])
SMALL = 2e-15


def medium(algebra, rigid=False):
    terms = tuple((i, j, k, float(c)) for i, j, k, c in algebra.terms())
    return Medium(algebra.dimension, terms, rigid, quadratic, applied, quadratic, applied)


def layout(packed=6):
    found = Layout()
    sizes = {"mu": 6, "zeta": 6, "turn": 4, "place": 3, "chi": 6, "left": 6, "right": 6, "share": 1}
    for name, size in sizes.items():
        found.row(name, size)
    sizes = {"step": 1, "per_length": 1, "reference": 6, "stiffness": packed, "compliance": packed}
    for name, size in sizes.items():
        found.slot(name, size)
    return found


RIGID = medium(lie.se3, rigid=True)


def numbers(function, *values):
    """A map of SX vectors, at numbers."""
    symbols = [SX.sym(f"x{i}", len(v)) for i, v in enumerate(values)]
    return np.array(ca.Function("f", symbols, [function(*symbols)])(*values)).ravel()


def made(place, given):
    """What a place writes and counts, by name; `given` holds numbers of rows and slots.

    Neighbours are given as (name, offset).
    """
    sweep = place.sweep()
    names = list(place._read)
    values = [given[name if offset == 0 else (name, offset)] for name, offset in names]
    par = np.zeros(place.layout.width)
    for name, (at, size) in place.layout.slots.items():
        if name in given:
            par[at : at + size] = given[name]
    symbols = [*(x for x, _, _ in sweep.reads), sweep.par]
    outputs = [*(x for x, _ in sweep.writes), *sweep.sums]
    found = ca.Function("f", symbols, outputs).call([*values, par])
    found = [np.array(x).ravel() for x in found]
    many = len(sweep.writes)
    return dict(zip(place._written, found[:many], strict=True)), [float(x[0]) for x in found[many:]]


def vector(rng, size=6, scale=1.0):
    return scale * rng.normal(size=size)


def pose(rng, scale=1.0):
    return SE3.exp(vector(rng, scale=scale))


def rows_of(g):
    return {"turn": SO3.quaternion(g[:3, :3]), "place": g[:3, 3]}


def neighbour(g):
    return {(name, 1): value for name, value in rows_of(g).items()}


# ---- the algebra -------------------------------------------------------------------------------


@every
def test_brackets(rng, algebra):
    place = Place(layout(), medium(algebra))
    x, y = (vector(rng, algebra.dimension) for _ in range(2))
    np.testing.assert_allclose(
        numbers(place.bracket, x, y), algebra.bracket(x, y), rtol=0, atol=SMALL
    )
    np.testing.assert_allclose(numbers(place.dual, x, y), algebra.dual(x, y), rtol=0, atol=SMALL)


@every
@pytest.mark.parametrize("size", [0.0, 1e-8, 0.1, 0.7])
def test_linear_equations_are_solved_for_any_algebra(rng, algebra, size):
    place, n = Place(layout(), medium(algebra)), algebra.dimension
    b, right = vector(rng, n, size), vector(rng, n)
    wanted = np.linalg.solve(np.eye(n) + algebra.ad(b), right)
    scale = max(1, np.abs(wanted).max())
    np.testing.assert_allclose(
        numbers(place.resolved, b, right), wanted, rtol=0, atol=1e-14 * scale
    )


@pytest.mark.parametrize("size", [0.0, 1e-8, 0.1, 1.0, 30.0])
def test_the_closed_form_for_motions_is_the_solution(rng, size):
    place = Place(layout(), RIGID)
    b, right = vector(rng, 6, size), vector(rng)
    wanted = np.linalg.solve(np.eye(6) + lie.se3.ad(b), right)
    scale = max(1.0, size**2)
    np.testing.assert_allclose(
        numbers(place.resolved, b, right), wanted, rtol=0, atol=1e-14 * scale
    )


def test_what_an_abelian_algebra_resolves_is_what_it_is_given(rng):
    place = Place(layout(), medium(lie.abelian(3)))
    right = vector(rng, 3)
    assert np.array_equal(numbers(place.resolved, vector(rng, 3), right), right)


def test_the_inverse_tangent_of_cayleys_map(rng):
    """T(b) = 1 + ad_b + b bᵀ with b half of ξ, and its transpose, as in `stretched`."""
    place = Place(layout(), RIGID)
    b, m = vector(rng), vector(rng)
    tangent = SE3.dcay_ad_inverse(2 * b)
    found = m + numbers(place.dual, b, m) + numbers(place.stretched, b, m)
    np.testing.assert_allclose(found, tangent.T @ m, rtol=0, atol=1e-14)


@pytest.mark.parametrize("packed", [6, 36])
def test_quadratic_forms_are_given_by_diagonals_or_whole(rng, packed):
    root = rng.normal(size=(6, 6))
    matrix = np.diag(rng.random(6)) if packed == 6 else root @ root.T
    given = np.diag(matrix) if packed == 6 else matrix.ravel()
    x = vector(rng)
    np.testing.assert_allclose(numbers(applied, x, given), matrix @ x, rtol=0, atol=1e-14)
    assert numbers(quadratic, x, given)[0] == pytest.approx(0.5 * x @ matrix @ x, abs=1e-14)


def test_one_equation_per_sweep(rng):
    place = Place(layout(), RIGID)
    x = place.read("mu")
    place.solve(x, lambda m: x + 0.1 * m)
    with pytest.raises(AssertionError, match="one equation"):
        place.solve(x, lambda m: x + 0.2 * m)


def test_an_equation_without_its_unknown_is_no_equation():
    place = Place(layout(), RIGID)
    x = place.read("mu")
    place.solve(x, lambda m: 2 * x)
    assert place.sweep().repeat is None


def test_what_was_written_is_read_again(rng):
    """At the same place; neighbours are as they were."""
    place = Place(layout(), RIGID)
    place.write("mu", 2 * place.read("mu"))
    place.write("zeta", place.read("mu") + place.read("mu", 1))
    here, there = vector(rng), vector(rng)
    found, _ = made(place, {"mu": here, ("mu", 1): there})
    assert np.array_equal(found["zeta"], 2 * here + there)


# ---- poses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [1e-3, 0.3, 2.0])
def test_a_node_moves_by_cayleys_map(rng, h):
    node, g, zeta = Node(layout(), RIGID, frozenset()), pose(rng), vector(rng)
    node.move(SX(zeta))
    found, _ = made(node, {**rows_of(g), "step": h})
    wanted = g @ SE3.cay_ad(h * zeta)
    turn = SO3.from_quaternion(found["turn"])
    np.testing.assert_allclose(turn, wanted[:3, :3], rtol=0, atol=SMALL)
    np.testing.assert_allclose(found["place"], wanted[:3, 3], rtol=0, atol=SMALL * (1 + 3 * h))
    assert np.linalg.norm(found["turn"]) == pytest.approx(1, abs=3e-16)


def test_quaternions_off_by_a_little_come_back_to_length_one(rng):
    node, g = Node(layout(), RIGID, frozenset()), pose(rng)
    node.move(SX(vector(rng)))
    rows = rows_of(g)
    found, _ = made(node, {**rows, "turn": rows["turn"] * (1 + 1e-9), "step": 0.1})
    assert np.linalg.norm(found["turn"]) == pytest.approx(1, abs=3e-16)


@pytest.mark.parametrize("size", [1e-9, 0.1, 1.0])
def test_the_strain_between_two_poses(rng, size):
    edge, g, ds = Edge(layout(), RIGID), pose(rng), 0.25
    step = vector(rng, 6, size)
    edge.write("chi", edge.relative())
    found, _ = made(edge, {**rows_of(g), **neighbour(g @ SE3.cay_ad(step)), "per_length": 1 / ds})
    np.testing.assert_allclose(found["chi"], step / ds, rtol=0, atol=4e-14)


def test_the_sign_of_a_quaternion_does_not_matter(rng):
    edge, g, other = Edge(layout(), RIGID), pose(rng), pose(rng)
    edge.write("chi", edge.relative())
    rows = {**rows_of(g), **neighbour(other), "per_length": 4.0}
    one, _ = made(edge, rows)
    rows["turn", 1] = -rows["turn", 1]
    two, _ = made(edge, rows)
    assert np.array_equal(one["chi"], two["chi"])


# ---- forces --------------------------------------------------------------------------------------


def edge_values(rng, packed=6):
    root = rng.normal(size=(6, 6))
    matrix = np.diag(1 + rng.random(6)) if packed == 6 else root @ root.T + np.eye(6)
    stiff = np.diag(matrix) if packed == 6 else matrix.ravel()
    return matrix, {"stiffness": stiff, "reference": vector(rng, scale=0.2), "per_length": 4.0}


def energy_of(first, second, matrix, given):
    """Δs v of the strain between two poses."""
    ds = 1 / given["per_length"]
    gamma = SE3.cay_ad_inverse(SE3.inverse(first) @ second) / ds - given["reference"]
    return 0.5 * ds * gamma @ matrix @ gamma


@pytest.mark.parametrize("packed", [6, 36])
def test_exact_forces_are_the_slope_of_the_energy(rng, packed):
    """Of the energy as a function of both poses, by differences of sixth order."""
    matrix, given = edge_values(rng, packed)
    first = pose(rng)
    second = first @ SE3.cay_ad(vector(rng, scale=0.3))
    edge = Edge(layout(packed), RIGID)
    edge.chi = edge.relative()
    edge.pull(edge.chi, exact=True)
    found, (energy,) = made(edge, {**rows_of(first), **neighbour(second), **given})
    assert energy == pytest.approx(energy_of(first, second, matrix, given), rel=1e-13)
    h = 1e-2
    slopes = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    for name, moved in (("left", 0), ("right", 1)):
        for k, axis in enumerate(np.eye(6)):
            slope = 0.0
            for many, weight in slopes.items():
                for sign in (1, -1):
                    ends = [first, second]
                    ends[moved] = ends[moved] @ SE3.exp(sign * many * h * axis)
                    slope += sign * weight * energy_of(*ends, matrix, given) / h
            assert found[name][k] == pytest.approx(-slope, abs=2e-9 * np.abs(matrix).max())


def test_exact_forces_of_an_edge_cancel_in_space(rng):
    """No momentum comes from within: forces and moments about one point."""
    _, given = edge_values(rng)
    first, second = pose(rng), pose(rng)
    edge = Edge(layout(), RIGID)
    edge.chi = edge.relative()
    edge.pull(edge.chi, exact=True)
    found, _ = made(edge, {**rows_of(first), **neighbour(second), **given})
    total = sum(
        SE3.adjoint(SE3.inverse(g)).T @ found[name]
        for name, g in (("left", first), ("right", second))
    )
    assert np.abs(total).max() < 1e-13 * np.abs(found["left"]).max()


@pytest.mark.parametrize("packed", [6, 36])
def test_forces_of_the_papers_edge(rng, packed):
    """n/Δs − ½[χ, n]* at node j and −n/Δs − ½[χ, n]* at node j + 1, times Δs."""
    matrix, given = edge_values(rng, packed)
    chi = vector(rng)
    edge = Edge(layout(packed), RIGID)
    edge.pull(edge.chi)
    found, (energy,) = made(edge, {"chi": chi, **given})
    gamma = chi - given["reference"]
    n, ds = matrix @ gamma, 1 / given["per_length"]
    turned = 0.5 * ds * lie.se3.dual(chi, n)
    np.testing.assert_allclose(found["left"], n - turned, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found["right"], -n - turned, rtol=0, atol=1e-13)
    assert energy == pytest.approx(0.5 * ds * gamma @ n, rel=1e-13)


def test_both_kinds_of_forces_agree_on_short_edges(rng):
    """They differ by the square of half an edge's strain."""
    differences = []
    _, given = edge_values(rng)
    chi = vector(rng)
    for per_length in (10.0, 20.0):
        left = []
        for exact in (False, True):
            edge = Edge(layout(), RIGID)
            edge.pull(edge.chi, exact=exact)
            found, _ = made(edge, {"chi": chi, **given, "per_length": per_length})
            left.append(found["left"])
        differences.append(np.abs(left[0] - left[1]).max())
    assert differences[0] / differences[1] == pytest.approx(4, rel=1e-6)


# ---- loads and holds -----------------------------------------------------------------------------


def loaded(features, rows, slots=()):
    found = layout(36)
    for name, size in rows.items():
        found.row(name, size)
    for name, size in dict(slots).items():
        found.slot(name, size)
    return Node(found, RIGID, frozenset(features))


def test_loads_turn_with_the_node_or_stay_in_space(rng):
    node = loaded({"dead", "follower"}, {"dead": 6, "follower": 6})
    node.write("zeta", node.force)
    g, dead, follower = pose(rng), vector(rng), vector(rng)
    left, right = vector(rng), vector(rng)
    given = {**rows_of(g), "dead": dead, "follower": follower, "share": 8.0}
    found, _ = made(node, {**given, "left": left, ("right", -1): right})
    back = np.kron(np.eye(2), g[:3, :3].T)
    wanted = 8 * (left + right + follower + back @ dead)
    np.testing.assert_allclose(found["zeta"], wanted, rtol=0, atol=1e-13)


def test_gravity_pulls_at_the_centre_of_mass(rng):
    """W (0, Rᵀg), with the coupling of a body off the axis in W."""
    node = loaded({"gravity"}, {}, {"inertia": 36, "gravity": 3})
    node.write("zeta", node.force)
    g, fall = pose(rng), vector(rng, 3)
    mass, offset = 3.0, vector(rng, 3)
    inertia = np.eye(6)
    inertia[3:, 3:] = mass * np.eye(3)
    inertia[:3, 3:], inertia[3:, :3] = mass * SO3.hat(offset), -mass * SO3.hat(offset)
    rest = {"left": np.zeros(6), ("right", -1): np.zeros(6), "share": 1.0}
    found, _ = made(node, {**rows_of(g), **rest, "gravity": fall, "inertia": inertia.ravel()})
    weight = mass * g[:3, :3].T @ fall
    wanted = np.concatenate([np.cross(offset, weight), weight])
    np.testing.assert_allclose(found["zeta"], wanted, rtol=0, atol=1e-13)


def test_a_moved_node_gets_to_where_it_is_to_be(rng):
    node = loaded({"moved"}, {"target_turn": 4, "target_place": 3})
    node.zeta = SX(vector(rng))
    node.move(node.zeta)
    start, end = pose(rng), pose(rng)
    target = {f"target_{name}": x for name, x in rows_of(end).items()}
    found, _ = made(node, {**rows_of(start), **target, "zeta": vector(rng), "step": 0.3})
    np.testing.assert_allclose(found["place"], end[:3, 3], rtol=0, atol=1e-14)
    turn = SO3.from_quaternion(found["turn"])
    np.testing.assert_allclose(turn, end[:3, :3], rtol=0, atol=1e-14)


def test_a_moved_pin_turns_as_it_likes(rng):
    node = loaded({"moved", "held"}, {"target_turn": 4, "target_place": 3, "hold": 36})
    wish = vector(rng)
    node.zeta = SX(wish)
    node.move(node.zeta)
    start, end = pose(rng), pose(rng)
    target = {f"target_{name}": x for name, x in rows_of(end).items()}
    found, _ = made(node, {**rows_of(start), **target, "zeta": vector(rng), "step": 0.3})
    np.testing.assert_allclose(found["place"], end[:3, 3], rtol=0, atol=1e-14)
    turn = SO3.from_quaternion(found["turn"])
    np.testing.assert_allclose(turn, start[:3, :3] @ SO3.cay(0.3 * wish[:3]), rtol=0, atol=1e-14)


def test_a_roller_is_displaced_along_its_axis(rng):
    """What it carries is in space, and leads there and back."""
    node = loaded({"roller"}, {"along": 3})
    along, g, wish = np.array([0.6, 0.0, 0.8]), pose(rng), vector(rng)
    given = {**rows_of(g), "along": along, "step": 0.3}
    node.write("mu", node.entered(SX(wish)))
    node.write("chi", node.shown(node.read("mu")))
    node.zeta = node.read("mu")
    node.move(node.zeta)
    found, _ = made(node, given)
    speed = along @ g[:3, :3] @ wish[3:]
    np.testing.assert_allclose(found["mu"], [*wish[:3], *(speed * along)], rtol=0, atol=1e-14)
    np.testing.assert_allclose(found["place"] - g[:3, 3], 0.3 * speed * along, rtol=0, atol=1e-14)
    local = g[:3, :3].T @ along * speed
    np.testing.assert_allclose(found["chi"], [*wish[:3], *local], rtol=0, atol=1e-14)


def test_nothing_turns_what_a_roller_carries(rng):
    node = loaded({"roller"}, {"along": 3})
    x, m = vector(rng), vector(rng)
    for function in (node.dual, node.stretched):
        assert np.array_equal(numbers(function, x, m)[3:], np.zeros(3))
    wanted = np.cross(m[:3], x[:3])
    np.testing.assert_allclose(numbers(node.dual, x, m)[:3], wanted, rtol=0, atol=SMALL)
