"""The report page: its facts are true, it loads nothing, and it works in a browser."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ksums import METHODS, BisectingKSums, KSums, SequentialKSums, load
from ksums.report import describe, show_report, write_report


@pytest.fixture
def model(blobs):
    return KSums(5, random_state=0).fit(blobs)


def test_the_facts_about_a_cluster_are_true(blobs, model):
    found = describe(model, blobs)
    assert (found.n, found.d, found.left_out) == (300, 6, 0)
    for cluster in found.clusters:
        members = np.flatnonzero(model.labels_ == cluster.index)
        centre = blobs[members].mean(axis=0)
        distances = np.linalg.norm(blobs[members] - centre, axis=1)
        order = members[np.argsort(distances)]
        assert cluster.size == len(members)
        assert cluster.spread == pytest.approx(np.sqrt(np.mean(distances**2)))
        assert cluster.central == order[:3].tolist()
        assert cluster.distant == order[::-1][:3].tolist()
        between = np.linalg.norm(model.cluster_centers_ - centre, axis=1)
        assert [r for r, _ in cluster.nearest] == np.argsort(between)[1:4].tolist()
        scaled = (centre - blobs.mean(axis=0)) / blobs.std(axis=0)
        words = dict(cluster.words)
        assert words[f"column {np.argmax(np.abs(scaled))}"] == pytest.approx(scaled[np.argmax(np.abs(scaled))])


def test_special_terms_of_texts(rng):
    counts = np.zeros((40, 6))
    counts[:20, :3], counts[20:, 3:] = rng.integers(1, 5, (20, 3)), rng.integers(1, 5, (20, 3))
    X = sparse.csr_array(counts)
    model = KSums(2, metric="cosine", random_state=0).fit(X)
    found = describe(model, X, features=["apple", "pear", "plum", "car", "bus", "tram"])
    special = [{word for word, _ in cluster.words} for cluster in found.clusters]
    assert {frozenset(words) for words in special} == {
        frozenset({"apple", "pear", "plum"}),
        frozenset({"car", "bus", "tram"}),
    }


@pytest.mark.parametrize("kind", [BisectingKSums, SequentialKSums])
def test_all_models_have_a_page(tmp_path, blobs, kind):
    write_report(tmp_path / "a.html", kind(5).fit(blobs), blobs)
    assert (tmp_path / "a.html").read_text().count("<tr data-cluster") == 5


def test_bad_use_is_reported_and_nothing_is_written(tmp_path, blobs, model):
    with pytest.raises(ValueError, match="the model was fitted to 300 rows and 6 columns; X has 10 rows and 6 columns"):
        write_report(tmp_path / "a.html", model, blobs[:10])
    with pytest.raises(ValueError, match="names must name all 300 rows; got 2 names"):
        write_report(tmp_path / "a.html", model, blobs, names=["a", "b"])
    with pytest.raises(ValueError, match="features must name all 6 columns; got 1 names"):
        write_report(tmp_path / "a.html", model, blobs, features=["a"])
    with pytest.raises(ValueError, match="not fitted"):
        write_report(tmp_path / "a.html", KSums(5), blobs)
    assert list(tmp_path.iterdir()) == []


class Loads(HTMLParser):
    """Collects the addresses that a page would load."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href", "srcset")]


def test_the_page_loads_nothing_and_escapes_names(tmp_path, blobs, model):
    names = [f"</script><!--<script><b>row & {i}" for i in range(300)]
    features = [f"<img src=x> {t}" for t in range(6)]
    write_report(tmp_path / "a.html", model, blobs, names=names, features=features, title="<i>a</i>")
    text = (tmp_path / "a.html").read_text("utf-8")
    page = Loads()
    page.feed(text)
    assert page.found == []
    assert not re.search(r"https?://", text)
    assert "<b>row" not in text
    assert "<img" not in text
    assert "&lt;i&gt;a&lt;/i&gt;" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    assert data["name"] == names
    assert data["label"] == model.labels_.tolist()
    assert (min(data["x"]), max(data["x"]), min(data["y"])) == (0, 10_000, 0)


def test_the_map_has_the_same_scale_in_both_directions(rng):
    X = rng.standard_normal((200, 2)) * [30, 1]
    page = show_report(KSums(2, random_state=0).fit(X), X)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.S).group(1))
    assert max(data["x"]) == 10_000
    assert 0 < max(data["y"]) < 1_000
    assert page.description.shares[0] > 0.99


def test_other_data_is_refused(rng, blobs, model):
    for X in (blobs + 1, rng.permutation(blobs), blobs * 1.1):
        with pytest.raises(ValueError, match="these are not the rows that the model was fitted to"):
            describe(model, X)
    describe(model, blobs.astype(np.float32))
    weighted = KSums(5, random_state=0).fit(blobs, sample_weight=rng.random(300))
    assert describe(weighted, blobs).n == 300


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_the_paper_have_a_page(blobs, name):
    metric = METHODS[name].metrics[0]
    assert len(describe(METHODS[name](5, metric, 0).fit(blobs), blobs).clusters) == 5


def test_rows_may_be_a_data_frame_a_list_or_any_sparse_matrix(blobs, model):
    pd = pytest.importorskip("pandas")
    expected = describe(model, blobs)
    kinds = (
        pd.DataFrame(blobs),
        blobs.tolist(),
        sparse.csc_array(blobs),
        sparse.coo_array(blobs),
        np.asfortranarray(blobs),
    )
    for X in kinds:
        found = describe(model, X)
        assert [cluster.central for cluster in found.clusters] == [cluster.central for cluster in expected.clusters]


@pytest.mark.parametrize(
    "X", [np.ones((1, 3)), np.ones((4, 3)), np.arange(4.0)[:, None], sparse.csr_array(np.eye(3)[:, :1])]
)
def test_tiny_data_has_a_page(X):
    assert "<svg" in show_report(KSums(1, random_state=0).fit(X), X).html


def test_a_notebook_displays_the_page_in_a_frame(blobs, model):
    page = show_report(model, blobs, title='a "title"')
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    srcdoc = frame.split('srcdoc="')[1].split('"')[0]
    assert html.unescape(srcdoc) == page.html
    assert repr(page) == "<Page: 5 clusters, 300 rows>"


def test_means_are_in_the_units_of_the_data(blobs):
    X = blobs * [1, 10, 100, 1, 1, 1]
    pipeline = make_pipeline(StandardScaler(), KSums(5, random_state=0)).fit(X)
    page = show_report(pipeline, X, features=list("abcdef"))
    expected = [X[pipeline[-1].labels_ == r].mean(axis=0) for r in range(5)]
    np.testing.assert_allclose(page.description.means, expected)
    np.testing.assert_allclose(page.description.overall, X.mean(axis=0))
    assert f"<td class=number>{expected[0][2]:,.4g}</td>" in page.html
    assert "Columns were scaled" in page.html
    cosine = KSums(5, metric="cosine", random_state=0).fit(X)
    assert describe(cosine, X).means is None
    assert "<h2>Means</h2>" not in show_report(cosine, X).html


def test_rows_of_zeros_are_not_listed(blobs):
    X = np.vstack([np.zeros((4, 6)), blobs])
    with pytest.warns(UserWarning, match="4 rows"):
        model = KSums(5, metric="cosine", random_state=0).fit(X)
    page = show_report(model, X)
    assert page.description.without_direction == 4
    assert all(row >= 4 for cluster in page.description.clusters for row in cluster.central + cluster.distant)
    assert "4 rows of zeros have no direction and are not listed" in page.html


def test_weights_are_mentioned(blobs, rng):
    model = KSums(5, random_state=0).fit(blobs, sample_weight=rng.random(300))
    assert "Sizes are sums of weights" in show_report(model, blobs).html
    weights = rng.permutation([0.5, 1.5] * 150)  # Their mean is 1.
    page = show_report(KSums(5, random_state=0).fit(blobs, sample_weight=weights), blobs)
    assert page.description.weighted
    np.testing.assert_allclose(page.description.overall, np.average(blobs, axis=0, weights=weights))
    assert not describe(KSums(5, random_state=0).fit(blobs), blobs).weighted


def test_the_page_lists_the_parameters(blobs):
    text = show_report(
        KSums(5, objective="pairwise", init=blobs[:5], max_iter=1, random_state=3).fit(blobs), blobs
    ).html
    assert "init=array of shape (5, 6), max_iter=1, objective=&#x27;pairwise&#x27;" in text


@pytest.mark.parametrize("kind", [KSums, BisectingKSums])
def test_the_page_shows_the_plan(tmp_path, blobs, kind):
    model = kind(5, random_state=0).fit(blobs)
    expected = f"<dt>plan</dt><dd>{html.escape(model.plan_.summary)}</dd>"
    assert show_report(model, blobs).html.count(expected) == 1
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert expected in show_report(loaded, blobs).html
    del loaded.plan_  # Files of older versions have no plan.
    assert "<dt>plan</dt>" not in show_report(loaded, blobs).html


def test_a_page_without_a_plan(blobs):
    page = show_report(SequentialKSums(5, random_state=0).fit(blobs), blobs)
    assert "<dt>plan</dt>" not in page.html
    assert "<dt>converged</dt>" not in page.html


def nearest(model, X):
    return np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2).argmin(axis=1)


def entry(page):
    """What the page says about constraints."""
    return html.unescape(re.search(r"<dt>constraints</dt><dd>(.*?)</dd>", page.html).group(1))


def columns_of(page):
    return re.findall(r'<th scope="col"><button type="button">(.*?)</button>', page.html)


def test_limits_and_displaced_rows_are_on_the_page(tmp_path, blobs):
    model = KSums(4, size_min=20, size_max=[50, 80, 90.5, np.inf], random_state=0).fit(blobs)
    model.save(tmp_path / "model")
    expected = np.bincount(model.labels_[nearest(model, blobs) != model.labels_], minlength=4)
    assert expected.sum() > 0
    for each in (model, load(tmp_path / "model")):
        page = show_report(each, blobs)
        found = page.description.constraints
        assert found.low.tolist() == [20] * 4
        assert found.high.tolist() == [50, 80, 90, np.inf]  # sizes are whole numbers
        assert found.rows.tolist() == model.sizes_.tolist()
        assert found.displaced.tolist() == expected.tolist()
        assert entry(page) == (
            "Clusters have different limits on their sizes, which the table lists. "
            f"{expected.sum()} of 300 rows ({expected.sum() / 300:.1%}) are displaced: another cluster's centre is "
            "nearer."
        )
        assert columns_of(page)[:4] == ["cluster", "size", "limits", "displaced"]
        rows = re.findall(r"<tr data-cluster.*?</tr>", page.html)
        assert all(row.count("<td") == len(columns_of(page)) for row in rows)
        for row, words in zip(rows, ("20 to 50", "20 to 80", "20 to 90", "at least 20"), strict=True):
            assert f">{words}</td>" in row
        for row, count, size in zip(rows, expected, model.sizes_, strict=True):
            assert f'data-value="{count}">{count} ({count / size:.1%})</td>' in row


@pytest.mark.parametrize(
    ("parameters", "arguments", "words"),
    [
        ({"size_max": "balanced"}, {}, "The size of each cluster must be exactly 75."),
        ({"size_min": 50, "size_max": 100}, {}, "The size of each cluster must be 50 to 100."),
        ({"size_min": [70] * 4}, {}, "The size of each cluster must be at least 70."),
        ({"size_min": 0}, {}, "The limits allow any size."),
        ({"size_max": 80.5}, {}, "The size of each cluster must be at most 80."),
        ({"size_max": 80.5}, {"sample_weight": [1.0, 0.5] * 150}, "The size of each cluster must be at most 80.5."),
        (
            {"size_max": "balanced"},
            {"sample_weight": [0.5, 1.5] * 150},
            "Sizes must be as close to their mean as the heaviest row allows.",
        ),
        (
            {"size_max": 120},
            {"cannot_link": [[0, 1]], "fixed_labels": [-1] * 299 + [2]},
            "The size of each cluster must be at most 120. Some pairs of rows must not share a cluster. Some rows must "
            "stay in given clusters.",
        ),
        ({"objective": "pairwise"}, {"must_link": [[0, 100]]}, "Some rows must share a cluster."),
        ({"fixed_centers": [[0.0] * 6]}, {}, "The centre of cluster 0 was given and does not move."),
        ({"fixed_centers": np.eye(6)[:3]}, {}, "The centres of clusters 0 to 2 were given and do not move."),
    ],
)
def test_constraints_in_words(blobs, parameters, arguments, words):
    model = KSums(4, random_state=0, **parameters).fit(blobs, **arguments)
    page = show_report(model, blobs)
    displaced = np.count_nonzero(nearest(model, blobs) != model.labels_)
    assert page.description.constraints.displaced.sum() == displaced
    assert entry(page).startswith(f"{words} {displaced or 'No'} ")
    assert columns_of(page)[:3] == ["cluster", "size", "displaced"]


def test_the_pairwise_objective_displaces_rows_by_itself(blobs):
    page = show_report(KSums(4, objective="pairwise", size_max="balanced", random_state=0).fit(blobs), blobs)
    assert entry(page).endswith("The objective E_s displaces rows without constraints, too.")


def test_a_page_without_constraints(blobs, model):
    page = show_report(model, blobs)
    assert page.description.constraints is None
    assert "constraints" not in page.html
    assert columns_of(page)[:3] == ["cluster", "size", "spread"]


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_distances_to_given_centres(tmp_path, blobs, metric):
    given = blobs[[0, 100]] + 1
    model = KSums(5, metric=metric, fixed_centers=given, random_state=0).fit(blobs)
    model.save(tmp_path / "model")
    rows = blobs if metric == "l2" else blobs / np.linalg.norm(blobs, axis=1, keepdims=True)
    centre = given[1] if metric == "l2" else given[1] / np.linalg.norm(given[1])
    own = np.linalg.norm(rows[model.labels_ == 1] - centre, axis=1)
    for each in (model, load(tmp_path / "model")):
        found = describe(each, blobs)
        assert found.clusters[1].spread == pytest.approx(np.sqrt(np.mean(own**2)))
        if metric == "l2":
            np.testing.assert_allclose(found.means[1], blobs[model.labels_ == 1].mean(axis=0))
    with pytest.raises(ValueError, match="these are not the rows that the model was fitted to"):
        describe(model, blobs[::-1])


def test_constraints_of_models_with_names_and_with_scaling(blobs):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs * [1, 10, 100, 1, 1, 1], columns=list("abcdef"))
    model = KSums(4, size_max="balanced", random_state=0)
    for each in (model, make_pipeline(StandardScaler(), model)):
        displaced = describe(each.fit(frame), frame).constraints.displaced
        assert displaced.sum() == np.count_nonzero(each.predict(frame) != model.labels_) > 0


def test_limits_in_files_of_older_versions(blobs):
    model = KSums(4, size_max="balanced", random_state=0).fit(blobs)
    expected = entry(show_report(model, blobs))
    del model.plan_
    assert entry(show_report(model, blobs)) == expected


def test_the_curve_marks_where_constraints_begin(blobs, model):
    limited = KSums(4, size_max="balanced", random_state=0).fit(blobs)
    first = [record.stage for record in limited.history_].index("assign")
    text = show_report(limited, blobs).html
    points = re.search(r'<polyline class="line" points="(.*?)"', text).group(1).split()
    x = points[first].split(",")[0]
    assert f'<line class="mark" x1="{x}" y1="6" x2="{x}"' in text
    assert f"the constraints begin at step {first + 1}" in text
    assert '<line class="mark"' not in show_report(model, blobs).html


def test_large_data_is_sampled_and_the_page_says_so(tmp_path, rng):
    X = rng.random((9_000, 3)).astype(np.float32)
    found = write_report(tmp_path / "a.html", KSums(600, max_iter=2, random_state=0).fit(X), X)
    text = (tmp_path / "a.html").read_text("utf-8")
    assert len(found.point_rows) == 6_000
    assert "A random sample of 6,000 of 9,000 rows." in text
    assert (len(found.clusters), found.left_out) == (500, 100)
    assert "The 100 smallest clusters are not shown." in text
    assert len(text) < 1_000_000


DRIVER = """
const run = () => {
  const out = {errors: window.__errors};
  const table = document.getElementById("clusters"), size = table.querySelectorAll("th button")[1];
  const sizes = () => [...table.tBodies[0].rows].map(row => +row.cells[1].dataset.value);
  size.click(); out.down = sizes(); size.click(); out.up = sizes();
  const canvas = document.querySelector("canvas"), tooltip = document.getElementById("tooltip");
  const box = canvas.getBoundingClientRect();
  for (let y = box.top; y < box.bottom && tooltip.style.display !== "block"; y += 8)
    for (let x = box.left; x < box.right && tooltip.style.display !== "block"; x += 8)
      canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: y}));
  out.tooltip = tooltip.textContent;
  table.querySelector(".select").click(); out.selected = document.querySelectorAll("tr.selected").length;
  out.pressed = document.querySelectorAll('[aria-pressed="true"]').length;
  const result = document.createElement("pre"); result.id = "result"; result.textContent = JSON.stringify(out);
  document.body.append(result);
};
window.addEventListener("load", run);
"""
"""This script uses the page as a reader does and writes what it sees into the page."""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not on this machine")
def test_hovering_sorting_and_selecting_in_a_browser(tmp_path, blobs, model):
    path = tmp_path / "a.html"
    write_report(path, model, blobs, names=[f"name {i}<!--<script>" for i in range(300)])
    watch = "<script>window.__errors = []; window.onerror = message => window.__errors.push(message);</script>"
    text = (
        path.read_text("utf-8")
        .replace("<main>", watch + "<main>")
        .replace("</body>", f"<script>{DRIVER}</script></body>")
    )
    path.write_text(text, "utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,1400", "--dump-dom"]
    shown = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    out = json.loads(html.unescape(re.search(r'<pre id="result">(.*?)</pre>', shown, re.S).group(1)))
    sizes = sorted(np.bincount(model.labels_).tolist())
    assert out["errors"] == []
    assert out["up"] == sizes
    assert out["down"] == sizes[::-1]
    assert re.fullmatch(r"row \d+, cluster \d: name \d+<!--<script>", out["tooltip"])
    assert (out["selected"], out["pressed"]) == (1, 1)
