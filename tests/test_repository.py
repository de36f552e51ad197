"""What is written down is true."""

import subprocess
import sys

from helpers import ROOT


def test_the_readme_shows_the_measured_results():
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "readme.py", "--check"], check=False)
    assert done.returncode == 0, "run benchmarks/readme.py"


def test_the_architecture_names_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    source = {path.name for path in (ROOT / "src").rglob("*.py")} | {
        path.name for path in (ROOT / "tests").glob("*.py")
    }
    named = {word.strip("`:,.").split("/")[-1] for word in text.replace("`", " ` ").split() if word.endswith(".py")}
    assert named
    assert not {name for name in named if name.startswith(("test_", "_"))} - source
