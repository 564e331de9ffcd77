"""The exact plan within candidate lists, in NumPy: successive shortest paths between atoms.

Every row starts at its best atom. Where an atom then has more than its weight, mass moves on
along the cheapest path of atoms to one that has less: an edge j -> l is the row of j that
loses least, C_il - C_ij, by going to l. With prices h those losses less h_l - h_j are >= 0 and
stay so, so that the plan is the cheapest for its masses at every moment.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from emscoreset.lists import Flow, Lists
from emscoreset.stats import Floats, Ints

TINY = 1e-14  # mass below this is rounding
CRUMB = 1e-12  # a share of a row that is not worth moving, nor leaving behind
SWEEPS = 8  # towards the middle of the prices


class Settler:
    """Flows f (m,) on the entries of the lists, and the k x k shortest edges between atoms."""

    def __init__(self, lists: Lists, h: Floats, w: Floats) -> None:
        self.lists, self.w = lists, w
        # Of the prices only differences count, which far from 0 would be rounded away.
        self.h = h - 0.5 * (h.min() + h.max())
        self.row = np.repeat(np.arange(lists.n), np.diff(lists.start))
        self.close = 1e-14 * (float(np.ptp(h)) + float(lists.cost.max()))  # a tie
        self.crumb = CRUMB * lists.mass[self.row]
        self.f = self._first_flow()
        self.N = np.bincount(lists.atom, self.f, minlength=lists.k)
        self.edge = np.full((lists.k, lists.k), np.inf)  # [j, l] least C_il - C_ij
        for j in range(lists.k):
            self._measure(j)

    def _first_flow(self) -> Floats:
        """Each row on its best atom; tied rows go where mass is lacking still."""
        start, atom, a = self.lists.start, self.lists.atom, self.lists.mass
        score = self.h[atom] - self.lists.cost
        best = score >= np.maximum.reduceat(score, start[:-1])[self.row] - self.close
        f = np.zeros(len(atom))
        ties = np.add.reduceat(best, start[:-1])
        alone = best & (ties == 1)[self.row]
        f[alone] = a[self.row[alone]]
        lack = self.w - np.bincount(atom, f, minlength=self.lists.k)
        for i in np.flatnonzero(ties > 1):
            entries = start[i] + np.flatnonzero(best[start[i] : start[i + 1]])
            left = a[i]
            for e in entries:
                f[e] = min(left, max(lack[atom[e]], 0.0))
                lack[atom[e]] -= f[e]
                left -= f[e]
            f[entries[0]] += left
            lack[atom[entries[0]]] -= left
        return f

    def _moves(self, j: int) -> tuple[Ints, Ints, Floats]:
        """Entries that hold mass on atom j, where else their rows can go, and the loss."""
        start, cost = self.lists.start, self.lists.cost
        held = np.flatnonzero((self.lists.atom == j) & (self.f > self.crumb))
        rows = self.row[held]
        lengths = start[rows + 1] - start[rows]
        source = np.repeat(held, lengths)
        within = np.arange(len(source)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        to = np.repeat(start[rows], lengths) + within
        return source, to, cost[to] - cost[source]

    def _measure(self, j: int) -> None:
        """The shortest edges out of atom j."""
        _, to, loss = self._moves(j)
        self.edge[j] = np.inf
        np.minimum.at(self.edge[j], self.lists.atom[to], loss)
        self.edge[j, j] = np.inf

    def path(self) -> list[int] | None:
        """Dijkstra from all atoms of excess to the first that lacks mass; moves the prices."""
        k = self.lists.k
        excess = self.N - self.w
        distance = np.where(excess > TINY, 0.0, np.inf)
        before = np.full(k, -1)
        open_ = np.ones(k, dtype=bool)
        while True:
            j = int(np.where(open_, distance, np.inf).argmin())
            if not open_[j] or not np.isfinite(distance[j]):
                return None
            if excess[j] < -TINY:
                break
            open_[j] = False
            # A hop costs a little: of paths that are tied the one with the fewest is taken, or
            # crumbs would go round and round.
            to = distance[j] + np.maximum(self.edge[j] + self.h[j] - self.h, 0.0) + self.close
            nearer = open_ & (to < distance)
            distance[nearer], before[nearer] = to[nearer], j
        self.h += np.minimum(distance, distance[j])
        path = [j]
        while before[path[0]] >= 0:
            path.insert(0, int(before[path[0]]))
        return path

    def push(self, path: list[int]) -> None:
        """As much mass as the path takes, all rows that are tied on an edge together."""
        excess = self.N - self.w
        amount = min(excess[path[0]], -excess[path[-1]])
        edges = []
        for j, l in pairwise(path):
            source, to, loss = self._moves(j)
            tied = (self.lists.atom[to] == l) & (loss <= self.edge[j, l] + self.close)
            edges.append((source[tied], to[tied]))
            amount = min(amount, float(self.f[source[tied]].sum()))
        for source, to in edges:
            mass = self.f[source]
            moved = np.clip(amount - (np.cumsum(mass) - mass), 0.0, mass)
            crumbs = (moved > 0) & (mass - moved < self.crumb[source])
            moved[crumbs] = mass[crumbs]
            self.N += np.bincount(self.lists.atom[to], moved, minlength=self.lists.k)
            self.N -= np.bincount(self.lists.atom[source], moved, minlength=self.lists.k)
            self.f[source] -= moved
            self.f[to] += moved
        for j in path:
            self._measure(j)

    def centre(self) -> None:
        """Into the middle of the prices that prove the plan, as far as a few sweeps get.

        Each atom is then as far from drawing a row as from losing one.
        """
        for _ in range(SWEEPS):
            for j in range(self.lists.k):
                low, high = (self.h - self.edge[j]).max(), (self.h + self.edge[:, j]).min()
                if low < high and np.isfinite(high - low):
                    self.h[j] = 0.5 * (low + high)


def settle(lists: Lists, h: Floats, w: Floats) -> Flow:
    """The cheapest plan within the lists whose atoms get exactly the masses w."""
    found = Settler(lists, h, w)
    while (found.N - w).max() > TINY:
        path = found.path()
        if path is None:
            break
        found.push(path)
    found.centre()
    left = float(np.maximum(found.N - w, 0.0).sum())
    return Flow(found.h, float(found.f @ lists.cost), left if left > CRUMB else 0.0)
