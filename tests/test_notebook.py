"""What a notebook shows: every object, whatever it holds, as well-formed HTML or LaTeX."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given, strategies as st

import taut
from taut.diagnose import verify
from taut.model.latex import name
from taut.text import table, tex

VOID = {"img", "br", "hr"}
MATERIAL = {"density": 1100, "young": 5e6, "poisson": 0.45}


class Reader(HTMLParser):
    """Checks that tags are closed in order; keeps tags and text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [key for key, _ in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read_html(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    assert "script" not in reader.tags
    assert not any(key.startswith("on") for key in reader.attributes)
    # A formula begins and ends in one text: signs of one have an element each.
    assert all(set(word) & {"$", "\\"} == set() or len(word) == 1 for word in reader.words)
    return reader


def read_latex(text):
    """One formula: braces, environments and delimiters in pairs, and nothing that HTML reads."""
    assert text.startswith("$")
    assert text.endswith("$")
    inside = text[1:-1]
    assert "<" not in inside
    assert ">" not in inside
    pieces = re.findall(r"\\[a-zA-Z]+|\\.|[{}$]|[^\\{}$]+|\\", inside)
    assert "".join(pieces) == inside
    assert "$" not in pieces
    assert "\\" not in pieces
    depth = 0
    for piece in pieces:
        depth += {"{": 1, "}": -1}.get(piece, 0)
        assert depth >= 0
    assert depth == 0
    assert pieces.count(r"\left") == pieces.count(r"\right")
    stack = []
    for begins, environment in re.findall(r"\\(begin|end)\{(\w+)\}", inside):
        if begins == "begin":
            stack.append(environment)
        else:
            assert stack.pop() == environment
    assert not stack
    return inside


x, y = taut.coordinates("x y")
k = sp.Symbol("k")


def pendulum(**changes):
    settings = {"mass": [1, 1], "potential": 10 * y, "constraints": [x**2 + y**2 - 1], **changes}
    return taut.System([x, y], **settings)


def swing(system=None, **changes):
    settings = {"q0": [1, 0], "v0": 0, "duration": 1, "step": 0.01, **changes}
    return taut.simulate(pendulum() if system is None else system, **settings)


def chain(n=1000):
    pairs = np.arange(2 * n).reshape(n, 2)
    a, b, u, w = sp.symbols("a b u w", real=True)
    return taut.System.from_terms(
        sp.symbols(f"q0:{2 * n}"),
        [
            taut.Term("lagrangian", (x, y), [(u**2 + w**2) / 2 - 10 * y], pairs, rates=(u, w)),
            taut.Term("constraint", (x, y), [x**2 + y**2 - 1], pairs[:1]),
            taut.Term("constraint", (x, y, a, b), [(x - a) ** 2 + (y - b) ** 2 - 1],
                      np.hstack([pairs[:-1], pairs[1:]])),
            taut.Term("force", (x, y), [-u, 0], pairs, rates=(u, w)),
        ],
    )  # fmt: skip


def wide(n=100):
    q = taut.coordinates(f"z0:{n}")
    bends = sum(sp.cos(a - b) for a, b in pairwise(q))
    return taut.System(q, mass=1, potential=bends, constraints=[a**2 - 1 for a in q[:30]])


def wave(**changes):
    g, m = taut.coordinates("gamma mu")
    return taut.Field(
        taut.lie.abelian(1), m**2 / 2 + g**2 / 2, strain=[g], momentum=[m], length=1, nodes=21,
        **changes,
    )  # fmt: skip


def cantilever(**changes):
    settings = {
        "ends": ("clamped", "free"),
        "gravity": (0, 0, -9.81),
        "frame": (1, 0, 0),
        **changes,
    }
    beam = taut.Beam(1, taut.Square(0.05), nodes=11, **MATERIAL, **settings)
    return beam.body(at="tip", mass=0.1).load(at="tip", force=(0, sp.sin(taut.t), 0))


def frame():
    common = {"section": taut.Circle(0.01), "nodes": 5, **MATERIAL}
    post = taut.Beam(1, frame=(0, 0, 1), ends=("clamped", "free"), **common)
    return taut.Beams([post, taut.Beam(2, at=(0, 0, 1), frame=(1, 0, 0), **common)])


# ---- mathematics ------------------------------------------------------------------------------

KEPLER = taut.System([x, y], mass=1, potential=-1 / sp.sqrt(x**2 + y**2))
FORMULAS = {
    "system": (pendulum, r"\dot{x}^{2}"),
    "hamiltonian": (
        lambda: taut.System([x, y], hamiltonian=sum(p**2 for p in taut.momenta([x, y]))),
        r"H &= p_{x}^{2} + p_{y}^{2}",
    ),
    "no constraints": (lambda: pendulum(constraints=()), "2 degrees of freedom"),
    "named constraint": (lambda: pendulum(constraints={"rod": x**2 + y**2 - 1}), r"(\text{rod})"),
    "rheonomic": (lambda: pendulum(constraints=[x - sp.sin(taut.t)]), r"\sin{\left(t \right)}"),
    "redundant": (lambda: pendulum(constraints=[x - 1, 2 * x - 2]), "2 x - 2"),
    "forced": (lambda: pendulum(forces={x: -k}, parameters={"k": 0.3}), "f_{x} &= - k"),
    "parameter": (lambda: pendulum(potential=k * y, parameters={"k": None}), r"k &= \text{open}"),
    "piecewise": (
        lambda: pendulum(potential=sp.Piecewise((y**2, y < 0), (0, True))),
        r"\text{for}\: y \lt  0",
    ),
    "chain": (chain, r"\sum_{\text{1000 times}}"),
    "wide": (wide, r"\text{23 more}"),
    "flow": (lambda: taut.Flow([x, y], [y, -k * x]), r"\dot{y} &= - k x"),
    "system of a flow": (lambda: taut.Flow([x, y], [y, -k * x]).system, r"\dot{y} &= - k x"),
    "equations": (lambda: pendulum().equations(), r"\ddot{x}"),
    "many equations": (
        lambda: taut.problems.problem("chain").system.equations(),
        "more: print them, or take .latex()",
    ),
    "laws": (lambda: taut.conserved(KEPLER), "I_{4}"),
    "no laws": (lambda: taut.conserved(pendulum(forces={x: -(x**3)}), degree=1), "no laws"),
    "law": (lambda: taut.conserved(KEPLER)[1], r"x \dot{y} - \dot{x} y &= \text{const}"),
    "noether": (lambda: taut.noether(KEPLER), r"- y\,\partial_{x} + x\,\partial_{y}"),
    "noether's first": (lambda: taut.noether(KEPLER)[0], "X &="),
    "lie": (lambda: taut.lie_symmetries(KEPLER), r"3 t\,\partial_{t}"),
    "lie's first": (lambda: taut.lie_symmetries(KEPLER)[0], "X &="),
    "hojman": (lambda: taut.hojman(KEPLER), r"\text{a number}"),
    "hojman's first": (lambda: taut.hojman(KEPLER)[0], "I_H &="),
    "field": (wave, r"h &= \frac{\gamma^{2}}{2} + \frac{\mu^{2}}{2}"),
}


@pytest.mark.parametrize("case", FORMULAS)
def test_mathematics_is_latex(case):
    made, part = FORMULAS[case]
    thing = made()
    inside = read_latex(thing._repr_latex_())
    assert part in inside
    assert len(inside) < 4000
    assert not hasattr(thing, "_repr_html_")  # notebooks would take that, and some not typeset it
    assert len(repr(thing).splitlines()) < 50


def test_a_large_system_is_not_written_out():
    system = chain()
    assert len(system._repr_latex_()) < 800
    assert "energy_function" not in vars(system)  # the sum over all instances, which takes long
    assert "constraints" not in vars(system)


def test_a_long_expression_is_cut():
    inside = read_latex(wide()._repr_latex_())
    assert r"\cdots" in inside
    shown, rest = re.search(
        r"L &= (.*?) \+ \\cdots\\ \(\\text\{(\d+) more terms\}\)", inside
    ).groups()
    assert shown.count(r"\frac") + int(rest) == 199


def test_equations_are_whole_where_asked_for():
    equations = pendulum().equations()
    for left in ("L &=", "H &=", r"\ddot{x}", r"\dot{p}_{y} &="):
        assert left in equations.latex()


# ---- facts ------------------------------------------------------------------------------------


def failed_run():
    with pytest.raises(taut.StepError) as caught:
        swing(pendulum(constraints=[], potential=-(y**4)), q0=[0, 3], v0=[0, 30], duration=5)
    return caught.value.partial


FACTS = {
    "run": (swing, "max |g|"),
    "one step": (lambda: swing(duration=0.01), "2 states"),
    "batch": (lambda: swing(q0=[[1, 0], [0, 1], [-1, 0]]), "3 trajectories of 101 states"),
    "member": (lambda: swing(q0=[[1, 0], [0, 1]])[1], "101 states"),
    "failed": (failed_run, "no step could be made"),
    "forced": (lambda: swing(pendulum(forces={x: -x})), "energy − work"),
    "rheonomic": (
        lambda: swing(pendulum(constraints=[x - sp.sin(taut.t)]), q0=[0, 0], v0=[1, 0]),
        "energy − work",
    ),
    "redundant": (
        lambda: swing(pendulum(constraints=[x - 1, 2 * x - 2]), v0=[0, 1]),
        "2 constraints",
    ),
    "parameters": (
        lambda: swing(pendulum(potential=k * y, parameters={"k": 2.5})),
        "k = 2.5",
    ),
    "events": (lambda: swing(events={"low": y + 0.5}), "low: "),
    "run of a flow": (
        lambda: taut.simulate(taut.Flow([x, y], [y, -x]), q0=[1, 0], duration=1, step=0.1,
                              method="rk4"),
        "Flow: 2 variables",
    ),
    "run in space": (
        lambda: taut.problems.problem("spherical-pendulum").simulate(duration=1),
        "3 coordinates",
    ),
    "run over time": (
        lambda: taut.simulate(taut.System(taut.coordinates("a b c d"), mass=1), q0=[1, 2, 3, 4],
                              v0=0, duration=1, step=0.1),
        "4 coordinates",
    ),
    "certificate": (lambda: swing().certificate, "symplectic"),
    "beam": (cantilever, "force (0, sin(t), 0) at node 10"),
    "bent beam": (lambda: taut.Beam(1, taut.Square(0.1), curvature=(1, 0, 2), **MATERIAL), "free"),
    "beam of matrices": (
        lambda: taut.Beam(1, inertia=[1] * 6, stiffness=[1] * 6),
        "given by inertia and stiffness",
    ),
    "tapered beam": (
        lambda: taut.Beam(1, lambda s: taut.Circle(0.1 + s), **MATERIAL), "varies along it"
    ),
    "beams": (frame, "clamped and free"),
    "section": (lambda: taut.Tube(2, 1), "23.5619"),
    "run of a beam": (lambda: taut.simulate(cantilever(), duration=0.01), "11 nodes"),
    "certificate of a beam": (lambda: taut.simulate(cantilever(), duration=0.01).certificate, "s"),
    "run of a field": (
        lambda: taut.simulate(wave(), strain0=0, momentum0=np.ones((21, 1)), duration=1, step=0.01),
        "21 nodes",
    ),
    "equilibrium": (lambda: taut.equilibrium(taut.Beam(
        1, taut.Square(0.1), ends=("clamped", "free"), **MATERIAL)), "load factor"),
    "modes": (lambda: taut.modes(frame(), count=3), "Hz"),
    "problem": (lambda: taut.problems.problem("car-axis"), "bumpy road"),
    "method": (taut.Rattle, "Andersen 1983; Jay 1996"),
    "wrapped method": (lambda: taut.Corrected("rk4", []), "Shang, Guo & Mei 2008"),
    "scheme": (taut.Hamel, "Wang, An & Shi 2016"),
    "verified": (lambda: verify("rattle", drift=False), "claimed"),
    "citations": (lambda: swing().cite(), "Andersen"),
}  # fmt: skip


@pytest.mark.parametrize("case", FACTS)
def test_facts_are_html(case):
    made, part = FACTS[case]
    thing = made()
    text = thing._repr_html_()
    reader = read_html(text)
    assert part in "".join(reader.words)
    assert len(text) < 60_000
    assert not hasattr(thing, "_repr_latex_")
    assert len(repr(thing).splitlines()) < 40
    assert "array([" not in repr(thing)


def test_a_run_is_shown_without_search_and_without_derivatives():
    run = swing()
    run._repr_html_()
    assert "_followed" not in vars(run.certificate)  # laws
    assert "symplecticity" not in vars(run.certificate)
    assert "_observed" not in vars(run)


def test_states_are_short():
    run = swing()
    assert repr(run.at([0.1, 0.25])) == "States: 2 of 2 coordinates, t = 0.1 … 0.25"
    assert repr(run.at(0.25)).startswith("State: t = 0.25, q = [ 0.951873")


# ---- names that mean something to HTML or LaTeX -------------------------------------------------

ODD = ["<script>alert(1)</script>", "a$b$", r"\begin{x}", "}{", "a&b", '"', "λ", "q̇", "x_", "a b",
       "%", "#1", "x^2", "_", "p__q", "\\", "a\nb", "~`|", "θ1_dot", "_dot", "x__dot"]  # fmt: skip


SIGNS = st.sampled_from("<>&\"'$\\{}_^%#~`|/!-; abλ\u0307\n")
TEXTS = st.text(SIGNS, min_size=1, max_size=30) | st.text(min_size=1, max_size=30)


@pytest.mark.parametrize("odd", ODD)
def test_odd_names(odd):
    a, b = sp.Symbol(odd), sp.Symbol(f"{odd}2")
    system = taut.System([a, b], mass=1, potential=k * a, constraints={odd: a**2 + b**2 - 1},
                         parameters={"k": 1})  # fmt: skip
    read_latex(system._repr_latex_())
    read_latex(system.equations()._repr_latex_())
    read_latex(taut.Flow([a, b], [b, -a])._repr_latex_())
    run = taut.simulate(system, q0=[1, 0], v0=0, duration=0.1, step=0.01, laws={odd: a},
                        events={odd: b + 0.01})  # fmt: skip
    shown = "".join(read_html(run._repr_html_()).words)
    assert odd in shown
    assert odd in "".join(read_html(run.certificate._repr_html_()).words)


@given(TEXTS)
def test_any_text_is_safe_in_a_formula(text):
    read_latex(f"${tex(text)}$")
    read_latex(f"${name(text)}$")


@given(TEXTS)
@example("<b>bold</b> &lt;")
def test_any_text_comes_through_a_table(text):
    words = "".join(read_html(table([(text, "end")], text)).words)
    assert words == f"{text}{text}end"
