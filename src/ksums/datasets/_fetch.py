"""Data sets of the paper from where they are published. Each is downloaded once, checked, and kept as an .npy file."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import re
import shutil
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from ksums.datasets._download import DownloadError, download
from ksums.datasets._folder import folder_for
from ksums.datasets._types import Dataset
from ksums.io import read_vecs, whole_or_not_at_all


class Source(NamedTuple):
    """Where a data set is published, and how it is known to be whole."""

    urls: list[str]
    file: str
    size: int | None  # bytes
    shape: tuple[int | None, int]  # of the rows in it


_SIFT_MIRROR = "https://huggingface.co/datasets/qbo-odp/sift1m/resolve/main"
SOURCES = {
    "sift_learn": Source([f"{_SIFT_MIRROR}/sift_learn.fvecs"], "sift_learn.fvecs", 51_600_000, (100_000, 128)),
    "sift_base": Source([f"{_SIFT_MIRROR}/sift_base.fvecs"], "sift_base.fvecs", 516_000_000, (1_000_000, 128)),
    "sift": Source(["ftp://ftp.irisa.fr/local/texmex/corpus/sift.tar.gz"], "sift.tar.gz", None, (None, 128)),
    "glove": Source(
        ["https://nlp.stanford.edu/data/glove.twitter.27B.zip"],
        "glove.twitter.27B.zip",
        1_520_408_563,
        (1_193_514, 100),
    ),
    "susy": Source(
        ["https://archive.ics.uci.edu/static/public/279/susy.zip"], "susy.zip", 922_377_831, (5_000_000, 18)
    ),
    "msd": Source(["http://www.ifs.tuwien.ac.at/mir/msd/download.html"], "msd-rh-v1.0.csv.gz", None, (None, 60)),
    "cluto": Source(
        ["http://glaros.dtc.umn.edu/gkhome/fetch/sw/cluto/datasets.tar.gz"], "datasets.tar.gz", None, (None, 0)
    ),
}
"""Addresses may change; ``SOURCES["glove"].urls.append(...)`` adds one. That of the songs is a page with a link; SIFT
is there as single files on a mirror, and as the archive of TEXMEX."""


def fetch_sift(part: str = "learn", data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """SIFT descriptors of TEXMEX, the paper's SIFT100K (``"learn"``) and SIFT1M (``"base"``): (n, 128) float32.

    Parameters
    ----------
    part : {"learn", "base"}, default="learn"
    data_home : str or Path, default=None
        The folder for the files: ``KSUMS_DATA`` or the user's cache, if None.
    verbose : bool, default=True
        Whether the progress of the download is shown.
    """
    if part not in ("learn", "base"):
        raise ValueError(f"part must be 'learn' or 'base'; got {part!r}.")
    name = f"sift_{part}"
    try:
        return _fetched(name, f"TEXMEX {name}", f"{name}.npy", data_home, verbose, read_vecs)
    except DownloadError as error:
        try:
            _unpack_sift(folder_for(data_home), f"{name}.fvecs", verbose)
        except DownloadError as second:
            raise DownloadError(f"{error} The archive of TEXMEX was tried as well: {second}") from error
    return _fetched(name, f"TEXMEX {name}", f"{name}.npy", data_home, verbose, read_vecs)


def _unpack_sift(folder: Path, name: str, verbose: bool) -> None:
    """One file of the archive of TEXMEX."""
    source = SOURCES["sift"]
    path = download(source.urls, folder / source.file, source.size, verbose)
    try:
        with tarfile.open(path) as archive:
            member = archive.extractfile(f"sift/{name}")
            if member is None:
                raise tarfile.ReadError(f"sift/{name} is no file")
            with member, whole_or_not_at_all(folder / name) as file:
                shutil.copyfileobj(member, file)
    except (tarfile.TarError, KeyError, EOFError, zlib.error) as error:
        raise _damaged(path, error) from error


def fetch_glove(data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """GloVe vectors of 1,193,514 words of tweets, the paper's GloVe1M: (n, 100) float32.

    Parameters
    ----------
    data_home, verbose
        See :func:`fetch_sift`.
    """

    def read(path: Path) -> np.ndarray:
        with _member(path, "glove.twitter.27B.100d.txt") as file:
            lines = (np.array(_after_word(line, 100), np.float32) for line in file)
            return np.fromiter(lines, np.dtype((np.float32, 100)))

    return _fetched("glove", "GloVe twitter", "glove_twitter_100.npy", data_home, verbose, read)


def fetch_susy(data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """SUSY of UCI: 5,000,000 events, (n, 18) float32.

    Parameters
    ----------
    data_home, verbose
        See :func:`fetch_sift`.
    """

    def read(path: Path) -> np.ndarray:
        with _member(path, "SUSY.csv.gz") as file, gzip.open(file, "rt") as lines:
            return np.loadtxt(lines, np.float32, delimiter=",", usecols=range(1, 19))  # the first is the class

    return _fetched("susy", "UCI SUSY", "susy.npy", data_home, verbose, read)


def fetch_rhythm_histograms(data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """Rhythm histograms of the Million Song Dataset, the paper's MSD: (about 994,000, 60) float32.

    Parameters
    ----------
    data_home, verbose
        See :func:`fetch_sift`.
    """

    def read(path: Path) -> np.ndarray:
        with gzip.open(path, "rt") as lines:
            return np.loadtxt(lines, np.float32, delimiter=",", usecols=range(60), quotechar='"')

    return _fetched("msd", "MSD rhythm histograms", "msd_rh.npy", data_home, verbose, read)


def fetch_documents(data_home: str | Path | None = None, verbose: bool = True) -> Path:
    """The document sets of CLUTO; gives the folder with one ``NAME.mat`` each, for :func:`load_documents`.

    Parameters
    ----------
    data_home, verbose
        See :func:`fetch_sift`.
    """
    folder, source = folder_for(data_home) / "cluto", SOURCES["cluto"]
    if any(folder.glob("**/*.mat")):
        return folder
    by_hand = (folder.parent / source.file).exists()
    path = download(source.urls, folder.parent / source.file, source.size, verbose)
    with tempfile.TemporaryDirectory(prefix=".cluto.", dir=folder.parent) as temporary:
        unpacked = Path(temporary) / "cluto"
        try:
            with tarfile.open(path) as archive:
                archive.extractall(unpacked, filter="data")
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise _damaged(path, error) from error
        if not any(unpacked.glob("**/*.mat")):
            raise _damaged(path, "it holds no .mat file")
        unpacked.rename(folder)
    if not by_hand:
        path.unlink()
    return folder


# ------------------------------------------------------------------------------------------ helpers
def _fetched(
    key: str, name: str, kept: str, data_home: str | Path | None, verbose: bool, read: Callable[[Path], np.ndarray]
) -> Dataset:
    """The array that was kept, or a new one, of the right shape; then what it was made of is not needed any more."""
    folder, source = folder_for(data_home), SOURCES[key]
    path, archive = folder / kept, folder / source.file
    if not path.exists():
        by_hand = archive.exists()
        if not by_hand and source.urls[0].endswith(".html"):
            source = source._replace(urls=[_link_on(source.urls[0], source.file, folder)])
        download(source.urls, archive, source.size, verbose)
        try:
            X = read(archive)
        except (ValueError, EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
            raise _damaged(archive, error) from error
        n, d = source.shape
        if X.ndim != 2 or X.shape[1] != d or n not in (None, len(X)) or not np.isfinite(X).all():
            raise _damaged(archive, f"an array of shape {X.shape}, or with NaN, where {source.shape} is expected")
        with whole_or_not_at_all(path) as file:
            np.save(file, X)
        if not by_hand:
            archive.unlink()
    return Dataset(name, np.load(path, mmap_mode="r"), path=path)


def _damaged(path: Path, why: object) -> DownloadError:
    return DownloadError(f"{path} is not what it should be ({why}). Delete it, and it is downloaded anew.")


@contextlib.contextmanager
def _member(path: Path, name: str) -> Iterator[IO[bytes]]:
    """A file of a zip archive by its name, whatever folder it is in."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.namelist() if member.rpartition("/")[2] == name]
        if not members:
            raise ValueError(f"there is no {name} in it, only {archive.namelist()}")
        with archive.open(members[0]) as file:
            yield file


def _after_word(line: bytes, count: int) -> list[bytes]:
    """The numbers at the end of a line; the word before them may have blanks of its own."""
    values = line.split(b" ")[-count:]
    if len(values) < count:
        raise ValueError(f"a line has {len(values)} numbers instead of {count}: {line[:60]!r}")
    return values


def _link_on(page: str, name: str, folder: Path) -> str:
    """The address of a file to which a page has a link."""
    try:
        with urllib.request.urlopen(page, timeout=30) as stream:
            text = stream.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(
            f"{page}, which has the link to {name}, cannot be read ({error}). Try again with a connection, or put the "
            f"file into {folder} by hand."
        ) from error
    for link in re.findall(r"""href\s*=\s*["']([^"']+)["']""", text):
        if urllib.parse.urlparse(link).path.endswith("/" + name) or link == name:
            return urllib.parse.urljoin(page, link)
    raise DownloadError(f"{page} has no link to {name}. Download it by hand and put it into {folder}.")
