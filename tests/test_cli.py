"""Commands as a new user types them, good and bad."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers import ksums

import ksums as library
from ksums.cli import main


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


def done(folder, *arguments, given=None):
    process = ksums(*arguments, cwd=folder, stdin=subprocess.PIPE)
    told, errors = process.communicate(given, timeout=300)
    return process.returncode, told, errors


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
    assert f"E_m {model.distortion_:.6g}" in told
    assert errors.startswith("300 rows of 6 columns, 5 clusters: fitting\n")
    assert "pass 1" in errors  # plain lines where nobody looks
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
    assert (folder / "labels.parquet").stat().st_size > 0


def test_choose_k_suggests_and_explains(folder):
    code, told, errors = done(
        folder, "choose-k", "rows.npy", "--from", 3, "--to", 7, "--plot", "k.png", "--table", "k.csv"
    )
    assert code == 0, errors
    assert "k = 5: models of different parts of the data agree to 1.00" in told
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
    assert "the model is of 300 rows of 6 columns; the data has 300 rows of 2" in errors
    assert not (folder / "other.html").exists()


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
    (["fit", "words.csv", "-k", 1], "could not convert string 'high'"),
    (["fit", "rows.csv", "-k", 5, "--columns", "a,z"], "no column 'z'; its columns are a, b, c, d, e, f"),
    (["fit", "rows.npy", "-k", 500], "n_clusters"),
    (["fit", "rows.npy", "-k", 0], "n_clusters"),
    (["fit", "rows.npy"], "-k"),
    (["fit", "rows.npy", "-k", 5, "--metric", "cosin"], "metric"),
    (["fit", "rows.npy", "-k", 5, "--method", "kmeans"], "--method: there is no 'kmeans'; there are k-means"),
    (["fit", "rows.npy", "-k", 5, "--method", "k-means", "--effort", "high"], "--effort is for --method ksums"),
    (["fit", "rows.npy", "-k", 5, "--effort", "much"], "effort"),
    (["fit", "rows.npy", "-k", 5, "--labels", "labels.txt"], "--labels: labels.txt must end in .npy, .csv, .parquet"),
    (["fit", "rows.npy", "-k", 5, "--model", "."], "--model: . is a folder"),
    (["fit", "rows.npy", "-k", 5, "--model", "new/m"], "--model: new/m cannot be written: there is no folder new"),
    (["predict", "rows.npy", "rows.npy", "--labels", "l.npy"], "no model of ksums"),
    (["predict", "nothing", "rows.npy", "--labels", "l.npy"], "nothing does not exist"),
    (["choose-k", "rows.npy", "--from", 9, "--to", 3], "--to must be at least --from, 9; got 3"),
    (["choose-k", "rows.npy", "--to", 400], "ks must be numbers of clusters from 2 to 209 for 300 rows"),
    (["compare", "rows.npy", "-k", 5, "--methods", "k-means,kmedoids"], "--methods: there is no 'kmedoids'"),
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
def test_bad_use_is_one_clear_line_and_leaves_nothing(folder, monkeypatch, capsys, arguments, words):
    """In this process, as a new one takes seconds to begin."""
    before = sorted(folder.iterdir())
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "argv", ["ksums", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    told, errors = capsys.readouterr()
    assert ended.value.code == 2
    assert words in errors
    assert told == ""
    assert sorted(folder.iterdir()) == before


def test_bad_input_shows_no_traceback(folder):
    code, _, errors = done(folder, "fit", "nan.npy", "-k", 5)
    assert code == 2
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith("ksums: ")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user who may not write everywhere")
def test_no_permission_is_said_before_the_work(folder):
    (folder / "locked").mkdir(mode=0o500)
    code, _, errors = done(folder, "fit", "rows.npy", "-k", 5, "--labels", "locked/l.npy")
    assert code == 2
    assert "no permission" in errors


def test_a_reader_that_goes_away_is_no_error(folder):
    command = f"{sys.executable} -m ksums fit rows.npy -k 5 | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    finished = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120)
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


def test_help_and_version():
    for arguments, words in (
        (["--help"], "reproduce"),
        (["fit", "--help"], "ksums fit vectors.npy -k 100"),
        (["reproduce", "--help"], "--quick"),
        (["--version"], "0."),
    ):
        process = ksums(*arguments)
        told, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert words in told
