"""Threads change only the time, the import is light, and compiling is announced."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numba
import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info

import ksums
from ksums import BisectingKSums, KSums, compiling
from ksums.compiling import PARTS
from ksums.compute import sharing
from ksums.compute.threads import computing, use_threads
from ksums.method.search import ahead


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"objective": "pairwise"}, {"rule": "released"}])
def test_same_labels_for_any_number_of_threads(dtype, options, rng, monkeypatch):
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    X = rng.standard_normal((3000, 40)).astype(dtype)
    one, two = (KSums(300, random_state=0, max_iter=12, n_threads=n, **options).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.inertia_ == two.inertia_
    assert [r.moves for r in one.history_] == [r.moves for r in two.history_]
    assert [r.objective for r in one.history_] == [r.objective for r in two.history_]
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_labels_for_any_number_of_threads_under_size_limits(dtype, rng, monkeypatch):
    """Many distances are equal here, so any difference in rounding would show."""
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    X = rng.integers(0, 3, (1200, 40)).astype(dtype)
    one, two = (KSums(300, size_min=3, size_max=5, max_iter=2, random_state=0, n_threads=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_threads_are_limited_and_restored(blobs):
    KMeans(2).fit(blobs)  # This loads OpenMP.
    before = blas_threads()
    for requested in (1, 2):
        with computing(requested) as n_threads:
            assert n_threads <= requested
            assert set(blas_threads()) == {1}  # Its rounding would depend on the number of threads.
    assert blas_threads() == before
    with pytest.raises(ZeroDivisionError), computing(1):
        _ = 1 / 0
    assert blas_threads() == before
    with computing(10_000) as n_threads:
        assert n_threads == numba.config.NUMBA_NUM_THREADS


def test_the_environment_sets_the_number_of_threads():
    code = "from ksums.compute.threads import computing\nwith computing(None) as n: print(n)"
    assert run_python(code, NUMBA_NUM_THREADS="1").stdout.strip() == "1"


FIT_IN_A_FORK = """
import os, numpy as np
from ksums import KSums
X = np.random.default_rng(0).standard_normal((2000, 20))
model = KSums(40, random_state=0)
labels = model.fit_predict(X)
child = os.fork()
if child == 0:
    os._exit(int((model.fit_predict(X) != labels).any()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""This script fits in a forked process and prints 0 if the labels are the same there."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_can_fit_too():
    assert run_python(FIT_IN_A_FORK).stdout.strip() == "0"


def test_fits_in_several_threads_at_once(rng, monkeypatch):
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    X = rng.standard_normal((1500, 20))
    expected = [KSums(40, random_state=seed, max_iter=10).fit_predict(X) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        got = pool.map(lambda seed: KSums(40, random_state=seed, max_iter=10).fit_predict(X), range(4))
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_array_equal(one, other)


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )


def test_the_import_is_light():
    code = "import sys, json, ksums; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run_python(code).stdout))
    assert not loaded & {"numba", "matplotlib", "torch", "dask", "tqdm", "polars"}


FIT = "import numpy as np; from ksums import KSums; KSums(3).fit(np.random.default_rng(0).standard_normal((50, 4)))"
"""This script makes one small fit."""


def test_compiling_is_announced_once(tmp_path):
    code = FIT.replace("50", "10_000")  # so many that compiled loops prepare them
    first = run_python(code, NUMBA_CACHE_DIR=str(tmp_path))
    again = run_python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stderr.count("is compiling its kernels") == 1
    assert again.stderr == ""


HASH_OF_LABELS = """
import numpy as np
from ksums import KSums
from ksums.compute import vectors
X = np.random.default_rng(0).standard_normal((700, 21)).astype(np.float32)
model = KSums(60, n_threads=1, random_state=0, max_iter=4).fit(X)
print(vectors.VECTOR_BITS, hash(model.labels_.tobytes()))
"""
"""This script prints the width of the vectors in use and a hash of the labels."""


def test_labels_do_not_depend_on_the_width_of_vectors(tmp_path):
    """Kernels are compiled for the vectors of other CPUs and run on this one."""
    host = get_host_cpu_features()
    if not (host.get("avx512f") and host.get("avx2") and host.get("fma")):
        pytest.skip("this CPU has no AVX-512 to compare narrower vectors with")
    results = {}
    for bits, features in {"512": "+avx512f,+avx2,+fma", "256": "+avx2,+fma"}.items():
        output = run_python(
            HASH_OF_LABELS, NUMBA_CPU_FEATURES=features, NUMBA_CACHE_DIR=str(tmp_path / bits), PYTHONHASHSEED="0"
        ).stdout.split()
        assert output[0] == bits
        results[bits] = output[1]
    assert len(set(results.values())) == 1


# ------------------------------------------------------------------------------------------ compiling ahead of time
def test_compiling_ahead_of_time_goes_through_all_parts(monkeypatch, capsys):
    seen = []
    parts = tuple(compiling.Part(part.name, lambda X, part=part: seen.append((part.name, X.dtype))) for part in PARTS)
    monkeypatch.setattr(compiling, "PARTS", parts)
    assert ksums.compile(["float32"]) >= 0
    assert [name for name, _ in seen] == [part.name for part in PARTS]
    assert {dtype for _, dtype in seen} == {np.dtype(np.float32)}
    assert "float32" in capsys.readouterr().err
    ksums.compile(progress=False)
    assert len(seen) == 3 * len(PARTS)
    assert capsys.readouterr().err == ""


def test_every_engine_is_compiled_ahead_of_time():
    """After the fits of all parts, a default fit of each kind compiles nothing."""
    rng = np.random.default_rng(1)
    X = np.abs(rng.standard_normal((400, 4)))
    for part in PARTS:
        part.fit(X)
    with mock.patch("ksums.compute.compile_notice.CompileNotice.on_start") as compiles:
        for k, parameters in ((5, {}), (30, {}), (5, {"engine": "blocks"}), (50, {"engine": "neighbors"})):
            KSums(k, random_state=1, **parameters).fit(X[:, :3] + 1)
        BisectingKSums(6, random_state=1).fit(X)
    assert not compiles.called


def test_only_known_types_are_compiled():
    with pytest.raises(ValueError, match="types must be among 'float32', 'float64'; got 'int8'"):
        ksums.compile(["int8"])


# -------------------------------------------------------------------------------------------- the second process
def test_the_search_is_compiled_by_a_second_process(monkeypatch, tmp_path):
    """What it keeps on disk is what a fit loads: nothing of the search is compiled in the process that waits."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    process = ahead._start("float64")
    assert process.wait() == 0
    program = """
import numpy as np
from ksums import KSums
from ksums.method.search.trial_kernels import merge_split_trials
X = np.random.default_rng(0).standard_normal((300, 3))
KSums(4, n_threads=1).fit(X)
print(sum(merge_split_trials.stats.cache_hits.values()), sum(merge_split_trials.stats.cache_misses.values()))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1", "0"]


@pytest.mark.parametrize(("count", "searches", "expected"), [(1, True, []), (2, False, []), (2, True, ["float32"])])
def test_the_second_process_starts_with_the_first_compilation(count, searches, expected, monkeypatch):
    started = []
    monkeypatch.setattr(ahead, "_start", started.append)
    monkeypatch.setattr(ahead, "_processes", {})
    with use_threads(count), ahead.compiling_ahead(np.dtype("float32"), searches):
        assert not started
        for _ in range(2):
            numba.njit(lambda x: x + 1)(1)
    ahead.wait_for_search(np.dtype("float32"))
    assert started == expected


def test_without_a_second_process_the_fit_goes_on(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", mock.Mock(side_effect=OSError("not allowed")))
    assert ahead._start("float32") is None
