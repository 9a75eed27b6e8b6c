"""K − μM of a mesh with strains and stresses kept apart, so that what is stiff hides nothing soft.

Assembled, K = BᵀC B/Δs + G adds shear and stretch, GA and EA, to bending, EI/Δs²: of a beam of
slenderness λ the soft part is lost in the round-off of the stiff one, (λ n)² times the unit
round-off with n nodes.  With the stresses n of the edges as unknowns beside the motions z nothing
is added to anything,

    [ −F   B     ] [n]   [a]
    [ Bᵀ   G − μM ] [z] = [b],        F = Δs C⁻¹,

and slender beams lead to the small compliances of shear and stretch, whose limit is regular: zero
(beams that neither shear nor stretch).  Its inertia is that of K − μM, and as many negative ones as
there are stresses (Haynsworth 1968).

They are counted without assembling either.  An inner node of a beam and the stress n of an edge
beside it go together: in

    [ S   Pᵀ ]
    [ P   −F ],        T = 1 + S′F,   S′ = P⁻ᵀ S P⁻¹,

P is invertible, so that they can be eliminated even if S is zero, and F is never inverted; what is
left is a beam with fewer nodes, in which compliances have added up.  Every second node of every
beam goes at once, until ends and one edge of each beam are left for a dense matrix (block cyclic
reduction: Heller 1976).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from taut.march.freedoms import HELD, Freedoms
from taut.march.limits import negative
from taut.march.spectrum import ROUNDED, Solver, scaling
from taut.march.statics.applied import Applied
from taut.march.statics.balance import Balance, State

LEAST = 1e-5  # of pivots, which are 0.6 or more where nothing is pressed: digits that are lost
ROUND_OFF = 1e-14  # of the stiffness on the diagonal: what assembling may leave
CLEAR = 1e-15  # of the largest entry of a scaled matrix, per unknown: an eigenvalue that has a sign


class Graded:
    """Stiffness and mass at one state.

    Parameters
    ----------
    even : bool
        Loads have a potential: what keeps G from being symmetric is round-off.
    """

    def __init__(
        self, balance: Balance, state: State, applied: Applied, freedoms: Freedoms, even: bool
    ) -> None:
        self.balance, self.freedoms, self.even = balance, freedoms, even
        self.maps, self.compliance = state.maps, balance.compliance
        self.edges = balance.geometric(state)
        self.nodes = balance.nodal_tangent(state, applied)
        if even:
            self.edges, self.nodes = (
                (x + np.swapaxes(x, 1, 2)) / 2 for x in (self.edges, self.nodes)
            )

    # ---- sparse ------------------------------------------------------------------------------

    @property
    def stresses(self) -> int:
        """How many."""
        return 6 * len(self.maps)

    @cached_property
    def strains(self) -> Any:
        """B, sparse, shape (stresses, unknowns)."""
        from scipy.sparse import csr_matrix

        f = self.freedoms
        places = np.concatenate([f.index[f.edges], f.index[f.edges + 1]], axis=1)
        rows = np.arange(self.stresses).reshape(-1, 6, 1)
        rows, columns = np.broadcast_arrays(rows, places[:, None, :])
        kept = columns != HELD
        found = np.concatenate(self._maps(), axis=2)[kept], (rows[kept], columns[kept])
        return csr_matrix(found, shape=(self.stresses, f.count))

    def _maps(self) -> tuple[np.ndarray, np.ndarray]:
        """B of the left and of the right node of each edge, in terms of z, held or not."""
        f = self.freedoms
        left, right = self.maps[:, :, :6], self.maps[:, :, 6:]
        return left @ f.carry[f.edges], right @ f.carry[f.edges + 1]

    @cached_property
    def softness(self) -> Any:
        """F, sparse."""
        from scipy.sparse import bsr_matrix

        many = len(self.compliance)
        found = self.compliance, np.arange(many), np.arange(many + 1)
        return bsr_matrix(found, shape=(self.stresses, self.stresses)).tocsr()

    @cached_property
    def geometric(self) -> Any:
        """G, sparse."""
        from scipy.sparse import csr_matrix

        parts = self.freedoms.of_edges(self.edges), self.freedoms.of_nodes(self.nodes)
        values, rows, columns = (np.concatenate(x) for x in zip(*parts, strict=True))
        n = self.freedoms.count
        return csr_matrix((values, (rows, columns)), shape=(n, n))

    @cached_property
    def mass(self) -> Any:
        """M, sparse."""
        from scipy.sparse import csr_matrix

        values, rows, columns = self.freedoms.of_nodes(self.balance.heavy)
        n = self.freedoms.count
        return csr_matrix((values, (rows, columns)), shape=(n, n))

    def energy(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """zᴴK z of columns z, strains being taken before they are squared, and its round-off."""
        strain = (self.strains @ z).reshape(-1, 6, z.shape[1])
        stress = np.linalg.solve(self.compliance, strain)
        own = np.real(np.einsum("eia,eia->a", strain.conj(), stress))
        more = np.real(np.einsum("ia,ia->a", z.conj(), self.geometric @ z))
        size = abs(z)
        noise = ROUNDED * (own + np.einsum("ia,ia->a", size, abs(self.geometric) @ size))
        return own + more, noise

    def damped(self, shift: float, border: np.ndarray | None = None) -> Callable:
        """See `Pencil`: stresses are those of strains and of their rates, C (1 + damping ∂/∂t)."""
        from scipy.sparse import diags

        times = self.balance.mesh.damping[self.balance.edges]
        part = np.repeat(times / (1 + shift * times), 6)
        soft = diags(1 / np.repeat(1 + shift * times, 6)) @ self.softness
        other = self.geometric + shift**2 * self.mass
        factors = Factored(self, soft, other, border)

        def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            rate = -part.reshape(-1, *(1,) * (a.ndim - 1)) * (self.strains @ a)
            return factors.solve(-(self.mass @ (b + shift * a)), rate)[0]

        return solve

    def factored(self, value: float = 0.0, border: np.ndarray | None = None) -> Factored:
        """K − μM, with rows of a border beside it."""
        return Factored(self, self.softness, self.geometric - value * self.mass, border)

    # ---- inertia -----------------------------------------------------------------------------

    def below(
        self, value: float, loads: float = 1.0, gauge: np.ndarray | None = None
    ) -> tuple[int, int]:
        """How many λ of K z = λ M z lie below a value, with G times `loads`, and how many may.

        With `gauge` (rows): of motions that are M-orthogonal to these.
        """
        try:
            with np.errstate(all="ignore"):
                return _Reduced(self, value, loads, gauge).count()
        except np.linalg.LinAlgError:
            return self._pivots(value, loads, 0 if gauge is None else len(gauge))

    def _pivots(self, value: float, loads: float, idle: int) -> tuple[int, int]:
        """The same from the assembled matrix, which is round-off below a part of its diagonal."""
        stiff = self.assembled(loads)
        unit = ROUND_OFF * float(np.max(np.abs(stiff.diagonal()) / self.mass.diagonal()))
        low, high = (negative(stiff - (value + x) * self.mass) for x in (-unit, unit))
        return low or 0, self.freedoms.count if high is None else max(high - idle, low or 0)

    def assembled(self, loads: float = 1.0) -> Any:
        """K, with G times `loads`, sparse."""
        from scipy.sparse import bsr_matrix

        many = len(self.compliance)
        stiff = self.balance.stiffness / self.balance.spacing[:, None, None]
        whole = bsr_matrix((stiff, np.arange(many), np.arange(many + 1)))
        return (self.strains.T @ whole @ self.strains + loads * self.geometric).tocsc()


class Factored:
    """The matrix of stresses and motions, factorised."""

    def __init__(self, whole: Graded, soft: Any, other: Any, border: np.ndarray | None) -> None:
        from scipy.sparse import bmat

        b = whole.strains
        self.stresses, self.motions = b.shape
        if border is not None:
            border = np.hstack([np.zeros((len(border), self.stresses)), border])
        self._solver = Solver(bmat([[-soft, b], [b.T, other]]), border)

    def solve(
        self, force: np.ndarray, strain: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(z, n) of one or several right-hand sides, shape (unknowns,) or (unknowns, k)."""
        if strain is None:
            strain = np.zeros((self.stresses, *force.shape[1:]), dtype=force.dtype)
        found = self._solver.solve(np.concatenate([strain, force]))[0]
        return found[self.stresses :], found[: self.stresses]


class _Reduced:
    """Beams from which inner nodes are eliminated."""

    def __init__(self, whole: Graded, value: float, loads: float, gauge: np.ndarray | None) -> None:
        f, balance = whole.freedoms, whole.balance
        self.whole, self.freedoms = whole, f
        self.left, self.right = whole._maps()
        self.soft = whole.compliance.copy()
        one, two = f.carry[f.edges], f.carry[f.edges + 1]
        blocks = loads * whole.edges
        own = loads * whole.nodes - value * balance.heavy
        self.stiff = np.swapaxes(f.carry, 1, 2) @ own @ f.carry
        self.stiff[f.edges] += np.swapaxes(one, 1, 2) @ blocks[:, :6, :6] @ one
        self.stiff[f.edges + 1] += np.swapaxes(two, 1, 2) @ blocks[:, 6:, 6:] @ two
        self.across = np.swapaxes(one, 1, 2) @ blocks[:, :6, 6:] @ two
        self.many = 0 if gauge is None else len(gauge)
        self.node_border = np.zeros((len(f.owner), 6, self.many))
        self.edge_border = np.zeros((len(f.edges), 6, self.many))
        self.corner = np.zeros((self.many, self.many))
        if gauge is not None and self.many:
            pulled = whole.mass @ gauge.T
            mine = (f.owner == np.arange(len(f.owner)))[:, None] & (f.index != HELD)
            self.node_border[mine] = pulled[f.index[mine]]
        self.negative = 0

    def count(self) -> tuple[int, int]:
        """Negative eigenvalues, without those of stresses and border: surely, and perhaps."""
        at = {int(edge): k for k, edge in enumerate(self.freedoms.edges)}
        chains = []
        for span in self.whole.balance.mesh.spans:
            nodes = np.arange(span.start, span.stop)
            chains.append((nodes, np.array([at[int(e)] for e in nodes[:-1]], dtype=int)))
        while any(len(nodes) > 2 for nodes, _ in chains):
            gone, following = [], []
            for nodes, edges in chains:
                inner = np.arange(1, len(nodes) - 1, 2)
                places = (nodes[inner - 1], nodes[inner], nodes[inner + 1])
                gone.append((*places, edges[inner - 1], edges[inner]))
                following.append((np.delete(nodes, inner), np.delete(edges, inner)))
            self._eliminate(*(np.concatenate(x) for x in zip(*gone, strict=True)))
            chains = following
        return self._last(chains)

    def _eliminate(self, left, node, right, before, after) -> None:
        """Take out nodes and the edges after them, batched."""
        many, k = len(node), self.many
        p = self.left[after]
        y = np.swapaxes(np.linalg.solve(np.swapaxes(p, 1, 2), self.stiff[node]), 1, 2)
        y = np.linalg.solve(np.swapaxes(p, 1, 2), y)
        y = (y + np.swapaxes(y, 1, 2)) / 2
        soft = self.soft[after]
        size = np.abs(np.einsum("eii->ei", soft))
        both = np.sqrt(np.maximum(size * np.abs(np.einsum("eii->ei", y)), 1.0))
        scale = np.sqrt(size / both)
        y_own = scale[:, :, None] * y * scale[:, None, :]
        f_own = soft / scale[:, :, None] / scale[:, None, :]
        unit = np.broadcast_to(np.eye(6), (many, 6, 6))
        pivot = np.block([[y_own, unit], [unit, -f_own]])
        values = np.linalg.eigvalsh(pivot)
        if not np.abs(values).min() >= LEAST:
            raise np.linalg.LinAlgError("a part of a beam has this very value")
        self.negative += int(np.sum(values < 0)) - 6 * many
        # Columns: left node, edge before, right node, border.  Rows: node, edge after.
        of_node = np.concatenate(
            [
                np.swapaxes(self.across[before], 1, 2),
                np.swapaxes(self.right[before], 1, 2),
                self.across[after],
                self.node_border[node],
            ],
            axis=2,
        )
        of_edge = np.zeros_like(of_node)
        of_edge[:, :, 12:18] = self.right[after]
        of_edge[:, :, 18:] = self.edge_border[after]
        # S x + Pᵀn = w,  P x − F n = u:   (1 + S′F) n = P⁻ᵀw − S′u,  x = P⁻¹(u + F n)
        load = np.linalg.solve(np.swapaxes(p, 1, 2), of_node) - y @ of_edge
        n = np.linalg.solve(unit + y_own @ f_own, scale[:, :, None] * load) / scale[:, :, None]
        x = np.linalg.solve(p, of_edge + soft @ n)
        more = -(np.swapaxes(of_node, 1, 2) @ x + np.swapaxes(of_edge, 1, 2) @ n)
        more = (more + np.swapaxes(more, 1, 2)) / 2
        a, b, c, d = slice(0, 6), slice(6, 12), slice(12, 18), slice(18, 18 + k)
        self.stiff[left] += more[:, a, a]
        self.stiff[right] += more[:, c, c]
        self.left[before] += more[:, b, a]
        self.right[before] = more[:, b, c]
        self.soft[before] -= more[:, b, b]
        self.across[before] = more[:, a, c]
        self.node_border[left] += more[:, a, d]
        self.node_border[right] += more[:, c, d]
        self.edge_border[before] += more[:, b, d]
        self.corner += more[:, d, d].sum(axis=0)

    def _last(self, chains) -> tuple[int, int]:
        """The dense matrix of ends and of one edge of each beam."""
        f = self.freedoms
        nodes = np.concatenate([[x[0], x[-1]] for x, _ in chains])
        edges = np.concatenate([x for _, x in chains])
        owners, places = np.unique(f.owner[nodes], return_inverse=True)
        free = f.index[owners] != HELD
        number = np.where(free, np.cumsum(free).reshape(free.shape) - 1, HELD)
        n = int(free.sum())
        many = n + 6 * len(edges) + self.many
        found = np.zeros((many + 1, many + 1))  # what is held comes last, and is thrown away
        ends = number[places].reshape(-1, 2, 6)
        for k, (edge, (one, two)) in enumerate(zip(edges, ends, strict=True)):
            own = n + 6 * k + np.arange(6)
            first, second = nodes[2 * k : 2 * k + 2]
            rest = np.arange(many - self.many, many)
            for rows, columns, block in (
                (one, one, self.stiff[first]),
                (two, two, self.stiff[second]),
                (own, own, -self.soft[edge]),
            ):
                found[np.ix_(rows, columns)] += block
            for rows, columns, block in (
                (one, two, self.across[edge]),
                (own, one, self.left[edge]),
                (own, two, self.right[edge]),
                (one, rest, self.node_border[first]),
                (two, rest, self.node_border[second]),
                (own, rest, self.edge_border[edge]),
            ):
                found[np.ix_(rows, columns)] += block
                found[np.ix_(columns, rows)] += block.T
        found = found[:many, :many]
        found[many - self.many :, many - self.many :] += self.corner
        if not np.all(np.isfinite(found)):
            raise np.linalg.LinAlgError
        from scipy.sparse import csc_matrix

        scale = scaling(csc_matrix(found))
        values = np.linalg.eigvalsh(scale[:, None] * found * scale)
        certain = self.negative - 6 * len(edges) - self.many
        noise = CLEAR * many
        return certain + int(np.sum(values < -noise)), certain + int(np.sum(values <= noise))
