"""Downloads from a local server, and the loaders."""

import gzip
import io
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy import sparse

from ksums import datasets
from ksums.datasets import DownloadError, _download, _fetch, download
from ksums.io import write_vecs

CONTENT = bytes(range(256)) * 40
"""The test server sends these 10,240 bytes."""


class Server(BaseHTTPRequestHandler):
    """Behaves as the first word of the path says, and records all requests."""

    requests: list
    content = CONTENT
    tag = '"one"'

    def log_message(self, *args):
        pass

    def do_GET(self):
        kind = self.path.strip("/").split("/")[0]
        self.requests.append((kind, self.headers.get("Range")))
        times = sum(1 for earlier, _ in self.requests if earlier == kind)
        if kind == "missing":
            self.send_error(404)
        elif kind == "refused":
            self.send_error(403)
        elif kind == "busy" and times < 3:
            self.send_error(503)
        elif kind == "page":
            self._send(b"<a href=\"/ok/a\">other</a> <a class=x href='/ok/rows.csv.gz'>rows</a>")
        else:
            self._file(kind, times)

    def _send(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _file(self, kind, times):
        body, requested = self.content, self.headers.get("Range")
        start = 0
        if requested and kind != "no-ranges" and self.headers.get("If-Range") == self.tag:
            start = int(requested.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.end_headers()
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start + (5 if kind == "lies" else 0)))
        if start:
            shift = 1 if kind == "shifted" else 0
            self.send_header("Content-Range", f"bytes {start + shift}-{len(body) - 1}/{len(body)}")
        if kind != "no-tag":
            self.send_header("ETag", f"W/{self.tag}" if kind == "weak" else self.tag)
        self.end_headers()
        if kind in ("broken", "no-tag") and times < 4:  # The connection breaks after a third of the rest.
            body = body[: start + (len(body) - start) // 3]
        for at in range(start, len(body), 2048):
            self.wfile.write(body[at : at + 2048])
            self.wfile.flush()
            if kind == "slow":
                time.sleep(0.02)
            if kind == "stuck":
                time.sleep(1.0)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(_download, "_FIRST_PAUSE", 0.01)
    handler = type("Handler", (Server,), {"requests": []})
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    handler.at = f"http://127.0.0.1:{running.server_address[1]}"
    yield handler
    running.shutdown()
    running.server_close()


def get(server, kind, path, **more):
    return download([f"{server.at}/{kind}/file"], path, verbose=False, **more)


@pytest.mark.parametrize("kind", ["ok", "slow", "no-ranges", "busy", "broken", "no-tag"])
def test_the_file_is_complete(server, tmp_path, kind):
    path = get(server, kind, tmp_path / "new" / "file", size=len(CONTENT))
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_broken_download_resumes(server, tmp_path):
    get(server, "broken", tmp_path / "file")
    starts = [requested and int(requested.split("=")[1][:-1]) for _, requested in server.requests]
    assert starts[0] is None
    assert starts[1:] == sorted(starts[1:])
    assert starts[1] == len(CONTENT) // 3


def test_another_call_resumes(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_MAX_ATTEMPTS", 1)
    with pytest.raises(
        DownloadError, match=r"the connection broke at 3,413 of 10,240 bytes.*the download resumes where it stopped"
    ):
        get(server, "broken", tmp_path / "file")
    assert not (tmp_path / "file").exists()
    assert (tmp_path / "file.part").stat().st_size == 3413
    monkeypatch.setattr(_download, "_MAX_ATTEMPTS", 4)
    assert get(server, "broken", tmp_path / "file").read_bytes() == CONTENT
    assert ("broken", "bytes=3413-") in server.requests


def test_a_file_that_has_changed_is_downloaded_from_the_start(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_MAX_ATTEMPTS", 1)
    with pytest.raises(DownloadError):
        get(server, "broken", tmp_path / "file")
    server.tag, server.content = '"two"', CONTENT[::-1]
    server.requests += [("broken", None)] * 4
    assert get(server, "broken", tmp_path / "file").read_bytes() == CONTENT[::-1]


def test_a_complete_part_is_used(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_MAX_ATTEMPTS", 1)
    with pytest.raises(DownloadError):
        get(server, "broken", tmp_path / "file")
    (tmp_path / "file.part").write_bytes(CONTENT)  # As if killed just before the file was renamed.
    assert get(server, "broken", tmp_path / "file").read_bytes() == CONTENT
    assert server.requests[-1] == ("broken", f"bytes={len(CONTENT)}-")


def test_a_server_that_stops_sending_times_out(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_TIMEOUT", 0.2)
    monkeypatch.setattr(_download, "_MAX_ATTEMPTS", 2)
    server.content = CONTENT[:2048] * 2  # It stops after the first half of any request.
    with pytest.raises(DownloadError, match=r"timed out, after .*put the file into"):
        get(server, "stuck", tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_server_that_announces_too_many_bytes(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_MAX_ATTEMPTS", 2)
    # The second request gets 416, as there are no more bytes.
    assert get(server, "lies", tmp_path / "file").read_bytes() == CONTENT
    with pytest.raises(DownloadError, match="has 10,245 bytes; expected 10,240"):
        get(server, "lies", tmp_path / "other", size=len(CONTENT))


@pytest.mark.parametrize("kind", ["shifted", "weak"])
def test_a_part_that_does_not_fit_is_discarded(server, tmp_path, monkeypatch, kind):
    """The server sends another part than requested, or its tag does not identify the bytes."""
    monkeypatch.setattr(_download, "_MAX_ATTEMPTS", 1)
    with pytest.raises(DownloadError):
        get(server, "broken", tmp_path / "file")
    version = tmp_path / "file.part.json"
    version.write_text(version.read_text().replace("/broken/", f"/{kind}/"))
    assert get(server, kind, tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(("kind", "code"), [("missing", "404"), ("refused", "403")])
def test_a_missing_file_is_reported_at_once(server, tmp_path, kind, code):
    with pytest.raises(DownloadError, match=f"the server answered {code}.*put the file into"):
        get(server, kind, tmp_path / "file")
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_wrong_size_is_refused(server, tmp_path):
    with pytest.raises(DownloadError, match="has 10,240 bytes; expected 10,241"):
        get(server, "ok", tmp_path / "file", size=len(CONTENT) + 1)
    assert not (tmp_path / "file").exists()


def test_the_next_address_is_tried(server, tmp_path):
    urls = [f"{server.at}/missing/file", f"{server.at}/ok/file"]
    assert download(urls, tmp_path / "file", verbose=False).read_bytes() == CONTENT


def test_the_offline_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_FIRST_PAUSE", 0.01)
    with pytest.raises(DownloadError, match=r"refused.*put the file into .* yourself"):
        download(["http://127.0.0.1:9/file"], tmp_path / "file", verbose=False)


def test_a_file_from_the_user_is_used(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert download(["http://127.0.0.1:9/file"], tmp_path / "file", 5, verbose=False).read_bytes() == b"12345"


def test_a_file_from_the_user_with_the_wrong_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_FIRST_PAUSE", 0.01)
    (tmp_path / "file").write_bytes(b"12345")
    with pytest.raises(DownloadError, match="exists, but has 5 bytes instead of 6"):
        download(["http://127.0.0.1:9/file"], tmp_path / "file", 6, verbose=False)
    assert (tmp_path / "file").read_bytes() == b"12345"


# ------------------------------------------------------------------------------------------ fetch_*
def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def serve(server, monkeypatch, key, content, shape, kind="ok"):
    server.content = content
    source = _fetch.SOURCES[key]
    changed = source._replace(urls=[f"{server.at}/{kind}/{source.file}"], size=len(content), shape=shape)
    monkeypatch.setitem(_fetch.SOURCES, key, changed)


def test_fetch_sift(server, tmp_path, monkeypatch, rng):
    X = rng.random((20, 128)).astype(np.float32)
    write_vecs(tmp_path / "x.fvecs", X)
    serve(server, monkeypatch, "sift_learn", (tmp_path / "x.fvecs").read_bytes(), (20, 128))
    for _ in range(2):
        data = datasets.fetch_sift("learn", tmp_path / "home", verbose=False)
        np.testing.assert_array_equal(data.X, X)
    assert len(server.requests) == 1
    assert [entry.name for entry in (tmp_path / "home").iterdir()] == ["sift_learn.npy"]
    (tmp_path / "home" / "sift_learn.npy").unlink()
    write_vecs(tmp_path / "home" / "sift_learn.fvecs", X)  # The user's file must not be deleted.
    datasets.fetch_sift("learn", tmp_path / "home", verbose=False)
    assert (tmp_path / "home" / "sift_learn.fvecs").exists()
    np.testing.assert_array_equal(datasets.load_sift("learn", tmp_path / "home").X, X)
    with pytest.raises(ValueError, match="part must be"):
        datasets.fetch_sift("query", tmp_path)


def test_the_texmex_archive_is_used_if_the_mirror_fails(server, tmp_path, monkeypatch, rng):
    X = rng.random((20, 128)).astype(np.float32)
    write_vecs(tmp_path / "x.fvecs", X)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        archive.add(tmp_path / "x.fvecs", "sift/sift_learn.fvecs")
    missing = _fetch.Source([f"{server.at}/missing/a"], "sift_learn.fvecs", 20 * 516, (20, 128))
    monkeypatch.setitem(_fetch.SOURCES, "sift_learn", missing)
    serve(server, monkeypatch, "sift", file.getvalue(), (None, 128))
    np.testing.assert_array_equal(datasets.fetch_sift("learn", tmp_path / "home", verbose=False).X, X)
    monkeypatch.setitem(_fetch.SOURCES, "sift_base", missing._replace(file="sift_base.fvecs"))
    with pytest.raises(DownloadError, match=r"404.*The TEXMEX archive failed, too.*sift_base\.fvecs"):
        datasets.fetch_sift("base", tmp_path / "home", verbose=False)


def test_fetch_glove(server, tmp_path, monkeypatch, rng):
    X = rng.random((3, 100)).round(3).astype(np.float32)
    words = ["the", ". . odd", "naïve"]
    text = "\n".join(f"{word} " + " ".join(map(str, row)) for word, row in zip(words, X.tolist(), strict=True))
    content = zipped("folder/glove.twitter.27B.100d.txt", text.encode())
    serve(server, monkeypatch, "glove", content, (3, 100))
    np.testing.assert_array_equal(datasets.fetch_glove(tmp_path, verbose=False).X, X)
    np.testing.assert_array_equal(datasets.load_glove(tmp_path).X, X)


def test_fetch_susy(server, tmp_path, monkeypatch, rng):
    X = rng.random((4, 18)).round(3).astype(np.float32)
    lines = "\n".join(",".join(map(str, [1.0, *row])) for row in X.tolist())
    serve(server, monkeypatch, "susy", zipped("SUSY.csv.gz", gzip.compress(lines.encode())), (4, 18))
    np.testing.assert_array_equal(datasets.fetch_susy(tmp_path, verbose=False).X, X)
    np.testing.assert_array_equal(datasets.load_events(tmp_path).X, X)


def test_fetch_rhythm_histograms_follows_the_link(server, tmp_path, monkeypatch, rng):
    X = rng.random((4, 60)).round(3).astype(np.float32)
    server.content = gzip.compress("\n".join(",".join(map(str, row)) + ",'TRABC'" for row in X.tolist()).encode())
    source = _fetch.Source([f"{server.at}/page/index.html"], "rows.csv.gz", None, (None, 60))
    monkeypatch.setitem(_fetch.SOURCES, "msd", source)
    np.testing.assert_array_equal(datasets.fetch_rhythm_histograms(tmp_path, verbose=False).X, X)
    assert datasets.load_audio(tmp_path).name == "MSD rhythm histograms"
    monkeypatch.setitem(_fetch.SOURCES, "msd", source._replace(file="other.csv.gz"))
    with pytest.raises(DownloadError, match=r"has no link to other\.csv\.gz"):
        datasets.fetch_rhythm_histograms(tmp_path / "new", verbose=False)


def test_fetch_documents(server, tmp_path, monkeypatch):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in {"re0.mat": "2 3 3\n1 2 3 1\n2 4\n", "re0.mat.rclass": "a\nb\n"}.items():
            member = tarfile.TarInfo(f"datasets/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    serve(server, monkeypatch, "cluto", file.getvalue(), (None, 0))
    datasets.fetch_documents(tmp_path, verbose=False)
    data = datasets.load_documents("re0", tmp_path)
    assert data.X.toarray().tolist() == [[2, 0, 1], [0, 4, 0]]
    assert data.y.tolist() == [0, 1]
    assert datasets.documents_at_hand(tmp_path) == ["re0"]


@pytest.mark.parametrize("content", [b"no archive", zipped("other.txt", b""), zipped("SUSY.csv.gz", b"no gzip")])
def test_another_file_is_refused(server, tmp_path, monkeypatch, content):
    serve(server, monkeypatch, "susy", content, (4, 18))
    with pytest.raises(DownloadError, match=r"susy\.zip is not the expected file .* Delete it"):
        datasets.fetch_susy(tmp_path, verbose=False)
    assert not (tmp_path / "susy.npy").exists()


def test_another_number_of_rows_is_refused(server, tmp_path, monkeypatch, rng):
    write_vecs(tmp_path / "x.fvecs", rng.random((20, 128)))
    serve(server, monkeypatch, "sift_base", (tmp_path / "x.fvecs").read_bytes(), (21, 128))
    with pytest.raises(DownloadError, match=r"shape \(20, 128\); expected \(21, 128\)"):
        datasets.fetch_sift("base", tmp_path / "home", verbose=False)


# ------------------------------------------------------------------------------------------ load_*
def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch, rng):
    monkeypatch.setenv("KSUMS_DATA", str(tmp_path))
    assert datasets.cache_folder() == tmp_path
    with pytest.raises(FileNotFoundError, match=r"GloVe is not in .*fetch_glove\(\) downloads it.*KSUMS_DATA"):
        datasets.load_glove()
    np.save(tmp_path / "glove_twitter_100.npy", rng.random((5, 100)))
    assert datasets.load_glove().X.shape == (5, 100)
    monkeypatch.delenv("KSUMS_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.cache_folder() == tmp_path / "cache" / "ksums"


def test_event_columns_are_scaled(tmp_path, rng):
    (tmp_path / "cms_dilepton").mkdir()
    np.savez(tmp_path / "cms_dilepton" / "cms_dilepton.npz", X=rng.random((50, 3)) * [1, 100, 0])
    np.testing.assert_allclose(datasets.load_events(tmp_path).X.std(axis=0), [1, 1, 0], rtol=1e-5)


def test_bad_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="part must be one of"):
        datasets.load_sift("query", tmp_path)
    with pytest.raises(ValueError, match="name must be one of classic"):
        datasets.load_documents("nothing", tmp_path)


def test_generated_documents_have_classes():
    data = datasets.make_documents(200, terms=300, classes=4)
    assert sparse.issparse(data.X)
    assert data.X.shape == (200, 300)
    assert set(data.y) <= set(range(4))
    assert (data.X.sum(axis=1) > 0).all()


def test_shared_data_is_found(shared):
    shapes = {
        "SIFT of photographs (learn)": (100_000, 128),
        "GloVe 6B, the most frequent words": (60_000, 100),
        "ESC-50 MFCC": (50_000, 60),
        "CMS dilepton events": (39_810, 17),
    }
    found = [datasets.load_sift("learn", shared), *(f(shared) for f in (datasets.load_glove, datasets.load_audio))]
    found.append(datasets.load_events(shared))
    assert {data.name: data.X.shape for data in found} == shapes
    assert len(datasets.documents_at_hand(shared)) == 13
