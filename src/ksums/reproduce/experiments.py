"""The list of all experiments: the only place that names them.

To add an experiment, write a folder like ``significance/`` that makes an ``Experiment``, and add it to the list below.
"""

from __future__ import annotations

from ksums.reproduce import documents, large_scale, sequential, significance, steps
from ksums.reproduce.experiment import Experiment

_ALL: tuple[Experiment, ...] = (
    steps.EXPERIMENT,
    significance.EXPERIMENT,
    sequential.EXPERIMENT,
    large_scale.experiment("large_scale", samples_per_cluster=20),
    large_scale.experiment("large_scale_100", samples_per_cluster=100),
    documents.EXPERIMENT,
)

EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
"""Every experiment by its name, in the order of the paper."""
