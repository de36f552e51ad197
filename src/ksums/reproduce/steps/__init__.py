"""Fig. 2: how single moves change E_m and E_s."""

from ksums.reproduce.data_sets import sift100k
from ksums.reproduce.experiment import Experiment
from ksums.reproduce.steps import claims, pictures, run

EXPERIMENT = Experiment(
    name="steps",
    title="Objectives step by step",
    where="Fig. 2",
    about=(
        "How does each single step change E_m and E_s? Both are measured after every sample of passes "
        f"{run.FIRST} to {run.LAST}."
    ),
    paper_data="SIFT100K, 100,000 × 128",  # Tab. 1 prints 10⁴ rows, which must be 10⁵.
    methods=tuple(run.RULES),
    data=sift100k,
    settings=run.settings,
    units=run.units,
    judge=claims.judge,
    pictures=pictures.pictures,
)
