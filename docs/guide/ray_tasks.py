"""k-sums on Ray: the rounds and the labels are those of Dask, and of one machine."""

import numpy as np
import ray

from ksums import KSums
from ksums.dask import tasks
from ksums.dask.blocks import RemoteBlocks
from ksums.estimators.sharded import ShardedData, fit_blocks
from ksums.io import open_source
from ksums.planning.shards import rows_per_block


class RayTasks:
    """What blocks on workers ask of a client."""

    def submit(self, task, *arguments, **where):
        return ray.remote(task).remote(*arguments)

    def gather(self, futures):
        return ray.get(futures)

    def nthreads(self):
        return {f"CPU {number}": 1 for number in range(int(ray.cluster_resources()["CPU"]))}

    def run(self, function, *arguments, **more):
        pass  # only tells workers to forget bounds


class FilesOnRay(ShardedData):
    """Files that every node sees under the same names."""

    weighted = False

    def __init__(self, files):
        source, self.client = open_source(files), RayTasks()
        self.n, self.d, self.dtype, self.columns = source.n, source.d, source.dtype, source.columns
        self.lengths = [part.rows for part in source.parts]
        self.parts = [self.client.submit(tasks.part_of_file, part, None) for part in source.parts]

    def blocks(self, estimator):
        return RemoteBlocks(
            self.client, self.parts, self.lengths, self.d, rows_per_block(self.d, self.dtype.name),
            k=estimator.n_clusters, dtype=self.dtype.name, cosine=estimator.metric == "cosine", weighted=False,
            threads=1, name="KSums",
        )  # fmt: skip

    def labels(self, found):
        return np.concatenate(ray.get(found))


def fit_on_ray(estimator: KSums, files: str) -> KSums:
    """Fit a ``KSums`` to files, by Ray tasks."""
    return fit_blocks(estimator, FilesOnRay(files))
