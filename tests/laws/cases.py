"""Models whose laws are known: (model, known laws, how many are independent)."""

from itertools import combinations

import sympy as sp

import taut

T = taut.t
K, W = sp.symbols("k omega", positive=True)


def plane():
    x, y = q = taut.coordinates("x y")
    return q, taut.velocities(q), x, y, *taut.velocities(q)


def lagrangian(q, energy, parameters=(), constraints=()):
    return taut.System(
        q, lagrangian=energy, constraints=constraints, parameters=list(parameters) or None
    )


def free():
    q, _, x, y, u, v = plane()
    laws = [u, v, x - T * u, y - T * v, x * v - y * u]
    return lagrangian(q, (u**2 + v**2) / 2), laws, 4


def oscillator():
    q, _, x, y, u, v = plane()
    model = lagrangian(q, (u**2 + v**2 - W**2 * (x**2 + y**2)) / 2, [W])
    laws = [u**2 + W**2 * x**2, v**2 + W**2 * y**2, u * v + W**2 * x * y, x * v - y * u]
    return model, laws, 3


def kepler():
    x, y, z = q = taut.coordinates("x y z")
    u, v, w = taut.velocities(q)
    r = sp.sqrt(x**2 + y**2 + z**2)
    turn = [y * w - z * v, z * u - x * w, x * v - y * u]
    axis = [
        v * turn[2] - w * turn[1] - K * x / r,
        w * turn[0] - u * turn[2] - K * y / r,
        u * turn[1] - v * turn[0] - K * z / r,
    ]
    energy = (u**2 + v**2 + w**2) / 2 - K / r
    model = lagrangian(q, (u**2 + v**2 + w**2) / 2 + K / r, [K])
    return model, [energy, *turn, *axis], 5


def henon_heiles():
    q, _, x, y, u, v = plane()
    potential = (x**2 + y**2) / 2 + x**2 * y - y**3 / 3
    model = lagrangian(q, (u**2 + v**2) / 2 - potential)
    return model, [(u**2 + v**2) / 2 + potential], 1


def spherical_pendulum():
    x, y, z = q = taut.coordinates("x y z")
    u, v, w = taut.velocities(q)
    model = taut.System(
        q, mass=1, potential=K * z, constraints=[x**2 + y**2 + z**2 - 1], parameters=[K]
    )
    return model, [(u**2 + v**2 + w**2) / 2 + K * z, x * v - y * u], 2


def neumann():
    x, y, z = q = taut.coordinates("x y z")
    u, v, w = taut.velocities(q)
    well = (x**2 + 2 * y**2 + 5 * z**2) / 2
    model = taut.System(q, mass=1, potential=well, constraints=[x**2 + y**2 + z**2 - 1])
    first = x**2 - (x * v - y * u) ** 2 - (x * w - z * u) ** 2 / 4
    return model, [(u**2 + v**2 + w**2) / 2 + well, first], 2


def gyrostat():
    """A rigid body with SGM's torque: two laws, of which the paper has one."""
    a = sp.symbols("A1:4", positive=True)
    x = sp.symbols("x1:4")
    rates = [
        (a[1] - a[2]) / (a[1] * a[2]) * x[1] * x[2] + K * x[1],
        (a[2] - a[0]) / (a[2] * a[0]) * x[2] * x[0] - K * x[0],
        (a[0] - a[1]) / (a[0] * a[1]) * x[0] * x[1],
    ]
    energy = sum(x[i] ** 2 / (2 * a[i]) for i in range(3)) + K * x[2]
    return taut.Flow(x, rates), [sum(y**2 for y in x), energy], 2


def toda():
    q = taut.coordinates("q1 q2 q3")
    v = taut.velocities(q)
    e = [sp.exp(q[i] - q[(i + 1) % 3]) for i in range(3)]
    kinetic = sum(x**2 for x in v) / 2
    third = v[0] * v[1] * v[2] - e[0] * v[2] - e[1] * v[0] - e[2] * v[1]
    model = lagrangian(q, kinetic - sum(e))
    return model, [sum(v), kinetic + sum(e), third, sum(q) - T * sum(v)], 4


def double_pendulum():
    a, b = q = taut.coordinates("a b")
    u, v = taut.velocities(q)
    m, n, k, l = sp.symbols("m n k l", positive=True)
    kinetic = (m + n) * k**2 * u**2 / 2 + n * l**2 * v**2 / 2 + n * k * l * u * v * sp.cos(a - b)
    turn = kinetic.diff(u) + kinetic.diff(v)
    return lagrangian(q, kinetic, [m, n, k, l]), [kinetic, turn], 2


def charged():
    x, y, z = q = taut.coordinates("x y z")
    u, v, w = taut.velocities(q)
    energy = (u**2 + v**2 + w**2) / 2
    model = lagrangian(q, energy + K * (x * v - y * u) / 2, [K])
    turn = x * v - y * u + K * (x**2 + y**2) / 2
    return model, [u - K * y, v + K * x, w, z - T * w, turn, energy], 5


def _heavy(i1, i2, i3, axis):
    m, g = sp.symbols("M1:4"), sp.symbols("G1:4")
    turn = [m[0] / i1, m[1] / i2, m[2] / i3]

    def cross(a, b):
        return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]

    rates = [a + b for a, b in zip(cross(m, turn), cross(g, axis), strict=True)]
    return m, g, taut.Flow([*m, *g], [*rates, *cross(g, turn)])


def lagrange_top():
    i, j = sp.symbols("I1 I3", positive=True)
    m, g, model = _heavy(i, i, j, [0, 0, 1])
    energy = (m[0] ** 2 + m[1] ** 2) / (2 * i) + m[2] ** 2 / (2 * j) + g[2]
    along = sum(a * b for a, b in zip(m, g, strict=True))
    return model, [energy, along, sum(x**2 for x in g), m[2]], 4


def kovalevskaya():
    m, g, model = _heavy(2, 2, 1, [1, 0, 0])
    energy = (m[0] ** 2 + m[1] ** 2) / 4 + m[2] ** 2 / 2 + g[0]
    along = sum(a * b for a, b in zip(m, g, strict=True))
    last = ((m[0] ** 2 - m[1] ** 2) / 4 - g[0]) ** 2 + (m[0] * m[1] / 2 - g[1]) ** 2
    return model, [energy, along, sum(x**2 for x in g), last], 4


def calogero():
    q = taut.coordinates("q1 q2 q3")
    v = taut.velocities(q)
    pairs = {(i, j): 1 / (q[i] - q[j]) ** 2 for i, j in combinations(range(3), 2)}
    energy = sum(x**2 for x in v) / 2 + sum(pairs.values())
    third = v[0] * v[1] * v[2] - pairs[0, 1] * v[2] - pairs[0, 2] * v[1] - pairs[1, 2] * v[0]
    swell = sum(a * b for a, b in zip(q, v, strict=True)) - 2 * T * energy
    model = lagrangian(q, sum(x**2 for x in v) / 2 - sum(pairs.values()))
    drawn = sum(x**2 for x in q) / 2 - T * sum(a * b for a, b in zip(q, v, strict=True))
    drawn += T**2 * energy
    return model, [sum(v), energy, third, sum(q) - T * sum(v), swell, drawn], 6


def lotka_volterra():
    x, y = sp.symbols("x y", positive=True)
    a, b, c, d = sp.symbols("a b c d", positive=True)
    model = taut.Flow([x, y], [x * (a - b * y), y * (d * x - c)])
    return model, [d * x - c * sp.log(x) + b * y - a * sp.log(y)], 1


def lorenz():
    x, y, z = sp.symbols("x y z")
    s, r = sp.symbols("sigma rho", positive=True)
    model = taut.Flow([x, y, z], [s * (y - x), x * (r - z) - y, x * y - 2 * s * z])
    return model, [(x**2 - 2 * s * z) * sp.exp(2 * s * T)], 1


def three_bodies():
    x, y = taut.coordinates("X1 X2 X3"), taut.coordinates("Y1 Y2 Y3")
    u, w = taut.velocities(x), taut.velocities(y)
    m = sp.symbols("m1:4", positive=True)
    kinetic = sum(m[i] * (u[i] ** 2 + w[i] ** 2) for i in range(3)) / 2
    pull = sum(
        m[i] * m[j] / sp.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2)
        for i, j in combinations(range(3), 2)
    )
    momenta = [sum(a * b for a, b in zip(m, v, strict=True)) for v in (u, w)]
    centre = [sum(a * b for a, b in zip(m, s, strict=True)) for s in (x, y)]
    laws = [
        *momenta, kinetic - pull, *(c - T * p for c, p in zip(centre, momenta, strict=True)),
        sum(m[i] * (x[i] * w[i] - y[i] * u[i]) for i in range(3)),
    ]  # fmt: skip
    return lagrangian([*x, *y], kinetic + pull, m), laws, 6


CASES = {
    f.__name__: f
    for f in (
        free, oscillator, kepler, henon_heiles, spherical_pendulum, neumann, gyrostat, toda,
        double_pendulum, charged, lagrange_top, kovalevskaya, calogero, lotka_volterra, lorenz,
        three_bodies,
    )
}  # fmt: skip
