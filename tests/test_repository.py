"""What is written down about the repository is true."""

import re
import subprocess
import sys

import pytest
from helpers import ROOT

from ksums import KSums
from ksums.method.engines import blocks, exact, neighbours

PACKAGE = ROOT / "src" / "ksums"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
TABLE = ARCHITECTURE.partition("## I want to change …")[2]
CHANGES = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| ") and "`" in line]


def test_the_pages_show_the_measured_results():
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "readme.py", "--check"], check=False)
    assert done.returncode == 0, "run benchmarks/readme.py"


def test_the_readme_fits_on_a_screen_or_two():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 130


def found(name):
    """Whether a file or folder of that name, given by the end of its path, exists."""
    if (ROOT / name).exists():
        return True
    return any(path.as_posix().endswith(f"/{name}") for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("row", CHANGES, ids=[row[0] for row in CHANGES])
def test_what_to_open_exists_and_has_its_test(row):
    _, files, tests = row
    for name in re.findall(r"`([^`]+)`", files):
        assert found(name), name
    for name in re.findall(r"`([^`]+)`", tests):
        assert (ROOT / name).exists() or (ROOT / "tests" / name).exists(), name


def test_the_architecture_names_every_room():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    rooms |= {f"method/{path.name}" for path in (PACKAGE / "method").iterdir() if (path / "__init__.py").exists()}
    missing = [room for room in rooms if f"`{room.removeprefix('method/')}/`" not in ARCHITECTURE]
    assert not missing


def test_no_folder_holds_a_single_file():
    for folder in [PACKAGE, *(path.parent for path in PACKAGE.rglob("__init__.py"))]:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) > 1 or any(path.is_dir() for path in folder.iterdir() if path.name != "__pycache__"), folder


@pytest.mark.parametrize(
    ("module", "kernel", "given"),
    [
        (exact, "rows_block", {"n_clusters": 5}),
        (exact, "panel_block", {"n_clusters": 20}),
        (blocks, "pass_over_blocks", {"n_clusters": 5, "engine": "blocks"}),
        (neighbours, "neighbour_batches", {"n_clusters": 40, "engine": "neighbors", "init": "random-labels"}),
    ],
)
def test_the_walk_from_fit_to_a_kernel_is_short(module, kernel, given, rng, monkeypatch):
    """At most eight Python frames of ours, as ARCHITECTURE.md draws it."""
    X, walks, real = rng.standard_normal((300, 8)), [], getattr(module, kernel)

    def counting(*arguments):
        walk, frame = [], sys._getframe(1)
        while frame is not None:
            if PACKAGE.as_posix() in frame.f_code.co_filename:
                walk.append(frame.f_code.co_name)
            frame = frame.f_back
        walks.append(walk[::-1])
        return real(*arguments)

    monkeypatch.setattr(module, kernel, counting)
    KSums(random_state=0, n_threads=1, **given).fit(X)
    longest = max((walk for walk in walks if "go" in walk), key=len)  # the other passes are those of starts
    assert longest[:4] == ["fit", "_fit", "fit", "go"]
    assert len(longest) <= 8, longest
    drawn = ARCHITECTURE.partition("## The walk of a fit")[2].partition("## The engines")[0]
    assert all(re.search(rf"\b{name}\b", drawn) for name in longest)
