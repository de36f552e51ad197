"""A file from a server: whole or not at all, and when it breaks off it goes on where it was."""

from __future__ import annotations

import http.client
import io
import json
import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from ksums.io import whole_or_not_at_all

_PIECE = 1 << 20
_TRIES = 4  # in a row that bring nothing new
_WAIT = 1.0  # seconds before the second of them; twice as long before each further one
_TIMEOUT = 30.0  # seconds without a byte


class DownloadError(OSError):
    """A file could not be had; the message says from where, why, and what can be done."""


class _Answer(NamedTuple):
    """What the server says before it sends."""

    stream: Any
    start: int  # the byte with which it begins
    size: int | None  # of the whole file
    version: str | None  # by which a file that was changed in the meantime is known


def download(urls: list[str], path: Path, size: int | None = None, verbose: bool = True) -> Path:
    """Get a file from the first of some addresses that gives it.

    Parameters
    ----------
    urls : list of str
    path : Path
        Where the file is put. What has come of a broken download is beside it, as ``NAME.part``.
    size : int, default=None
        How many bytes it has, if that is known. A file of another size is refused.
    verbose : bool, default=True
        Whether progress is shown.
    """
    if path.exists() and (size is None or path.stat().st_size == size):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    if path.exists():
        failures.append(f"{path} is there, but has {path.stat().st_size:,} bytes instead of {size:,}.")
    for url in urls:
        try:
            return _from(url, path, size, verbose)
        except DownloadError as error:
            failures.append(str(error))
    raise DownloadError(
        f"{path.name} could not be downloaded. {' '.join(failures)} With a connection, call it again: what has come is "
        f"kept. Or put the file into {path.parent} by hand."
    )


def _from(url: str, path: Path, size: int | None, verbose: bool) -> Path:
    part, failed, before = path.with_name(path.name + ".part"), 0, -1
    while True:
        try:
            _continue(url, part, size, verbose)
            break
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 and error.code not in (408, 429):
                raise DownloadError(f"{url}: the server says {error.code} ({error.reason}).") from error
            reason: Exception = error
        except (OSError, http.client.HTTPException) as error:  # no connection, broken off, too slow
            if isinstance(error, DownloadError):
                raise
            reason = error
        come = part.stat().st_size if part.exists() else 0
        failed, before = (failed + 1 if come <= before else 1), max(come, before)
        if failed == _TRIES:
            raise DownloadError(f"{url}: {_words(reason)}, after {come:,} bytes.") from reason
        time.sleep(_WAIT * 2 ** (failed - 1))
    part.replace(path)
    _note_of(part).unlink(missing_ok=True)
    return path


def _continue(url: str, part: Path, size: int | None, verbose: bool) -> None:
    """Ask for what is missing, and add it."""
    come = part.stat().st_size if part.exists() else 0
    answer = _ask(url, come, _known_version(part, url))
    with answer.stream:
        expected = answer.size if answer.size is not None else size
        if size is not None and expected != size:
            raise DownloadError(f"{url} has {expected:,} bytes, and not the {size:,} that it should have.")
        if answer.start == 0:
            part.write_bytes(b"")
            with whole_or_not_at_all(_note_of(part), "w") as file:
                json.dump({"url": url, "version": answer.version}, file)
        bar = tqdm(total=expected, initial=answer.start, unit="B", unit_scale=True, desc=part.stem, disable=not verbose)
        with part.open("ab") as file, bar:
            while piece := answer.stream.read(_PIECE):
                file.write(piece)
                bar.update(len(piece))
    come = part.stat().st_size
    if expected is not None and come < expected:
        raise ConnectionError(f"broken off at {come:,} of {expected:,} bytes")
    if expected is not None and come > expected:
        part.unlink()
        raise DownloadError(f"{url} gave {come:,} bytes, and not the {expected:,} that it announced.")


def _ask(url: str, start: int, version: str | None) -> _Answer:
    """The file from some byte on, if the server can do that and has the same file still; else from the first."""
    request = urllib.request.Request(url, headers={"User-Agent": "ksums"})
    if start and version:
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", version)
    try:
        stream = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: there is nothing from there on
            raise
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{start}":  # for all has come
            return _Answer(io.BytesIO(), start, start, version)
        return _ask(url, 0, None)
    if getattr(stream, "status", None) == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", stream.headers.get("Content-Range", ""))
        if found is None or int(found[1]) != start:  # it is not told what this is a part of
            stream.close()
            return _ask(url, 0, None)
        return _Answer(stream, start, int(found[2]), version)
    length = stream.headers.get("Content-Length")
    return _Answer(stream, 0, int(length) if length else None, _version(stream.headers))


def _version(headers: Any) -> str | None:
    """By which the server knows whether the file is the same; a weak tag does not say that its bytes are."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _note_of(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _known_version(part: Path, url: str) -> str | None:
    """Which version of the file the part is of, if it came from this address."""
    try:
        note = json.loads(_note_of(part).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return note.get("version") if isinstance(note, dict) and note.get("url") == url else None


def _words(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(reason) or type(error).__name__
