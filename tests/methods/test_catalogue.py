"""The catalogue: names, objects, keys and claims."""

from dataclasses import FrozenInstanceError

import pytest

import taut
from taut.methods import AUTO, CATALOGUE, method_of
from taut.methods.base import Method
from taut.methods.catalogue import METHODS


def test_names_of_the_contract():
    assert set(CATALOGUE) >= {
        "rattle", "time-element", "time-element-independent", "symplectic-euler",
        "projected-symplectic-euler",
    }  # fmt: skip
    assert AUTO in CATALOGUE


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_name_stands_for_its_method(name):
    found = method_of(name)
    assert found is CATALOGUE[name]
    assert method_of(found) is found
    assert name.startswith(found.name)


def test_auto_is_a_method_of_the_catalogue():
    assert method_of("auto") is CATALOGUE[AUTO]


def test_unknown_names_list_the_known_ones():
    with pytest.raises(taut.UnknownName) as caught:
        method_of("time-elements")
    assert caught.value.expected == "one of " + ", ".join(sorted([*CATALOGUE, "auto"]))
    assert caught.value.remedy == "did you mean 'time-element'?"


def test_a_class_is_not_yet_a_method():
    with pytest.raises(taut.InputError) as caught:
        method_of(taut.TimeElement)
    assert caught.value.remedy == "make one of the class: TimeElement(…)"


@pytest.mark.parametrize("given", [None, 3, taut.Rattle, ["rattle"], b"rattle"])
def test_other_things_are_refused(given):
    with pytest.raises(taut.InputError, match="neither a name nor a method") as caught:
        method_of(given)
    for name in CATALOGUE:
        assert name in caught.value.expected
    assert caught.value.received == repr(given)


@pytest.mark.parametrize("name", CATALOGUE)
def test_claims_are_typed(name):
    method = CATALOGUE[name]
    assert isinstance(method, Method)
    assert isinstance(method.order, int)
    assert 1 <= method.order <= 12
    claims = ("symplectic", "symmetric", "keeps_constraints", "keeps_hidden", "charted")
    for claim in claims:
        assert isinstance(getattr(method, claim), bool), claim
    assert isinstance(method.source, str)
    assert any(c.isdigit() for c in method.source)  # a year
    assert type(method).__doc__


def test_claims_of_the_methods():
    claims = {
        name: (m.order, m.symplectic, m.symmetric, m.keeps_constraints, m.charted)
        for name, m in CATALOGUE.items()
    }
    for name, found in {
        "rattle": (2, True, True, True, False),
        "time-element": (2, True, True, True, False),
        "time-element-4": (4, True, True, True, False),
        "time-element-6": (6, True, True, True, False),
        "time-element-independent": (2, True, True, True, True),
        "symplectic-euler": (1, False, False, False, False),
        "projected-symplectic-euler": (1, False, False, True, False),
    }.items():
        assert claims[name] == found


def test_keys_tell_options_apart():
    keys = [m.key for m in METHODS.values()]  # users may register one twice
    assert len(set(keys)) == len(keys)
    assert taut.Rattle().key == "rattle()"
    assert taut.TimeElement(quadrature="midpoint").key == (
        "time-element(form='multipliers', quadrature='midpoint', start='exact', degree=1)"
    )


@pytest.mark.parametrize(
    "name", [x for x in taut.methods.CATALOGUE if x.rstrip("0123456789").endswith("-")]
)
def test_a_method_of_some_order_is_called_what_it_is_asked_for_by(name):
    assert taut.methods.method_of(name).label == name


def test_labels_show_what_was_changed():
    assert taut.TimeElement(degree=2, quadrature="gauss").label == "time-element (gauss, 2)"
    assert taut.Rattle().label == "rattle"
    assert taut.TimeElement().label == "time-element"
    assert (
        taut.TimeElement("independent", start="paper").label == "time-element (independent, paper)"
    )


def test_methods_are_values():
    assert taut.Rattle() == taut.Rattle()
    assert taut.TimeElement() != taut.TimeElement("independent")
    assert hash(taut.TimeElement()) == hash(taut.TimeElement("multipliers"))
    with pytest.raises(FrozenInstanceError):
        taut.TimeElement().form = "independent"


def test_a_method_has_to_be_written():
    with pytest.raises(TypeError, match="abstract"):
        Method()


def test_a_new_method_is_one_class():
    """Velocity Verlet for constant mass, written on the spot, runs like those of the catalogue."""

    class Verlet(Method):
        name = "verlet"
        order = 2
        symplectic = True
        symmetric = True
        references = ("hairer2006, I.1",)

        def program(self, step):
            v, v1 = (step.unknown(n, guess=step.v) for n in ("v", "v1"))
            half = step.p + step.h / 2 * step.force(step.q, step.v, step.p, step.t)
            step.solve((v, step.link(step.q, v, half, step.t)), watch=v)
            dq = step.h * v
            q1 = step.moved(dq)
            dp = half - step.p + step.h / 2 * step.force(q1, v, half, step.t1)
            step.solve((v1, step.link(q1, v1, step.kicked(dp), step.t1)), watch=v1)
            step.advance(q=dq, p=dp, v=v1)

    (x,) = taut.coordinates("x,")
    s = taut.System([x], mass=[2], potential=x**4)
    runs = [
        taut.simulate(s, q0=[1], v0=[0.5], duration=2, step=0.01, method=m)
        for m in (Verlet(), "rattle")
    ]
    assert abs(runs[0].q - runs[1].q).max() < 1e-13
    assert runs[0].certificate.to_dict()["method"] == "verlet()"
