"""``ksums reproduce``: results that outlive a kill, verdicts that follow from them, the page."""

import json
import signal
import time
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers import ksums

from ksums import __version__
from ksums.datasets import Dataset
from ksums.reproduce import run as runs_of_all
from ksums.reproduce import steps
from ksums.reproduce.claims import HOLDS, IN_PART, NOT, claims
from ksums.reproduce.experiment import Size, identity
from ksums.reproduce.measured import Runs, comparable, number, spread
from ksums.reproduce.paper import ENTROPY, KS
from ksums.reproduce.run import EXPERIMENTS, results, run
from ksums.reproduce.store import Store, read
from ksums.reproduce.tables import entropies

SETTINGS = {"k": 3}
DATA = [{"name": "a", "n": 4, "d": 2, "digest": "x"}]


# ------------------------------------------------------------------------------------------ store
def test_results_are_kept_one_by_one(tmp_path):
    path = tmp_path / "new" / "a.json"
    store = Store(path, SETTINGS, DATA)
    store.add("one|0", {"E_m": [1 / 3]})
    assert Store(path, SETTINGS, DATA).units == {"one|0": {"E_m": [0.33333333]}}
    assert [machine["ksums"] for machine in read(path)["machines"]] == [__version__]


def test_results_of_other_data_or_settings_are_not_mixed(tmp_path):
    path = tmp_path / "a.json"
    Store(path, SETTINGS, DATA).add("one|0", {})
    with pytest.raises(ValueError, match=r"other settings or other data.*--out"):
        Store(path, {"k": 4}, DATA)
    with pytest.raises(ValueError, match="other settings or other data"):
        Store(path, SETTINGS, [{**DATA[0], "digest": "y"}])


@pytest.mark.parametrize(("text", "words"), [('{"sett', "is damaged"), ("[1]", "is no file of results")])
def test_a_damaged_file_of_results_is_said(tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=words):
        Store(tmp_path / "a.json", SETTINGS, DATA)


def test_data_is_known_by_its_values(rng):
    X = rng.random((5, 3))
    assert identity(Dataset("a", X)) == identity(Dataset("a", X.copy()))
    assert identity(Dataset("a", X)) != identity(Dataset("a", X + 1))


# ------------------------------------------------------------------------------------------ going on
class Counting:
    """An experiment that stops when it is told to, for the tests."""

    name, title, at_once, methods = "significance", "Counting", False, ("m",)
    done: list
    stop_after = 99

    def data(self, size):
        return [Dataset("a", np.ones((4, 2)))]

    def settings(self, size):
        return SETTINGS

    def warm_up(self, size, data):
        pass

    def units(self, size, data):
        for seed in range(size.runs):
            yield f"m|{seed}", partial(self.work, seed)

    def work(self, seed):
        if len(self.done) >= self.stop_after:
            raise KeyboardInterrupt
        self.done.append(seed)
        return {"E_m": [float(np.random.default_rng(seed).random())]}


@pytest.mark.parametrize("at_once", [False, True])
def test_only_what_is_missing_is_done(tmp_path, monkeypatch, at_once):
    experiment = Counting()
    experiment.done, experiment.at_once = [], at_once
    monkeypatch.setitem(runs_of_all.EXPERIMENTS, "significance", experiment)
    run(tmp_path / "whole", Size(runs=5), ["significance"], lambda words: None)
    experiment.done, experiment.stop_after = [], 2
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", Size(runs=5), ["significance"], lambda words: None)
    kept = read(tmp_path / "cut" / "results" / "significance.json")["units"] if not at_once else kept_in(tmp_path)
    assert at_once or set(kept) == {"m|0", "m|1"}
    experiment.done, experiment.stop_after = [], 99
    run(tmp_path / "cut", Size(runs=5), ["significance"], lambda words: None)
    assert {f"m|{seed}" for seed in experiment.done} == {f"m|{seed}" for seed in range(5)} - set(kept)
    assert results(tmp_path / "cut") == results(tmp_path / "whole")
    experiment.done = []
    run(tmp_path / "cut", Size(runs=7), ["significance"], lambda words: None)
    assert sorted(experiment.done) == [5, 6]


def test_all_missing_data_is_named_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"(?s)steps: SIFT.*large_scale: SIFT.*documents: The document set"):
        run(tmp_path / "out", Size(data_home=tmp_path), EXPERIMENTS, lambda words: None)
    assert not (tmp_path / "out").exists()


def kept_in(folder):
    path = folder / "cut" / "results" / "significance.json"
    return read(path)["units"] if path.exists() else {}


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(part) for key, part in value.items() if key not in ("seconds", "machines")}
    return [without_seconds(part) for part in value] if isinstance(value, list) else value


class Page(HTMLParser):
    """Counts what is on a page, and what it would load."""

    def __init__(self):
        super().__init__()
        self.counts, self.loads = {}, []

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.loads += [value for name, value in attrs if name in ("src", "href") and not value.startswith("data:")]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The whole quick size, killed half-way (-9) and started again, as a user would."""
    out = tmp_path_factory.mktemp("quick")
    command = ["reproduce", "--quick", "--runs", 3, "--out", out, "--report", out / "page.html"]
    first = ksums(*command)
    while not (out / "results" / "significance.json").exists() and first.poll() is None:
        time.sleep(0.1)
    first.kill()
    first.communicate()
    before = {path.stem: read(path) for path in (out / "results").glob("*.json")}  # not what was being written
    second = ksums(*command)
    told, errors = second.communicate(timeout=600)
    return out, before, second.returncode, told, errors


def test_killed_and_started_again_nothing_is_lost(quick):
    out, before, code, told, errors = quick
    assert code == 0, errors
    after = results(out)
    assert list(after) == list(EXPERIMENTS)
    assert before["significance"]["units"]
    for name, kept in before.items():
        for unit, result in kept["units"].items():
            assert after[name]["units"][unit] == result
    assert "0 of 12 runs to do" in told


def test_the_result_is_that_of_a_run_in_one_go(quick, tmp_path):
    run(tmp_path, Size(quick=True, runs=3), ["steps", "significance", "sequential"], lambda words: None)
    whole, cut = results(tmp_path), results(quick[0])
    for name in whole:
        assert without_seconds(whole[name]) == without_seconds(cut[name])


def test_it_ends_with_the_verdicts(quick):
    out, told = quick[0], quick[3]
    found = claims(results(out))
    assert all(claim.claim in told for claim in found)
    assert f"{len(found)} claims: " in told
    assert "There are no figures" not in told


def test_the_page_is_whole(quick):
    out, found = quick[0], claims(results(quick[0]))
    page = Page()
    text = (out / "page.html").read_text("utf-8")
    page.feed(text)
    assert page.loads == []
    assert page.counts["img"] == page.counts["figure"] == 8
    assert page.counts["table"] == 5
    assert text.count('class="verdict') == len(found)
    markdown = (out / "README.md").read_text("utf-8")
    for picture in (out / "figures").iterdir():
        assert f"](figures/{picture.name})" in markdown
    assert all(f"k = {k}" in markdown for k in (32, 64, 89, 28, 22, 17, 5, 4))
    assert "3 runs of each method" in markdown


def test_ctrl_c_in_a_fit_is_not_taken_for_its_end(tmp_path):
    """A fit that is interrupted returns what it has; that is no result of ours."""
    process = ksums("reproduce", "significance", "--quick", "--runs", 9999, "--out", tmp_path)
    while not (tmp_path / "results" / "significance.json").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command goes on from there" in errors
    passes = EXPERIMENTS["significance"].settings(Size(quick=True))["passes"]
    for name, unit in read(tmp_path / "results" / "significance.json")["units"].items():
        assert name.startswith("ksums|") or len(unit["E_m"]) == passes or unit["moves"][-1] == 0


def test_half_done_rounds_are_left_out(tmp_path):
    store = Store(tmp_path / "results" / "sequential.json", {"k": 3, "parts": 1}, DATA)
    unit = {"arrived": [4], "E_m": [1.0], "E_s": [1.0], "seconds": 0.1}
    first, *others = EXPERIMENTS["sequential"].methods
    store.add(f"{first}|0", unit)
    assert results(tmp_path) == {}
    for method in others:
        store.add(f"{method}|0", unit)
    store.add(f"{first}|1", unit)
    assert list(results(tmp_path)["sequential"]["units"]) == [f"{method}|0" for method in (first, *others)]


def test_data_sets_that_are_not_begun_are_left_out():
    done = {"units": {"a|m|0": {}, "a|m|1": {}, "b|other|0": {}}, "data": [{"name": "a"}, {"name": "b"}]}
    left = comparable(done, ("m",))
    assert left == {"units": {"a|m|0": {}, "a|m|1": {}}, "data": [{"name": "a"}]}


# ------------------------------------------------------------------------------------------ verdicts
def judged(results, words):
    return next(claim for claim in claims(results) if words in claim.claim)


def significance(values):
    """Results in which the methods end with these values of E_m, and of E_s."""
    units = {}
    for method, (e_m, e_s) in values.items():
        for seed, shift in enumerate((-1.0, 0.0, 1.0)):
            units[f"{method}|{seed}"] = {
                "E_m": [e_m + shift] * 10,
                "E_s": [e_s + shift] * 10,
                "moves": [8, 7, 6, 5, 4, 3, 2, 1, 1, 0],
                "seconds": [0.1] * 10,
            }
    return {"significance": {"settings": {"k": 3, "passes": 10}, "data": DATA, "machines": [], "units": units}}


METHODS = EXPERIMENTS["significance"].methods


@pytest.mark.parametrize(("ours", "first", "apart"), [(90, HOLDS, HOLDS), (99, HOLDS, NOT), (101, NOT, NOT)])
def test_verdicts_follow_from_the_values(ours, first, apart):
    values = dict.fromkeys(METHODS, (100.0, 50.0)) | {"k-sums-Im": (float(ours), 50.0)}
    results = significance(values)
    assert judged(results, "k-sums-I_m as printed has the lowest E_m").verdict == first
    assert judged(results, "The gap in E_m between k-sums-I_m as printed").verdict == apart
    assert judged(results, "Hartigan and k-means# nearly overlap").verdict == HOLDS
    assert judged(results, "as printed, there comes a moment").verdict == HOLDS


def test_a_gap_to_some_only_holds_in_part():
    values = dict.fromkeys(METHODS, (100.0, 50.0)) | {"k-sums-Im": (90.0, 50.0), "Hartigan": (90.5, 50.0)}
    claim = judged(significance(values), "The gap in E_m between k-sums-I_m as printed")
    assert claim.verdict == IN_PART
    assert claim.ours.endswith("not of: Hartigan")


def test_different_seedings_are_seen():
    values = dict.fromkeys(METHODS, (100.0, 50.0)) | {"k-means": (110.0, 50.0)}
    claim = judged(significance(values), "The gap between k-means and k-means++")
    assert claim.verdict == NOT
    assert "10.00% apart" in claim.ours


def large_scale(values):
    """Results on one set in which the methods have these values of E_m after a third of the passes, and at the end."""
    units = {}
    for method in EXPERIMENTS["large_scale"].methods:
        early, late = values.get(method, (100.0, 100.0))
        for seed in range(2):
            units[f"a|{method}|{seed}"] = {
                "E_m": [early] * 5 + [late] * 4,
                "E_s": [early] * 5 + [late] * 4,
                "moves": [1] * 9,
                "seconds": list(range(9)),
            }
    return {"large_scale": {"settings": {"passes": 9, "members": 20}, "data": DATA, "machines": [], "units": units}}


@pytest.mark.parametrize(
    ("early", "late", "lowest", "fast", "wider"),
    [
        (90, 80, HOLDS, HOLDS, HOLDS),
        (90, 95, HOLDS, HOLDS, NOT),
        (101, 99, HOLDS, NOT, HOLDS),
        (90, 101, NOT, HOLDS, NOT),
    ],
)
def test_large_scale_verdicts(early, late, lowest, fast, wider):
    found = large_scale({"k-sums-Im": (early, late)})
    assert judged(found, "k-sums-I_m as printed has the lowest E_m after 9").verdict == lowest
    assert judged(found, "With k-sums-I_m as printed, E_m falls").verdict == fast
    assert judged(found, "The gap between k-sums-I_m as printed and the others gets wider").verdict == wider
    assert judged(found, "A pass of k-sums takes as long").verdict == HOLDS
    assert judged(found, "A pass of Hartigan's method takes much longer").verdict == NOT


@pytest.mark.parametrize(("ours", "widths", "narrow"), [(90, (1, 4), HOLDS), (90, (3, 4), IN_PART), (110, (5, 4), NOT)])
def test_sequential_verdicts(ours, widths, narrow):
    units = {}
    for method in EXPERIMENTS["sequential"].methods:
        level, width = (ours, widths[0]) if method == "Sequential k-sums-Im" else (100.0, widths[1])
        for seed in range(2):
            values = [level * share + width * seed for share in (0.5, 0.7, 0.9, 1.0)]
            units[f"{method}|{seed}"] = {"arrived": [1, 2, 3, 4], "E_m": values, "E_s": values, "seconds": 1.0}
    found = {"sequential": {"settings": {"k": 3, "parts": 4}, "data": DATA, "machines": [], "units": units}}
    assert judged(found, "Sequential k-sums-Im has the lowest E_m").verdict == (HOLDS if ours < 100 else NOT)
    assert judged(found, "Sequential k-sums-Im varies much less").verdict == narrow
    assert judged(found, "All curves rise").verdict == HOLDS


@pytest.mark.parametrize(("raised", "last", "wanted"), [(1, 8.0, HOLDS), (0, 8.0, IN_PART), (0, 12.0, NOT)])
def test_step_verdicts(raised, last, wanted):
    def entry(method):
        e_m = {"first": 10.0, "last": last, "raised": raised, "up": 1.0, "down": 3.0}
        return {"passes": [{"pass": 4, "moves": 5, "E_m": e_m, "E_s": e_m}]}

    units = {f"{method}|0": entry(method) for method in EXPERIMENTS["steps"].methods}
    found = {"steps": {"settings": {"k": 3, "passes": [4, 4]}, "data": DATA, "machines": [], "units": units}}
    assert judged(found, "Driven by I_m (as printed)").verdict == wanted
    assert judged(found, "no step raises E_s").verdict == {1: IN_PART, 0: HOLDS if last < 10 else IN_PART}[raised]


def test_document_verdicts_with_the_papers_own_figures():
    """The paper's table as if it were ours: what it says of itself, in its own words."""
    units = {
        f"{data}|{method}|{seed}": {"objective": [float(seed)] * 4, "entropy": [v + 0.001 * seed for v in values]}
        for data in ("a", "b")
        for method, values in ENTROPY.items()
        for seed in range(2)
    }
    data = [{"name": "re0", "n": 4, "d": 2, "digest": "x"}]
    result = {"settings": {"ks": list(KS), "runs": 2}, "data": data, "machines": [], "units": units}
    assert entropies(result)["IKM"].best == pytest.approx(ENTROPY["IKM"])
    found = {"documents": result}
    assert judged(found, "Bisecting: k-sums-I_m shows the best results").verdict == HOLDS
    assert judged(found, "The entropies of k-sums-I_s at").verdict == HOLDS
    assert judged(found, "k-means# and Hartigan perform similarly").verdict == NOT  # text and table of the paper differ


def test_the_best_run_is_chosen_by_its_objective():
    units = {"a|m|0": {"objective": [2.0], "entropy": [0.1]}, "a|m|1": {"objective": [1.0], "entropy": [0.3]}}
    row = entropies({"units": units})["m"]
    assert row.best == (0.3,)
    assert row.mean == pytest.approx((0.2,))
    assert row.noise == pytest.approx(0.1)


def test_runs_that_settled_stay_at_their_last_value():
    runs = Runs({"units": {"m|0": {"E_m": [3.0, 2.0]}, "m|1": {"E_m": [4.0, 3.0, 1.0]}}})
    assert runs.curves("m", "E_m").tolist() == [[3, 2, 2], [4, 3, 1]]
    assert runs.at("m", "E_m", 2).tolist() == [2, 3]
    assert runs.final("m", "E_m").tolist() == [2, 1]


@pytest.mark.parametrize(("value", "words"), [(0, "0"), (12345.6, "12,346"), (6.0661e6, "6.066e6"), (8.20412, "8.204")])
def test_numbers_as_a_reader_wants_them(value, words):
    assert number(value) == words


def test_spread_tells_one_run_from_many():
    assert spread(np.array([2.0])) == "2 (one run)"
    assert spread(np.array([1.0, 2.0, 4.0])) == "2 (1 to 4)"


# ------------------------------------------------------------------------------------------ Fig. 2
def test_single_steps_add_up_to_the_pass(rng):
    X = rng.random((60, 3)).astype(np.float32)
    for objective, rule in steps.DRIVEN.values():
        passes = steps._walk(X, 5, objective, rule, 0, False)["passes"]
        for before, after in pairwise(passes):
            for measure in ("E_m", "E_s"):
                change = (after[measure]["up"] - after[measure]["down"]) / len(X)
                assert before[measure]["last"] + change == pytest.approx(after[measure]["last"], rel=1e-6)
        if rule == "hartigan":
            assert all(entry["E_m"]["raised"] == 0 for entry in passes)
        if objective == "pairwise":
            assert all(entry["E_s"]["raised"] == 0 for entry in passes)


def test_the_committed_page_is_made_of_the_committed_results():
    """The verdicts in the documentation are those that the code gives for the results beside them."""
    folder = Path(__file__).parents[1] / "docs" / "reproduction"
    text = (folder / "README.md").read_text("utf-8")
    for claim in claims(results(folder)):
        row = " | ".join((claim.where, claim.claim, claim.paper, claim.ours, claim.verdict))
        assert f"| {row} |" in text
    assert json.loads((folder / "results" / "significance.json").read_text())["settings"]["k"] == 1024
    assert Runs(results(folder)["significance"]).count >= 32
