"""The certificate of a run of a field or of beams.

The energy (or, with loads, its balance with their work) is followed over all steps; momenta in
space, the agreement of strain and configuration, and the frames are taken from the stored states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from taut.calls import public
from taut.diagnose.certificate import EPS, FAR, _energy_drift, ended
from taut.diagnose.drift import Drift
from taut.diagnose.resolution import Resolution
from taut.fields.turning import turn_per_edge, turning
from taut.lie import SE3
from taut.march.field_halving import halved_field
from taut.march.field_trajectory import FieldTrajectory
from taut.march.loop import BOOKS
from taut.text import Sheet, percent

ROUND_OFF = 1e3 * EPS  # of the sum of the parts that a momentum is made of, per √steps beyond 10⁴
NEWTON = 1e3 * EPS  # of energies, per √steps: what is left of equations that are solved
LOST = 0.05  # of what was exchanged: energy that is missing in earnest
FITS = 1e3  # roundings of places, each a share of an edge: strains fit the poses
SAMPLES = 64  # states at which strain and configuration are compared


@public
@dataclass(frozen=True, repr=False)
class FieldCertificate(Sheet):
    """Facts measured on a run of a field or of beams.

    Attributes
    ----------
    energy : Drift
        Band and drift of the energy, or of its balance E − E₀ − work where loads act.
    momenta : dict
        Largest change of "linear" and "angular" momentum in space, relative to the sum of the sizes
        of the nodes' shares; of a field on an abelian algebra of "total" ∫μ ds.
    kept : dict
        Whether each of these is a conserved quantity of what was run.
    compatibility : float or None
        Largest difference of the strain and that of the configuration over an edge: an angle, or a
        share of the edge.
    orthogonality : float or None
        Largest entry of RᵀR − 1, R being made of the numbers that were marched.
    step_ratio : float
        The step as a share of the estimated limit of stability.
    """

    run: FieldTrajectory = field(repr=False)
    steps: int
    energy0: float
    energy: Drift
    work: float
    gross_work: float
    momenta: dict[str, float]
    kept: dict[str, bool]
    compatibility: float | None
    orthogonality: float | None
    step_ratio: float

    @cached_property
    def resolution(self) -> Resolution:
        """Whether steps resolve the motion: sampled ones made again in parts."""
        return Resolution(halved_field(self.run))

    @property
    def resolved(self) -> bool | None:
        """Whether the steps resolve the motion; None if that could not be measured."""
        return self.resolution.resolved

    @cached_property
    def turn_per_edge(self) -> float | None:
        """The largest angle between neighbouring nodes in the stored states; None of fields."""
        run, mesh = self.run, self.run.mesh
        if mesh is None:
            return None
        edges, lengths = mesh.alive, mesh.spacing[mesh.alive, None]
        return max(turn_per_edge(lengths * (x + mesh.reference)[edges]) for x in run.strain)

    @cached_property
    def drifts(self) -> bool:
        """Whether the energy drifts, as far as the run can tell."""
        return not self.gross_work and self.energy_verdict == "drifts"

    @property
    def energy_verdict(self) -> str:
        """What is said of the energy's drift."""
        e = self.energy
        if np.isinf(e.half_width):
            return ""
        if e.band <= self._noise:
            return "round-off"
        if e.significant:
            return "drifts" if e.turns >= 6 or self.steps >= 100_000 else "too short to tell"
        return "no drift" if e.relative_half_width < 0.1 else "none seen; too short to exclude"

    @cached_property
    def _noise(self) -> float:
        """What rounding does to the energy over the whole run.

        Strains are rounded with the reference strain, and places with their distance from the
        origin; the zero of a density's potential is no scale.
        """
        run, mesh = self.run, self.run.mesh
        rows = _sampled(run)
        with np.errstate(all="ignore"):
            shown = run.potential[np.isfinite(run.potential)]
            size = np.nanmax(np.abs(run.kinetic)) + np.ptp(shown)
            stress = np.abs(run.stress[rows])
            if mesh is None:
                whole = np.abs(run.strain[rows] + run.model.reference) * run.model.spacing
            else:
                lengths = np.where(mesh.alive, mesh.spacing, 0.0)[:, None]
                whole = np.abs(run.strain[rows] + mesh.reference) * lengths
            rounded = np.nanmax((stress * whole).sum(axis=(1, 2)), initial=0.0)
            if mesh is not None and run.method.posed:
                far = np.abs(run.positions[rows]).max(axis=(1, 2))
                forces = stress[:, mesh.alive, 3:].sum(axis=(1, 2))
                rounded += np.nanmax(far * forces, initial=0.0)
        exact = NEWTON if run.method.implicit else 8 * EPS
        whole_size = exact * size + 8 * EPS * (rounded + self.gross_work)
        return float(np.sqrt(max(self.steps, 1)) * whole_size)

    @cached_property
    def _away(self) -> float:
        """How far from the origin nodes are, in lengths of an edge."""
        mesh = self.run.mesh
        if mesh is None:
            return 0.0
        places = self.run.positions[_sampled(self.run)]
        far = np.max(np.abs(places), initial=0.0, where=np.isfinite(places))
        return float(far / mesh.spacing[mesh.alive].min())

    @cached_property
    def _kinetic_range(self) -> float:
        kinetic = self.run.kinetic
        kinetic = kinetic[np.isfinite(kinetic)]
        return float(np.ptp(kinetic)) if kinetic.size else 0.0

    def _balance(self) -> str:
        """Verdict on energy − work, compared with what was exchanged."""
        band = self.energy.band
        if band <= self._noise:
            return "round-off"
        scale, what = max(
            (self.gross_work, "the work"), (self._kinetic_range, "the change of the kinetic energy")
        )
        return f"{percent(band / scale)} % of {what}" + (
            ": look at the step, and for jumps" if band > LOST * scale else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers."""
        run = self.run
        return {
            "method": run.method.name,
            "step": run.step,
            "steps": self.steps,
            "nodes": run.momentum.shape[1],
            "energy0": self.energy0,
            "energy_is_balance": bool(self.gross_work),
            "energy_band": self.energy.band,
            "energy_drift": self.energy.relative,
            "energy_drift_half_width": self.energy.relative_half_width,
            "energy_drifts": self.drifts,
            "work": self.work,
            **self.resolution.to_dict(),
            "momentum_changes": dict(self.momenta),
            "momentum_conserved": dict(self.kept),
            "compatibility": self.compatibility,
            "orthogonality": self.orthogonality,
            "turn_per_edge": self.turn_per_edge,
            "stable_step": run.limit,
            "step_ratio": self.step_ratio,
            "ended_early": run.ended_early,
            "wall_time": run.wall_time,
            "compile_time": run.compile_time,
        }

    def rows(self) -> list[tuple[str, str, str]]:
        """(quantity, value, verdict) of the table."""
        rows = ended(self.run) + self._energy_rows() + self.resolution.rows()
        rows += turning(self.turn_per_edge or 0.0)
        for name, change in self.momenta.items():
            if not self.kept[name]:
                first, last = _ends_of(self.run, name)
                rows.append((f"|{name} momentum|", f"{first:.4g} → {last:.4g}", self._acting()))
                continue
            limit = ROUND_OFF * max(1.0, np.sqrt(self.steps / 1e4))
            word = "round-off" if change <= limit else "not kept exactly by this scheme"
            rows.append((f"{name} momentum", f"constant to {change:.1e}", word))
        if self.compatibility is not None:
            exact = self.compatibility <= FITS * EPS * (1.0 + self._away)
            word = "round-off" if exact else "they are integrated side by side"
            lost = self._away / self.run.mesh.nodes  # type: ignore[union-attr]
            if exact and lost > FAR:
                word += f"; {np.log10(lost):.0f} digits are lost far from the origin"
            rows.append(("strain against poses", f"{self.compatibility:.1e}", word))
        if self.orthogonality is not None:
            word = "round-off" if self.orthogonality <= 1e2 * EPS else "not rotations"
            rows.append(("frames, max |RᵀR − 1|", f"{self.orthogonality:.1e}", word))
        implicit = self.run.method.implicit
        word = "" if implicit else "stable" if self.step_ratio <= 1 else "beyond the limit"
        value = f"{self.step_ratio:.3g} of about {self.run.limit:.3g}"
        rows.append(("step against its limit", value, word))
        return rows

    def _acting(self) -> str:
        """What changes the momenta."""
        mesh = self.run.mesh
        if mesh is None:
            return "ends are held"
        loads, gravity = bool(mesh.loads), bool(np.any(mesh.gravity))
        acting = "loads and gravity act" if loads and gravity else "loads act" if loads else ""
        parts = (acting or ("gravity acts" if gravity else ""), "ends are held" * bool(mesh.holds))
        return ", ".join(filter(None, parts))

    def _energy_rows(self) -> list[tuple[str, str, str]]:
        e = self.energy
        amount = f"({percent(e.relative, '+')} ± {percent(e.relative_half_width)}) % of the band"
        if np.isinf(e.half_width):
            amount = "too few steps to tell"
        if not self.gross_work:
            start = ("energy", f"{self.energy0:.8g}, band {e.band:.1e}", "")
            return [start, ("energy drift", amount, self.energy_verdict)]
        work = f"{self.work:.6g} (in and out {self.gross_work:.3g})"
        first = self.energy0 if abs(self.energy0) > EPS**2 * self.gross_work else 0.0
        return [
            ("energy, work done", f"{first:.8g}, {work}", ""),
            ("energy − work", f"constant to {e.band:.1e}", self._balance()),
        ]

    def title(self) -> str:
        """One line: what was run."""
        run, nodes = self.run, self.run.momentum.shape[1]
        each = run.wall_time / max(self.steps, 1)
        short = ", last one shortened" if run.ending.short else ""
        return (
            f"{run.method.name}, {nodes} nodes × {self.steps} steps of {run.step:g}{short}: "
            f"{run.wall_time:.3g} s ({1e6 * each:.3g} µs per step)"
        )


@public
def certify(run: FieldTrajectory) -> FieldCertificate:
    """Measure a run: its books cover every step, its stored states the rest."""
    value = dict(zip(BOOKS, run.books, strict=False))
    momenta = {name: float(x.max()) for name, x in momentum_changes(run).items()}
    return FieldCertificate(
        run=run,
        steps=max(int(value["steps"]) - 1, 0),
        energy0=float(value["energy0"]),
        energy=_energy_drift(run.books, run.step),
        work=float(value["work"]),
        gross_work=float(value["gross_work"]),
        momenta=momenta,
        kept=dict.fromkeys(momenta, alone(run)),
        compatibility=_compatibility(run),
        orthogonality=_orthogonality(run),
        step_ratio=float(run.step / run.limit),
    )


def momentum_changes(run: FieldTrajectory) -> dict[str, np.ndarray]:
    """How far momenta in space are from their start, against the sum of the sizes of the shares.

    Of beams "linear" and "angular" (about the origin), of a field on an abelian algebra "total"
    ∫μ ds; of other fields nothing.  Shapes (N,).
    """
    if run.mesh is None:
        if run.model.algebra.terms():
            return {}
        return {"total": _changes(run.momentum * run.model.weights[None, :, None])}
    turned = np.einsum(
        "tjab,tjpb->tjpa", run.frames, run.momentum.reshape(*run.momentum.shape[:2], 2, 3)
    )
    shares = turned * run.mesh.weight[None, :, None, None]
    linear = shares[:, :, 1]
    angular = shares[:, :, 0] + np.cross(run.positions, linear)
    return {"linear": _changes(linear), "angular": _changes(angular)}


def _ends_of(run: FieldTrajectory, name: str) -> tuple[float, float]:
    """The size of a momentum at the start and at the end."""
    if run.mesh is None:
        whole = np.einsum("tji,j->ti", run.momentum, run.model.weights)
    else:
        whole = run.linear_momentum if name == "linear" else run.angular_momentum
    sizes = np.linalg.norm(whole, axis=1)
    first, last = np.where(sizes > ROUND_OFF * sizes.max(), sizes, 0.0)[[0, -1]]
    return float(first), float(last)


def alone(run: FieldTrajectory) -> bool:
    """Whether nothing outside acts on the beams or the field, so that momenta are conserved."""
    mesh = run.mesh
    if mesh is None:
        return run.model.periodic or run.model.ends == ("free", "free")
    return not mesh.loads and not mesh.holds and not np.any(mesh.gravity)


def _changes(shares: np.ndarray) -> np.ndarray:
    """Change of a sum of shares, shape (N, nodes, …), against the sum of their sizes."""
    total = shares.sum(axis=1)
    size = np.linalg.norm(shares, axis=2).sum(axis=1).max()
    return np.linalg.norm(total - total[0], axis=1) / max(size, 1e-300)


def _sampled(run: FieldTrajectory) -> np.ndarray:
    return np.unique(np.linspace(0, len(run.t) - 1, SAMPLES).astype(int))


def _compatibility(run: FieldTrajectory) -> float | None:
    mesh = run.mesh
    if mesh is None:
        return None
    rows, alive = _sampled(run), mesh.alive
    pose = np.zeros((len(rows), mesh.nodes, 4, 4))
    pose[..., :3, :3], pose[..., :3, 3] = run.frames[rows], run.positions[rows]
    pose[..., 3, 3] = 1.0
    steps = SE3.cay_ad_inverse(SE3.inverse(pose[:, :-1][:, alive]) @ pose[:, 1:][:, alive])
    chi = run.strain[rows][:, alive] + mesh.reference[alive]
    gaps = np.abs(steps - mesh.spacing[alive][:, None] * chi)
    gaps[..., 3:] /= mesh.spacing[alive][:, None]
    return float(gaps.max())


def _orthogonality(run: FieldTrajectory) -> float | None:
    """Of the quaternions that were marched: RᵀR = |q|⁴, before anything makes them unit ones."""
    if run._turns is None:
        return None
    return float(np.abs(np.sum(run._turns[_sampled(run)] ** 2, axis=2) ** 2 - 1).max())
