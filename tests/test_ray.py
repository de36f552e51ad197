"""The page on Ray: its code gives the labels of one machine."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from helpers import digest
from sklearn.datasets import make_blobs

from ksums import KSums

pytest.importorskip("ray")

PROGRAM = """
import sys, hashlib
import numpy as np, ray
from ray_tasks import fit_on_ray
from ksums import KSums
from ksums.planning import shards
shards._BLOCK_BYTES, shards._LEAST_SAMPLE, shards._ROWS_PER_CLUSTER = 16_000, 300, 40
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[2])
model = fit_on_ray(KSums(12, random_state=3), sys.argv[1])
print(hashlib.sha256(np.ascontiguousarray(model.labels_, np.int32).tobytes()).hexdigest())
"""


def test_the_code_on_the_page_gives_the_labels_of_one_machine(tmp_path, monkeypatch):
    from ksums.planning import shards

    X = make_blobs(3000, 8, centers=20, cluster_std=2.0, random_state=1)[0].astype(np.float32)
    for at, part in enumerate(np.array_split(X, 4)):
        np.save(tmp_path / f"{at}.npy", part)
    guide = Path(__file__).parent.parent / "docs" / "guide"
    environment = {**os.environ, "PYTHONPATH": str(guide), "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as short:  # names of sockets must be short
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "*.npy"), short]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr[-3000:]
    for name, value in (("_BLOCK_BYTES", 16_000), ("_LEAST_SAMPLE", 300), ("_ROWS_PER_CLUSTER", 40)):
        monkeypatch.setattr(shards, name, value)
    expected = KSums(12, random_state=3).fit(str(tmp_path / "*.npy"))
    assert ended.stdout.split()[-1] == digest(expected.labels_)
