"""``ksums reproduce``: results survive a kill, verdicts follow from the results, and the page shows them."""

import json
import re
import shutil
import signal
import time
from dataclasses import fields
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers import start_ksums

from ksums import __version__
from ksums.cli.reproduce import reproduce
from ksums.datasets import Dataset
from ksums.reproduce import steps
from ksums.reproduce.claim import FAILS, HOLDS, IN_PART, Claim
from ksums.reproduce.documents.entropies import entropies
from ksums.reproduce.documents.paper import KS, PAPER_ENTROPY
from ksums.reproduce.drawing import Picture
from ksums.reproduce.experiment import Experiment, RunOptions, Unit, fingerprint
from ksums.reproduce.experiments import EXPERIMENTS
from ksums.reproduce.measured import Runs, complete_rounds
from ksums.reproduce.page import all_claims, write_page
from ksums.reproduce.pieces import Table
from ksums.reproduce.run_all import load_outcomes, run_all
from ksums.reproduce.store import Store, read_results
from ksums.reproduce.wording import number, spread

SOURCE = Path(steps.__file__).parents[1]
"""The source of ``ksums.reproduce`` lies in this folder."""
SETTINGS = {"k": 3}
"""These are the settings of made-up results."""
DATA = [{"name": "a", "n": 4, "d": 2, "digest": "x"}]
"""This describes the data of made-up results."""


# ------------------------------------------------------------------------------------------ store
def test_results_are_kept_one_by_one(tmp_path):
    path = tmp_path / "new" / "a.json"
    store = Store(path, SETTINGS, DATA)
    store.add("one|0", {"E_m": [1 / 3]})
    assert Store(path, SETTINGS, DATA).units == {"one|0": {"E_m": [0.33333333]}}
    assert [machine["ksums"] for machine in read_results(path)["machines"]] == [__version__]


def test_results_of_other_data_or_settings_are_not_mixed(tmp_path):
    path = tmp_path / "a.json"
    Store(path, SETTINGS, DATA).add("one|0", {})
    with pytest.raises(ValueError, match=r"other settings or other data.*--out"):
        Store(path, {"k": 4}, DATA)
    with pytest.raises(ValueError, match="other settings or other data"):
        Store(path, SETTINGS, [{**DATA[0], "digest": "y"}])


@pytest.mark.parametrize(("text", "words"), [('{"sett', "is damaged"), ("[1]", "is not a results file")])
def test_a_damaged_results_file_is_an_error(tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=words):
        Store(tmp_path / "a.json", SETTINGS, DATA)


def test_data_is_recognised_by_its_values(rng):
    X = rng.random((5, 3))
    assert fingerprint(Dataset("a", X)) == fingerprint(Dataset("a", X.copy()))
    assert fingerprint(Dataset("a", X)) != fingerprint(Dataset("a", X + 1))


# ------------------------------------------------------------------------------------------ resuming
class Counter:
    """Units that count how often they run, and stop after some runs."""

    def __init__(self):
        self.seeds, self.stop_after = [], 99

    def experiment(self, **more):
        """A made-up experiment; it is in no list."""
        given = {
            "name": "made_up",
            "title": "A made-up experiment",
            "where": "Fig. 99",
            "about": "It counts its runs.",
            "paper_data": "nothing",
            "methods": ("m",),
            "data": lambda options: [Dataset("a", np.ones((4, 2)))],
            "settings": lambda options: SETTINGS,
            "units": self.units,
            "judge": lambda results: [Claim("Fig. 99", "All is well.", "well", "quite well", HOLDS, headline="well")],
            "pictures": lambda results: [],
        }
        return Experiment(**given | more)

    def units(self, options, data):
        for seed in range(options.runs):
            yield Unit(f"m|{seed}", partial(self.work, seed))

    def work(self, seed):
        if len(self.seeds) >= self.stop_after:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        return {"E_m": [float(np.random.default_rng(seed).random())]}


@pytest.mark.parametrize("parallel", [False, True])
def test_only_missing_units_run(tmp_path, parallel):
    counter = Counter()
    experiments = [counter.experiment(parallel=parallel)]
    run_all(experiments, RunOptions(runs=5), tmp_path / "whole")
    counter.seeds, counter.stop_after = [], 2
    with pytest.raises(KeyboardInterrupt):
        run_all(experiments, RunOptions(runs=5), tmp_path / "cut")
    path = tmp_path / "cut" / "results" / "made_up.json"
    stored = read_results(path)["units"] if not parallel or path.exists() else {}
    assert parallel or set(stored) == {"m|0", "m|1"}
    counter.seeds, counter.stop_after = [], 99
    run_all(experiments, RunOptions(runs=5), tmp_path / "cut")
    assert {f"m|{seed}" for seed in counter.seeds} == {f"m|{seed}" for seed in range(5)} - set(stored)
    assert load_outcomes(experiments, tmp_path / "cut") == load_outcomes(experiments, tmp_path / "whole")
    counter.seeds = []
    run_all(experiments, RunOptions(runs=7), tmp_path / "cut")
    assert sorted(counter.seeds) == [5, 6]


def test_all_missing_data_is_named_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"(?s)steps: SIFT.*large_scale: SIFT.*documents: The document set"):
        run_all(EXPERIMENTS.values(), RunOptions(data_home=tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def results_in(folder):
    """Return all results in a folder, by experiment."""
    return {outcome.experiment.name: outcome.results for outcome in load_outcomes(EXPERIMENTS.values(), folder)}


def claims_in(folder):
    """Return the claims about all results in a folder."""
    return all_claims(load_outcomes(EXPERIMENTS.values(), folder))


# ------------------------------------------------------------------------------------------ adding an experiment
def test_a_new_experiment_needs_no_other_registry(tmp_path):
    """An object that no module knows runs, resumes and gets its whole section of the page."""

    def draw(axes):
        axes[0, 0].plot([1, 2], label="a line")

    picture = Picture("made_up", "Fig. 99: a line", "The caption.", draw, (1, 1), (3, 2), 1)
    experiment = Counter().experiment(
        pictures=lambda results: [picture, picture._replace(name="other", title="Another line")],
        tables=lambda results: [Table(("method", "value"), [("m", "0.5")], "The table.")],
        remarks=lambda results: ["A remark."],
    )
    run_all([experiment], RunOptions(runs=2), tmp_path)
    write_page(load_outcomes([experiment], tmp_path), tmp_path, tmp_path / "page.html")
    markdown, html = ((tmp_path / name).read_text("utf-8") for name in ("README.md", "page.html"))
    summary, _, details = markdown.partition("## Details")
    assert "1 claim: 1 holds, 0 hold in part, 0 do not hold here" in summary
    assert "| All is well. | well | well | holds |" in summary
    assert "](figures/made_up.png)" in summary
    assert "| Fig. 99 | All is well. | well | quite well | holds |" in details
    assert "](figures/other.png)" in details
    for text in ("The caption.", "The table.", "A remark."):
        assert text in details
        assert text not in summary
        assert text in html


def test_every_experiment_folder_is_complete_and_listed():
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    makers = {experiment.judge.__module__.split(".")[-2] for experiment in EXPERIMENTS.values()}
    assert makers == folders
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert all(getattr(experiment, field.name) for field in fields(Experiment) if field.name != "parallel")
    for folder in folders:
        assert {path.name for path in (SOURCE / folder).glob("*.py")} >= {"run.py", "claims.py", "pictures.py"}


def test_only_the_list_names_experiments():
    """No shared module, and not the command line, mentions an experiment."""
    shared = [path for path in SOURCE.glob("*.py") if path.name != "experiments.py"]
    shared.append(SOURCE.parent / "cli" / "reproduce.py")
    for path in shared:
        names = "|".join(EXPERIMENTS)
        assert not re.search(rf"[\"'.]({names})[\"'. ]", path.read_text("utf-8")), path


def without_seconds(value):
    """Return a copy of results without times and machines."""
    if isinstance(value, dict):
        return {key: without_seconds(part) for key, part in value.items() if key not in ("seconds", "machines")}
    return [without_seconds(part) for part in value] if isinstance(value, list) else value


class Page(HTMLParser):
    """Counts the elements of a page, and collects what it would load and where its links lead."""

    def __init__(self):
        super().__init__()
        self.counts, self.loads, self.links, self.ids = {}, [], set(), set()

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        for name, value in attrs:
            if name == "id":
                self.ids.add(value)
            elif name == "href" and value.startswith("#"):
                self.links.add(value[1:])
            elif name in ("src", "href") and not value.startswith("data:"):
                self.loads.append(value)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The quick size of all experiments, killed (-9) in the middle and started again, as a user would."""
    out = tmp_path_factory.mktemp("quick")
    command = ["reproduce", "--quick", "--runs", 3, "--out", out, "--report", out / "page.html"]
    first = start_ksums(*command)
    while not (out / "results" / "significance.json").exists() and first.poll() is None:
        time.sleep(0.1)
    first.kill()
    first.communicate()
    before = {path.stem: read_results(path) for path in (out / "results").glob("*.json")}  # No file is partly written.
    second = start_ksums(*command)
    output, errors = second.communicate(timeout=600)
    return out, before, second.returncode, output, errors


def test_nothing_is_lost_by_a_kill(quick):
    out, before, code, output, errors = quick
    assert code == 0, errors
    after = results_in(out)
    assert list(after) == list(EXPERIMENTS)
    assert before["significance"]["units"]
    for name, stored in before.items():
        for unit, result in stored["units"].items():
            assert after[name]["units"][unit] == result
    assert "0 of 12 runs to do" in output


def test_a_resumed_run_gives_the_results_of_an_uninterrupted_one(quick, tmp_path):
    names = ("steps", "significance", "sequential")
    run_all([EXPERIMENTS[name] for name in names], RunOptions(quick=True, runs=3), tmp_path)
    whole, cut = results_in(tmp_path), results_in(quick[0])
    assert list(whole) == list(names)
    for name in whole:
        assert without_seconds(whole[name]) == without_seconds(cut[name])


def test_the_output_ends_with_the_verdicts(quick):
    out, output = quick[0], quick[3]
    found = claims_in(out)
    assert all(claim.statement in output for claim in found)
    assert f"{len(found)} claims: " in output
    assert "There are no figures" not in output


def test_the_page_is_complete(quick):
    out, found = quick[0], claims_in(quick[0])
    headlines = [claim for claim in found if claim.headline]
    page = Page()
    text = (out / "page.html").read_text("utf-8")
    page.feed(text)
    assert page.loads == []
    assert page.links <= page.ids
    assert page.counts["img"] == page.counts["figure"] == 9
    assert page.counts["table"] == 2 + 2 * len(EXPERIMENTS) + 3  # Overview, data; headlines, claims; values, entropies.
    assert text.count('class="verdict') == len(found) + len(headlines)
    markdown = (out / "README.md").read_text("utf-8")
    for picture in (out / "figures").iterdir():
        assert markdown.count(f"](figures/{picture.name})") == 1
    assert all(f"k = {k}" in markdown for k in (32, 64, 89, 28, 22, 17, 5, 4))
    assert "3 runs of each method" in markdown


def test_the_summary_comes_first(quick):
    """The count of verdicts, then for each experiment its main picture and two or three claims."""
    summary, _, details = (quick[0] / "README.md").read_text("utf-8").partition("\n## Details\n")
    first_heading = summary.index("\n## ")
    assert 0 < summary.index(" claims: ") < first_heading
    sections = summary[first_heading:].split("\n## ")[1:]
    assert len(sections) == len(EXPERIMENTS)
    for outcome, section in zip(load_outcomes(EXPERIMENTS.values(), quick[0]), sections, strict=True):
        headlines = [claim for claim in outcome.claims if claim.headline]
        assert len(headlines) in (2, 3)
        assert section.startswith(outcome.experiment.title)
        assert section.count("](figures/") == 1
        for claim in headlines:
            assert f"| {claim.statement} | {claim.paper} | {claim.headline} | {claim.verdict} |" in section
        for claim in outcome.claims:
            row = (claim.where, claim.statement, claim.paper, claim.ours, claim.verdict)
            assert f"| {' | '.join(row)} |" in details


def test_without_matplotlib_there_are_no_figures(quick, tmp_path, monkeypatch, capsys):
    shutil.copytree(quick[0] / "results", tmp_path / "results")
    monkeypatch.setattr("ksums.cli.reproduce.find_spec", lambda name: None)
    reproduce(out=tmp_path, only_page=True)
    assert "There are no figures: matplotlib is not installed" in capsys.readouterr().out
    assert not (tmp_path / "figures").exists()
    markdown = (tmp_path / "README.md").read_text("utf-8")
    assert "](figures/" not in markdown
    assert all(claim.ours in markdown for claim in claims_in(tmp_path))


def test_a_readme_of_the_user_is_not_overwritten(tmp_path):
    (tmp_path / "README.md").write_text("# My notes\n")
    with pytest.raises(ValueError, match="was not written by ksums reproduce"):
        write_page([], tmp_path)
    assert (tmp_path / "README.md").read_text() == "# My notes\n"


def test_ctrl_c_in_a_fit_is_not_a_result(tmp_path):
    """An interrupted fit returns what it has found so far, which must not be stored."""
    process = start_ksums("reproduce", "significance", "--quick", "--runs", 9999, "--out", tmp_path)
    while not (tmp_path / "results" / "significance.json").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Run the same command again to resume" in errors
    passes = EXPERIMENTS["significance"].settings(RunOptions(quick=True))["passes"]
    for name, unit in read_results(tmp_path / "results" / "significance.json")["units"].items():
        assert name.startswith("ksums|") or len(unit["E_m"]) == passes or unit["moves"][-1] == 0


def test_incomplete_rounds_are_left_out(tmp_path):
    store = Store(tmp_path / "results" / "sequential.json", {"k": 3, "parts": 1}, DATA)
    unit = {"arrived": [4], "E_m": [1.0], "E_s": [1.0], "seconds": 0.1}
    first, *others = EXPERIMENTS["sequential"].methods
    store.add(f"{first}|0", unit)
    assert results_in(tmp_path) == {}
    for method in others:
        store.add(f"{method}|0", unit)
    store.add(f"{first}|1", unit)
    assert list(results_in(tmp_path)["sequential"]["units"]) == [f"{method}|0" for method in (first, *others)]


def test_data_sets_without_complete_rounds_are_left_out():
    results = {"units": {"a|m|0": {}, "a|m|1": {}, "b|other|0": {}}, "data": [{"name": "a"}, {"name": "b"}]}
    left = complete_rounds(results, ("m",))
    assert left == {"units": {"a|m|0": {}, "a|m|1": {}}, "data": [{"name": "a"}]}


# ------------------------------------------------------------------------------------------ verdicts
def judged(results, words):
    """Judge results by experiment, and return the claim with these words."""
    found = [claim for name, result in results.items() for claim in EXPERIMENTS[name].judge(result)]
    return next(claim for claim in found if words in claim.statement)


def significance(values):
    """Return results in which the methods end with these values of E_m and E_s."""
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
"""The experiment "significance" compares these methods."""


@pytest.mark.parametrize(("ours", "first", "apart"), [(90, HOLDS, HOLDS), (99, HOLDS, FAILS), (101, FAILS, FAILS)])
def test_verdicts_follow_from_the_values(ours, first, apart):
    values = dict.fromkeys(METHODS, (100.0, 50.0)) | {"k-sums-Im": (float(ours), 50.0)}
    results = significance(values)
    assert judged(results, "k-sums-I_m (printed) has the lowest E_m").verdict == first
    assert judged(results, "The gap in E_m between k-sums-I_m (printed)").verdict == apart
    assert judged(results, "Hartigan and k-means# nearly overlap").verdict == HOLDS
    assert judged(results, "k-sums-I_m (printed) reaches a pass in which no sample moves").verdict == HOLDS


def test_a_gap_to_only_some_methods_holds_in_part():
    values = dict.fromkeys(METHODS, (100.0, 50.0)) | {"k-sums-Im": (90.0, 50.0), "Hartigan": (90.5, 50.0)}
    claim = judged(significance(values), "The gap in E_m between k-sums-I_m (printed)")
    assert claim.verdict == IN_PART
    assert claim.ours.endswith("not of: Hartigan")


def test_different_seedings_are_noticed():
    values = dict.fromkeys(METHODS, (100.0, 50.0)) | {"k-means": (110.0, 50.0)}
    claim = judged(significance(values), "The gap between k-means and k-means++")
    assert claim.verdict == FAILS
    assert "differ by 10.00%" in claim.ours


def large_scale(values):
    """Return results in which the methods have these values of E_m after a third of the passes and at the end."""
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
        (90, 95, HOLDS, HOLDS, FAILS),
        (101, 99, HOLDS, FAILS, HOLDS),
        (90, 101, FAILS, HOLDS, FAILS),
    ],
)
def test_large_scale_verdicts(early, late, lowest, fast, wider):
    found = large_scale({"k-sums-Im": (early, late)})
    assert judged(found, "k-sums-I_m (printed) has the lowest E_m after 9").verdict == lowest
    assert judged(found, "With k-sums-I_m (printed), E_m falls").verdict == fast
    assert judged(found, "The gap between k-sums-I_m (printed) and the other methods widens").verdict == wider
    assert judged(found, "A pass of k-sums takes as long").verdict == HOLDS
    assert judged(found, "A pass of Hartigan's method takes much longer").verdict == FAILS


@pytest.mark.parametrize(
    ("ours", "widths", "narrow"), [(90, (1, 4), HOLDS), (90, (3, 4), IN_PART), (110, (5, 4), FAILS)]
)
def test_sequential_verdicts(ours, widths, narrow):
    units = {}
    for method in EXPERIMENTS["sequential"].methods:
        level, width = (ours, widths[0]) if method == "Sequential k-sums-Im" else (100.0, widths[1])
        for seed in range(2):
            values = [level * fraction + width * seed for fraction in (0.5, 0.7, 0.9, 1.0)]
            units[f"{method}|{seed}"] = {"arrived": [1, 2, 3, 4], "E_m": values, "E_s": values, "seconds": 1.0}
    found = {"sequential": {"settings": {"k": 3, "parts": 4}, "data": DATA, "machines": [], "units": units}}
    assert judged(found, "Sequential k-sums-I_m has the lowest E_m").verdict == (HOLDS if ours < 100 else FAILS)
    assert judged(found, "Sequential k-sums-I_m varies much less").verdict == narrow
    assert judged(found, "All curves rise").verdict == HOLDS


@pytest.mark.parametrize(("raised", "last", "wanted"), [(1, 8.0, HOLDS), (0, 8.0, IN_PART), (0, 12.0, FAILS)])
def test_step_verdicts(raised, last, wanted):
    def entry(method):
        e_m = {"first": 10.0, "last": last, "raised": raised, "up": 1.0, "down": 3.0}
        return {"passes": [{"pass": 4, "moves": 5, "E_m": e_m, "E_s": e_m}]}

    units = {f"{method}|0": entry(method) for method in EXPERIMENTS["steps"].methods}
    found = {"steps": {"settings": {"k": 3, "passes": [4, 4]}, "data": DATA, "machines": [], "units": units}}
    assert judged(found, "Driven by I_m (as printed)").verdict == wanted
    assert judged(found, "no step raises E_s").verdict == {1: IN_PART, 0: HOLDS if last < 10 else IN_PART}[raised]


def test_document_verdicts_on_the_papers_own_values():
    """The paper's own table, judged as if it were ours."""
    units = {
        f"{data}|{method}|{seed}": {"objective": [float(seed)] * 4, "entropy": [v + 0.001 * seed for v in values]}
        for data in ("a", "b")
        for method, values in PAPER_ENTROPY.items()
        for seed in range(2)
    }
    data = [{"name": "re0", "n": 4, "d": 2, "digest": "x"}]
    result = {"settings": {"ks": list(KS), "runs": 2}, "data": data, "machines": [], "units": units}
    assert entropies(result)["IKM"].best == pytest.approx(PAPER_ENTROPY["IKM"])
    found = {"documents": result}
    assert judged(found, "Bisecting: k-sums-I_m shows the best results").verdict == HOLDS
    assert judged(found, "k-sums-I_s reaches these entropies at").verdict == HOLDS
    # The paper's text and table disagree.
    assert judged(found, "k-means# and Hartigan perform similarly").verdict == FAILS


def test_the_best_run_is_chosen_by_its_objective():
    units = {"a|m|0": {"objective": [2.0], "entropy": [0.1]}, "a|m|1": {"objective": [1.0], "entropy": [0.3]}}
    row = entropies({"units": units})["m"]
    assert row.best == (0.3,)
    assert row.mean == pytest.approx((0.2,))
    assert row.seed_std == pytest.approx(0.1)


def test_runs_that_converged_keep_their_last_value():
    runs = Runs({"units": {"m|0": {"E_m": [3.0, 2.0]}, "m|1": {"E_m": [4.0, 3.0, 1.0]}}})
    assert runs.curves("m", "E_m").tolist() == [[3, 2, 2], [4, 3, 1]]
    assert runs.after("m", "E_m", 2).tolist() == [2, 3]
    assert runs.final("m", "E_m").tolist() == [2, 1]


@pytest.mark.parametrize(("value", "words"), [(0, "0"), (12345.6, "12,346"), (6.0661e6, "6.066e6"), (8.20412, "8.204")])
def test_numbers_have_about_four_digits(value, words):
    assert number(value) == words


def test_spread_of_one_run_and_of_many():
    assert spread(np.array([2.0])) == "2 (one run)"
    assert spread(np.array([1.0, 2.0, 4.0])) == "2 (1 to 4)"


# ------------------------------------------------------------------------------------------ Fig. 2
def test_single_steps_add_up_to_the_pass(rng):
    X = rng.random((60, 3)).astype(np.float32)
    for objective, rule in steps.run.RULES.values():
        passes = steps.run.measure_steps(X, 5, objective, rule, 0, with_curves=False)["passes"]
        for before, after in pairwise(passes):
            for measure in ("E_m", "E_s"):
                change = (after[measure]["up"] - after[measure]["down"]) / len(X)
                assert before[measure]["last"] + change == pytest.approx(after[measure]["last"], rel=1e-6)
        if rule == "hartigan":
            assert all(entry["E_m"]["raised"] == 0 for entry in passes)
        if objective == "pairwise":
            assert all(entry["E_s"]["raised"] == 0 for entry in passes)


def test_the_committed_page_agrees_with_the_committed_results():
    """The verdicts in the documentation are those that the code derives from the stored results."""
    folder = Path(__file__).parents[1] / "docs" / "reproduction"
    text = (folder / "README.md").read_text("utf-8")
    for claim in claims_in(folder):
        row = " | ".join((claim.where, claim.statement, claim.paper, claim.ours, claim.verdict))
        assert f"| {row} |" in text
    assert json.loads((folder / "results" / "significance.json").read_text())["settings"]["k"] == 1024
    assert Runs(results_in(folder)["significance"]).count >= 32
