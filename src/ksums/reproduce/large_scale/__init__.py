"""Figs. 4 and 5: several kinds of data, many clusters, 30 passes."""

from functools import partial

from ksums.reproduce.experiment import Experiment
from ksums.reproduce.large_scale import claims, pictures, run


def experiment(name: str, samples_per_cluster: int) -> Experiment:
    """The experiment with k chosen so that a cluster has this many samples on average.

    The paper's data has 100 to 500 samples per cluster. Ours is smaller, so we run it at two sizes: one close to the
    paper's k, and one close to the paper's samples per cluster.
    """
    return Experiment(
        name=name,
        title=f"Large scale, {samples_per_cluster} samples per cluster",
        where="Figs. 4, 5",
        about=(
            "Many clusters on several kinds of data: E_m after each pass (top) and over time (bottom). The paper has "
            f"100 to 500 samples per cluster, this run has {samples_per_cluster}."
        ),
        paper_data=(
            "SIFT1M, 1,000,000 × 128; GloVe1M, 1.1 million × 100; MSD, 0.99 million × 60; SUSY, 5 million × 19; "
            "with k = 10,000 these are 100, 110, 99 and 500 samples per cluster"
        ),
        methods=run.METHODS,
        data=run.data,
        settings=partial(run.settings, samples_per_cluster),
        units=partial(run.units, samples_per_cluster),
        warm_up=partial(run.warm_up, samples_per_cluster),
        judge=claims.judge,
        pictures=partial(pictures.pictures, name),
        remarks=claims.remarks,
    )
