"""Fig. 3(c, d): methods that see every sample once."""

from ksums.reproduce.data_sets import sift100k
from ksums.reproduce.experiment import Experiment
from ksums.reproduce.sequential import claims, pictures, run

EXPERIMENT = Experiment(
    name="sequential",
    title="Sequential clustering",
    where="Fig. 3c, d",
    about=(
        "Each method sees every sample once, in random order. E_m and E_s cover the samples that have arrived. "
        "Lines are medians, bands cover all orders."
    ),
    paper_data="SIFT100K, 100,000 × 128",
    methods=run.METHODS,
    data=sift100k,
    settings=run.settings,
    units=run.units,
    warm_up=run.warm_up,
    judge=claims.judge,
    pictures=pictures.pictures,
)
