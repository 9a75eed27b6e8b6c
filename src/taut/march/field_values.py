"""Velocities, stresses and energies of a field along a run, from its density."""

from __future__ import annotations

from typing import Any

import numpy as np

from taut.fields.field import Field
from taut.kernel.strand import medium_of
from taut.portable import product


class FieldValues:
    """Evaluates a field's density at stored states.

    Parameters
    ----------
    model : Field
    parameters : ndarray
    strain, momentum : ndarray, shapes (N, edges, n) and (N, nodes, n)
    """

    def __init__(self, model: Field, parameters: np.ndarray, strain, momentum) -> None:
        self.model, self.parameters = model, parameters
        self.strain, self.momentum = strain, momentum
        self.medium = medium_of(model)

    def _data(self, places: np.ndarray) -> np.ndarray:
        tiled = np.tile(places, len(self.strain))
        many = np.broadcast_to(self.parameters[:, None], (len(self.parameters), len(tiled)))
        return np.vstack([tiled, many])

    def _at(self, function: Any, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        flat = values.reshape(-1, values.shape[-1]).T
        found = np.array(function(flat, self._data(places))).T
        return found.reshape(*values.shape[:-1], -1)

    def _ends(self, which: int) -> np.ndarray:
        """h, h_γ or h_μ at each edge with the momenta of its first and second end."""
        assert self.medium.whole is not None
        after = np.roll(self.momentum, -1, axis=1)
        many = self.strain.shape[1]
        data = self._data(self.model.middles)
        gamma = self.strain.reshape(-1, self.strain.shape[-1]).T
        found = []
        for mu in (self.momentum[:, :many], after[:, :many]):
            flat = mu.reshape(-1, mu.shape[-1]).T
            values = np.array(self.medium.whole[which](gamma, flat, data)).T
            found.append(values.reshape(*self.strain.shape[:2], -1))
        return np.array(found)

    @property
    def velocity(self) -> np.ndarray:
        """ζ = δH/δμ, shape (N, nodes, n); zero where it is clamped."""
        found = self._slope()
        for end, node in zip(self.model.ends, (0, -1), strict=True):
            if end == "clamped":
                found[:, node] = 0.0
        return found

    def _slope(self) -> np.ndarray:
        """δH/δμ."""
        if not self.model.mixed:
            return self._at(self.medium.velocity, self.momentum, self.model.places)
        first, second = self._ends(2)
        found, share = np.zeros_like(self.momentum), np.zeros(self.momentum.shape[1])
        many = first.shape[1]
        after = (np.arange(many) + 1) % self.momentum.shape[1]
        found[:, :many] += first
        share[:many] += 1
        found[:, after] += second
        share[after] += 1
        return found / share[None, :, None]

    @property
    def stress(self) -> np.ndarray:
        """Stress n = δH/δγ, shape (N, edges, n)."""
        if not self.model.mixed:
            return self._at(self.medium.stress, self.strain, self.model.middles)
        return self._ends(1).mean(axis=0)

    @property
    def kinetic(self) -> np.ndarray:
        """∫k(μ, s) ds, shape (N,)."""
        density = self._at(self.medium.kinetic, self.momentum, self.model.places)[..., 0]
        return product(density, self.model.weights)

    @property
    def potential(self) -> np.ndarray:
        """∫v(γ, s) ds, shape (N,)."""
        density = self._at(self.medium.potential, self.strain, self.model.middles)[..., 0]
        return density.sum(axis=1) * self.model.spacing

    @property
    def energy(self) -> np.ndarray:
        """∫h ds, shape (N,)."""
        if not self.model.mixed:
            return self.kinetic + self.potential
        return self._ends(0).mean(axis=0)[..., 0].sum(axis=1) * self.model.spacing
