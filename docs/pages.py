"""Write the two example reports that the guide links to, from the models of two gallery examples."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

from ksums.report import write_report

ROOT = Path(__file__).parents[1]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = runpy.run_path(str(ROOT / "examples" / "plot_instead_of_kmeans.py"))
    names = [f"image {i}, digit {digit}" for i, digit in enumerate(found["digits"])]
    pixels = [f"pixel {t // 8 + 1}, {t % 8 + 1}" for t in range(64)]
    write_report(folder / "digits.html", found["model"], found["X"], names=names, features=pixels, title="Digits")
    found = runpy.run_path(str(ROOT / "examples" / "plot_texts.py"))
    terms, title = found["counts"].get_feature_names_out(), "Docstrings of SciPy's functions"
    write_report(folder / "texts.html", found["model"], found["X"], names=found["names"], features=terms, title=title)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
