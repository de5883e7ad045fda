"""GitHub as a source: new pull requests and failed builds of a repository.

It is asked now and then, and says in a few bytes that nothing has changed (ETag); or it delivers by itself,
to a webhook. Both tell the same things in the same words.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Any
from urllib.parse import quote

from errands.model.schedule.errors import SourceError
from errands.model.schedule.event_trigger import option
from errands.model.text.duration import parse_duration
from errands.model.trigger import On
from errands.ports.source import Observation, SourceEvent
from errands.sources.http_api import Api
from errands.sources.receiver import IncomingRequest, Inlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import SourceContext

HEARTBEAT = 60.0
PAGE = 100
# How builds end that somebody should look at.
FAILED = ("failure", "timed_out", "startup_failure")


class GitHub:
    def __init__(self, trigger: On, context: SourceContext) -> None:
        self._context = context
        self._repository = trigger.subject
        self._events = option(trigger, "events").split(",")
        self._branch = option(trigger, "branch")
        self.every = parse_duration(option(trigger, "every")).total_seconds()
        hook = option(trigger, "hook")
        self._inlet = Inlet(hook, context.webhook_settings(hook)) if hook else None
        self._api: Api | None = None
        self._seen: dict[str, Any] = {}

    async def open(self, baseline: str | None) -> None:
        self._seen = json.loads(baseline) if baseline else {}
        if self._inlet is None:
            # It may ask gh for the token, which takes its time.
            self._api = await asyncio.to_thread(Api, self._context.setting("github"))
        elif self._inlet.kind != "github":
            raise SourceError(
                f"the webhook {self._inlet.name} is not of GitHub; "
                f'write [webhooks.{self._inlet.name}] kind = "github"'
            )
        else:
            await self._inlet.open()

    async def close(self) -> None:
        if self._inlet is not None:
            await self._inlet.close()

    def observe(self) -> AsyncIterator[Observation]:
        return self._asked() if self._inlet is None else self._delivered(self._inlet)

    async def _asked(self) -> AsyncIterator[Observation]:
        assert self._api is not None
        while True:
            events: list[SourceEvent] = []
            pause = self.every
            for event in self._events:
                seen = self._seen.get(event, {})
                reply = await asyncio.to_thread(self._api.get, self._path(event), seen.get("etag"))
                pause = max(pause, reply.pause)
                if reply.value is not None:
                    found, last = self._news(event, reply.value, seen.get("last"))
                    self._seen[event] = {"etag": reply.etag, "last": last}
                    events += found
            yield Observation(baseline=json.dumps(self._seen, sort_keys=True), events=tuple(events))
            await asyncio.sleep(pause)

    def _path(self, event: str) -> str:
        if event == "pull":
            return f"/repos/{self._repository}/pulls?state=all&sort=created&direction=desc&per_page={PAGE}"
        branch = f"&branch={quote(self._branch, safe='')}" if self._branch else ""
        return f"/repos/{self._repository}/actions/runs?status=completed&per_page={PAGE}{branch}"

    def _news(self, event: str, value: Any, last: Any) -> tuple[list[SourceEvent], Any]:
        """Give what is new of a list, oldest first, and how far that is."""
        if event == "pull":
            found = [each for each in value if isinstance(each, dict)]
            highest = max([int(last or 0), *(int(each["number"]) for each in found)])
            fresh = [each for each in found if self._is_fresh(each["number"], last, each["created_at"])]
            return [_pull(each) for each in reversed(fresh)], highest
        builds = [each for each in value.get("workflow_runs", ()) if isinstance(each, dict)]
        known = last or {"at": "", "there": []}
        newest = max([known["at"], *(str(each["updated_at"]) for each in builds)])
        fresh = [
            each
            for each in builds
            if each.get("conclusion") in FAILED
            and (last is not None or self._is_since(each["updated_at"]))
            and each["updated_at"] >= known["at"]
            and _build_key(each) not in known["there"]
        ]
        # Of those that ended in the second of the last look, some may come later.
        there = [_build_key(each) for each in builds if each["updated_at"] == newest]
        return [_build(each) for each in reversed(fresh)], {"at": newest, "there": there}

    def _is_fresh(self, number: int, last: int | None, created_at: str) -> bool:
        return number > last if last is not None else self._is_since(created_at)

    def _is_since(self, moment: str) -> bool:
        return datetime.fromisoformat(moment) >= self._context.since.replace(microsecond=0)

    async def _delivered(self, inlet: Inlet) -> AsyncIterator[Observation]:
        yield Observation(baseline="")
        async with aclosing(inlet.deliveries(HEARTBEAT)) as deliveries:  # type: ignore[type-var]
            async for each in deliveries:
                event = None if each is None else self._of_delivery(each)
                yield Observation(baseline="", events=() if event is None else (event,))

    def _of_delivery(self, delivery: IncomingRequest) -> SourceEvent | None:
        """Find what we wait for in a delivery; everything else is taken and forgotten."""
        try:
            payload = json.loads(delivery.content)
            if payload["repository"]["full_name"].lower() != self._repository.lower():
                return None
            if delivery.event == "pull_request" and "pull" in self._events:
                return _pull(payload["pull_request"]) if payload["action"] == "opened" else None
            if delivery.event == "workflow_run" and "build" in self._events:
                build = payload["workflow_run"]
                is_meant = not self._branch or build.get("head_branch") == self._branch
                return _build(build) if build.get("conclusion") in FAILED and is_meant else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return None


def _pull(pull: Mapping[str, Any]) -> SourceEvent:
    facts = {
        "event": "pull",
        "number": pull["number"],
        "title": str(pull.get("title", ""))[:500],
        "author": (pull.get("user") or {}).get("login"),
        "branch": (pull.get("head") or {}).get("ref"),
        "url": pull.get("html_url"),
        "body": str(pull.get("body") or "")[:4000],
    }
    text = f"pull request #{pull['number']}: {facts['title'][:200]}"
    return SourceEvent(text=text, facts=facts, key=f"pull {pull['number']}")


def _build(build: Mapping[str, Any]) -> SourceEvent:
    attempt = build.get("run_attempt", 1)
    facts = {
        "event": "build",
        "id": build["id"],
        "attempt": attempt,
        "name": str(build.get("name", ""))[:200],
        "conclusion": build.get("conclusion"),
        "branch": build.get("head_branch"),
        "commit": build.get("head_sha"),
        "url": build.get("html_url"),
    }
    text = f"build {facts['name']} of {facts['branch']} ended with {facts['conclusion']}"
    return SourceEvent(text=text, facts=facts, key=_build_key(build))


def _build_key(build: Mapping[str, Any]) -> str:
    return f"build {build['id']}.{build.get('run_attempt', 1)}"
