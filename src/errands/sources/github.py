"""GitHub as a source: new pull requests and failed builds of a repository.

It is polled with ETags, so that an unchanged list costs a few bytes; or GitHub delivers to a webhook. Both
report the same events.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from errands import http
from errands.model.errors import SourceError
from errands.model.schedule.event_trigger import option
from errands.model.text.duration import parse_duration
from errands.model.trigger import On
from errands.ports.source import Observation, SourceEvent
from errands.sources.receiver import IncomingRequest, Inlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import SourceContext

PAGE = 100
FAILED = ("failure", "timed_out", "startup_failure")  # conclusions worth a look
TIMEOUT = 20.0  # seconds
LONGEST = 8 << 20  # bytes of a response
LONGEST_PAUSE = 3600.0
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
NO_TOKEN = "no token for GitHub: set GITHUB_TOKEN where the daemon is started, or log in with gh auth login"


class GitHub:
    """The baseline has, for each event, the ETag of its list and the newest entry seen."""

    def __init__(self, trigger: On, context: SourceContext) -> None:
        self._context = context
        self._repository = trigger.subject
        self._events = option(trigger, "events").split(",")
        self._branch = option(trigger, "branch")
        self.every = parse_duration(option(trigger, "every")).total_seconds()
        hook = option(trigger, "hook")
        self._inlet = Inlet(hook, context.webhook_settings(hook)) if hook else None
        self._token = ""
        self._seen: dict[str, Any] = {}

    async def open(self, baseline: str | None) -> None:
        self._seen = json.loads(baseline) if baseline else {}
        if self._inlet is None:
            self._token = await asyncio.to_thread(_find_token)
        elif self._inlet.kind != "github":
            raise SourceError(
                f"the webhook {self._inlet.name} is not GitHub's; "
                f'write [webhooks.{self._inlet.name}] kind = "github"'
            )
        else:
            await self._inlet.open()

    async def close(self) -> None:
        if self._inlet is not None:
            await self._inlet.close()

    def observe(self) -> AsyncIterator[Observation]:
        return self._poll() if self._inlet is None else self._inlet.observe(self._event)

    async def _poll(self) -> AsyncIterator[Observation]:
        while True:
            events: list[SourceEvent] = []
            pause = self.every
            for event in self._events:
                seen = self._seen.get(event, {})
                response = await asyncio.to_thread(self._get, self._path(event), seen.get("etag"))
                pause = max(pause, _seconds(response.headers.get("x-poll-interval")))
                if response.code != 304:
                    found, last = self._news(event, _parsed(response), seen.get("last"))
                    self._seen[event] = {"etag": response.headers.get("etag"), "last": last}
                    events += found
            yield Observation(baseline=json.dumps(self._seen, sort_keys=True), events=tuple(events))
            await asyncio.sleep(pause)

    def _path(self, event: str) -> str:
        if event == "pull":
            return f"/repos/{self._repository}/pulls?state=all&sort=created&direction=desc&per_page={PAGE}"
        branch = f"&branch={quote(self._branch, safe='')}" if self._branch else ""
        return f"/repos/{self._repository}/actions/runs?status=completed&per_page={PAGE}{branch}"

    def _get(self, path: str, etag: str | None) -> http.Response:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "errands",
            "X-GitHub-Api-Version": "2022-11-28",
            **({"If-None-Match": etag} if etag else {}),
        }
        url = self._context.setting("github").rstrip("/") + path
        try:
            response = http.request("GET", url, headers=headers, timeout=TIMEOUT, longest=LONGEST + 1)
        except http.HttpError as error:
            raise SourceError(f"GitHub cannot be reached: {error}") from error
        if response.code not in (200, 304):
            raise _refusal(response)
        return response

    def _news(self, event: str, value: Any, last: Any) -> tuple[list[SourceEvent], Any]:
        """Return the new entries of a list, oldest first, and the newest one seen."""
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
        # More builds that ended in the same second may be listed later.
        there = [_build_key(each) for each in builds if each["updated_at"] == newest]
        return [_build(each) for each in reversed(fresh)], {"at": newest, "there": there}

    def _is_fresh(self, number: int, last: int | None, created_at: str) -> bool:
        return number > last if last is not None else self._is_since(created_at)

    def _is_since(self, moment: str) -> bool:
        return datetime.fromisoformat(moment) >= self._context.since.replace(microsecond=0)

    def _event(self, delivery: IncomingRequest) -> SourceEvent | None:
        """Return the event in a delivery; None if this task does not wait for it."""
        try:
            payload = json.loads(delivery.content)
            if payload["repository"]["full_name"].lower() != self._repository.lower():
                return None
            if delivery.event == "pull_request" and "pull" in self._events:
                return _pull(payload["pull_request"]) if payload["action"] == "opened" else None
            if delivery.event == "workflow_run" and "build" in self._events:
                build = payload["workflow_run"]
                is_on_branch = not self._branch or build.get("head_branch") == self._branch
                return _build(build) if build.get("conclusion") in FAILED and is_on_branch else None
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
    facts = {
        "event": "build",
        "id": build["id"],
        "attempt": build.get("run_attempt", 1),
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


def _parsed(response: http.Response) -> Any:
    if len(response.body) > LONGEST:
        raise SourceError("the answer of GitHub is too long")
    try:
        return json.loads(response.body)
    except ValueError:
        raise SourceError("what answers is not GitHub; see events.github") from None


def _refusal(response: http.Response) -> SourceError:
    try:
        said = str(json.loads(response.body).get("message", ""))[:200]
    except (ValueError, AttributeError):
        said = ""
    why = f": {said}" if said else ""
    if response.code in (403, 429):
        pause = _seconds(response.headers.get("retry-after"))
        if not pause and response.headers.get("x-ratelimit-remaining") == "0":
            reset = _seconds(response.headers.get("x-ratelimit-reset"), longest=1e12)
            pause = max(1.0, reset - time.time())
        if pause:
            pause = min(pause, LONGEST_PAUSE)
            return SourceError(f"GitHub asks us to wait {pause:.0f} s{why}", after=pause)
    if response.code == 401:
        return SourceError(f"GitHub does not accept the token{why}")
    if response.code == 404:
        return SourceError(f"the repository does not exist, or the token may not see it{why}")
    return SourceError(f"GitHub answers with {response.code}{why}")


def _seconds(header: str | None, *, longest: float = LONGEST_PAUSE) -> float:
    return min(float(header), longest) if header is not None and header.isdecimal() else 0.0


def _find_token() -> str:
    """Return the token of the environment, or ask `gh` for one, which takes its time."""
    for name in TOKENS:
        if os.environ.get(name):
            return os.environ[name]
    try:
        asked = subprocess.run(
            ["gh", "auth", "token"], capture_output=True, text=True, timeout=10, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        raise SourceError(NO_TOKEN) from None
    if asked.returncode or not asked.stdout.strip():
        raise SourceError(NO_TOKEN)
    return asked.stdout.strip()
