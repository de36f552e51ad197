"""Data sets on disk, in the folder ``KSUMS_DATA`` or a given one.

A loader reads the paper's data, as ``fetch_*`` stores it, or a smaller set of the same kind that the user put into the
folder; ``Dataset.name`` says which one it was.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from ksums.datasets._dataset import Dataset
from ksums.datasets._folder import find_file, folder_for
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
"""The document sets of the paper, by the names it prints."""


def load_sift(part: str = "learn", data_home: str | Path | None = None) -> Dataset:
    """SIFT descriptors, (n, 128): from TEXMEX, or from other photographs.

    Parameters
    ----------
    part : {"learn", "base"}, default="learn"
        ``"learn"`` is the paper's SIFT100K, ``"base"`` its SIFT1M.
    data_home : str or Path, default=None
        Folder with the files; if None, ``KSUMS_DATA`` or the user's cache.

    Returns
    -------
    Dataset
    """
    other = {"learn": "sift/sift100k_learn.npy", "base": "sift/sift200k_base.npy"}
    if part not in other:
        raise ValueError(f"part must be one of {sorted(other)}; got {part!r}.")
    texmex = f"sift_{part}"
    files = {f"{texmex}.npy": f"TEXMEX {texmex}", f"{texmex}.fvecs": f"TEXMEX {texmex}"}
    files[other[part]] = f"SIFT of photographs ({part})"
    return _load_first(files, data_home, f"SIFT ({part})", f"fetch_sift({part!r}) downloads it.")


def load_glove(data_home: str | Path | None = None) -> Dataset:
    """GloVe vectors, (n, 100): of words from tweets, or of the most frequent words of GloVe 6B.

    Parameters
    ----------
    data_home
        As in :func:`load_sift`.

    Returns
    -------
    Dataset
    """
    files = {"glove_twitter_100.npy": "GloVe twitter", "glove100/glove60k.npy": "GloVe 6B, the most frequent words"}
    return _load_first(files, data_home, "GloVe", "fetch_glove() downloads it.")


def load_audio(data_home: str | Path | None = None) -> Dataset:
    """Audio features, (n, 60): rhythm histograms of the Million Song Dataset, or MFCC of ESC-50.

    Parameters
    ----------
    data_home
        As in :func:`load_sift`.

    Returns
    -------
    Dataset
    """
    files = {"msd_rh.npy": "MSD rhythm histograms", "esc50_mfcc60/esc50_mfcc60_50k.npz": "ESC-50 MFCC"}
    return _load_first(files, data_home, "Audio data", "fetch_rhythm_histograms() downloads it.")


def load_events(data_home: str | Path | None = None) -> Dataset:
    """Events of particle physics: SUSY from UCI, (n, 18), or two-lepton events of CMS, (n, 17).

    The columns of CMS have different units, so each is divided by its standard deviation.

    Parameters
    ----------
    data_home
        As in :func:`load_sift`.

    Returns
    -------
    Dataset
    """
    files = {"susy.npy": "UCI SUSY", "cms_dilepton/cms_dilepton.npz": "CMS dilepton events"}
    data = _load_first(files, data_home, "Event data", "fetch_susy() downloads it.")
    if data.name == "UCI SUSY":
        return data
    X = np.asarray(data.X, np.float64)
    deviations = X.std(axis=0)
    return Dataset(data.name, (X / np.where(deviations > 0, deviations, 1.0)).astype(np.float32), path=data.path)


def load_documents(name: str, data_home: str | Path | None = None) -> Dataset:
    """Term counts of a document set of the paper, a CSR array (n, d), with classes.

    Parameters
    ----------
    name : str
        One of ``DOCUMENTS``.
    data_home
        As in :func:`load_sift`.

    Returns
    -------
    Dataset
    """
    if name not in DOCUMENTS:
        raise ValueError(f"name must be one of {', '.join(DOCUMENTS)}; got {name!r}.")
    path = _document_file(name, data_home)
    if path.suffix == ".npz":
        X, y = read_rows(path), np.load(path.with_name("y.npy"))
    else:
        data = read_cluto(path)
        if data.classes is None:
            raise ValueError(f"{path}: the .rclass file with the class of each document is missing from its folder.")
        X, y = data.X, np.unique(data.classes, return_inverse=True)[1]
    return Dataset(name, X.astype(np.float64), y, path=path)


def documents_at_hand(data_home: str | Path | None = None) -> list[str]:
    """Names of the paper's document sets that :func:`load_documents` finds on disk.

    Parameters
    ----------
    data_home
        As in :func:`load_sift`.

    Returns
    -------
    list of str
    """
    found = []
    for name in DOCUMENTS:
        with contextlib.suppress(FileNotFoundError):
            _document_file(name, data_home)
            found.append(name)
    return found


def _document_file(name: str, data_home: str | Path | None) -> Path:
    files = (f"docs/{name}/X.npz", f"docs/{name}.mat", f"cluto/{name}.mat", f"cluto/datasets/{name}.mat")
    return find_file(files, data_home, f"The document set {name}", "fetch_documents() downloads those of CLUTO.")


def _load_first(files: dict[str, str], data_home: str | Path | None, data: str, advice: str) -> Dataset:
    """The first of these files that exists; the dictionary maps file names to captions."""
    path = find_file(tuple(files), data_home, data, advice)
    name = files[path.relative_to(folder_for(data_home)).as_posix()]
    y = read_arrays(path).get("y") if path.suffix == ".npz" else None
    return Dataset(name, read_rows(path), y, path=path)
