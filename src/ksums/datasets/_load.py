"""Data sets that are on disk, in the folder ``KSUMS_DATA`` or one that is named.

The same loader takes the real thing, as :mod:`ksums.datasets` downloads it, or a smaller one of the same kind that was
put there by hand; ``Dataset.name`` says which it was.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from ksums.datasets._folder import find, folder_for
from ksums.datasets._types import Dataset
from ksums.io import read_arrays, read_cluto, read_rows

DOCUMENTS = (
    "classic",
    "fbis",
    "hitech",
    "k1a",
    "k1b",
    "la12",
    "new3",
    "ohscal",
    "re0",
    "re1",
    "reviews",
    "sports",
    "tr31",
    "tr41",
    "wap",
)
"""The document sets of the paper."""


def load_sift(part: str = "learn", data_home: str | Path | None = None) -> Dataset:
    """SIFT descriptors, (n, 128): of TEXMEX, or of other photographs.

    Parameters
    ----------
    part : {"learn", "base"}, default="learn"
        The paper's SIFT100K and SIFT1M.
    data_home : str or Path, default=None
        The folder to look in: ``KSUMS_DATA`` or the user's cache, if None.
    """
    other = {"learn": "sift/sift100k_learn.npy", "base": "sift/sift200k_base.npy"}
    if part not in other:
        raise ValueError(f"part must be one of {sorted(other)}; got {part!r}.")
    texmex = f"sift_{part}"
    files = {f"{texmex}.npy": f"TEXMEX {texmex}", f"{texmex}.fvecs": f"TEXMEX {texmex}"}
    files[other[part]] = f"SIFT of photographs ({part})"
    return _first(files, data_home, f"SIFT ({part})", f"fetch_sift({part!r}) downloads it.")


def load_glove(data_home: str | Path | None = None) -> Dataset:
    """GloVe vectors, (n, 100): of all words of tweets, or of the most frequent words of GloVe 6B.

    Parameters
    ----------
    data_home
        See :func:`load_sift`.
    """
    files = {"glove_twitter_100.npy": "GloVe twitter", "glove100/glove60k.npy": "GloVe 6B, the most frequent words"}
    return _first(files, data_home, "GloVe", "fetch_glove() downloads it.")


def load_audio(data_home: str | Path | None = None) -> Dataset:
    """Features of sounds, (n, 60): rhythm histograms of the Million Song Dataset, or MFCC of ESC-50.

    Parameters
    ----------
    data_home
        See :func:`load_sift`.
    """
    files = {"msd_rh.npy": "MSD rhythm histograms", "esc50_mfcc60/esc50_mfcc60_50k.npz": "ESC-50 MFCC"}
    return _first(files, data_home, "Audio features", "fetch_rhythm_histograms() downloads them.")


def load_events(data_home: str | Path | None = None) -> Dataset:
    """Events of particle physics: SUSY of UCI, (n, 18), or two-lepton events of CMS, (n, 17) with each column scaled.

    The columns of CMS have different units: each is divided by its standard deviation.

    Parameters
    ----------
    data_home
        See :func:`load_sift`.
    """
    files = {"susy.npy": "UCI SUSY", "cms_dilepton/cms_dilepton.npz": "CMS dilepton events"}
    data = _first(files, data_home, "Event data", "fetch_susy() downloads it.")
    if data.name == "UCI SUSY":
        return data
    X = np.asarray(data.X, np.float64)
    spread = X.std(axis=0)
    return Dataset(data.name, (X / np.where(spread > 0, spread, 1.0)).astype(np.float32), path=data.path)


def load_documents(name: str, data_home: str | Path | None = None) -> Dataset:
    """Term counts of a document set of the paper, (n, d) in CSR form, with classes.

    Parameters
    ----------
    name : str
        One of ``DOCUMENTS``.
    data_home
        See :func:`load_sift`.
    """
    if name not in DOCUMENTS:
        raise ValueError(f"name must be one of {', '.join(DOCUMENTS)}; got {name!r}.")
    path = _path_of(name, data_home)
    if path.suffix == ".npz":
        X, y = read_rows(path), np.load(path.with_name("y.npy"))
    else:
        data = read_cluto(path)
        if data.classes is None:
            raise ValueError(f"{path} has no .rclass file beside it, which says the class of each document.")
        X, y = data.X, np.unique(data.classes, return_inverse=True)[1]
    return Dataset(name, X.astype(np.float64), y, path=path)


def documents_at_hand(data_home: str | Path | None = None) -> list[str]:
    """Those of the paper's document sets that :func:`load_documents` finds."""
    found = []
    for name in DOCUMENTS:
        with contextlib.suppress(FileNotFoundError):
            _path_of(name, data_home)
            found.append(name)
    return found


def _path_of(name: str, data_home: str | Path | None) -> Path:
    files = (f"docs/{name}/X.npz", f"docs/{name}.mat", f"cluto/{name}.mat", f"cluto/datasets/{name}.mat")
    return find(files, data_home, f"The document set {name}", "fetch_documents() downloads those of CLUTO.")


def _first(files: dict[str, str], data_home: str | Path | None, what: str, cure: str) -> Dataset:
    path = find(tuple(files), data_home, what, cure)
    name = files[path.relative_to(folder_for(data_home)).as_posix()]
    y = read_arrays(path).get("y") if path.suffix == ".npz" else None
    return Dataset(name, read_rows(path), y, path=path)
