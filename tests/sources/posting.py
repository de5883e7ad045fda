"""Posting to a webhook, as its senders do."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import time
from collections.abc import Mapping
from urllib.parse import urlsplit


def signed(secret: str, name: str, content: bytes, *, at: float | None = None) -> dict[str, str]:
    """Return the headers of Standard Webhooks; written anew here, so that two have to agree."""
    stamp = str(int(time.time() if at is None else at))
    text = name.encode() + b"." + stamp.encode() + b"." + content
    proof = base64.b64encode(hmac.new(secret.encode(), text, hashlib.sha256).digest()).decode()
    return {"webhook-id": name, "webhook-timestamp": stamp, "webhook-signature": f"v1,{proof}"}


def post(
    url: str, content: bytes, headers: Mapping[str, str] = {}, *, method: str = "POST"
) -> tuple[int, str]:
    """Send one request; give the code and the words of the answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request(method, parts.path, body=content, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read().decode().strip()
    finally:
        connection.close()
