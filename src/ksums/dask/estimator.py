"""``ksums.dask.KSums``: the estimator for Dask arrays and data frames, and for files that workers read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ksums.checking.parameters import check_parameters
from ksums.checking.sources import check_estimator
from ksums.dask import tasks
from ksums.dask.blocks import RemoteBlocks
from ksums.dask.compat import memory_of_workers
from ksums.estimators import KSums as OneMachine
from ksums.estimators.sharded import ShardedData, fit_blocks
from ksums.io.sources import Part as FilePart
from ksums.io.sources import is_source, open_source
from ksums.planning.shards import rows_per_block

_SHARE_OF_MEMORY = 0.6
"""Of the memory of the workers, rows may take this share: Dask begins to write to disk above it, and bounds, labels and
sums need room, too."""
_SHARE_FOR_BOUNDS = 0.15
"""Bounds may take this share of the memory of a worker."""


class KSums(OneMachine, in_files=False):
    """k-sums clustering on the workers of a Dask cluster: of Dask arrays and data frames, and of files.

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
        X : dask.array.Array of shape (n, d), dask.dataframe.DataFrame, or files
            Partitions of any lengths, also unknown or empty ones. Each is cut into blocks of at most 64 MiB. The rows
            are held by the workers, so they must fit into their memory together. Files need not: a pattern such as
            ``"vectors/*.parquet"``, a list of names or a source of :func:`ksums.io.open_source` is read block by block
            in each round, by workers that see the files under the same names.
        y : ignored
        sample_weight : dask.array.Array or array-like of shape (n,), default=None
        client : dask.distributed.Client, default=None
            None: the current client.

        Returns
        -------
        self
            ``labels_`` is a lazy Dask array with the chunks of X; it lives on the workers.
        """
        check_parameters(self)
        check_estimator(self)
        if self.max_memory is not None:
            raise ValueError(
                f"{type(self).__name__}: max_memory is for one machine; limit the memory of the workers, and leave "
                "max_memory=None."
            )
        data = _OnWorkers(self, _partitions(type(self).__name__, X), sample_weight, _client(client))
        return fit_blocks(self, data)

    def predict(self, X, *, search="exact"):
        """Index of the nearest centre for each row, as a lazy Dask array."""
        model = self._bare()
        return self._lazily(X, lambda block: model.predict(block, search=search), None, np.int32)

    def transform(self, X):
        """Distances (n, k) to the centres, as a lazy Dask array."""
        return self._lazily(X, self._bare().transform, len(self.cluster_centers_), None)

    def on_one_machine(self):
        """The same model as a :class:`ksums.KSums`, with its labels in memory. Files hold models in this form.

        Returns
        -------
        ksums.KSums
        """
        model = self._bare()
        model.labels_ = self.labels_.compute()
        return model

    def _bare(self) -> OneMachine:
        """The model without its labels, which workers can be sent."""
        check_is_fitted(self)
        model = OneMachine(**self.get_params(deep=False))
        model.__dict__.update({name: value for name, value in vars(self).items() if name != "labels_"})
        return model

    def _lazily(self, X: Any, function: Any, columns: int | None, dtype: Any) -> Any:
        """The function applied to each partition."""
        import dask

        given = _partitions(type(self).__name__, X)
        kind = np.dtype(self.cluster_centers_.dtype if dtype is None else dtype)
        more = () if columns is None else (columns,)
        found = [dask.delayed(_applied)(function, part, kind, more) for part in given.parts]
        lengths = [np.nan] * len(found) if given.lengths is None else given.lengths
        return _array_of(found, lengths, more, kind)


def _applied(function: Any, part: Any, dtype: Any, more: tuple[int, ...]) -> np.ndarray:
    if isinstance(part, FilePart):
        part = part.read(slice(0, part.rows))
    if len(part) == 0:
        return np.empty((0, *more), dtype)
    return function(part).astype(dtype, copy=False)


class _Partitions(NamedTuple):
    """Data in partitions, of whatever kind it is."""

    parts: list[Any]  # delayed objects, or parts of a source
    lengths: list[int] | None  # None: not known yet
    columns: list[str] | None
    in_files: bool
    bytes: int = 0  # as far as that is known


class _OnWorkers(ShardedData):
    """Data whose partitions are futures on a cluster."""

    def __init__(self, estimator: Any, given: _Partitions, sample_weight: Any, client: Any) -> None:
        self.client, self.name, self.columns = client, type(estimator).__name__, given.columns
        weights = _weights_of(sample_weight, given, self.name)
        own: list[Any] = [None] * len(given.parts) if weights is None else client.compute(weights)
        if given.in_files:
            self.parts = [
                client.submit(tasks.part_of_file, *one, pure=False) for one in zip(given.parts, own, strict=True)
            ]
            shapes = [tasks.shape_of(part) for part in given.parts]
        else:
            _check_memory(self.name, client, given.bytes)
            rows = client.compute(given.parts)
            self.parts = [
                client.submit(tasks.as_part, *one, self.name, pure=False) for one in zip(rows, own, strict=True)
            ]
            shapes = client.gather([client.submit(tasks.shape_of_part, part, pure=False) for part in self.parts])
        filled = [shape for shape in shapes if shape.rows]
        if not filled:
            raise ValueError(f"{self.name}: X has no rows.")
        self.lengths, self.d = [shape.rows for shape in shapes], filled[0].columns
        if (other := next((shape.columns for shape in filled if shape.columns != self.d), None)) is not None:
            raise ValueError(f"{self.name}: all partitions must have {self.d} columns, like the first; got {other}.")
        _check_memory(self.name, client, sum(shape.bytes for shape in shapes))
        self.n, self.weighted = sum(self.lengths), weights is not None
        self.dtype = np.dtype("float64" if any(shape.dtype == "float64" for shape in filled) else "float32")

    def blocks(self, estimator: Any) -> RemoteBlocks:
        parts, self.parts = self.parts, []  # the blocks let go of them as soon as they can
        return RemoteBlocks(
            self.client,
            parts,
            self.lengths,
            self.d,
            rows_per_block(self.d, self.dtype.name),
            k=int(estimator.n_clusters),
            dtype=self.dtype.name,
            cosine=estimator.metric == "cosine",
            weighted=self.weighted,
            threads=estimator.n_threads,
            name=self.name,
            with_digest=estimator.checkpoint is not None,
            room=_SHARE_FOR_BOUNDS * min(memory_of_workers(self.client)),
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


def _partitions(name: str, X: Any) -> _Partitions:
    """The partitions of a Dask array, whole rows each, of a data frame, or files."""
    if is_source(X) and not hasattr(X, "to_delayed"):
        source = open_source(X)
        return _Partitions(source.parts, [part.rows for part in source.parts], source.columns, True)
    if not (hasattr(X, "npartitions") and hasattr(X, "to_delayed")):
        raise TypeError(
            f"{name}: X must be a Dask array or data frame, or names of files; got {type(X).__name__}. Use ksums.KSums "
            "for other data, or dask.array.from_array."
        )
    if not hasattr(X, "chunks"):
        return _Partitions(list(X.to_delayed()), None, [str(column) for column in X.columns], False)
    if X.ndim != 2:
        raise ValueError(f"{name}: X must have rows of numbers (n, d); got shape {X.shape}.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    lengths = None if np.isnan(X.chunks[0]).any() else list(X.chunks[0])
    size = 0 if lengths is None else int(X.nbytes)
    return _Partitions(X.to_delayed().ravel().tolist(), lengths, None, False, size)


def _check_memory(name: str, client: Any, size: int) -> None:
    """Refuse rows that the workers cannot hold."""
    room = sum(memory_of_workers(client))
    if size > _SHARE_OF_MEMORY * room:
        raise MemoryError(
            f"{name}: X takes {size / 1e9:,.3g} GB, and the workers have {room / 1e9:,.3g} GB in all, of which rows "
            f"may take {_SHARE_OF_MEMORY:.0%}. Use more workers, or pass the names of files, which are read again in "
            "each round."
        )


def _weights_of(sample_weight: Any, given: _Partitions, name: str) -> list[Any] | None:
    """The weights of each partition as delayed objects."""
    if sample_weight is None:
        return None
    import dask.array

    if given.lengths is None:
        raise ValueError(f"{name}: sample_weight needs known chunk sizes; call X.compute_chunk_sizes() first.")
    weights, n = dask.array.asarray(sample_weight).astype(np.float64), sum(given.lengths)
    if weights.shape != (n,):
        raise ValueError(f"{name}: sample_weight must have shape ({n},); got {weights.shape}.")
    return weights.rechunk((tuple(given.lengths),)).to_delayed().ravel().tolist()
