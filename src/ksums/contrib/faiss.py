"""faiss quantisers trained by k-sums: IVF indexes, product quantisers, and a replacement for ``faiss.Kmeans``.

Requires faiss: ``pip install 'ksums[faiss]'``. All rows are used for training, unless you ask for a sample.

>>> import faiss                                                                              # doctest: +SKIP
>>> from ksums.contrib.faiss import train_ivf
>>> index = train_ivf(X, nlist=4096)                     # a trained, empty IndexIVFFlat        # doctest: +SKIP
>>> index.add(X)                                                                              # doctest: +SKIP
>>> train_ivf(X, index=faiss.index_factory(128, "IVF4096,PQ16"))  # any faiss IVF index        # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ksums.compute.tensors import as_numpy
from ksums.estimators import KSums

if TYPE_CHECKING:
    import faiss as faiss_module

_MANY_CENTROIDS = 128
"""Quantisers with at least this many centroids use lists of nearest clusters: training time matters most for them."""

_UNSUPPORTED = ("gpu", "int_centroids", "update_index", "decode_block_size")
"""Parameters of ``faiss.Kmeans`` without a counterpart here; ignoring them silently would surprise the user."""


def _faiss() -> Any:
    """The module faiss, which is optional."""
    try:
        import faiss
    except ImportError as error:
        raise ImportError("ksums.contrib.faiss requires faiss: pip install 'ksums[faiss]'.") from error
    return faiss


def _vectors(X: Any, d: int | None = None) -> np.ndarray:
    """X as faiss expects it: C-ordered float32."""
    X = np.ascontiguousarray(X, np.float32)
    if X.ndim != 2 or (d is not None and X.shape[1] != d):
        expected = f"(n, {d})" if d is not None else "(n, d)"
        raise ValueError(f"X must have shape {expected}; got shape {X.shape}.")
    return X


def _model(k: int, options: dict[str, Any]) -> KSums:
    """An unfitted model with these options; for many centroids the default engine is ``"neighbors"``."""
    return KSums(k, **{"engine": "neighbors" if k >= _MANY_CENTROIDS else "auto", **options})


def _centroids(model: KSums, unit: bool) -> np.ndarray:
    """Centroids as float32; if ``unit``, scaled to unit length, for search by inner product."""
    centroids: np.ndarray = as_numpy(model.cluster_centers_).astype(np.float32)
    if unit:
        lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
        centroids = centroids / np.where(lengths > 0, lengths, np.float32(1))
    return centroids


def _flat_index(centroids: np.ndarray, inner_product: bool) -> Any:
    """A faiss index that compares with all centroids."""
    faiss = _faiss()
    index = (faiss.IndexFlatIP if inner_product else faiss.IndexFlatL2)(centroids.shape[1])
    index.add(centroids)
    return index


class Kmeans:
    """A replacement for ``faiss.Kmeans``: the same methods and attributes, trained by :class:`ksums.KSums`.

    Parameters
    ----------
    d, k : int
        Number of dimensions and of centroids.
    niter : int, default=None
        Most passes; if None, ``effort`` decides. A pass does more than an iteration of faiss.
    nredo : int, default=1
        Number of runs; the best is kept.
    verbose : bool, default=False
    spherical : bool, default=False
        Whether centroids have unit length and are compared by inner product.
    seed : int, default=1234
    max_points_per_centroid : int, default=None
        If there are more rows than this for each centroid, a random sample of that size is used. None: all rows.
    effort : {"low", "default", "high"} or float, default="default"
        As in :class:`ksums.KSums`; a number is a time in seconds.
    **options
        Other parameters of :class:`ksums.KSums`.

    Attributes
    ----------
    centroids : ndarray of shape (k, d), float32
    obj : ndarray
        Sum of squared distances after each pass.
    iteration_stats : list of dict
        ``obj`` after each pass, and ``time`` in seconds since the start.
    index : faiss.IndexFlat
        A flat index of the centroids.
    model : ksums.KSums
        The fitted model.
    """

    def __init__(
        self,
        d: int,
        k: int,
        *,
        niter: int | None = None,
        nredo: int = 1,
        verbose: bool = False,
        spherical: bool = False,
        seed: int = 1234,
        max_points_per_centroid: int | None = None,
        effort: str | float = "default",
        **options: Any,
    ) -> None:
        for name in _UNSUPPORTED:
            if options.pop(name, None):
                raise ValueError(f"Kmeans: {name} is not supported; leave it out, or use faiss.Kmeans.")
        options.pop("min_points_per_centroid", None)  # only decides when faiss warns
        self.d, self.k, self.max_points_per_centroid = d, k, max_points_per_centroid
        self.spherical, self.seed = spherical, seed
        self.options = {
            "n_init": nredo,
            "metric": "cosine" if spherical else "l2",
            "random_state": seed,
            "verbose": int(verbose),
            "effort": effort,
            **options,
        }
        if niter is not None:
            self.options["max_iter"] = niter
        self.model = _model(k, self.options)  # refuses unknown parameters
        self.centroids: np.ndarray | None = None
        self.index: faiss_module.IndexFlat | None = None

    def train(self, x: Any, weights: Any = None, init_centroids: Any = None) -> float:
        """Find the centroids.

        Parameters
        ----------
        x : array-like of shape (n, d)
        weights : array-like of shape (n,), default=None
        init_centroids : array-like of shape (k, d), default=None
            Centroids to start from.

        Returns
        -------
        float
            Sum of squared distances of the rows to the means of their clusters; for spherical centroids, of the rows
            scaled to unit length.
        """
        x = _vectors(x, self.d)
        weights = None if weights is None else np.asarray(weights)
        if self.max_points_per_centroid is not None and len(x) > self.max_points_per_centroid * self.k:
            rng = np.random.default_rng(self.seed)
            sample = np.sort(rng.choice(len(x), self.max_points_per_centroid * self.k, replace=False))
            x, weights = x[sample], None if weights is None else weights[sample]
        options = self.options if init_centroids is None else {**self.options, "init": np.asarray(init_centroids)}
        model = self.model = _model(self.k, options).fit(x, sample_weight=weights)
        self.centroids = _centroids(model, unit=self.spherical)
        total = float(model.sizes_.sum())
        self.obj = np.array([record.distortion * total for record in model.history_])
        self.iteration_stats = [{"obj": r.distortion * total, "time": r.seconds} for r in model.history_]
        self.index = _flat_index(self.centroids, self.spherical)
        return float(model.inertia_)

    def assign(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest centroid of each row.

        Parameters
        ----------
        x : array-like of shape (n, d)

        Returns
        -------
        distances, nearest : ndarray of shape (n,)
            Squared distance to the nearest centroid, or inner product with it if spherical; and its index.
        """
        if self.index is None:
            raise ValueError("Kmeans: not trained yet; call train(x) first.")
        distances, nearest = self.index.search(_vectors(x, self.d), 1)
        return distances.ravel(), nearest.ravel()


def train_ivf(
    X: Any, nlist: int | None = None, *, index: Any = None, effort: str | float = "high", **options: Any
) -> Any:
    """Train an IVF index whose cells are k-sums clusters.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows to train with; all of them are used.
    nlist : int, default=None
        Number of cells; required unless ``index`` is given.
    index : faiss.IndexIVF, default=None
        An empty index to train, for example ``faiss.index_factory(d, "IVF4096,PQ16")``. Its coarse quantiser gets the
        centroids; faiss trains the rest, such as the codes of residuals. None: a new ``IndexIVFFlat``.
    effort : {"low", "default", "high"} or float, default="high"
        As in :class:`ksums.KSums`; a number is a time in seconds.
    **options
        Other parameters of :class:`ksums.KSums`. The default of ``engine`` is ``"neighbors"`` for 128 cells or more;
        that of ``metric`` is ``"cosine"`` for an index by inner product. faiss adds vectors to the cell of the nearest
        centroid, so size limits make cells more even, but are not met exactly.

    Returns
    -------
    faiss.IndexIVF
        The trained, empty index: ``index``, if it was given.
    """
    faiss = _faiss()
    X = _vectors(X)
    if index is None:
        if nlist is None:
            raise ValueError("train_ivf: give nlist, the number of cells, or index, a faiss index to train.")
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], nlist)
    if index.d != X.shape[1]:
        raise ValueError(f"train_ivf: the index has {index.d} dimensions; X has {X.shape[1]}.")
    if isinstance(faiss.downcast_index(index), faiss.IndexPreTransform):
        raise ValueError("train_ivf: an index behind a transform (OPQ, PCA) is not supported; transform X first.")
    ivf = faiss.try_extract_index_ivf(index)
    if ivf is None or not isinstance(faiss.downcast_index(ivf.quantizer), faiss.IndexFlat):
        raise ValueError(
            f"train_ivf: index must be a faiss IVF index with a flat coarse quantiser; got {type(index).__name__}. Use "
            'for example faiss.index_factory(d, "IVF4096,Flat").'
        )
    if nlist is not None and nlist != ivf.nlist:
        raise ValueError(f"train_ivf: nlist={nlist}, but the index has {ivf.nlist} cells; leave nlist out.")
    if index.ntotal:
        raise ValueError(f"train_ivf: the index already holds {index.ntotal} vectors; train it while it is empty.")
    if ivf.metric_type not in (faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT):
        raise ValueError("train_ivf: the metric of the index must be METRIC_L2 or METRIC_INNER_PRODUCT.")
    inner_product = ivf.metric_type == faiss.METRIC_INNER_PRODUCT
    model = _model(int(ivf.nlist), {"metric": "cosine" if inner_product else "l2", "effort": effort, **options}).fit(X)
    ivf.quantizer.reset()
    ivf.quantizer.add(_centroids(model, unit=model.metric == "cosine"))
    index.train(X)  # the coarse quantiser is trained already; this trains the rest
    return index


def train_pq(X: Any, m: int, nbits: int = 8, *, effort: str | float = "default", **options: Any) -> Any:
    """Train a product quantiser whose codebooks are k-sums centroids.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows to train with; all of them are used. To encode residuals, pass residuals.
    m : int
        Number of parts that a row is divided into; it must divide d.
    nbits : int, default=8
        Each codebook has 2^nbits centroids.
    effort : {"low", "default", "high"} or float, default="default"
        As in :class:`ksums.KSums`; a number is a time in seconds for each of the m codebooks.
    **options
        Other parameters of :class:`ksums.KSums`.

    Returns
    -------
    faiss.IndexPQ
        The trained, empty index. Its ``pq`` is a ``faiss.ProductQuantizer``, which other indexes can use.
    """
    faiss = _faiss()
    X = _vectors(X)
    d = X.shape[1]
    if m < 1 or d % m:
        raise ValueError(f"train_pq: m={m} does not divide the {d} dimensions of X; use a divisor of {d}.")
    if not 1 <= nbits <= 16:
        raise ValueError(f"train_pq: nbits must be from 1 to 16; got {nbits}.")
    if options.get("metric", "l2") != "l2":
        raise ValueError("train_pq: product quantisers use squared distances; leave metric out.")
    index = faiss.IndexPQ(d, m, nbits)
    parts = X.reshape(len(X), m, d // m)
    codebooks = [
        _model(1 << nbits, {"effort": effort, **options}).fit(np.ascontiguousarray(parts[:, at])).cluster_centers_
        for at in range(m)
    ]
    faiss.copy_array_to_vector(np.concatenate(codebooks).astype(np.float32).ravel(), index.pq.centroids)
    index.is_trained = True
    return index
