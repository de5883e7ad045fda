"""A session on an OpenCode server: a delivery becomes a message in the conversation, without a reply.

Every other session has an inbox, which it empties itself. Quoted text is fenced, because an agent reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from errands.channels import read_secret
from errands.channels.blocking import BlockingChannel, request
from errands.http import HttpError, basic_auth
from errands.model.errors import Refused
from errands.model.notices.delivery import Delivery, message

URL = "http://127.0.0.1:4096"  # the default of `opencode serve`
RECENT = 50  # messages to search for a delivery that may have arrived


class Session(BlockingChannel):
    budget = 20_000
    is_deduplicating = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self._url = str(settings.get("url", URL)).rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        password = os.environ.get("OPENCODE_SERVER_PASSWORD")
        if "password" in settings:
            password = read_secret(str(settings["password"]))
        if password:
            self._headers |= basic_auth(str(settings.get("username", "opencode")), password)

    def _deliver(self, delivery: Delivery) -> None:
        url = f"{self._url}/session/{quote(delivery.address.target, safe='')}/message"
        mark = f"[notice {delivery.key}]"
        if delivery.is_repeat:
            recent = request("GET", f"{url}?limit={RECENT}", None, self._headers)
            if mark in recent.body.decode("utf-8", "replace"):
                return
        words = message(delivery, mark, self.budget)
        body = {"noReply": True, "parts": [{"type": "text", "text": words}]}
        try:
            answer = request("POST", url, json.dumps(body).encode(), self._headers).json()
        except HttpError:
            answer = None
        if answer is None:
            raise Refused(f"what answers at {self._url} is not an OpenCode server")
