"""Text files of any usual encoding, gzipped or not, and standard input, all as UTF-8 bytes."""

from __future__ import annotations

import codecs
import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

_WINDOWS = "cp1252"
"""Spreadsheets on Windows may still write this encoding, so it is tried if a file is not UTF-8."""

_CHUNK = 1 << 20
"""Bytes that are read at a time, so that a large file does not fill the memory."""


class TextFile:
    """A text file, or standard input if ``path`` is None; it can be read more than once."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = "standard input" if path is None else str(path)
        self.notes: list[str] = []
        """What the user should know about how the file was read; the public functions turn these into warnings."""
        self._stdin = _kept_stdin() if path is None else None
        self._recoded: IO[bytes] | None = None
        self._plain = True
        """Whether the bytes can be handed on as they are."""
        self._mark = 0
        """Length of the byte order mark."""
        with self.errors_named():
            self._encoding = self._find_encoding()
        if self._encoding == _WINDOWS:
            self.notes.append(f"{self.name} is not UTF-8; it was read as {_WINDOWS}, which is usual on Windows.")

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *error: object) -> None:
        pass  # messages may still ask for a line; the copies disappear with the object

    def __del__(self) -> None:
        for copy in (self.__dict__.get("_stdin"), self.__dict__.get("_recoded")):
            if copy is not None:
                copy.close()

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        """Errors of damaged files are raised with the name of the file."""
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as error:
            raise ValueError(f"{self.name} is truncated, or not a text file with columns: {error}.") from error

    @contextmanager
    def opened(self, skipped_lines: int = 0) -> Iterator[IO[bytes]]:
        """The file as UTF-8 without a byte order mark, from the line after the skipped ones."""
        with self._opened() as raw:
            stream: Any = raw
            if self._plain:
                stream.read(self._mark)
            else:
                stream = io.BufferedReader(_Recoded(io.TextIOWrapper(raw, self._encoding)), _CHUNK)
            for _ in range(skipped_lines):
                stream.readline()
            yield stream

    @contextmanager
    def source(self, skipped_lines: int) -> Iterator[Any]:
        """The same as a file of PyArrow, which does not need Python to read it.

        PyArrow reads ahead in a thread of its own. If that thread ran Python code when the program ends after an error,
        the process would be aborted. Text of another encoding is therefore copied to a temporary file first.
        """
        import pyarrow

        with self.opened() as stream:
            offset = sum(len(stream.readline()) for _ in range(skipped_lines))
        if self._plain:
            offset += self._mark
            name = self.path if self._stdin is None else self._stdin.name
        else:
            name = self._copy().name
        with pyarrow.OSFile(str(name)) as file:
            if self._plain and self._is_gzipped:
                with pyarrow.CompressedInputStream(file, "gzip") as unpacked:
                    unpacked.read(offset)
                    yield unpacked
            else:
                file.seek(offset)
                yield file

    def _copy(self) -> IO[bytes]:
        """The file as UTF-8 in a temporary file."""
        if self._recoded is None:
            with self.opened() as stream:
                self._recoded = _kept(stream)
        return self._recoded

    @property
    def _is_gzipped(self) -> bool:
        return self.path is not None and self.path.suffix.lower() == ".gz"

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        if self._stdin is not None:
            self._stdin.seek(0)
            yield io.BufferedReader(_Unclosed(self._stdin), _CHUNK)
        else:
            assert self.path is not None
            with gzip.open(self.path) if self._is_gzipped else self.path.open("rb") as file:
                yield file  # type: ignore[misc]

    def _find_encoding(self) -> str:
        """UTF-16 if the file starts with its mark, UTF-8 if all bytes are valid, otherwise the encoding of Windows."""
        with self._opened() as file:
            chunk = file.read(_CHUNK)
            if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                self._plain = False
                return "utf-16"
            if chunk.startswith(codecs.BOM_UTF8):
                self._mark = len(codecs.BOM_UTF8)
            if b"\r" in chunk and b"\n" not in chunk:  # line ends of old Macs are translated
                self._plain = False
            decoder = codecs.getincrementaldecoder("utf-8")()
            while chunk:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    if b"\x00" in chunk:  # text has no zero bytes
                        raise
                    self._plain = False
                    return _WINDOWS
                chunk = file.read(_CHUNK)
        return "utf-8-sig"


class _Recoded(io.RawIOBase):
    """Text as UTF-8 bytes, with a line feed at the end of each line."""

    def __init__(self, text: TextIO) -> None:
        self._text, self._rest = text, b""

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self._rest:
            self._rest = self._text.read(_CHUNK).encode()
        count = min(len(room), len(self._rest))
        room[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class _Unclosed(io.RawIOBase):
    """A file that stays open when a reader closes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        found = self._file.read(len(room))
        room[: len(found)] = found
        return len(found)


def _kept_stdin() -> IO[bytes]:
    """Standard input in a temporary file, because it is read more than once."""
    binary = getattr(sys.stdin, "buffer", None)
    return _kept(binary if binary is not None else io.BufferedReader(_Recoded(sys.stdin), _CHUNK))


def _kept(stream: IO[bytes]) -> IO[bytes]:
    """What is left of a stream in a temporary file, which disappears when it is closed."""
    kept = tempfile.NamedTemporaryFile(prefix="ksums-")  # noqa: SIM115 - the object that holds it closes it
    shutil.copyfileobj(stream, kept, _CHUNK)
    kept.flush()
    return kept
