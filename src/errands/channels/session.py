"""A session on an OpenCode server: a delivery becomes a message in the conversation, without a reply.

Every other session has an inbox, which it empties itself. Quoted text is fenced, because an agent reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from errands.channels import read_secret
from errands.channels.blocking import BlockingChannel, request
from errands.http import HttpError, Response, basic_auth
from errands.model.errors import NotNow, Refused
from errands.model.notices.delivery import Delivery, message
from errands.ports.bridges import URL

BUSY = 5.0  # seconds until a busy session is tried again
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
        target = delivery.address.target
        session = f"/session/{quote(target, safe='')}"
        mark = f"[notice {delivery.key}]"
        if delivery.is_repeat and mark in json.dumps(self._get(f"{session}/message?limit={RECENT}")):
            return
        about = _object(self._get(session))
        directory = about.get("directory")
        where = f"?{urlencode({'directory': directory})}" if directory else ""
        state = _object(_object(self._get(f"/session/status{where}")).get(target))
        if state.get("type", "idle") != "idle":
            # The turn that is going on would answer it.
            raise NotNow("the session is busy", after=BUSY)
        body = {
            "noReply": True,
            # Without an agent, OpenCode would make it a session of `build`, which has full rights.
            "agent": about.get("agent") or self._latest_agent(session) or "build",
            "parts": [{"type": "text", "text": message(delivery, mark, self.budget)}],
        }
        path = f"{self._url}{session}/message{where}"
        self._read(request("POST", path, json.dumps(body).encode(), self._headers))

    def _latest_agent(self, session: str) -> str | None:
        """Return the agent that a person used last; None in a session without messages."""
        messages = self._get(f"{session}/message?limit={RECENT}")
        users = [each["info"] for each in messages if each["info"]["role"] == "user"]
        return users[-1].get("agent") if users else None

    def _get(self, path: str) -> Any:
        return self._read(request("GET", f"{self._url}{path}", None, self._headers))

    def _read(self, response: Response) -> Any:
        try:
            answer = response.json()
        except HttpError:
            answer = None
        if not isinstance(answer, dict | list):
            raise Refused(f"what answers at {self._url} is not OpenCode")
        return answer


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
