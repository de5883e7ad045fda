"""A session on an OpenCode server: a letter is put into the conversation, and nobody replies to it.

Every other session has an inbox, which it empties itself. What the letter quotes is fenced, because it is an
agent that reads it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from errands.channels.http_post import Threads, request
from errands.channels.secret import read_secret
from errands.model.notices.delivery import Delivery, message
from errands.model.notices.errors import Refused

URL = "http://127.0.0.1:4096"  # where `opencode serve` listens by itself
RECENT = 50  # messages in which a letter is looked for that may have arrived


class Session:
    budget = 20_000
    is_deduplicating = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._url = str(settings.get("url", URL)).rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        password = (
            read_secret(str(settings["password"]))
            if "password" in settings
            else os.environ.get("OPENCODE_SERVER_PASSWORD")
        )
        if password:
            words = f"{settings.get('username', 'opencode')}:{password}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(words.encode()).decode()}"
        self._threads = Threads()

    async def deliver(self, delivery: Delivery) -> None:
        await self._threads.run(lambda: self._deliver(delivery))

    def _deliver(self, delivery: Delivery) -> None:
        place = f"{self._url}/session/{quote(delivery.address.target, safe='')}/message"
        mark = f"[notice {delivery.key}]"
        if delivery.is_repeat:
            there = request("GET", f"{place}?limit={RECENT}", None, self._headers)
            if mark in there.body.decode("utf-8", "replace"):
                return
        words = message(delivery, mark, self.budget)
        body = {"noReply": True, "parts": [{"type": "text", "text": words}]}
        answer = request("POST", place, json.dumps(body).encode(), self._headers)
        if answer.value is None:
            raise Refused(f"what answers at {self._url} is no OpenCode server")

    async def close(self) -> None:
        self._threads.close()
