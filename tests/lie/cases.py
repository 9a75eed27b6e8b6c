"""The groups that every law is tested on, and elements of their algebras."""

import numpy as np
from hypothesis import settings, strategies as st

from taut import lie

QUICK = settings(max_examples=15, deadline=None)
GROUPS = [
    lie.SO3,
    lie.SE2,
    lie.SE3,
    lie.translations(2),
    lie.product(lie.SE3, lie.translations(1), lie.SO3, lie.SE2),
]
NAMES = [g.name for g in GROUPS]
ANGULAR = {"SO(3)": 3, "SE(2)": 1, "SE(3)": 3}
# Where series and closed forms meet (θ = 2), and where differences cancel.
SPECIAL = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.1, 1.9999999, 2.0, 2.0000001]
NUMBER = st.floats(-1, 1)


@st.composite
def vectors(draw, group, angle=3.1, size=5.0):
    """An element of the algebra whose angles are at most `angle`."""
    parts = []
    for factor in getattr(group, "factors", (group,)):
        turning = ANGULAR.get(factor.name, 0)
        axis = np.array(draw(st.lists(NUMBER, min_size=turning, max_size=turning)))
        length = np.linalg.norm(axis)
        if turning and length < 1e-3:
            axis, length = np.eye(turning)[0], 1.0
        special = st.sampled_from([x for x in SPECIAL if x <= angle])
        theta = draw(st.one_of(st.floats(0, angle), special))
        count = factor.algebra.dimension - turning
        rest = draw(st.lists(st.floats(-size, size), min_size=count, max_size=count))
        parts += [*(axis * (theta / length) if turning else axis), *rest]
    return np.array(parts)


def few(group, count, **options):
    """Several of them."""
    return st.tuples(*[vectors(group, **options)] * count)


def apply(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def close(found, wanted, factor=1.0):
    """Equal to round-off, relative to the largest entry."""
    scale = max(1.0, np.abs(wanted).max(initial=0.0)) * factor
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-14 * scale)
