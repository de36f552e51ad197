"""Downloads that are complete or not there at all, and that resume after an interruption."""

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

from ksums.io import atomic_write

_CHUNK = 1 << 20
"""Bytes that are read at a time: large enough to be fast, small enough for a smooth progress bar."""

_MAX_ATTEMPTS = 4
"""An address is given up after this many attempts in a row that bring no new bytes."""

_FIRST_PAUSE = 1.0
"""Seconds before the second attempt; each further pause is twice as long, to spare a busy server."""

_TIMEOUT = 30.0
"""A connection that sends nothing for this many seconds counts as broken."""


class DownloadError(OSError):
    """A file could not be downloaded; the message says from where, why, and what to do."""


class _Response(NamedTuple):
    """What the server states before it sends the file."""

    stream: Any
    start: int  # position of the first byte it sends
    size: int | None  # of the complete file
    version: str | None  # differs if the file has changed since the last request


def download(urls: list[str], path: Path, size: int | None = None, verbose: bool = True) -> Path:
    """Download a file from the first address that works.

    An interrupted download is kept as ``NAME.part`` next to the file, and the next call resumes it.

    Parameters
    ----------
    urls : list of str
        Addresses, tried in this order.
    path : Path
        Where to save the file.
    size : int, default=None
        Expected size in bytes; files of another size are refused. If None, every size is accepted.
    verbose : bool, default=True
        Whether to show progress.

    Returns
    -------
    Path
        The same path.
    """
    if path.exists() and (size is None or path.stat().st_size == size):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    if path.exists():
        failures.append(f"{path} exists, but has {path.stat().st_size:,} bytes instead of {size:,}.")
    for url in urls:
        try:
            return _download_from(url, path, size, verbose)
        except DownloadError as error:
            failures.append(str(error))
    raise DownloadError(
        f"{path.name} could not be downloaded. {' '.join(failures)} Try again later: the download resumes where it "
        f"stopped. Or put the file into {path.parent} yourself."
    )


def _download_from(url: str, path: Path, size: int | None, verbose: bool) -> Path:
    part, attempts, most_received = path.with_name(path.name + ".part"), 0, -1
    while True:
        try:
            _resume(url, part, size, verbose)
            break
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 and error.code not in (408, 429):
                raise DownloadError(f"{url}: the server answered {error.code} ({error.reason}).") from error
            failure: Exception = error
        except (OSError, http.client.HTTPException) as error:  # no connection, broken connection, timeout
            if isinstance(error, DownloadError):
                raise
            failure = error
        received = _size_of(part)
        attempts, most_received = (attempts + 1 if received <= most_received else 1), max(received, most_received)
        if attempts == _MAX_ATTEMPTS:
            raise DownloadError(f"{url}: {_reason(failure)}, after {received:,} bytes.") from failure
        time.sleep(_FIRST_PAUSE * 2 ** (attempts - 1))
    part.replace(path)
    _version_file(part).unlink(missing_ok=True)
    return path


def _resume(url: str, part: Path, size: int | None, verbose: bool) -> None:
    """Request the missing bytes, and append them."""
    response = _request(url, _size_of(part), _known_version(part, url))
    with response.stream:
        expected = response.size if response.size is not None else size
        if size is not None and expected != size:
            raise DownloadError(f"{url} has {expected:,} bytes; expected {size:,}.")
        if response.start == 0:
            part.write_bytes(b"")
            with atomic_write(_version_file(part), "w") as file:
                json.dump({"url": url, "version": response.version}, file)
        bar = tqdm(
            total=expected, initial=response.start, unit="B", unit_scale=True, desc=part.stem, disable=not verbose
        )
        with part.open("ab") as file, bar:
            while chunk := response.stream.read(_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    received = _size_of(part)
    if expected is not None and received < expected:
        raise ConnectionError(f"the connection broke at {received:,} of {expected:,} bytes")
    if expected is not None and received > expected:
        part.unlink()
        raise DownloadError(f"{url} sent {received:,} bytes; it announced {expected:,}.")


def _request(url: str, start: int, version: str | None) -> _Response:
    """The file from ``start`` on if the server supports that and the file is unchanged; otherwise all of it."""
    request = urllib.request.Request(url, headers={"User-Agent": "ksums"})
    if start and version:
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", version)
    try:
        stream = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: the file has no bytes from there on
            raise
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{start}":  # because all of them are here already
            return _Response(io.BytesIO(), start, start, version)
        return _request(url, 0, None)
    if getattr(stream, "status", None) == 206:
        content = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", stream.headers.get("Content-Range", ""))
        if content is None or int(content[1]) != start:  # not the part that was requested
            stream.close()
            return _request(url, 0, None)
        return _Response(stream, start, int(content[2]), version)
    length = stream.headers.get("Content-Length")
    return _Response(stream, 0, int(length) if length else None, _version(stream.headers))


def _version(headers: Any) -> str | None:
    """A tag or date that changes with the file; weak tags do not count, because bytes may differ under the same one."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _version_file(part: Path) -> Path:
    """Where the version of a partial download is stored."""
    return part.with_name(part.name + ".json")


def _known_version(part: Path, url: str) -> str | None:
    """The version that the partial download belongs to, if it came from this address."""
    try:
        stored = json.loads(_version_file(part).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return stored.get("version") if isinstance(stored, dict) and stored.get("url") == url else None


def _size_of(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(reason) or type(error).__name__
