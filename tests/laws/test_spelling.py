"""Laws come in the symbols that a model was written in."""

import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import taut

C, X, Y = sp.symbols("c x y")
U, V = taut.velocities([X, Y])
WELL = C * (X**2 + Y**2) ** 2 / 2


def plain():
    return taut.System([X, Y], mass=C, potential=WELL, parameters=["c"])


def test_a_plain_symbol_comes_back_as_it_was_given():
    """It came back real, and `subs` did nothing."""
    laws = taut.conserved(plain())
    energy = next(law for law in laws if law.kind == "energy")
    assert energy.expression.free_symbols == {C, X, Y, U, V}
    assert energy.expression.subs(C, 2).free_symbols == {X, Y, U, V}
    assert laws.independent[0] is laws[0]
    assert energy.symmetry.xi0.is_number
    known = taut.conserved(plain(), proposed=X * V - Y * U)
    assert known.expression == X * V - Y * U
    assert known.symmetry.xi in ((-Y / C, X / C), (-Y, X))


def test_so_do_symmetries():
    turn = next(s for s in taut.noether(plain()) if s.law.kind == "angular momentum")
    assert turn.xi == (-Y, X)
    assert turn.law.expression.free_symbols == {C, X, Y, U, V}
    assert all(e.free_symbols <= {X, Y, taut.t} for s in taut.lie_symmetries(plain()) for e in s.xi)
    laws = taut.conserved(plain())
    assert taut.hojman(plain(), degree=1, laws=laws)[0].label == "zero"
    assert taut.poisson_bracket(laws[0], laws[1], plain()).of[0].free_symbols <= {C, X, Y, U, V}
    family = taut.System([X, Y], mass=1, potential=X**2 + C * Y**2, parameters=["c"])
    found = taut.special_values(family, {"c": [1, 3]}, degree=2)
    assert found[0].laws[0].expression.free_symbols <= {X, Y, U, V}


def test_assumptions_and_functions_of_time_are_kept():
    k = sp.Symbol("k", positive=True)
    (x,) = taut.coordinates("x")
    spring = taut.System([x], mass=1, potential=k * x**2 / 2, parameters={k: 1})
    assert taut.conserved(spring, time=0)[0].expression.has(k)
    angle = dynamicsymbols("theta")
    rate = angle.diff(dynamicsymbols._t)
    swing = taut.System(
        [angle], kinetic=rate**2 / 2, potential=-C * sp.cos(angle), parameters=["c"]
    )
    energy = taut.conserved(swing)[0].expression
    assert sp.expand(energy - rate**2 / 2 + C * sp.cos(angle)) == 0
    named = taut.System(["x"], mass=1, potential="c*x**2", parameters=["c"])
    own = {*named.coordinates, *named.velocities, sp.Symbol("c", real=True)}
    assert taut.conserved(named)[0].expression.free_symbols == own


def test_what_was_given_is_read_again():
    model = plain()
    laws = taut.conserved(model)
    run = taut.simulate(
        model, q0=[1, 0], v0=[0, 1], duration=0.1, step=0.01, parameters={"c": 1},
        laws={law.kind: law for law in laws},
    )  # fmt: skip
    assert [w.proof for w in run.certificate.watched] == ["normal form"] * 2
    model.read(sp.Symbol("c", positive=True))  # reading teaches no spelling
    assert taut.conserved(model)[1].expression.has(C) or taut.conserved(model)[0].expression.has(C)


def test_the_time_of_a_flow_comes_back_as_it_was_given():
    """It came back real, as that of no system did."""
    time = sp.Symbol("t")
    falling = taut.Flow([X], [-4 * time**3])
    law = taut.conserved(falling)[0].expression
    assert sp.expand(law.subs(time, 2) - law.subs(time, 0)).free_symbols == set()
    assert law.free_symbols == {X, time}
    known = taut.conserved(falling, proposed=X + time**4)
    assert known.expression == X + time**4
    assert taut.conserved(falling, proposed=X + taut.t**4).expression == X + time**4
    ours = taut.Flow([X], [-4 * taut.t**3])
    assert taut.conserved(ours)[0].expression.free_symbols == {X, taut.t}
    symmetries = taut.lie_symmetries(falling)
    assert all(e.free_symbols <= {X, time} for s in symmetries for e in (*s.xi, s.xi0))
