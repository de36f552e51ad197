"""Tables about single methods: the paper's rules, size limits, splitting, one pass, the number of clusters."""

from __future__ import annotations

from readme_parts import markdown, results


def rules() -> list[str]:
    """Compare the rules of the paper with k-means."""
    found = results("rules")
    facts = found["results"]
    base = next(row for row in facts["rows"] if row["method"] == "scikit-learn Lloyd, k-means++")
    rows = [["method", "E_m", "relative to k-means++", "E_s", "time / k-means++", "memory added"]]
    rows += [
        [
            row["method"],
            f"{row['E_m']:.3f} ± {row['sd']:.3f}",
            f"{100 * (row['E_m'] / base['E_m'] - 1):+.2f} %",
            f"{row['E_s']:.0f}",
            f"{row['seconds'] / base['seconds']:.2f}",
            f"{row['added MB']:.0f} MB",
        ]
        for row in facts["rows"]
    ]
    title = (
        f"{facts['data']} ({facts['n']} × {facts['d']}), k = {facts['k']}, {facts['passes']} passes or iterations, "
        f"mean ± spread of three seeds, k-sums from random labels, {found['machine']['cores']} cores "
        "(`rules.py`):"
    )
    return [title, "", *markdown(rows)]


def limits() -> list[str]:
    """Compare fits with size limits to k-means-constrained and to fits without limits."""
    found = results("limits")["results"]
    rows = [
        ["data", "k", "limits", "E_m / constrained, mean (worst)", "time / constrained", "time / no limits", "memory"]
    ]
    rows += [
        [
            f"{row['data']} {row['n']} × {row['d']}",
            str(row["k"]),
            f"{row['limits']}: {row.get('size_min', '')} … {row.get('size_max', '')}",
            f"{row['E_m / constrained']:.4f} ({row['worst E_m / constrained']:.4f})",
            f"{row['s / constrained']:.2f}",
            f"{row['s / unlimited']:.1f}",
            f"{row['ksums']['MB']:.0f} MB",
        ]
        for row in found["fits"]
    ]
    exact = [["data", "k", "above the optimum", "time / Hungarian method"]]
    exact += [
        [f"{row['data']} {row['n']}", str(row["k"]), f"{row['above optimum']:.0e}", f"{row['s / slots']:.4f}"]
        for row in found["assignment"]
    ]
    growth = [["n", "limits", "time", "time / no limits", "E_m / no limits", "memory added"]]
    growth += [
        [
            f"{row['n']:,}",
            row["limits"],
            f"{row['s']:.1f} s",
            f"{row['s / unlimited']:.1f}",
            f"{row['E_m / unlimited']:.3f}",
            f"{row['MB']:.0f} MB",
        ]
        for row in found["growth"]
    ]
    return [
        "Relative to k-means-constrained, which makes ten starts up to 7,000 rows (three seeds) and one of at "
        "most 30 iterations above (one seed), and to KSums without limits (`limits.py`):",
        "",
        *markdown(rows),
        "",
        "The assignment to given centres (`assign`) beside the Hungarian method with one slot for each row:",
        "",
        *markdown(exact),
        "",
        "Growth with n (k = 100, d = 16, uneven blobs):",
        "",
        *markdown(growth),
    ]


def links() -> list[str]:
    """Compare links with COP-k-means."""
    rows = [
        [
            "random links",
            "ARI",
            "ARI of COP-k-means",
            "E_m",
            "E_m of COP-k-means",
            "its tries that fail",
            "time / COP-k-means",
        ]
    ]
    rows += [
        [
            str(row["links"]),
            f"{row['mean ksums ARI']:.3f}",
            "–" if row["mean cop ARI"] is None else f"{row['mean cop ARI']:.3f}",
            f"{row['mean ksums E_m']:.1f}",
            "–" if row["mean cop E_m"] is None else f"{row['mean cop E_m']:.1f}",
            f"{row['cop failed tries']} of {10 * len(row['ksums ARI'])}",
            f"{row['ksums s'] / row['cop s']:.3f}",
        ]
        for row in results("links")["results"]
    ]
    broken = sum(row["broken links"] for row in results("links")["results"])
    return [
        "Links between random rows of the digits, by their classes, five sets of links each (`links.py`). Links that "
        f"KSums broke: {broken}. COP-k-means has ten tries for each set, of which the best counts:",
        "",
        *markdown(rows),
    ]


def bisecting() -> list[str]:
    """Show how time grows with k for bisecting and flat methods."""
    found = results("bisecting")["results"]
    rows = [["method", "k", "time / default", "E_m / default", "E_s", "memory added"]]
    rows += [
        [
            row["method"],
            str(row["k"]),
            *(f"{row[name]:.2f}" for name in ("time / default",)),
            f"{row['E_m / default']:.3f}",
            f"{row['E_s']:.4g}",
            f"{row['added MB']:.0f} MB",
        ]
        for row in found["rows"]
    ]
    growth = [["method", "k", "time grows by", "log k grows by"]]
    growth += [[row["method"], row["k"], f"{row['time']:.2f}", f"{row['log k']:.2f}"] for row in found["growth"]]
    return [
        f"{found['data']} ({found['n']} × {found['d']}), float32, {found['seeds']} seeds (`bisecting.py`):",
        "",
        *markdown(growth),
        "",
        *markdown(rows),
    ]


def sequential() -> list[str]:
    """Compare methods that see each sample once."""
    found = results("sequential")["results"]
    rows = [["method", "E_m", "least … most", "E_s", "least … most", "time / Sequential k-means", "memory added"]]
    rows += [
        [
            row["method"],
            f"{row['E_m']:.5g} ± {row['E_m sd']:.2g}",
            f"{row['E_m least']:.5g} … {row['E_m most']:.5g}",
            f"{row['E_s']:.4g} ± {row['E_s sd']:.2g}",
            f"{row['E_s least']:.4g} … {row['E_s most']:.4g}",
            f"{row['time / Sequential k-means']:.2f}",
            f"{row['added MB']:.0f} MB",
        ]
        for row in found["rows"]
    ]
    return [
        f"{found['data']} ({found['n']} × {found['d']}), k = {found['k']}, {found['orders']} random orders, each "
        "sample seen once (`sequential.py`). Mini-batch labels are assigned at the end, when all centres are known; "
        "the others when the sample arrives:",
        "",
        *markdown(rows),
    ]


def choosing() -> list[str]:
    """Count how often each recipe finds the known number of clusters."""
    facts = results("choose_k")["results"]
    rows = [["recipe", "right", "off by at most one"]]
    names = {
        "choose_k": "`choose_k`: the largest k whose clusters are all stable",
        "silhouette": "the highest silhouette",
        "stability": "the highest silhouette among the most stable",
    }
    for recipe, words in names.items():
        errors = [abs(row[recipe] - row["true"]) for row in facts]
        rows.append([words, *(f"{sum(error <= limit for error in errors)} of {len(errors)}" for limit in (0, 1))])
    return [
        f"Sets whose number of clusters is known (`choose_k.py`; {min(row['seconds'] for row in facts):.1f} to "
        f"{max(row['seconds'] for row in facts):.1f} s for a range of k, at most "
        f"{max(row['added MB'] for row in facts):.0f} MB added):",
        "",
        *markdown(rows),
    ]
