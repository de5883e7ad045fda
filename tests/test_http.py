"""The HTTP client: whatever is wrong with an address, its failure is an `HttpError`."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest

from errands import http as client


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:no/", "http://127.0.0.1:99999999/", "http://[::1/", "http://a b/"]
)
def test_a_bad_address_was_not_sent(url: str) -> None:
    with pytest.raises(client.HttpError) as caught:
        client.request("GET", url, headers={}, timeout=5)
    assert not caught.value.was_sent


def test_a_path_that_is_not_ascii_was_not_sent(server: str) -> None:
    with pytest.raises(client.HttpError) as caught:
        client.request("GET", f"{server}/naïve", headers={}, timeout=5)
    assert not caught.value.was_sent
