"""``ksums.dask.KSums``: the estimator for Dask arrays and data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ksums.dask import tasks
from ksums.dask.blocks import DaskBlocks
from ksums.estimators import KSums as OneMachine
from ksums.estimators.sharded import ShardedData, fit_blocks
from ksums.planning.shards import rows_per_block


class KSums(OneMachine, in_files=False):
    """k-sums clustering of Dask arrays and data frames.

    The parameters are those of :class:`ksums.KSums`; the labels are those of ``ksums.KSums.fit`` for a list of arrays
    that are the partitions, whatever the number of workers, and whether workers were lost on the way or not.

    Examples
    --------
    >>> from dask.distributed import Client                                          # doctest: +SKIP
    >>> import dask.array
    >>> client = Client()                                                            # doctest: +SKIP
    >>> X = dask.array.random.normal(size=(10_000_000, 64), chunks=(500_000, 64))    # doctest: +SKIP
    >>> model = KSums(100, random_state=0).fit(X)                                    # doctest: +SKIP
    >>> model.labels_                                                                # doctest: +SKIP
    dask.array<..., shape=(10000000,), dtype=int32, chunksize=(500000,), chunktype=numpy.ndarray>
    """

    def fit(self, X, y=None, sample_weight=None, *, client=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : dask.array.Array of shape (n, d) or dask.dataframe.DataFrame
            Partitions of any lengths, also unknown or empty ones. Each is cut into blocks of at most 64 MiB.
        y : ignored
        sample_weight : dask.array.Array or array-like of shape (n,), default=None
        client : dask.distributed.Client, default=None
            None: the current client; if there is none, one for this machine is started and closed again.

        Returns
        -------
        self
            ``labels_`` is a lazy Dask array with the chunks of X; it lives on the workers.
        """
        partitions = _partitions(type(self).__name__, X)
        return fit_blocks(self, _OnWorkers(self, X, partitions, sample_weight, _client(client)))

    def predict(self, X, *, search="exact"):
        """Index of the nearest centre for each row, as a lazy Dask array."""
        return self._lazily(X, lambda block: OneMachine.predict(self, block, search=search), None, np.int32)

    def transform(self, X):
        """Distances (n, k) to the centres, as a lazy Dask array."""
        return self._lazily(X, lambda block: OneMachine.transform(self, block), len(self.cluster_centers_), None)

    def on_one_machine(self):
        """The same model as a :class:`ksums.KSums`, with its labels in memory. Files hold models in this form.

        Returns
        -------
        ksums.KSums
        """
        check_is_fitted(self)
        model = OneMachine(**self.get_params(deep=False))
        model.__dict__.update({**vars(self), "labels_": self.labels_.compute()})
        return model

    def _lazily(self, X: Any, function: Any, columns: int | None, dtype: Any) -> Any:
        """The function applied to each partition."""
        import dask

        partitions = _partitions(type(self).__name__, X)
        kind = np.dtype(self.cluster_centers_.dtype if dtype is None else dtype)
        more = () if columns is None else (columns,)
        lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(partitions)
        found = [dask.delayed(_applied)(function, part, kind, more) for part in partitions]
        return _array_of(found, lengths, more, kind)


def _applied(function: Any, part: Any, dtype: Any, more: tuple[int, ...]) -> np.ndarray:
    if len(part) == 0:
        return np.empty((0, *more), dtype)
    return function(part).astype(dtype, copy=False)


class _OnWorkers(ShardedData):
    """Data whose partitions are futures on a cluster."""

    def __init__(self, estimator: Any, X: Any, partitions: list[Any], sample_weight: Any, client: Any) -> None:
        self.client, self.name = client, type(estimator).__name__
        self.columns = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        weights = _weights_of(sample_weight, partitions, X, self.name)
        rows, weights = client.compute(partitions), client.compute(weights) if sample_weight is not None else weights
        self.parts = [
            client.submit(tasks.as_part, part, own, self.name, pure=False)
            for part, own in zip(rows, weights, strict=True)
        ]
        shapes = client.gather([client.submit(tasks.shape_of, part, pure=False) for part in self.parts])
        filled = [shape for shape in shapes if shape[0]]
        if not filled:
            raise ValueError(f"{self.name}: X has no rows.")
        self.lengths, self.d = [shape[0] for shape in shapes], filled[0][1]
        self.n, self.weighted = sum(self.lengths), sample_weight is not None
        self.dtype = np.dtype("float64" if any(shape[2] == "float64" for shape in filled) else "float32")

    def blocks(self, estimator: Any) -> DaskBlocks:
        return DaskBlocks(
            self.client,
            self.parts,
            self.lengths,
            self.d,
            rows_per_block(self.d, self.dtype.name),
            k=int(estimator.n_clusters),
            dtype=self.dtype.name,
            cosine=estimator.metric == "cosine",
            weighted=self.weighted,
            threads=estimator.n_threads,
            name=self.name,
        )

    def labels(self, found: Any) -> Any:
        """A lazy array of the futures of the labels of each part."""
        import dask

        return _array_of([dask.delayed(one) for one in found], self.lengths, (), np.dtype(np.int32))


def _array_of(parts: list[Any], lengths: Any, more: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A Dask array whose chunks are delayed objects; ``dask.array.concatenate`` would leave out the empty ones."""
    import dask.array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    name = f"ksums-{tokenize([part.key for part in parts])}"
    layer: dict[Any, Any] = {(name, at, *(0 for _ in more)): part.key for at, part in enumerate(parts)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=parts)
    chunks = (tuple(lengths), *((columns,) for columns in more))
    return dask.array.Array(graph, name, chunks, dtype=dtype)


def _client(client: Any) -> Any:
    if client is not None:
        return client
    from dask.distributed import get_client

    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "There is no Dask client: make one first, for example client = dask.distributed.Client(), or pass client=."
        ) from error


def _partitions(name: str, X: Any) -> list[Any]:
    """The partitions of a Dask array, whole rows each, or of a data frame, as delayed objects."""
    if hasattr(X, "npartitions") and hasattr(X, "to_delayed"):
        if not hasattr(X, "chunks"):
            return list(X.to_delayed())
        if X.ndim != 2:
            raise ValueError(f"{name}: X must have rows of numbers (n, d); got shape {X.shape}.")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return X.to_delayed().ravel().tolist()
    raise TypeError(
        f"{name}: X must be a Dask array or data frame; got {type(X).__name__}. Use ksums.KSums for other data, or "
        "dask.array.from_array."
    )


def _weights_of(sample_weight: Any, partitions: list[Any], X: Any, name: str) -> list[Any]:
    """The weights of each partition as delayed objects, or None."""
    if sample_weight is None:
        return [None] * len(partitions)
    import dask.array

    chunks = X.chunks[0] if hasattr(X, "chunks") else None
    if chunks is None or np.isnan(chunks).any():
        raise ValueError(f"{name}: sample_weight needs known chunk sizes; call X.compute_chunk_sizes() first.")
    weights = dask.array.asarray(sample_weight).astype(np.float64)
    if weights.shape != (X.shape[0],):
        raise ValueError(f"{name}: sample_weight must have shape ({X.shape[0]},); got {weights.shape}.")
    return weights.rechunk((chunks,)).to_delayed().ravel().tolist()
