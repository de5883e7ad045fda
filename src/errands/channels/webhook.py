"""A webhook: deliveries are posted as signed JSON, so that the receiver can verify them and drop duplicates.

The headers are those of Standard Webhooks: `webhook-id` is the delivery's key, the same on every attempt; the
signature is an HMAC-SHA256 over id, time and body, and the time lets the receiver refuse old copies.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from errands.channels import read_secret
from errands.channels.blocking import BlockingChannel, request
from errands.config.secret import signing_key
from errands.model.notices.delivery import Delivery, facts_of, text, title


class Webhook(BlockingChannel):
    budget = 64 << 10
    is_deduplicating = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self._url = str(settings["url"])
        self._key = signing_key(read_secret(str(settings["secret"])))

    def _deliver(self, delivery: Delivery) -> None:
        content = body_of(delivery, self.budget)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "errands",
            **signed(self._key, delivery.key, content, at=int(time.time())),
        }
        request("POST", self._url, content, headers)


def body_of(delivery: Delivery, budget: int) -> bytes:
    """Serialise a delivery: the facts of each notice, and the text for a person."""
    notices = [
        {
            "id": notice.id,
            "event": notice.event,
            "created_at": notice.created_at.isoformat().replace("+00:00", "Z"),
            **facts_of(notice),
        }
        for notice in delivery.notices
    ]
    message = {
        "type": "errands.notices",
        "id": delivery.key,
        "title": title(delivery),
        "text": text(delivery, budget // 4),
        "consent": False,
        "notices": notices,
    }
    return json.dumps(message).encode()


def signed(key: bytes, delivery_key: str, content: bytes, *, at: int) -> dict[str, str]:
    """Return the headers that prove who sent the content, and when."""
    proof = hmac.new(key, b"%s.%d.%s" % (delivery_key.encode(), at, content), hashlib.sha256).digest()
    return {
        "webhook-id": delivery_key,
        "webhook-timestamp": str(at),
        "webhook-signature": "v1," + base64.b64encode(proof).decode(),
    }
