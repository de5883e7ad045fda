"""The MCP frontend: its dialect, which tasks a client sees, and the engine.

The engine is opened when it is first needed, so a client that only connects waits for nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from errands.config.backends import is_claude, settings_of
from errands.engine.actor import actor, enclosing_run, is_inside_a_run
from errands.engine.async_engine import AsyncEngine
from errands.engine.engine import Engine
from errands.frontends.mcp.client import Client
from errands.model.errors import BadValue, ErrandsError, unknown_task
from errands.model.record import evolve
from errands.model.text.ids import is_task_id
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.ports.dialect import Caller, Tool
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.dialect import Dialect

NAME = "mcp"
_LOG = logging.getLogger("errands.mcp")
SESSION_HEADER = "errands-session"
_LONGEST_SESSION = 300
_STAY = 0.5  # seconds between two checks whether it is time to note that a client is still connected


class Frontend:
    def __init__(
        self,
        dialect: Dialect,
        *,
        open_engine: Callable[[], Engine],
        everything: bool = False,
        environ: Mapping[str, str] = os.environ,
        cwd: str | None = None,
    ) -> None:
        self.dialect = dialect
        self.everything = everything
        self.cwd = cwd or os.getcwd()
        self._open_engine = open_engine
        self._engine: AsyncEngine | None = None
        self._session = checked_session(environ.get("ERRANDS_SESSION") or "")
        self._wake = environ.get("ERRANDS_WAKE") or "none"
        self._argument = environ.get("ERRANDS_SESSION_ARGUMENT") or ""
        self._is_codex = environ.get("ERRANDS_SESSION_META") == "codex"
        self._codex_session = ""  # the one that a call named last
        self._environ = environ
        self._run: str | None = None
        self._seen: set[str] = set()

    @property
    def engine(self) -> AsyncEngine:
        if self._engine is None:
            self._engine = AsyncEngine(self._open_engine())
        return self._engine

    @property
    def own_agent(self) -> str:
        """The agent that is the client itself, unless the person has configured a default."""
        if "agents.default" in self.engine.engine.config.origin:
            return ""
        return self._environ.get("ERRANDS_OWN_AGENT") or ""

    @property
    def forker(self) -> str:
        """The agent that can fork the client's own conversation: the client itself, where it is known."""
        return self._environ.get("ERRANDS_OWN_AGENT") or ""

    @property
    def _subagents_of(self) -> str:
        """The agent whose own agents a tool may name: Claude Code, if prompts without a name go to it."""
        if not self.forker:
            return ""
        config = self.engine.engine.config
        agent = self.own_agent or config.agents.default
        return agent if is_claude(settings_of(agent, config.backends)) else ""

    def close(self) -> None:
        if self._engine is not None:
            self._engine.engine.close()

    def caller(self, client: Client) -> Caller:
        """Return the caller; its session follows from client and project, so it survives restarts."""
        header = client.headers.get(SESSION_HEADER)
        session = checked_session(header) if header else self._session
        caller = Caller(
            session=session or f"{NAME}:{client.name}:{self.cwd}",
            cwd=self.cwd,
            door=NAME,
            client=client.name,
            run=self._environ.get("ERRANDS_RUN_ID") or None,
            # Only a session named by its installation has something that wakes it.
            wake=self._wake if session else "none",
            everything=self.everything,
            message=client.message,
            conversation=_conversation(session) if self.forker else None,
        )
        return self._in_codex(caller, client) if self._is_codex else caller

    def _in_codex(self, caller: Caller, client: Client) -> Caller:
        """Return the caller as Codex names it with each call; its other requests are of the same session."""
        place = client.place
        if place is not None and _is_session_id(place.session):
            self._codex_session = checked_session(f"codex:{place.session}")
        caller = evolve(caller, session=self._codex_session or f"{NAME}:{client.name}:{self.cwd}")
        if place is None:
            # Its list of tools is asked for before any call; the call then says where it was made.
            return evolve(caller, conversation="")
        return evolve(caller, conversation=_up_to(place.thread, place.call), message=place.turn or None)

    def tool_caller(self, client: Client, arguments: Mapping[str, Any]) -> tuple[Caller, dict[str, Any]]:
        """Return the caller of a tool and the arguments meant for the tool.

        A call from an unknown place in a conversation cannot fork it. For a client with many sessions on
        one connection, our plugin names the session in an argument; without it nothing can wake the caller.
        """
        caller, rest = evolve(self.caller(client), subagents_of=self._subagents_of), dict(arguments)
        if not self._argument:
            return evolve(caller, conversation=caller.conversation or None), rest
        program, _, first = self._session.partition(":")
        session = rest.pop(self._argument, None)
        if isinstance(session, str) and _is_session_id(session):
            known = _up_to(session, client.claude_call) if self.forker else None
            return evolve(caller, session=checked_session(f"{program}:{session}"), conversation=known), rest
        unnamed = self._session if first else f"{NAME}:{client.name}:{self.cwd}"
        return evolve(caller, session=unnamed, wake="none"), rest

    def see(self, caller: Caller) -> None:
        """Note that the caller's session is still there, so that what it started is kept."""
        if caller.session is not None:
            self._seen.add(caller.session)
            self.engine.engine.sessions.see_session(caller.session)

    async def stay(self) -> None:
        """Note, until cancelled, that the sessions of a client that stays connected are there."""
        while True:
            await asyncio.sleep(_STAY)
            for each in self._seen:
                try:
                    self.engine.engine.sessions.see_session(each)
                except ErrandsError as error:
                    _LOG.warning("the session %s cannot be noted as seen: %s", each, error)

    def tool(self, caller: Caller, name: str) -> Tool | None:
        return next((each for each in self.dialect.tools(caller) if each.name == name), None)

    def tasks(self, caller: Caller, *, limit: int, states: tuple[str, ...] = ()) -> list[View]:
        """List the tasks that a caller sees, newest first."""
        parent = None if caller.everything else caller.session
        return self.engine.engine.list(Query(states=states, parent=parent, limit=limit))

    def find(self, caller: Caller, task_id: str) -> View:
        """Find a task that the caller sees; any other is not found, whether it exists or not."""
        if is_task_id(task_id):
            for view in self.engine.engine.list(Query(ids=(task_id,))):
                if caller.everything or view.parent == caller.session:
                    return view
        raise unknown_task(line(task_id[:80]))

    def masked(self, views: Sequence[View], text: str) -> str:
        """Hide the secrets of tasks in a text about them; a command may contain one."""
        return self.engine.engine.mask(*(view.id for view in views)).text(text)

    def cancel(self, caller: Caller, task_ids: Sequence[str]) -> None:
        self.engine.engine.cancel(task_ids, by=caller.actor)

    def may_answer(self, client: Client) -> bool:
        """Return whether a person can be asked through this client: never from inside a run."""
        if not client.can_elicit or not self.engine.engine.config.approval.yes:
            return False
        if self._run is None:
            self._run = enclosing_run()
        if self._run:
            return False
        # A server that listens is outside, but its client may be a run that answers for itself.
        return client.peer is None or not is_inside_a_run(*client.peer)

    def person(self, caller: Caller) -> str:
        """Return the name recorded for the person who answers in this client."""
        return f"{actor(self._environ)} ({caller.client})"


def _is_session_id(name: str) -> bool:
    return name.isascii() and name.replace("-", "").replace("_", "").isalnum()


def _up_to(conversation: str, call: str) -> str:
    """Name a conversation up to a call; a fork by that call copies this part."""
    return f"{conversation}@{call}" if call else conversation


def _conversation(session: str) -> str | None:
    """Return what the client itself calls a session that its installation named `PROGRAM:ID`."""
    return session.partition(":")[2] or None


def checked_session(name: str) -> str:
    """Return the name of a session; refuse an invalid one, and that of an agent's own task."""
    if len(name) > _LONGEST_SESSION or not name.isprintable() or name.startswith("task:"):
        raise BadValue(
            f"invalid session name {line(name[:80])!r}: use at most {_LONGEST_SESSION} printable characters, "
            "and do not begin with 'task:'"
        )
    return name
