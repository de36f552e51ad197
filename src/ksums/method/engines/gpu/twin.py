"""The plain twin of the kernels: the same operations in torch, on any device. This is what the kernels mean.

Arithmetic is that of the kernels (float16 products added up in float32, verification in float32, sums of whole
numbers), but for the order in which float32 numbers are added up.
"""

from __future__ import annotations

import torch

from ksums.method.engines.gpu.card import FAR, Card, Clusters, Layout, Lists, State, Table
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.rows import scrambled_keys
from ksums.planning.gpu import PER_SIZE, PUSH
from ksums.planning.tiles import tolerance_for
from ksums.rules.kinds import VANISHED

_ABOVE = 2.0
_ROUNDING = 1e-6
_TINY = 1e-30
_NO_CLAIM = 0x7FFFFFFFFFFFFFFF


class Twin(Operations):
    """See ``operations.Operations``."""

    def moments(self, X: torch.Tensor, active: torch.Tensor | None, device: torch.device) -> torch.Tensor:
        """See ``operations.Operations``."""
        exact = (X if active is None else X[active.to(X.device)]).double()
        return torch.stack([exact.sum(0), exact.square().sum(0), exact.amin(0), -exact.amax(0)]).to(device)

    def scrambled_keys(self, n: int, seed: int, device: torch.device) -> torch.Tensor:
        """See ``operations.Operations``."""
        return scrambled_keys(n, seed, device)

    def lower_rows(
        self,
        table: Table,
        layout: Layout,
        places: torch.Tensor | None = None,
        low: torch.Tensor | None = None,
        by: torch.Tensor | None = None,
    ) -> None:
        """See ``operations.Operations``."""
        i = torch.arange(layout.n, device=table.places.device) if places is None else places.long()
        to = table.low if low is None else low
        x = prepared_rows(table, i)
        both = x.half().float()
        if layout.split:
            both += (x - both).half().float()
        else:
            to[: len(i)].zero_()
            to[: len(i), : layout.d] = x.half()
        table.squares[i] = x.double().square().sum(1)
        table.low_squares[i] = both.square().sum(1)

    def prepared_rows(self, table: Table, layout: Layout, places: torch.Tensor) -> torch.Tensor:
        """See ``operations.Operations``."""
        return prepared_rows(table, places.long())

    def add_by_cluster(self, table: Table, layout: Layout, state: State, *, wide: bool = False) -> None:
        """See ``operations.Operations``."""
        everybody = torch.arange(layout.n, device=table.places.device)
        for sums in (state.composites, state.counts, state.sizes, state.norm_sums):
            sums.zero_()
        _add(table, layout, state, everybody, state.labels, 1, wide)

    def set_centres(self, card: Card, vectors: torch.Tensor) -> None:
        """See ``operations.Operations``."""
        clusters = card.clusters
        _write_low(card.layout, clusters, vectors)
        clusters.join.fill_(0.0 if card.layout.lengths else 1.0)
        clusters.base.copy_(clusters.low_squares)

    def refresh(self, card: Card, *, reset: bool = True, pushed: bool = False, begins: bool = False) -> None:
        """See ``operations.Operations``."""
        layout, _, state, clusters, candidates = card
        n = state.sizes.double() / layout.fixed_weight
        p = _exponent(clusters.relaxation.double(), n)
        composites = state.composites.double() / layout.fixed
        clusters.sq_composites.copy_(composites.square().sum(1))
        if pushed:
            if begins:
                means = (composites / n.clamp(min=_TINY)[:, None]).float()
                clusters.push.copy_((means - clusters.before) * PUSH)
                clusters.before.copy_(means)
            composites += n[:, None] * clusters.push.double()
        length = n.clamp(min=_TINY)
        if layout.lengths:
            length = torch.maximum(composites.square().sum(1).sqrt(), VANISHED * n + _TINY)
        clusters.vectors.copy_(composites / length[:, None])
        both = _write_low(layout, clusters, clusters.vectors)
        if layout.lengths:
            clusters.join.copy_(p / length)
            clusters.stay.copy_(p / length)
            clusters.base.zero_()
        elif layout.pairs:
            m = state.counts.double()
            within = state.norm_sums.double() / layout.fixed_square / length - clusters.sq_composites / (
                length * length
            )
            within = within.clamp(min=0.0)
            join = n * torch.exp((p - 1.0) * torch.log(m / (m + 1.0)))
            clusters.join.copy_(join)
            clusters.base.copy_(join * (both.double().square().sum(1) + within))
            clusters.stay.copy_(n * torch.exp((p - 1.0) * torch.log(m / torch.maximum(m - 1.0, 0.5 * m))))
            clusters.scatter.copy_(within)
        else:
            join = torch.exp(p * torch.log(n / (n + 1.0)))
            clusters.join.copy_(join)
            clusters.base.copy_(join * both.double().square().sum(1))  # not join·low_squares, which is rounded twice
            clusters.stay.copy_(torch.exp(p * torch.log(n / torch.maximum(n - 1.0, 0.5 * n))))
        clusters.weight.copy_(n)
        clusters.members.copy_(state.counts)
        clusters.leavers.zero_()
        clusters.claims.fill_(_NO_CLAIM)
        if reset:
            candidates.number.zero_()

    def propose(
        self,
        card: Card,
        order: torch.Tensor,
        first: int,
        count: int,
        *,
        start: bool = False,
        low: torch.Tensor | None = None,
    ) -> None:
        """See ``operations.Operations``."""
        layout, state, k = card.layout, card.state, card.layout.k
        for problem in range(layout.problems):
            i = order[first + problem * count : first + (problem + 1) * count].long()
            v = torch.arange(problem * k, (problem + 1) * k, device=i.device)
            costs, own_products, own = self._costs(card, i, v, low)
            if not start:
                costs[torch.arange(len(i)), own - problem * k] = FAR
            best, target = _least(costs, layout.tiles.clusters, layout.tiles.bits(k))
            target = (target + problem * k).int()
            if start:
                state.labels[i] = target
                card.candidates.gains[i] = best
            else:
                self._list_candidates(card, i, own, own_products, best, target)

    def propose_from_lists(
        self,
        card: Card,
        order: torch.Tensor,
        groups: torch.Tensor,
        lists: Lists,
        first: int,
        count: int,
        *,
        within: tuple[int, int],
        start: bool = False,
        low: torch.Tensor | None = None,
    ) -> None:
        """See ``operations.Operations``."""
        for g in range(first, first + count):
            begin, end = max(int(groups[g]), within[0]), min(int(groups[g + 1]), within[1])
            if begin >= end:
                continue
            i = order[begin:end].long()
            v = torch.unique(lists.entries[lists.ends[g] : lists.ends[g + 1]]).long()
            x = None if low is None else low[begin - within[0] : end - within[0]]
            costs, own_products, own = self._costs(card, i, v, x)
            if not start:
                costs[:, v == g] = FAR
            best = costs.amin(1)
            target = v[(costs == best[:, None]).int().argmax(1)].int()
            if start:
                card.state.labels[i] = target
                card.candidates.gains[i] = best
            else:
                self._list_candidates(card, i, own, own_products, best, target)

    def nearest_in_bins(self, card: Card, first: int, count: int, bins: int) -> tuple[torch.Tensor, torch.Tensor]:
        """See ``operations.Operations``."""
        layout, clusters = card.layout, card.clusters
        r = torch.arange(first, first + count, device=clusters.low.device)
        c = clusters.low[:, :, : layout.d].float()
        products = c[0, r] @ c[0].T
        if layout.split:
            products = products + c[1, r] @ c[0].T + c[0, r] @ c[1].T
        squares = clusters.low_squares[r, None] + clusters.low_squares - 0.5 * products
        squares[torch.arange(count), r] = FAR
        least = torch.full((count, bins), FAR, device=r.device)
        which = torch.zeros(count, bins, dtype=torch.int32, device=r.device)
        for begin in range(0, layout.k, bins):
            part = squares[:, begin : begin + bins]
            nearer = part < least[:, : part.shape[1]]
            number = torch.arange(begin, begin + part.shape[1], dtype=torch.int32, device=r.device)
            which[:, : part.shape[1]] = torch.where(nearer, number, which[:, : part.shape[1]])
            least[:, : part.shape[1]] = torch.where(nearer, part, least[:, : part.shape[1]])
        return least, which

    def decide(self, card: Card, most: int, *, apart: bool = False) -> None:
        """See ``operations.Operations``."""
        layout, table, state, clusters, candidates = card
        m = int(candidates.number)
        i, v = candidates.rows[:m].long(), candidates.targets[:m].long()
        w = state.labels[i].long()
        gain, enough = _gains(card, i, v, w)
        enough &= (v != w) & (state.counts[w] > 1)
        bits = gain.view(torch.int32).long()
        claim = (((0x7F800000 - bits) if apart else bits) << 32) | i
        clusters.claims.scatter_reduce_(0, w[enough], claim[enough], "amin")
        if apart:
            clusters.claims.scatter_reduce_(0, v[enough], claim[enough], "amin")
            go = enough & (claim == clusters.claims[w]) & (claim == clusters.claims[v])
        else:
            clusters.leavers.index_add_(0, w[enough], torch.ones_like(clusters.leavers)[w[enough]])
            all_leave = clusters.leavers[w] >= clusters.members[w]
            go = enough & ~(all_leave & (claim == clusters.claims[w]))
        rows, sources, targets = i[go], w[go], v[go]
        state.labels[rows] = targets.int()
        state.moved.add_(len(rows))
        _add(table, layout, state, rows, targets, 1, wide=False)
        _add(table, layout, state, rows, sources, -1, wide=False)

    def summarise(self, card: Card, numbers: torch.Tensor) -> None:
        """See ``operations.Operations``."""
        layout, state, clusters = card.layout, card.state, card.clusters
        sizes = state.sizes.double() / layout.fixed_weight
        squares = state.norm_sums.double() / layout.fixed_square - clusters.sq_composites / sizes
        squares = squares.clamp(min=0.0)
        of_clusters = squares, sizes * squares, clusters.sq_composites.sqrt(), sizes
        squares, pairs, lengths, sizes = (values.view(layout.problems, layout.k) for values in of_clusters)
        sums = [values.sum(1) for values in (squares, pairs, lengths)]
        moved = state.moved.double().expand(layout.problems)
        norms = (state.norm_sums.double() / layout.fixed_square).view(layout.problems, layout.k).sum(1)
        numbers.copy_(torch.stack([*sums, moved, sizes.amin(1), sizes.amax(1), norms], 1))

    def squares_to_own(self, table: Table, layout: Layout, labels: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
        """See ``operations.Operations``."""
        rows = prepared_rows(table, torch.arange(layout.n, device=labels.device), wide=True)
        return (rows - centres[labels.long()]).square().sum(1)

    def _costs(
        self, card: Card, i: torch.Tensor, v: torch.Tensor, low: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What it costs the rows at places i to join the clusters v; −2 x·c of their own clusters; which these are."""
        layout, clusters = card.layout, card.clusters
        own = card.state.labels[i].long()
        both = torch.unique(torch.cat([v, own]))
        products = self._products(card, i, both, low)
        own_products = products[torch.arange(len(i)), torch.searchsorted(both, own)]
        products = products[:, torch.searchsorted(both, v)]
        join = clusters.join[v]
        if layout.lengths:
            root = (1.0 + join * join - join * products).clamp(min=0.0).sqrt()
            return _ABOVE - (join - products) / (1.0 + root), own_products, own
        return (card.table.low_squares[i, None] + products) * join + clusters.base[v], own_products, own

    def _products(self, card: Card, i: torch.Tensor, v: torch.Tensor, low: torch.Tensor | None) -> torch.Tensor:
        """−2 x·c of the rows at places i with the clusters v; ``low``: these rows in low precision."""
        layout, table, clusters = card.layout, card.table, card.clusters
        c = clusters.low[:, v, : layout.d].float()
        if not layout.split:
            x = table.low[i] if low is None else low[: len(i)]
            return x[:, : layout.d].float() @ c[0].T
        x = prepared_rows(table, i)
        high = x.half().float()
        rest = (x - high).half().float()
        return high @ c[0].T + rest @ c[0].T + high @ c[1].T

    def _list_candidates(
        self,
        card: Card,
        i: torch.Tensor,
        own: torch.Tensor,
        own_products: torch.Tensor,
        best: torch.Tensor,
        target: torch.Tensor,
    ) -> None:
        """Rows whose least cost is not above what they pay for staying, or little, become candidates."""
        layout, table, _, clusters, candidates = card
        a, tolerance = clusters.stay[own], tolerance_for(layout.split)
        if layout.lengths:
            root = (1.0 + a * a + a * own_products).clamp(min=0.0).sqrt()
            limit = _ABOVE + (a + own_products) / (1.0 + root) + tolerance
        else:
            stay = table.low_squares[i] + own_products + clusters.base[own] / clusters.join[own]
            limit = stay * a * (1.0 + tolerance)
        wants = best < limit
        old, new = int(candidates.number), int(wants.sum())
        candidates.rows[old : old + new] = i[wants].int()
        candidates.targets[old : old + new] = target[wants]
        candidates.number.add_(new)


def prepared_rows(table: Table, i: torch.Tensor, wide: bool = False) -> torch.Tensor:
    """(x − mean)·scale of the rows at places i."""
    kind = torch.float64 if wide else table.mean.dtype
    scales = table.scales[i] if len(table.scales) > 1 else table.scales
    x = table.X[table.places[i].to(table.X.device)].to(i.device, kind)
    x = (x - table.mean.to(kind)) * scales.to(kind)[:, None]
    return x if wide else x.float()


def _add(
    table: Table, layout: Layout, state: State, i: torch.Tensor, clusters: torch.Tensor, sign: int, wide: bool
) -> None:
    """Rows to (or from) the sums of clusters."""
    weights = table.weights[i] if layout.weighted else table.weights.expand(len(i))
    at = clusters.long()
    state.composites.index_add_(0, at, sign * (prepared_rows(table, i, wide) * weights[:, None] * layout.fixed).long())
    state.counts.index_add_(0, at, torch.full_like(clusters, sign, dtype=torch.int32))
    state.sizes.index_add_(0, at, sign * (weights * layout.fixed_weight).long())
    state.norm_sums.index_add_(0, at, sign * (table.squares[i] * weights * layout.fixed_square).long())


def _least(costs: torch.Tensor, width: int, bits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The least cost of each row and its cluster; costs that agree in all but the last bits are equal."""
    number = torch.arange(costs.shape[1], device=costs.device, dtype=torch.int32)
    packed = (costs.contiguous().view(torch.int32) & (-1 << bits)) | (number // width)
    padding = -costs.shape[1] % width
    packed = torch.nn.functional.pad(packed, (0, padding), value=0x7F000000)
    packed = packed.view(len(costs), -1, width).amin(1)
    column = torch.arange(width, device=costs.device, dtype=torch.int32)
    values = (packed & (-1 << bits)).view(torch.float32)
    best = values.amin(1)
    numbers = torch.where(values == best[:, None], (packed & ((1 << bits) - 1)) * width + column, 0x7FFFFFFF)
    return best, numbers.amin(1)


def _exponent(p: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    return torch.minimum(p, (n * PER_SIZE).clamp(min=1.0))


def _gains(card: Card, i: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What candidates gain in float32, and whether that is more than rounding."""
    layout, table, _, clusters, _ = card
    x = prepared_rows(table, i)
    weights = table.weights[i] if layout.weighted else table.weights.expand(len(i))
    if layout.lengths:
        here, there = (x * clusters.vectors[w]).sum(1), (x * clusters.vectors[v]).sum(1)
        a, b = clusters.stay[w] * weights, clusters.join[v] * weights
        remain = (a - 2.0 * here) / (1.0 + (1.0 + a * a - 2.0 * a * here).clamp(min=0.0).sqrt())
        leave = -(b + 2.0 * there) / (1.0 + (1.0 + b * b + 2.0 * b * there).clamp(min=0.0).sqrt())
        gain = remain - leave
        return gain * weights, gain > _ROUNDING
    here, there = ((x - clusters.vectors[r]).square().sum(1) for r in (w, v))
    if layout.pairs:
        here, there = here + clusters.scatter[w], there + clusters.scatter[v]
    if layout.weighted and not layout.pairs:
        n, m, p = clusters.weight[w], clusters.weight[v], clusters.relaxation
        remain = here * torch.exp(_exponent(p, n) * torch.log(n / torch.maximum(n - weights, 1e-6 * n)))
        leave = there * torch.exp(_exponent(p, m) * torch.log(m / (m + weights)))
    else:
        remain, leave = here * clusters.stay[w], there * clusters.join[v]
    gain = remain - leave
    return gain * weights, gain > _ROUNDING * (remain + leave)


def _write_low(layout: Layout, clusters: Clusters, vectors: torch.Tensor) -> torch.Tensor:
    """Centres in low precision, times −2; returns what they are as float32."""
    both = vectors.half().float()
    clusters.low[0, :, : layout.d] = (both * -2.0).half()
    if layout.split:
        rest = (vectors - both).half().float()
        clusters.low[1, :, : layout.d] = (rest * -2.0).half()
        both = both + rest
    clusters.low_squares.copy_(both.double().square().sum(1))
    return both
