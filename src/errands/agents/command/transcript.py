"""The transcript that Claude Code keeps of a session: a file of JSON lines in its configuration directory.

After a crash it shows whether a prompt arrived and was answered. A fork starts with a shortened copy of it.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any

from errands.model.agent.fork import clipped_content, newest, tokens

Entry = Mapping[str, Any]


class Transcripts:
    def __init__(self, env: Mapping[str, str], home: str | None) -> None:
        surroundings = {**os.environ, **env}
        person = surroundings.get("HOME") or os.path.expanduser("~")
        configuration = Path(surroundings.get("CLAUDE_CONFIG_DIR") or f"{person}/.claude")
        self._place = configuration / "projects"
        self._home = Path(home or configuration / "errands")

    def find(self, session: str) -> Path | None:
        """Return the file of a session, whatever its working directory."""
        return next(self._place.glob(f"*/{session}.jsonl"), None)

    def kept(self, session: str) -> Path:
        """Return our own file of a session: what a fork starts with, or a link to what Claude Code wrote."""
        return self._home / f"{session}.jsonl"

    def keep(self, session: str) -> None:
        """Keep a link to a session: Claude Code deletes those that were not used for a month."""
        path, kept = self.find(session), self.kept(session)
        if path is None or (kept.exists() and kept.samefile(path)):
            return
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.unlink(missing_ok=True)
        try:
            kept.hardlink_to(path)
        except OSError:  # another file system
            shutil.copy2(path, kept)

    def read(
        self, session: str, *, before: str | None = None, or_before: Set[str] = frozenset()
    ) -> Sequence[Entry]:
        """Return the conversation since it was last compacted, `before` a call, or an entry with a uuid."""
        found: list[Entry] = []
        for entry in self._lines(session):
            if entry.get("uuid") in or_before:
                break
            if before in _calls(entry):
                while found and _message(found[-1]) == _message(entry):
                    found.pop()
                break
            if entry.get("subtype") == "compact_boundary":
                found = []
            if "uuid" in entry and not entry.get("isSidechain"):
                found.append(entry)
        return found

    def cost(self, session: str) -> float:
        """Return what a session has cost so far, in dollars: Claude Code reports only the total."""
        states = (each for each in self._lines(session) if each.get("type") == "cost-state")
        return max((each.get("totalCostUSD", 0.0) for each in states), default=0.0)

    def copy(self, entries: Sequence[Entry], session: str) -> None:
        """Write a shortened conversation as the beginning of another session."""
        path = self.kept(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Claude Code would continue with the system prompt of the parent, and ignore ours.
        said = [each for each in entries if (each.get("attachment") or {}).get("type") != "prompt_snapshot"]
        ours = [_clipped(each) for each in said]
        cut = newest(ours, size=_size, calls=_calls, results=_results)
        before = None
        with path.open("w") as file:
            for entry in cut:
                file.write(json.dumps({**entry, "parentUuid": before, "sessionId": session}) + "\n")
                before = entry["uuid"]

    def _lines(self, session: str) -> Iterator[Entry]:
        path = self.find(session) or self.kept(session)
        for line in path.read_bytes().splitlines() if path.exists() else ():
            with suppress(ValueError):  # the last line of a process that was killed
                yield json.loads(line)

    def drop(self, session: str) -> None:
        """Delete a transcript, its directory, and our own file."""
        self.kept(session).unlink(missing_ok=True)
        for path in self._place.glob(f"*/{session}.jsonl"):
            path.unlink(missing_ok=True)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)


def prompt_id(run: str) -> str:
    """Return the id under which a run's prompt is found in a transcript."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"errands:run:{run}"))


def after(entries: Sequence[Entry], prompt: str) -> Sequence[Entry] | None:
    """Return what follows a prompt; None if it is not there."""
    for place, entry in enumerate(entries):
        if entry["uuid"] == prompt:
            return entries[place + 1 :]
    return None


def closed(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Leave out what follows a call without a result: the call that forks is still running."""
    answered = {call for entry in entries for call in _results(entry)}
    for place, entry in enumerate(entries):
        if any(call not in answered for call in _calls(entry)):
            while place and _message(entries[place - 1]) == _message(entry):
                place -= 1
            return entries[:place]
    return entries


def final_text(entries: Iterable[Entry]) -> str | None:
    """Return the final text of a finished turn; None if it did not finish."""
    texts: dict[str, list[str]] = {}
    ended = None
    for entry in entries:
        message = entry.get("message") or {}
        if entry.get("type") == "assistant" and not entry.get("isApiErrorMessage"):
            ended = message["id"] if message.get("stop_reason") == "end_turn" else None
            texts.setdefault(message["id"], []).extend(
                part["text"] for part in message["content"] if part["type"] == "text"
            )
        elif entry.get("type") == "user":
            ended = None
    return None if ended is None else "".join(texts[ended])


def _message(entry: Entry) -> str | None:
    """Return the id of the message that an entry is part of; one message of the model has several."""
    return (entry.get("message") or {}).get("id")


def _parts(entry: Entry) -> Sequence[Mapping[str, Any]]:
    content = (entry.get("message") or {}).get("content")
    return content if isinstance(content, list) else ()


def _calls(entry: Entry) -> list[str]:
    return [part["id"] for part in _parts(entry) if part.get("type") == "tool_use"]


def _results(entry: Entry) -> list[str]:
    return [part["tool_use_id"] for part in _parts(entry) if part.get("type") == "tool_result"]


def _size(entry: Entry) -> int:
    """Estimate the tokens that the model sees of an entry."""
    said = entry.get("message") or entry.get("rendered") or ""
    return tokens(json.dumps(said, ensure_ascii=False))


def _clipped(entry: Entry) -> Entry:
    if not _results(entry):
        return entry
    parts = [
        {**part, "content": clipped_content(part["content"])} if "content" in part else part
        for part in _parts(entry)
    ]
    # The copy for people may be just as long, and Claude Code does not need it.
    rest = {name: value for name, value in entry.items() if name != "toolUseResult"}
    return {**rest, "message": {**entry["message"], "content": parts}}
