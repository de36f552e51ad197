"""Fig. 3(a, b): whether the methods differ by more than the variation between runs."""

from ksums.reproduce.data_sets import sift100k
from ksums.reproduce.experiment import Experiment
from ksums.reproduce.significance import claims, pictures, run, tables

EXPERIMENT = Experiment(
    name="significance",
    title="Significance test",
    where="Fig. 3a, b",
    about=(
        "Do the methods differ by more than the variation between runs? Each method runs many times with different "
        "seeds. Lines are medians, bands cover all runs."
    ),
    paper_data="SIFT100K, 100,000 × 128",
    methods=run.METHODS,
    data=sift100k,
    settings=run.settings,
    units=run.units,
    warm_up=run.warm_up,
    judge=claims.judge,
    pictures=pictures.pictures,
    tables=tables.tables,
    remarks=tables.remarks,
)
