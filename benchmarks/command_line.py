"""Measure ``ksums fit`` on a file of a million rows: the memory it adds, and the time until its first line of output.

The rows are read through a memory map. Memory is the peak of the process's own pages, without those of the file, which
the system can reclaim at any time, and without what the same command needs for 200 rows (interpreter and libraries).
scikit-learn clusters the same rows in its own process and reads the whole file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from common import print_table, save, short

N, D, K = 1_000_000, 32, 100
"""The benchmark fits K clusters to N rows of D columns."""
SCIKIT_LEARN = """
import json, sys
import numpy as np
from sklearn.cluster import KMeans
X = np.load(sys.argv[1])
model = KMeans(int(sys.argv[2]), random_state=0).fit(X)
print(json.dumps({"distortion": model.inertia_ / len(X)}))
"""
"""This script clusters a file with scikit-learn; its arguments are the file and k."""


def run_watched(command: list[str]) -> dict[str, Any]:
    """Run a command; return its output, its peak memory, and the seconds until its first line and its end."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: list[tuple[float, str]] = []

    def listen() -> None:
        lines.extend((time.perf_counter() - started, line.rstrip()) for line in process.stderr)

    listener = Thread(target=listen)
    listener.start()
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        peak = max(peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")), 0)
        time.sleep(0.01)
    output = process.stdout.read()
    listener.join()
    if process.wait():
        sys.exit(f"{' '.join(command)} failed: {lines}")
    first_pass = next((at for at, line in lines if "objective" in line), None)
    return {
        "seconds": time.perf_counter() - started,
        "first line, s": lines[0][0] if lines else None,
        "first pass, s": first_pass,
        "held, MB": peak / 1024,
        "output": output,
    }


def main() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(300, D)) * 2
    with tempfile.TemporaryDirectory() as folder:
        data, few, labels = Path(folder) / "rows.npy", Path(folder) / "few.npy", Path(folder) / "labels.npy"
        X = (centres[rng.integers(300, size=N)] + rng.normal(size=(N, D))).astype(np.float32)
        np.save(data, X)
        np.save(few, X[:200])
        size = X.nbytes / 2**20
        del X
        ksums = [sys.executable, "-m", "ksums", "fit"]
        # The first run compiles the kernels.
        run_watched([*ksums, str(data), "-k", str(K), "--effort", "low", "--labels", str(labels)])
        bare_ksums = run_watched([*ksums, str(few), "-k", "20", "--effort", "low", "--labels", str(labels)])["held, MB"]
        rows = []
        for effort in ("low", "default"):
            run = run_watched([*ksums, str(data), "-k", str(K), "--effort", effort, "--labels", str(labels)])
            e_m = float(run.pop("output").split("E_m ")[1].split(",")[0])
            rows.append(
                {"method": f"ksums fit --effort {effort}", "E_m": e_m, **run, "added, MB": run["held, MB"] - bare_ksums}
            )
        run = run_watched([sys.executable, "-c", SCIKIT_LEARN, str(data), str(K)])
        e_m = json.loads(run.pop("output"))["distortion"]
        bare_sklearn = run_watched([sys.executable, "-c", SCIKIT_LEARN, str(few), "20"])["held, MB"]
        rows.append({"method": "scikit-learn", "E_m": e_m, **run, "added, MB": run["held, MB"] - bare_sklearn})
    bound = 0.25 * size + 200
    print_table(rows, ["method", "E_m", "seconds", "first line, s", "first pass, s", "held, MB", "added, MB"], short)
    print(f"The rows take {size:.0f} MB; a fit may add a quarter of that plus 200 MB: {bound:.0f} MB.")
    save("command_line", {"n": N, "d": D, "k": K, "rows, MB": size, "bound, MB": bound, "runs": rows})


if __name__ == "__main__":
    main()
