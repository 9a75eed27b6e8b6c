"""Fekete: twenty points that repel each other on a sphere come to rest, to all published digits.

Every rotation of a rest is a rest, so only what is accurate on the whole way ends at the published
places.  The picture shows the ways, and how far from these places the points end after t = 1000.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from taut import problems

problem = problems.problem("fekete")
published = np.reshape(problem.facts[1].q, (20, 3))
run = problem.simulate(laws=None, every=2)


def missed(method, step):
    """How far from the published places."""
    end = problem.simulate(method=method, step=step, every=10**6, laws=None).q[-1]
    return np.abs(end.reshape(20, 3) - published).max()


if __name__ == "__main__":
    print(run.certificate)
    print(f"published places: off by {np.abs(run.q[-1].reshape(20, 3) - published).max():.1e}")
    if len(sys.argv) > 1:
        figure = plt.figure(figsize=(9, 3.8), layout="constrained")
        left, right = figure.add_subplot(121, projection="3d"), figure.add_subplot(122)
        ways = run.q.reshape(len(run), 20, 3)[:200]
        for k in range(20):
            left.plot(*ways[:, k].T, lw=0.8, color="#0072B2")
        left.plot(*ways[0].T, "o", ms=3, mfc="none", color="0.5")
        left.plot(*published.T, "o", ms=4, color="#D55E00")
        u, w = np.mgrid[0 : 2 * np.pi : 25j, 0 : np.pi : 13j]
        sphere = np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w)
        left.plot_wireframe(*sphere, lw=0.2, color="0.7")
        left.set_box_aspect((1, 1, 1), zoom=1.6)
        left.set_axis_off()
        for method, steps in (("rattle", (0.2, 0.1)), ("composition-8", (0.4, 0.2))):
            right.loglog(steps, [missed(method, h) for h in steps], "o-", label=method)
        right.set(xlabel="step", title="distance from the published rest")
        right.legend()
        figure.savefig(sys.argv[1], dpi=110)
