"""The paper's data sets from their publishers. Each is downloaded once, checked, and stored as an .npy file."""

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

from ksums.datasets._dataset import Dataset
from ksums.datasets._download import DownloadError, download
from ksums.datasets._folder import folder_for
from ksums.io import atomic_write, read_vecs


class Source(NamedTuple):
    """Where a data set is published, and what to check it against."""

    urls: list[str]
    file: str
    size: int | None  # in bytes; None if it is not known
    shape: tuple[int | None, int]  # of the array of rows; None if their number is not known


_SIFT_MIRROR = "https://huggingface.co/datasets/qbo-odp/sift1m/resolve/main"
"""The mirror has the files of SIFT1M one by one, so it is tried before the archive of TEXMEX."""

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
"""Publishers of the data sets. Addresses may change: ``SOURCES["glove"].urls.append(...)`` adds one. The address of
``"msd"`` is a page that links to the file; ``"sift"`` is the archive of TEXMEX, used if the mirror fails."""


def fetch_sift(part: str = "learn", data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """SIFT descriptors from TEXMEX, (n, 128) float32: the paper's SIFT100K (``"learn"``) or SIFT1M (``"base"``).

    Parameters
    ----------
    part : {"learn", "base"}, default="learn"
    data_home : str or Path, default=None
        Folder for the files; if None, ``KSUMS_DATA`` or the user's cache.
    verbose : bool, default=True
        Whether to show the progress of the download.

    Returns
    -------
    Dataset
    """
    if part not in ("learn", "base"):
        raise ValueError(f"part must be 'learn' or 'base'; got {part!r}.")
    name = f"sift_{part}"
    try:
        return _fetch_array(name, f"TEXMEX {name}", f"{name}.npy", data_home, verbose, read_vecs)
    except DownloadError as error:
        try:
            _extract_sift(folder_for(data_home), f"{name}.fvecs", verbose)
        except DownloadError as second:
            raise DownloadError(f"{error} The TEXMEX archive failed, too: {second}") from error
    return _fetch_array(name, f"TEXMEX {name}", f"{name}.npy", data_home, verbose, read_vecs)


def _extract_sift(folder: Path, name: str, verbose: bool) -> None:
    """Download the TEXMEX archive, and extract one file."""
    source = SOURCES["sift"]
    path = download(source.urls, folder / source.file, source.size, verbose)
    try:
        with tarfile.open(path) as archive:
            member = archive.extractfile(f"sift/{name}")
            if member is None:
                raise tarfile.ReadError(f"sift/{name} is not a file")
            with member, atomic_write(folder / name) as file:
                shutil.copyfileobj(member, file)
    except (tarfile.TarError, KeyError, EOFError, zlib.error) as error:
        raise _damaged(path, error) from error


def fetch_glove(data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """GloVe vectors of 1,193,514 words from tweets, (n, 100) float32: the paper's GloVe1M.

    Parameters
    ----------
    data_home, verbose
        As in :func:`fetch_sift`.

    Returns
    -------
    Dataset
    """

    def read(path: Path) -> np.ndarray:
        with _member(path, "glove.twitter.27B.100d.txt") as file:
            lines = (np.array(_numbers_after_word(line, 100), np.float32) for line in file)
            return np.fromiter(lines, np.dtype((np.float32, 100)))

    return _fetch_array("glove", "GloVe twitter", "glove_twitter_100.npy", data_home, verbose, read)


def fetch_susy(data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """SUSY from UCI, (n, 18) float32: 5,000,000 events of particle physics.

    Parameters
    ----------
    data_home, verbose
        As in :func:`fetch_sift`.

    Returns
    -------
    Dataset
    """

    def read(path: Path) -> np.ndarray:
        with _member(path, "SUSY.csv.gz") as file, gzip.open(file, "rt") as lines:
            return np.loadtxt(lines, np.float32, delimiter=",", usecols=range(1, 19))  # the first column is the class

    return _fetch_array("susy", "UCI SUSY", "susy.npy", data_home, verbose, read)


def fetch_rhythm_histograms(data_home: str | Path | None = None, verbose: bool = True) -> Dataset:
    """Rhythm histograms of the Million Song Dataset, about (994,000, 60) float32: the paper's MSD.

    Parameters
    ----------
    data_home, verbose
        As in :func:`fetch_sift`.

    Returns
    -------
    Dataset
    """

    def read(path: Path) -> np.ndarray:
        with gzip.open(path, "rt") as lines:
            return np.loadtxt(lines, np.float32, delimiter=",", usecols=range(60), quotechar='"')

    return _fetch_array("msd", "MSD rhythm histograms", "msd_rh.npy", data_home, verbose, read)


def fetch_documents(data_home: str | Path | None = None, verbose: bool = True) -> Path:
    """Download the document sets of CLUTO, for :func:`load_documents`.

    Parameters
    ----------
    data_home, verbose
        As in :func:`fetch_sift`.

    Returns
    -------
    Path
        The folder, with a file ``NAME.mat`` for each set.
    """
    folder, source = folder_for(data_home) / "cluto", SOURCES["cluto"]
    if any(folder.glob("**/*.mat")):
        return folder
    is_users_file = (folder.parent / source.file).exists()
    path = download(source.urls, folder.parent / source.file, source.size, verbose)
    with tempfile.TemporaryDirectory(prefix=".cluto.", dir=folder.parent) as temporary:
        unpacked = Path(temporary) / "cluto"
        try:
            with tarfile.open(path) as archive:
                archive.extractall(unpacked, filter="data")
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise _damaged(path, error) from error
        if not any(unpacked.glob("**/*.mat")):
            raise _damaged(path, "it has no .mat file")
        unpacked.rename(folder)
    if not is_users_file:
        path.unlink()
    return folder


# ------------------------------------------------------------------------------------------ helpers
def _fetch_array(
    key: str, name: str, file: str, data_home: str | Path | None, verbose: bool, read: Callable[[Path], np.ndarray]
) -> Dataset:
    """The stored array. If there is none, download the source, check and store its array, and delete the source.

    A source that the user put into the folder is not deleted.
    """
    folder, source = folder_for(data_home), SOURCES[key]
    path, downloaded = folder / file, folder / source.file
    if not path.exists():
        is_users_file = downloaded.exists()
        if not is_users_file and source.urls[0].endswith(".html"):
            source = source._replace(urls=[_find_link(source.urls[0], source.file, folder)])
        download(source.urls, downloaded, source.size, verbose)
        try:
            X = read(downloaded)
        except (ValueError, EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
            raise _damaged(downloaded, error) from error
        n, d = source.shape
        if X.ndim != 2 or X.shape[1] != d or n not in (None, len(X)):
            raise _damaged(downloaded, f"its array has shape {X.shape}; expected {source.shape}")
        if not np.isfinite(X).all():
            raise _damaged(downloaded, "its array contains NaN or infinity")
        with atomic_write(path) as stored:
            np.save(stored, X)
        if not is_users_file:
            downloaded.unlink()
    return Dataset(name, np.load(path, mmap_mode="r"), path=path)


def _damaged(path: Path, reason: object) -> DownloadError:
    return DownloadError(f"{path} is not the expected file ({reason}). Delete it to download it again.")


@contextlib.contextmanager
def _member(path: Path, name: str) -> Iterator[IO[bytes]]:
    """The file with this name in a zip archive, in whatever folder."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.namelist() if member.rpartition("/")[2] == name]
        if not members:
            raise ValueError(f"it has no {name}, only {archive.namelist()}")
        with archive.open(members[0]) as file:
            yield file


def _numbers_after_word(line: bytes, count: int) -> list[bytes]:
    """The numbers at the end of a line; the word before them may contain spaces."""
    values = line.split(b" ")[-count:]
    if len(values) < count:
        raise ValueError(f"a line has {len(values)} numbers instead of {count}: {line[:60]!r}")
    return values


def _find_link(page: str, name: str, folder: Path) -> str:
    """The address of a file that a page links to."""
    try:
        with urllib.request.urlopen(page, timeout=30) as stream:
            text = stream.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(
            f"{page}, which links to {name}, cannot be read ({error}). Try again later, or put the file into {folder} "
            "yourself."
        ) from error
    for link in re.findall(r"""href\s*=\s*["']([^"']+)["']""", text):
        if urllib.parse.urlparse(link).path.endswith("/" + name) or link == name:
            return urllib.parse.urljoin(page, link)
    raise DownloadError(f"{page} has no link to {name}. Download it yourself, and put it into {folder}.")
