"""``ksums fit`` on a million rows in a file: what memory it adds, and when the first sign of life appears.

The rows are read through a memory map. Memory is what the process holds itself (not the pages of the file, which the
system may take back at any time), less what the same command holds that clusters 200 rows: interpreter and libraries.
Beside it, the same clustering by scikit-learn in a process of its own, which reads the file as a whole.
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
from common import save, short, table

N, D, K = 1_000_000, 32, 100
SCIKIT_LEARN = """
import json, sys
import numpy as np
from sklearn.cluster import KMeans
X = np.load(sys.argv[1])
model = KMeans(int(sys.argv[2]), random_state=0).fit(X)
print(json.dumps({"distortion": model.inertia_ / len(X)}))
"""


def watched(command: list[str]) -> dict[str, Any]:
    """Run a command; seconds to its first line of progress and to its end, and the most memory it held itself."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: list[tuple[float, str]] = []

    def listen() -> None:
        lines.extend((time.perf_counter() - began, line.rstrip()) for line in process.stderr)

    listener = Thread(target=listen)
    listener.start()
    most = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        most = max(most, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")), 0)
        time.sleep(0.01)
    told = process.stdout.read()
    listener.join()
    if process.wait():
        sys.exit(f"{' '.join(command)} failed: {lines}")
    first_pass = next((at for at, line in lines if "objective" in line), None)
    return {
        "seconds": time.perf_counter() - began,
        "first line, s": lines[0][0] if lines else None,
        "first pass, s": first_pass,
        "held, MB": most / 1024,
        "told": told,
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
        watched([*ksums, str(data), "-k", str(K), "--effort", "low", "--labels", str(labels)])  # compiled from now on
        bare = watched([*ksums, str(few), "-k", "20", "--effort", "low", "--labels", str(labels)])["held, MB"]
        rows = []
        for effort in ("low", "default"):
            done = watched([*ksums, str(data), "-k", str(K), "--effort", effort, "--labels", str(labels)])
            e_m = float(done.pop("told").split("E_m ")[1].split(",")[0])
            rows.append(
                {"method": f"ksums fit --effort {effort}", "E_m": e_m, **done, "added, MB": done["held, MB"] - bare}
            )
        done = watched([sys.executable, "-c", SCIKIT_LEARN, str(data), str(K)])
        e_m = json.loads(done.pop("told"))["distortion"]
        bare_sklearn = watched([sys.executable, "-c", SCIKIT_LEARN, str(few), "20"])["held, MB"]
        rows.append({"method": "scikit-learn", "E_m": e_m, **done, "added, MB": done["held, MB"] - bare_sklearn})
    bound = 0.25 * size + 200
    table(rows, ["method", "E_m", "seconds", "first line, s", "first pass, s", "held, MB", "added, MB"], short)
    print(f"the rows take {size:.0f} MB; the core's bound is a quarter of that and 200 MB: {bound:.0f} MB")
    save("command_line", {"n": N, "d": D, "k": K, "rows, MB": size, "bound, MB": bound, "runs": rows})


if __name__ == "__main__":
    main()
