"""An agent: whoever answers prompts.

A backend is used by the process of one run and keeps nothing there that matters: the conversation lives at
the backend, or on the desk, which is the store. So the process can be killed at any moment and another one
goes on. A session is known by the name that its backend gave it.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, Protocol

    Usage = Mapping[str, int]  # input_tokens, output_tokens, requests, tool_calls, cost_microdollars

    class Agent(Protocol):
        async def open(self, spec: Spec) -> str:
            """Make a new session; give its name."""

        async def fork(self, session: str, spec: Spec) -> str:
            """Make a session that begins with a copy of another's history, cut to size; that one is untouched.

            `SessionGone` when there is none to copy.
            """

        async def prompt(self, session: str, text: str, desk: Desk) -> Answer:
            """Send a prompt and give the answer. `SessionGone` when the session is no more."""

        async def recover(self, session: str, text: str, desk: Desk) -> Answer:
            """Give the answer to a prompt that an earlier process of the same run sent, or was about to send.

            It is sent at most once. A call with side effects that may or may not have been finished is never
            repeated: the agent is told that it was interrupted, or `AgentError` says so.
            """

        async def post(self, session: str, text: str) -> None:
            """Add a message without causing an answer."""

        async def abort(self, session: str) -> None:
            """Stop what the session is doing; nothing to stop is no error."""

        async def drop(self, session: str) -> None:
            """Forget a session; one that is gone is no error."""

        async def close(self) -> None:
            """Let go of processes and connections."""

    class Desk(Protocol):
        """What a run's process has for its agent while a prompt is answered."""

        def note(self, event: Activity) -> None:
            """Tell what is going on; never blocks, never fails."""

        async def allow(self, call: Call) -> Decision:
            """Ask whether a tool call may go on. It may take days: a person answers, from any door."""

        async def turn(self) -> None:
            """Wait for our turn on a shared model; called before every request to it and every tool call."""

        def messages(self) -> Sequence[str]:
            """Give the conversation so far, for backends that leave it on the desk: JSON, one per message."""

        def keep(self, messages: Sequence[str], *, usage: Usage) -> None:
            """Add messages to the conversation, at once and for good."""


@record
class Spec:
    """The launch specification, frozen when the task is made: a resume or a fork never loses it."""

    agent: str  # the name under which the configuration knows the backend and its settings
    cwd: str
    system: str
    model: str | None = None
    tools: tuple[str, ...] | None = None  # None: those the agent has by default
    depth: int = 0
    budget: Mapping[str, int] = {}  # upper limits of a run's usage, by the same names


@record
class Activity:
    """One thing an agent did: it called a tool, a tool ended, it said something, it used tokens."""

    kind: Literal["tool", "tool_end", "text", "usage"]
    name: str = ""
    call_id: str = ""
    text: str = ""
    failed: bool = False
    usage: Usage = {}


@record
class Call:
    """A tool call that wants to be allowed. `command` is there when it would run one in a shell."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    command: str | None = None


@record
class Decision:
    allowed: bool
    reason: str = ""


@record
class Answer:
    text: str
    usage: Usage = {}
