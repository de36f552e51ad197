"""Everything the documentation shows is run: Python blocks as doctests (see pyproject.toml), commands here."""

import re
import shlex

import numpy as np
import pyarrow
import pytest
from helpers import ROOT
from pyarrow import parquet
from scipy import sparse
from test_cli import run_ksums

from ksums.cli.app import app

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not {"_build", "gallery"} & set(page.parts)]
"""These are all pages of the documentation, without generated ones."""
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.M | re.S)
"""The groups of a match are the language of a code block and its text."""
NOT_RUN = ("pip install", "make ")
"""Commands that start like this change the machine, so only CI runs them, on a bare one."""
LONG = ("ksums reproduce",)
"""These commands take minutes; ``test_reproduce.py`` runs them on smaller data."""


def blocks(text):
    """Return the language and the text of every code block."""
    return BLOCK.findall(text)


def commands(text):
    """Return the lines of all shell blocks, without comments."""
    return [
        line.split("    #")[0].strip()
        for language, block in blocks(text)
        if language == "sh"
        for line in block.splitlines()
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_is_not_code(page):
    for language, block in blocks(page.read_text("utf-8")):
        if language == "python":
            assert block.lstrip().startswith(">>> "), block
        else:
            assert language in ("sh", "text") or language.startswith("{"), block


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that the guide uses."""
    rng = np.random.default_rng(0)
    survey = np.column_stack([rng.integers(18, 90, 200), rng.integers(1, 9, 200) * 10_000, rng.random(200)])
    for name in ("survey.csv", "more.csv", "rows.csv"):
        np.savetxt(tmp_path / name, survey, delimiter=",", header="age,income,score", comments="", fmt="%g")
    regions = ("north", "south", "west")
    answers = [
        f"P{i},{'' if i % 9 == 0 else 20 + 10 * (i % 3) + i % 5},"
        f"{'NA' if i % 5 == 0 else 20_000 + 9_000 * (i % 3) + i},{regions[i % 3]},"
        f"{'yes' if i % 4 else 'no'},202{i % 3}-03-{1 + i % 28:02d}"
        for i in range(90)
    ]
    (tmp_path / "answers.csv").write_text("\n".join(["person,age,income,region,member,joined", *answers]))
    tiers = {0: "gold", 4: "new"}
    lines = [f"{age:g},{income:g},{i // 2},{tiers.get(i % 10, '')}" for i, (age, income, _) in enumerate(survey)]
    (tmp_path / "customers.csv").write_text("\n".join(["age,income,household,tier", *lines]))
    vectors = rng.normal(size=(400, 8)).astype(np.float32)
    for name in ("vectors.npy", "glove.npy"):
        np.save(tmp_path / name, vectors)
    for name in ("vectors", "more"):
        (tmp_path / name).mkdir()
        for at in range(2):
            lists = pyarrow.array(rng.random((700, 8)).tolist())
            parquet.write_table(pyarrow.table({"embedding": lists}), tmp_path / name / f"{at}.parquet")
    counts = rng.poisson(0.3, (400, 30))
    counts[:, 0] += 1
    sparse.save_npz(tmp_path / "texts.npz", sparse.csr_array(counts.astype(float)))
    (tmp_path / "words.txt").write_text("\n".join(f"text {i}" for i in range(400)))
    (tmp_path / "terms.txt").write_text("\n".join(f"term {t}" for t in range(30)))
    assert run_ksums(tmp_path, "fit", "glove.npy", "-k", 5, "--model", "words.safetensors", "-q")[0] == 0
    assert run_ksums(tmp_path, "fit", "survey.csv", "-k", 5, "--model", "survey.safetensors", "-q")[0] == 0
    return tmp_path


def check_command(folder, line):
    """Run a command line and check that it succeeds and writes its files."""
    words = shlex.split(line)
    stdin = ""
    if words[0] == "cat":
        stdin, words = (folder / words[1]).read_text(), words[words.index("|") + 1 :]
    assert words[0] == "ksums", line
    code, output, errors = run_ksums(folder, *words[1:], stdin=stdin)
    assert code == 0, f"{line}\n{output}{errors}"
    for option in ("--labels", "--model", "--report", "--plot", "--table", "--history", "--out"):
        if option in words:
            assert (folder / words[words.index(option) + 1]).stat().st_size > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_works(page, folder):
    for line in commands(page.read_text("utf-8")):
        if line and not line.startswith((*NOT_RUN, *LONG)):
            check_command(folder, line)


@pytest.mark.parametrize("command", app.registered_commands, ids=lambda command: command.callback.__name__)
def test_the_examples_in_the_help_work(command, folder):
    lines = [line.strip() for line in command.callback.__doc__.splitlines()]
    examples = [line for line in lines if line.startswith(("ksums ", "cat "))]
    assert examples or command.callback.__name__ == "info"
    for line in examples:
        if not line.startswith(LONG):
            check_command(folder, line)
