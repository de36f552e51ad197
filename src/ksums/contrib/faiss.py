"""Quantisers for faiss from k-sums centroids: coarse quantisers of IVF indexes, product quantisers, ``faiss.Kmeans``.

Needs the extra ``ksums[faiss]``. Nothing is subsampled unless told so.

>>> import faiss                                                                              # doctest: +SKIP
>>> from ksums.contrib.faiss import train_ivf
>>> index = train_ivf(X, nlist=4096)                     # a trained IndexIVFFlat, empty        # doctest: +SKIP
>>> index.add(X)                                                                              # doctest: +SKIP
>>> train_ivf(X, index=faiss.index_factory(128, "IVF4096,PQ16"))  # any IVF index of faiss     # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ksums.estimators import KSums

if TYPE_CHECKING:
    import faiss as faiss_module

_MANY = 128  # centroids
_REFUSED = ("gpu", "int_centroids", "update_index", "decode_block_size")


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ImportError("ksums.contrib.faiss needs faiss: pip install 'ksums[faiss]'.") from error
    return faiss


def _vectors(X: Any, d: int | None = None) -> np.ndarray:
    X = np.ascontiguousarray(X, np.float32)
    if X.ndim != 2 or (d is not None and X.shape[1] != d):
        wanted = f"(n, {d})" if d is not None else "(n, d)"
        raise ValueError(f"X must be an array of shape {wanted}; got shape {X.shape}.")
    return X


def _model(k: int, options: dict[str, Any]) -> KSums:
    """Quantisers are wanted soon: lists of nearest clusters also where ``KSums`` by itself would look at all."""
    return KSums(k, **{"engine": "neighbors" if k >= _MANY else "auto", **options})


def _centroids(model: KSums, unit: bool) -> np.ndarray:
    """As faiss wants them; of unit length where cells are found by inner product."""
    centroids = model.cluster_centers_.astype(np.float32)
    if unit:
        lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
        centroids = centroids / np.where(lengths > 0, lengths, np.float32(1))
    return centroids


def _flat(centroids: np.ndarray, inner_product: bool) -> Any:
    faiss = _faiss()
    index = (faiss.IndexFlatIP if inner_product else faiss.IndexFlatL2)(centroids.shape[1])
    index.add(centroids)
    return index


class Kmeans:
    """Takes the place of ``faiss.Kmeans``: the same methods and attributes, trained by :class:`ksums.KSums`.

    Parameters
    ----------
    d, k : int
        Dimensions and number of centroids.
    niter : int, default=None
        Most passes; None: as many as ``effort`` asks for. Not comparable to iterations of faiss: a pass does more.
    nredo : int, default=1
        Runs, of which the best is kept.
    verbose : bool, default=False
    spherical : bool, default=False
        Centroids of unit length, nearest by inner product.
    seed : int, default=1234
    max_points_per_centroid : int, default=None
        With more rows than this for each centroid, as many are drawn. None: all rows are used.
    effort : {"low", "default", "high"} or float, default="default"
        See :class:`ksums.KSums`; a number is a time in seconds.
    **options
        Any other parameter of :class:`ksums.KSums`.

    Attributes
    ----------
    centroids : ndarray of shape (k, d), float32
    obj : ndarray
        Sum of squared distances after each pass.
    iteration_stats : list of dict
        ``obj`` and ``time`` of each pass, from the start.
    index : faiss.IndexFlat
        Of the centroids.
    model : KSums
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
        for name in _REFUSED:
            if options.pop(name, None):
                raise ValueError(f"Kmeans: {name} is not offered; leave it out, or take faiss.Kmeans.")
        options.pop("min_points_per_centroid", None)  # below which faiss would warn
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
        self.model = _model(k, self.options)  # names that it does not know are refused here
        self.centroids: np.ndarray | None = None
        self.index: faiss_module.IndexFlat | None = None

    def train(self, x: Any, weights: Any = None, init_centroids: Any = None) -> float:
        """Find the centroids; returns the sum of squared distances of the rows used to the means of their clusters
        (for spherical centroids: of the rows scaled to unit length)."""
        x = _vectors(x, self.d)
        weights = None if weights is None else np.asarray(weights)
        if self.max_points_per_centroid is not None and len(x) > self.max_points_per_centroid * self.k:
            rng = np.random.default_rng(self.seed)
            chosen = np.sort(rng.choice(len(x), self.max_points_per_centroid * self.k, replace=False))
            x, weights = x[chosen], None if weights is None else weights[chosen]
        options = self.options if init_centroids is None else {**self.options, "init": np.asarray(init_centroids)}
        model = self.model = _model(self.k, options).fit(x, sample_weight=weights)
        self.centroids = _centroids(model, unit=self.spherical)
        total = float(model.sizes_.sum())
        self.obj = np.array([record.distortion * total for record in model.history_])
        self.iteration_stats = [{"obj": r.distortion * total, "time": r.seconds} for r in model.history_]
        self.index = _flat(self.centroids, self.spherical)
        return float(model.inertia_)

    def assign(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Squared distance (or inner product) to the nearest centroid, and which it is, for each row."""
        if self.index is None:
            raise ValueError("Kmeans: should be trained before assigning; call train(x) first.")
        distances, nearest = self.index.search(_vectors(x, self.d), 1)
        return distances.ravel(), nearest.ravel()


def train_ivf(
    X: Any, nlist: int | None = None, *, index: Any = None, effort: str | float = "high", **options: Any
) -> Any:
    """A trained, empty IVF index whose cells are k-sums clusters.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows to train with: all of them are used.
    nlist : int
        Number of cells; not needed where an index is given.
    index : faiss.IndexIVF, default=None
        To be trained, for example ``faiss.index_factory(d, "IVF4096,PQ16")``: its coarse quantiser gets the centroids,
        and what else it has (codes of residuals) is trained by faiss. None: a new ``IndexIVFFlat``.
    effort : {"low", "default", "high"} or float, default="high"
        See :class:`ksums.KSums`; as a number, seconds.
    **options
        Other parameters of :class:`ksums.KSums`. From 128 cells on ``engine`` is ``"neighbors"`` unless given, and for
        an index by inner product ``metric`` is ``"cosine"``. Vectors go to the cell of the nearest centroid: size
        limits make cells more even, but are not kept to the letter.

    Returns
    -------
    faiss.IndexIVF
        The same index, if one was given.
    """
    faiss = _faiss()
    X = _vectors(X)
    if index is None:
        if nlist is None:
            raise ValueError("train_ivf: give nlist, the number of cells, or an index of faiss to be trained.")
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], nlist)
    if index.d != X.shape[1]:
        raise ValueError(f"train_ivf: the index is for {index.d} dimensions; X has {X.shape[1]}.")
    if isinstance(faiss.downcast_index(index), faiss.IndexPreTransform):
        raise ValueError("train_ivf: an index behind a transform (OPQ, PCA) is not offered; transform X first.")
    ivf = faiss.try_extract_index_ivf(index)
    if ivf is None or not isinstance(faiss.downcast_index(ivf.quantizer), faiss.IndexFlat):
        raise ValueError(
            f"train_ivf: index must be an IVF index of faiss with a flat coarse quantiser; got {type(index).__name__}. "
            'Take faiss.index_factory(d, "IVF4096,Flat") or the like.'
        )
    if nlist is not None and nlist != ivf.nlist:
        raise ValueError(f"train_ivf: nlist={nlist}, but the index has {ivf.nlist} cells; leave nlist out.")
    if index.ntotal:
        raise ValueError(f"train_ivf: the index holds {index.ntotal} vectors already; train it while it is empty.")
    if ivf.metric_type not in (faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT):
        raise ValueError("train_ivf: the index must be by METRIC_L2 or METRIC_INNER_PRODUCT.")
    inner_product = ivf.metric_type == faiss.METRIC_INNER_PRODUCT
    model = _model(int(ivf.nlist), {"metric": "cosine" if inner_product else "l2", "effort": effort, **options}).fit(X)
    ivf.quantizer.reset()
    ivf.quantizer.add(_centroids(model, unit=model.metric == "cosine"))
    index.train(X)  # finds the quantiser trained, and trains the rest
    return index


def train_pq(X: Any, m: int, nbits: int = 8, *, effort: str | float = "default", **options: Any) -> Any:
    """A trained, empty product quantiser whose codebooks are k-sums centroids.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows to train with: all of them are used. For codes of residuals, pass residuals.
    m : int
        Number of parts that a row is divided into; d must be a multiple of it.
    nbits : int, default=8
        A codebook has 2^nbits centroids.
    effort : {"low", "default", "high"} or float, default="default"
        See :class:`ksums.KSums`; as a number, seconds for each of the m codebooks.
    **options
        Other parameters of :class:`ksums.KSums`.

    Returns
    -------
    faiss.IndexPQ
        Its ``pq`` is the ``faiss.ProductQuantizer``, which other indexes can take over.
    """
    faiss = _faiss()
    X = _vectors(X)
    d = X.shape[1]
    if m < 1 or d % m:
        raise ValueError(f"train_pq: m={m} does not divide the {d} dimensions of X; take a divisor of {d}.")
    if not 1 <= nbits <= 16:
        raise ValueError(f"train_pq: nbits must be 1 … 16; got {nbits}.")
    if options.get("metric", "l2") != "l2":
        raise ValueError("train_pq: codes are by squared distance; leave metric out.")
    index = faiss.IndexPQ(d, m, nbits)
    parts = X.reshape(len(X), m, d // m)
    books = [
        _model(1 << nbits, {"effort": effort, **options}).fit(np.ascontiguousarray(parts[:, at])).cluster_centers_
        for at in range(m)
    ]
    faiss.copy_array_to_vector(np.concatenate(books).astype(np.float32).ravel(), index.pq.centroids)
    index.is_trained = True
    return index
