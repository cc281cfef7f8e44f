"""Stores of obstore as a source of credentials, against a server that looks at what it is sent."""

from __future__ import annotations

import pickle
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from obstore.store import LocalStore, MemoryStore, S3Store

import zvf

Bundled = Callable[[str], Path]


@pytest.fixture
def server(bundled: Bundled) -> Iterator[tuple[str, list[str]]]:
    """The part of S3 that reading needs, for one key, with a bundled store in the bucket; and the paths that were asked for."""
    root = bundled("points_bins")
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            file = root / self.path.split("?")[0].removeprefix("/bucket/data/points.zarrvectors/")
            if "Credential=the-key/" not in self.headers.get("Authorization", ""):
                self.answer(403, b"")
            elif not file.is_file():
                self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            else:
                body = file.read_bytes()
                span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                if span is None:
                    self.answer(200, body)
                else:
                    start, end = int(span[1]), min(int(span[2]) + 1, len(body))
                    self.answer(206, body[start:end], f"bytes {start}-{end - 1}/{len(body)}")

        do_HEAD = do_GET

        def answer(self, code: int, body: bytes, span: str | None = None) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"one"')
            self.send_header("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
            if span is not None:
                self.send_header("Content-Range", span)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}", asked
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def backend(endpoint: str, key: str = "the-key") -> S3Store:
    return S3Store(
        "bucket",
        region="eu-central-1",
        endpoint=endpoint,
        access_key_id=key,
        secret_access_key="secret",
        client_options={"allow_http": True},
    )


def test_credentials_and_endpoint_are_those_of_the_store(bundled: Bundled, server: tuple[str, list[str]]) -> None:
    truth = np.load(bundled("points_bins").parent / "truth.npz")
    endpoint, asked = server
    store = zvf.open("s3://bucket/data/points.zarrvectors", storage_options=backend(endpoint))
    # It pickles with them.
    for one in (store, pickle.loads(pickle.dumps(store))):
        places = one.query().to_numpy()["position"]
        np.testing.assert_array_equal(places[np.lexsort(places.T)], truth["positions"][np.lexsort(truth["positions"].T)])
    assert asked
    with pytest.raises(zvf.IoError):
        zvf.open("s3://bucket/data/points.zarrvectors", storage_options=backend(endpoint, "another"), retries=0)


def test_what_cannot_be_taken_over_is_refused(bundled: Bundled) -> None:
    def provider() -> dict[str, object]:
        return {"access_key_id": "a", "secret_access_key": "b", "expires_at": None}

    with pytest.raises(zvf.MisuseError, match="credential provider"):
        zvf.open("s3://bucket/x", storage_options=S3Store("bucket", region="us-east-1", credential_provider=provider))
    with pytest.raises(zvf.MisuseError, match="expected a mapping"):
        zvf.open("s3://bucket/x", storage_options=7)
    with pytest.raises(zvf.MisuseError, match="None for endpoint"):
        zvf.open("s3://bucket/x", storage_options={"allow_http": True, "endpoint": None})
    # Those without configuration say nothing.
    for one in (LocalStore(), MemoryStore()):
        assert zvf.open(bundled("points_bins"), storage_options=one).kind == "point_cloud"
