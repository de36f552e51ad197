"""Commands as a new user types them, good and bad."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest
from helpers import ksums
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ksums as library
from ksums.cli import main
from ksums.io import read_rows


@pytest.fixture
def folder(tmp_path, blobs):
    """Files of the same 300 rows."""
    np.save(tmp_path / "rows.npy", blobs)
    np.savetxt(tmp_path / "rows.csv", blobs, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%.17g")
    bad = blobs.copy()
    bad[17, 2] = np.nan
    np.save(tmp_path / "nan.npy", bad)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "rows.npy").read_bytes()[:-100])
    (tmp_path / "words.csv").write_text("a,b\n1,2\n3,high\n")
    return tmp_path


def done(folder, *arguments, given=""):
    """Exit code, standard output and standard error; in this process, as a new one takes seconds to begin."""
    told, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(errors),
        mock.patch.object(sys, "argv", ["ksums", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.StringIO(given)),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return ended.value.code or 0, told.getvalue(), errors.getvalue()


def test_fit_writes_what_is_asked_for(folder, blobs):
    names = ["--labels", "out/labels.npy", "--model", "out/model", "--history", "out/history.csv", "--report", "a.html"]
    (folder / "out").mkdir()
    code, told, errors = done(folder, "fit", "rows.npy", "-k", 5, *names)
    assert code == 0, errors
    model = library.KSums(5, random_state=0).fit(blobs)
    np.testing.assert_array_equal(np.load(folder / "out" / "labels.npy"), model.labels_)
    np.testing.assert_array_equal(library.load(folder / "out" / "model").predict(blobs), model.predict(blobs))
    lines = (folder / "out" / "history.csv").read_text().splitlines()
    assert len(lines) == len(model.history_) + 1
    assert f"distortion E_m {model.distortion_:.6g}" in told
    assert errors.startswith("300 rows of 6 columns, 5 clusters: fitting\n")
    assert "pass 1" in errors  # plain lines where nobody looks,
    assert len(errors.splitlines()) < len(model.history_)  # one a second
    assert library.load(folder / "out" / "model").verbose == 0
    assert "<!doctype html>" in (folder / "a.html").read_text()


def test_formats_columns_and_standard_input_agree(folder):
    code, told, _ = done(folder, "fit", "rows.csv", "-k", 3, "--columns", "c,0", "--json", "--labels", "one.csv")
    assert code == 0
    facts = json.loads(told)
    assert (facts["n"], facts["d"], facts["k"]) == (300, 2, 3)
    text = (folder / "rows.csv").read_text()
    code, told, errors = done(folder, "fit", "-", "-k", 3, "--columns", "c,0", "-q", "--labels", "two.csv", given=text)
    assert (code, told, errors) == (0, "", "")
    assert (folder / "one.csv").read_text() == (folder / "two.csv").read_text()


def test_predict_and_methods_of_the_paper(folder):
    assert done(folder, "fit", "rows.npy", "-k", 5, "--method", "k-means++", "--model", "m", "-q")[0] == 0
    code, told, errors = done(folder, "predict", "m", "rows.csv", "--labels", "labels.parquet", "--json")
    assert code == 0, errors
    assert json.loads(told)["n"] == 300
    labels = library.load(folder / "m").predict(np.load(folder / "rows.npy"))
    np.testing.assert_array_equal(read_rows(folder / "labels.parquet")[:, 0], labels)


def test_choose_k_suggests_and_explains(folder):
    code, told, errors = done(
        folder, "choose-k", "rows.npy", "--from", 3, "--to", 7, "--plot", "k.png", "--table", "k.csv"
    )
    assert code == 0, errors
    assert "k = 5 is the largest number of clusters that are all found again" in told
    assert (folder / "k.png").read_bytes().startswith(b"\x89PNG")
    assert len((folder / "k.csv").read_text().splitlines()) == 6


def test_compare(folder):
    command = ["compare", "rows.npy", "-k", 5, "--methods", "k-means,ksums", "--runs", 2]
    code, told, errors = done(folder, *command, "--json", "--plot", "c.svg")
    assert code == 0, errors
    rows = json.loads(told)
    assert [row["method"] for row in rows] == ["k-means", "ksums"]
    assert rows[1]["E_m"] <= rows[0]["E_m"]
    assert "<svg" in (folder / "c.svg").read_text()
    assert done(folder, *command)[1].splitlines()[0].split()[0] == "method"


def test_report(folder):
    (folder / "names.txt").write_text("\n".join(f"name {i}" for i in range(300)))
    assert done(folder, "fit", "rows.csv", "-k", 5, "--model", "m", "-q")[0] == 0
    code, told, errors = done(folder, "report", "m", "rows.csv", "--names", "names.txt", "--out", "page.html")
    assert code == 0, errors
    assert "5 clusters, 300 of 300 rows in the map: page.html" in told
    assert "name 7" in (folder / "page.html").read_text()
    code, _, errors = done(folder, "report", "m", "rows.csv", "--columns", "a,b", "--out", "other.html")
    assert code == 2
    assert "the model was fitted to a,b,c,d,e,f, in this order; got a,b" in errors
    np.save(folder / "others.npy", np.load(folder / "rows.npy")[::-1])
    code, _, errors = done(folder, "report", "m", "others.npy", "--out", "other.html")
    assert code == 2
    assert "these are not the rows that the model was fitted to" in errors
    assert not (folder / "other.html").exists()
    told = done(folder, "report", "m", "rows.csv", "--out", "page.html", "--json")[1]
    assert json.loads(told) == {"clusters": 5, "n": 300, "points": 300, "warnings": [], "out": "page.html"}


def test_a_model_knows_its_columns(folder):
    assert (
        done(folder, "fit", "rows.csv", "-k", 3, "--columns", "b,a", "--model", "m", "--labels", "l.npy", "-q")[0] == 0
    )
    assert done(folder, "predict", "m", "rows.csv", "--labels", "p.npy")[0::2] == (0, "")
    assert (np.load(folder / "p.npy") == np.load(folder / "l.npy")).mean() > 0.95
    code, _, errors = done(folder, "predict", "m", "rows.csv", "--columns", "a,b", "--labels", "q.npy")
    assert code == 2
    assert "the model was fitted to b,a, in this order; got a,b" in errors
    code, _, errors = done(folder, "report", "m", "rows.csv", "--out", "r.html")
    assert code == 0, errors


def test_columns_are_found_by_their_names(folder, blobs):
    """Whatever their order in another file; files without names must be as wide."""
    assert done(folder, "fit", "rows.csv", "-k", 5, "--model", "m", "--labels", "l.npy", "-q")[0] == 0
    assert library.load(folder / "m").feature_names_in_.tolist() == list("abcdef")
    np.savetxt(folder / "turned.csv", blobs[:, ::-1], delimiter=",", header="f,e,d,c,b,a", comments="", fmt="%.17g")
    expected = library.KSums(5, random_state=0).fit(blobs).predict(blobs)
    note = "note: rows.npy has no names; its columns are taken to be a, b, c, d, e, f, in this order.\n"
    for name, errors in (("rows.csv", ""), ("turned.csv", ""), ("rows.npy", note)):
        assert done(folder, "predict", "m", name, "--labels", "p.npy")[0::2] == (0, errors)
        np.testing.assert_array_equal(np.load(folder / "p.npy"), expected)
    np.savetxt(folder / "other.csv", blobs[:, :5], delimiter=",", header="a,b,c,d,g", comments="")
    code, _, errors = done(folder, "predict", "m", "other.csv", "--labels", "q.npy")
    assert code == 2
    assert "other.csv has no column 'e'; its columns are a, b, c, d, g" in errors


def test_columns_with_numbers_and_commas_for_names(folder):
    (folder / "years.csv").write_text('id,2019,"age, years"\n1,5,7\n2,6,8\n3,50,70\n4,60,80\n')
    command = ["fit", "years.csv", "-k", 2, "--columns", '2019,"age, years"', "--json"]
    code, told, errors = done(folder, *command)
    assert code == 0, errors
    assert json.loads(told)["columns"] == ["2019", "age, years"]
    code, told, errors = done(folder, *command[:-1], "--model", "m", "--weights", "id")
    assert code == 0, errors
    assert errors.startswith("4 rows of 2 columns (2019, age, years), 2 clusters: fitting\n")
    assert library.load(folder / "m").sizes_.sum() == 10
    told = done(folder, "fit", "years.csv", "-k", 2, "--weights", "id", "--json")[1]
    assert json.loads(told)["columns"] == ["2019", "age, years"]


def test_columns_chosen_by_number_are_remembered(folder, blobs):
    command = ["fit", "rows.npy", "-k", 3, "--columns", 4, "--columns", "1", "--model", "m", "--report", "r.html", "-q"]
    assert done(folder, *command)[0] == 0
    expected = library.KSums(3, random_state=0).fit(blobs[:, [4, 1]]).predict(blobs[:, [4, 1]])
    assert done(folder, "predict", "m", "rows.npy", "--labels", "p.npy")[0::2] == (0, "")
    np.testing.assert_array_equal(np.load(folder / "p.npy"), expected)
    assert "column 4" in (folder / "r.html").read_text()
    assert done(folder, "fit", "rows.npy", "-k", 3, "--weights", 0, "--model", "w", "-q")[0] == 2  # below 0
    np.save(folder / "weighted.npy", np.abs(blobs))
    assert done(folder, "fit", "weighted.npy", "-k", 3, "--weights", 2, "--model", "w", "-q")[0] == 0
    assert library.load(folder / "w").column_numbers_.tolist() == [0, 1, 3, 4, 5]
    assert done(folder, "predict", "w", "weighted.npy", "--labels", "p.npy")[0::2] == (0, "")
    np.save(folder / "narrow.npy", blobs[:, :1])
    assert (
        "narrow.npy has 1 columns; the model needs 2"
        in done(folder, "predict", "m", "narrow.npy", "--labels", "p.npy")[2]
    )
    np.save(folder / "only.npy", blobs[:, [4, 1]])
    code, _, errors = done(folder, "predict", "m", "only.npy", "--labels", "p.npy")
    assert (code, errors) == (0, "note: only.npy has no columns 4, 1, as the model's file had; all are taken.\n")
    np.testing.assert_array_equal(np.load(folder / "p.npy"), expected)
    assert done(folder, "fit", "rows.npy", "-k", 3, "--model", "m", "-q")[0] == 0
    code, _, errors = done(folder, "predict", "m", "narrow.npy", "--labels", "p.npy")
    assert (code, errors) == (2, "ksums: narrow.npy has 1 columns; the model needs 6.\n")


def test_limits_and_starts(folder):
    code, told, errors = done(
        folder, "fit", "rows.npy", "-k", 4, "--size-min", 70, "--size-max", 80, "--n-init", 2, "--json"
    )
    assert code == 0, errors
    assert (json.loads(told)["smallest"], json.loads(told)["largest"]) >= (70, 75)
    assert json.loads(told)["largest"] <= 80


def test_scaled_columns(folder, blobs):
    blobs[:, 0] *= 1e4
    np.savetxt(folder / "wide.csv", blobs, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%.17g")
    code, _, errors = done(folder, "fit", "wide.csv", "-k", 5, "--scale", "--model", "m", "--labels", "l.npy", "-q")
    assert code == 0, errors
    pipeline = make_pipeline(StandardScaler(), library.KSums(5, random_state=0)).fit(blobs)
    np.testing.assert_array_equal(np.load(folder / "l.npy"), pipeline[-1].labels_)
    assert done(folder, "predict", "m", "wide.csv", "--labels", "p.npy", "-q")[0::2] == (0, "")
    np.testing.assert_array_equal(np.load(folder / "p.npy"), pipeline.predict(blobs))
    assert done(folder, "report", "m", "wide.csv", "--out", "page.html")[0::2] == (0, "")
    code, told, errors = done(folder, "choose-k", "wide.csv", "--scale", "--from", 4, "--to", 6, "--json")
    assert json.loads(told)["k"] == 5, errors
    code, told, errors = done(folder, "compare", "wide.csv", "-k", 5, "--scale", "--methods", "ksums", "--json")
    assert json.loads(told)[0]["E_m"] == pytest.approx(pipeline[-1].distortion_)


def test_names_of_cluto_are_on_the_page(folder):
    (folder / "a.mat").write_text("4 4 8\n1 2 2 1\n1 1 2 1\n3 1 4 2\n3 2 4 1\n")
    (folder / "a.mat.clabel").write_text("apple\npear\ncar\nbus\n")
    (folder / "a.mat.rlabel").write_text("first\nsecond\nthird\nfourth\n")
    code, _, errors = done(folder, "fit", "a.mat", "-k", 2, "--metric", "cosine", "--model", "m", "--report", "a.html")
    assert code == 0, errors
    assert done(folder, "report", "m", "a.mat", "--out", "b.html")[0] == 0
    for page in ("a.html", "b.html"):
        text = (folder / page).read_text()
        assert all(word in text for word in ("apple", "bus", "first", "fourth"))


def test_notes_are_lines_and_silence_is_silent(folder):
    np.save(folder / "copies.npy", np.repeat(np.arange(4.0), 5)[:, None])
    code, told, errors = done(folder, "fit", "copies.npy", "-k", 6)
    assert code == 0
    assert any(line.startswith("note: Number of distinct clusters (4)") for line in errors.splitlines())
    assert "note: Number of distinct" in done(folder, "compare", "copies.npy", "-k", 6, "--methods", "ksums")[2]
    for command in (["fit", "copies.npy", "-k", 6], ["choose-k", "copies.npy", "--from", 6, "--to", 6]):
        code, told, errors = done(folder, *command, "--json")
        assert (code, errors) == (0, "")
        assert any("distinct clusters" in words for words in json.loads(told)["warnings"])


def test_choose_k_of_a_few_rows(folder):
    np.save(folder / "few.npy", np.repeat([0.0, 9.0, 30.0], 5)[:, None] + np.arange(15.0)[:, None] / 100)
    code, told, errors = done(folder, "choose-k", "few.npy", "--json")
    assert code == 0, errors
    assert [score["k"] for score in json.loads(told)["scores"]] == list(range(2, 10))
    assert json.loads(told)["k"] == 3


def test_info(folder):
    code, told, _ = done(folder, "info", "--json")
    assert code == 0
    assert json.loads(told)["ksums"] == library.__version__
    assert "threads" in done(folder, "info")[1]


BAD = [
    (["fit", "nothing.npy", "-k", 5], "nothing.npy does not exist"),
    (["fit", ".", "-k", 5], ". is a folder"),
    (["fit", "cut.npy", "-k", 5], "cut.npy is cut off"),
    (["fit", "nan.npy", "-k", 5], "NaN"),
    (["fit", "words.csv", "-k", 1], "words.csv, line 3, column 'b': 'high' is no number"),
    (["fit", "nan.npy", "-k", 5, "-q"], "Input X contains NaN, first in row 17, column 2"),
    (["fit", "rows.npy", "-k", 5, "--labels", "rows.npy"], "--labels: rows.npy is the input as well"),
    (["fit", "rows.npy", "-k", 5, "--labels", "a.csv", "--history", "a.csv"], "a.csv is the file of --labels as well"),
    (["fit", "rows.csv", "-k", 5, "--weights", "z"], "no column 'z'"),
    (["fit", "rows.csv", "-k", 5, "--weights", "a,b"], "--weights: one column is needed; got a,b"),
    (["fit", "rows.csv", "-k", 5, "--model", "m.npz"], "--model: m.npz is a name for rows"),
    (["fit", "rows.csv", "-k", 5, "--columns", "a", "--no-header"], "no column 'a'; they have no names"),
    (["fit", "-k", 5], "Missing argument 'data'"),
    (["fit", "rows.npy", "-k", "many"], "-k': Input should be a valid integer"),
    (["report", "nothing", "rows.npy"], "nothing does not exist"),
    (["report", "rows.npy", "rows.npy", "--names", "nope.txt"], "nope.txt does not exist"),
    (["fit", "rows.csv", "-k", 5, "--columns", "a,z"], "no column 'z'; its columns are a, b, c, d, e, f"),
    (["fit", "rows.npy", "-k", 500], "-k: there are 300 rows in rows.npy, too few for 500 clusters"),
    (["fit", "rows.csv", "-k", 5, "--columns", ""], "--columns: no column is named"),
    (["fit", "rows.csv", "-k", 5, "--columns", "a,a"], "column 'a' of rows.csv is asked for twice"),
    (["predict", "rows.csv", "m", "--labels", "l.npy"], "rows.csv is no model of ksums: the model comes first"),
    (["fit", "rows.npy", "-k", 0], "n_clusters"),
    (["fit", "rows.npy"], "-k"),
    (["fit", "rows.npy", "-k", 5, "--metric", "cosin"], "metric"),
    (
        ["fit", "rows.npy", "-k", 5, "--method", "kmeans"],
        "--method: there is no 'kmeans'. Did you mean 'k-means'? There are k-means",
    ),
    (
        ["fit", "rows.npy", "-k", 5, "--method", "k-means", "--effort", "high"],
        "--effort is not for --method k-means; it is for --method ksums",
    ),
    (["fit", "rows.npy", "-k", 5, "--effort", "much"], "effort"),
    (["fit", "rows.npy", "-k", 5, "--labels", "labels.txt"], "--labels: labels.txt must end in .npy, .csv, .parquet"),
    (["fit", "rows.npy", "-k", 5, "--model", "."], "--model: . is a folder"),
    (["fit", "rows.npy", "-k", 5, "--model", "new/m"], "--model: new/m cannot be written: there is no folder new"),
    (["predict", "rows.npy", "rows.npy", "--labels", "l.npy"], "the model comes first, then the data"),
    (["predict", "nothing", "rows.npy", "--labels", "l.npy"], "nothing does not exist"),
    (["choose-k", "rows.npy", "--from", 9, "--to", 3], "--to must be at least --from, 9; got 3"),
    (["choose-k", "rows.npy", "--to", 400], "--to: with 300 rows at most 209 clusters can be looked at; got 400"),
    (["compare", "rows.npy", "-k", 5, "--methods", "k-means,kmedoids"], "--methods: there is no 'kmedoids'. "),
    (["compare", "rows.npy", "-k", 5, "--plot", "a.txt"], "--plot: a.txt must end in .png, .svg, .pdf"),
    (["reproduce", "nothing"], "there is no experiment 'nothing'; there are steps, significance"),
    (["reproduce", "--data", "no/such/folder"], "--data: no/such/folder is no folder"),
    (["reproduce", "--data", "."], "SIFT (learn) is not in ."),
    (["reproduce", "--only-page", "--out", "no/such/folder"], "there are no results in"),
    (["reproduce", "--quick", "--report", "."], "--report: . is a folder"),
    (["reproduce", "--runs", "0"], "--runs"),
    (["nonsense"], "nonsense"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda value: None if isinstance(value, str) else str(value))
def test_bad_use_is_one_clear_line_and_leaves_nothing(folder, arguments, words):
    before = sorted(folder.iterdir())
    code, told, errors = done(folder, *arguments)
    assert code == 2
    assert words in errors
    lines = [line for line in errors.splitlines() if not line.endswith(": fitting")]
    assert len(lines) == (6 if arguments == ["reproduce", "--data", "."] else 1), errors
    assert told == ""
    assert sorted(folder.iterdir()) == before


def test_a_process_of_its_own(folder):
    text = (folder / "rows.csv").read_text()
    process = ksums("fit", "-", "-k", 5, "--labels", "l.npy", cwd=folder, stdin=subprocess.PIPE)
    told, errors = process.communicate(text, timeout=120)
    assert process.returncode == 0, errors
    assert "labels: l.npy" in told
    process = ksums("fit", "nan.npy", "-k", 5, cwd=folder)
    told, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith("ksums: ")


def test_no_permission_is_said_before_the_work(folder):
    """The system is asked, for whom nothing is locked if this is root: then it answers as it would to others."""
    (folder / "locked").mkdir(mode=0o500)
    with mock.patch("os.access", return_value=False) if os.geteuid() == 0 else contextlib.nullcontext():
        code, _, errors = done(folder, "fit", "rows.npy", "-k", 5, "--labels", "locked/l.npy")
    assert code == 2
    assert errors == "ksums: --labels: locked/l.npy cannot be written: no permission in locked.\n"


def test_a_reader_that_goes_away_is_no_error(folder):
    command = f"{sys.executable} -m ksums fit rows.npy -k 5 | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    finished = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120)
    assert finished.returncode in (0, 1)  # 1 where it was still writing
    assert "Traceback" not in finished.stderr
    assert "Exception" not in finished.stderr


def test_ctrl_c_leaves_a_usable_model(folder, rng):
    np.save(folder / "many.npy", rng.random((60_000, 20)).astype(np.float32))
    process = ksums("fit", "many.npy", "-k", 300, "--effort", 600, "--model", "m", "--labels", "l.npy", cwd=folder)
    line = process.stderr.readline() + process.stderr.readline()  # a first pass is done
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, line + errors
    assert "interrupted" in errors
    assert library.load(folder / "m").cluster_centers_.shape == (300, 20)
    assert len(np.load(folder / "l.npy")) == 60_000


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "many.npy", "-k", 300, "--methods", "k-means++,ksums", "--runs", 60, "--table", "t.csv"],
        ["choose-k", "many.npy", "--from", 2, "--to", 300, "--table", "t.csv"],
    ],
    ids=["compare", "choose-k"],
)
def test_ctrl_c_leaves_what_is_done(folder, rng, command):
    """A fit that was cut short is no result: it is in no table."""
    np.save(folder / "many.npy", rng.random((20_000, 10)).astype(np.float32))
    process = ksums(*command, cwd=folder)
    if command[0] == "choose-k":
        process.stdout.readline()
        process.stdout.readline()  # the first k is done
    else:
        time.sleep(6)
    process.send_signal(signal.SIGINT)
    told, errors = process.communicate(timeout=120)
    assert process.returncode == 130, told + errors
    assert "ksums: interrupted" in errors
    if command[0] == "choose-k":
        assert len((folder / "t.csv").read_text().splitlines()) >= 2


def test_kill_in_the_middle_of_writing_leaves_no_half_file(folder):
    """The file is there as it was, or as it will be."""
    (folder / "labels.csv").write_text("before")
    script = (
        "import sys, time\n"
        "import numpy as np\n"
        "from pathlib import Path\n"
        "from ksums.cli.files import write_labels\n"
        "def slow():\n"
        "    for i in range(10**9):\n"
        "        yield i\n"
        "        if i == 100_000: print('half', flush=True); time.sleep(60)\n"
        "from ksums.cli import files\n"
        "files.write_table(Path('labels.csv'), {'label': slow()})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "half\n"
    process.kill()
    process.communicate(timeout=60)
    assert (folder / "labels.csv").read_text() == "before"
    left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    assert len(left) == 1  # hidden, and never taken for a result
    assert left[0].startswith(".labels.csv.")


def test_help_and_version():
    for arguments, words in (
        (["--help"], "reproduce"),
        (["fit", "--help"], "ksums fit vectors.npy -k 100"),
        (["reproduce", "--help"], "--quick"),
        (["--version"], library.__version__),
    ):
        code, told, errors = done(".", *arguments)
        assert code == 0, errors
        assert words in told
    code, told, errors = done(".")
    assert "Usage" in told + errors


def test_a_model_of_lists_finds_its_columns_again(folder, blobs):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"s": ["x"] * 300, "v": blobs.tolist()}), folder / "v.parquet")
    assert done(folder, "fit", "v.parquet", "-k", 5, "--columns", "v", "--model", "m", "-q")[0] == 0
    assert done(folder, "predict", "m", "v.parquet", "--labels", "p.npy")[0::2] == (0, "")
    assert done(folder, "report", "m", "v.parquet")[0::2] == (0, "")
