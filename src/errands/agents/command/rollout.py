"""The file that Codex keeps of a session: JSON lines below its home, found by the session's id in their name.

After a crash it shows whether a prompt arrived and was answered. A fork starts with a shortened copy of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from errands.model.agent.fork import clipped_content, newest, tokens
from errands.model.errors import SessionGone

Line = Mapping[str, Any]
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CALLS = ("function_call", "custom_tool_call")


class Rollouts:
    def __init__(self, env: Mapping[str, str]) -> None:
        surroundings = {**os.environ, **env}
        person = surroundings.get("HOME") or os.path.expanduser("~")
        self._home = Path(surroundings.get("CODEX_HOME") or f"{person}/.codex")

    def find(self, session: str) -> Path | None:
        return next(iter(self._all(session)), None)

    def begin(self, session: str, cwd: str) -> None:
        """Begin a session that has no messages yet."""
        self._write(
            session, {"cwd": cwd, "originator": "errands", "cli_version": "0.0.0", "source": "exec"}, []
        )

    def copy(self, session: str, copy: str, *, call: str | None = None, lines: int | None = None) -> None:
        """Write a shortened conversation as the beginning of another session.

        It ends before a call, or after a number of lines.
        """
        kept = list(self._lines(session))[:lines]
        for place, each in enumerate(kept):
            if each.get("type") == "response_item" and call in _call(each["payload"]):
                kept = kept[:place]
                break
        self._copy(kept, copy)

    def _copy(self, lines: Sequence[Line], copy: str) -> None:
        about = next((each["payload"] for each in lines if each.get("type") == "session_meta"), None)
        if about is None:
            raise SessionGone
        said = [each["payload"] for each in _since_compacted(lines) if each.get("type") == "response_item"]
        kept = newest([_clipped(each) for each in _closed(said)], size=_size, calls=_call, results=_result)
        names = ("cwd", "originator", "cli_version", "source", "base_instructions", "model_provider")
        self._write(copy, {name: about[name] for name in names if name in about}, kept)

    def length(self, session: str) -> int:
        return sum(1 for _ in self._lines(session))

    def has_prompt(self, session: str, text: str, *, after: int) -> bool:
        """Return whether the user said a text after a number of lines."""
        return any(_said(each) == text for each in list(self._lines(session))[after:])

    def answer(self, session: str, *, after: int) -> str | None:
        """Return the answer of the last turn that ended after a number of lines; None if it did not end."""
        for each in reversed(list(self._lines(session))[after:]):
            match each:
                case {
                    "type": "event_msg",
                    "payload": {"type": "task_complete", "last_agent_message": str(said)},
                }:
                    return said
        return None

    def usage(self, session: str) -> Mapping[str, int]:
        """Return what a session has used so far; Codex reports only totals."""
        used = {"requests": 0}
        for each in self._lines(session):
            if each.get("type") == "token_usage_record":
                used["requests"] += 1
                spent = each["payload"].get("usage") or {}
                for name in ("input_tokens", "output_tokens"):
                    used[name] = used.get(name, 0) + int(spent.get(name) or 0)
        return used

    def drop(self, session: str) -> None:
        for path in self._all(session):
            path.unlink(missing_ok=True)

    def _all(self, session: str) -> Iterator[Path]:
        for place in ("sessions/*/*/*", "archived_sessions"):
            yield from self._home.glob(f"{place}/rollout-*-{session}.jsonl")

    def _lines(self, session: str) -> Iterator[Line]:
        path = self.find(session)
        for line in path.read_bytes().splitlines() if path is not None else ():
            with suppress(ValueError):  # the last line of a process that was killed
                yield json.loads(line)

    def _write(self, session: str, about: Mapping[str, Any], said: Sequence[Line]) -> None:
        now = datetime.now(UTC)
        folder = self._home / "sessions" / now.strftime("%Y/%m/%d")
        folder.mkdir(parents=True, exist_ok=True)
        stamp = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        meta = {"id": session, "timestamp": stamp, **about}
        lines = [("session_meta", meta), *(("response_item", each) for each in said)]
        path = folder / f"rollout-{now.strftime('%Y-%m-%dT%H-%M-%S')}-{session}.jsonl"
        path.write_text(
            "".join(
                json.dumps({"timestamp": stamp, "type": kind, "payload": each}) + "\n" for kind, each in lines
            )
        )


def _since_compacted(lines: Sequence[Line]) -> Sequence[Line]:
    """Return what the model still sees: a compacted history replaces what came before."""
    for place in range(len(lines) - 1, -1, -1):
        if lines[place].get("type") == "compacted":
            kept = lines[place]["payload"].get("replacement_history") or ()
            return [*({"type": "response_item", "payload": each} for each in kept), *lines[place + 1 :]]
    return lines


def _closed(said: Sequence[Line]) -> Sequence[Line]:
    """Leave out what follows a call without a result: the call that forks is still running."""
    answered = {each["call_id"] for each in said if each.get("type") in _RESULTS}
    for place, each in enumerate(said):
        if each.get("type") in _CALLS and each["call_id"] not in answered:
            return said[:place]
    return said


def _said(line: Line) -> str | None:
    match line:
        case {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [*parts]}}:
            return "".join(str(each.get("text", "")) for each in parts)
    return None


def _call(said: Line) -> list[str]:
    return [said["call_id"]] if said.get("type") in _CALLS else []


def _result(said: Line) -> list[str]:
    return [said["call_id"]] if said.get("type") in _RESULTS else []


def _size(said: Line) -> int:
    return tokens(json.dumps(said, ensure_ascii=False))


def _clipped(said: Line) -> Line:
    if said.get("type") in _RESULTS and "output" in said:
        return {**said, "output": clipped_content(said["output"])}
    return said
