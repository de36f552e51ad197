"""Tab. 2(a, b): how well the clusters of documents match their classes."""

from ksums.reproduce.documents import claims, pictures, run, tables
from ksums.reproduce.experiment import Experiment

EXPERIMENT = Experiment(
    name="documents",
    title="Document clustering",
    where="Tab. 2",
    about=(
        "How well do the clusters match the known classes of the documents? The measure is the entropy, and 0 is best. "
        "The picture shows its mean over k = 5, 10, 15, 20 and over all document sets."
    ),
    paper_data="UMD: 15 sets of 878 to 9,558 × 2,880 to 36,306",
    methods=run.METHODS,
    data=run.data,
    settings=run.settings,
    units=run.units,
    warm_up=run.warm_up,
    parallel=True,
    judge=claims.judge,
    pictures=pictures.pictures,
    tables=tables.tables,
    remarks=tables.remarks,
)
