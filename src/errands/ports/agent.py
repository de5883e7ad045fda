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
        async def open(self, context: AgentContext) -> str:
            """Make a new session and give its name: `desk.session`, where the backend has none of its own."""

        async def fork(self, session: str, context: AgentContext) -> str:
            """Make a session that begins with a copy of another's history, cut to size; that stays untouched.

            `SessionGone` when there is none to copy.
            """

        async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
            """Send a prompt and give the answer. `SessionGone` when the session is no more.

            When it is cancelled, whatever the prompt has set going ends before it returns.
            """

        async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
            """Give the answer to a prompt that an earlier process of the same run sent, or was about to send.

            It is sent at most once. A call with side effects that may or may not have been finished is never
            repeated: the agent is told that it was interrupted, or `AgentError` says so.
            """

        async def post(self, session: str, text: str, context: AgentContext) -> None:
            """Add a message without causing an answer."""

        async def abort(self, session: str) -> None:
            """Stop what the session is doing; nothing to stop is no error."""

        async def drop(self, session: str, context: AgentContext) -> None:
            """Forget a session; one that is gone is no error."""

        async def close(self) -> None:
            """Let go of processes and connections."""

    class AgentContext(Protocol):
        """What a run's process has for its agent while a prompt is answered."""

        spec: Spec
        session: str  # a name for a new session of this task
        run: str  # the run that asks: the same for every process that works on this prompt

        def note(self, event: Activity) -> None:
            """Tell what is going on; never blocks, never fails."""

        async def allow(self, call: Call) -> Decision:
            """Ask whether a tool call may go on. It may take days: a person answers, from any door."""

        async def command(self, call_id: str, line: str) -> Ran:
            """Carry out a shell line as a task of its own, if it is allowed, and wait for its end.

            This asks by itself; `allow` is for calls that the backend carries out. A call is carried out at
            most once: whoever asks with the same `call_id` again, in this run, gets the same task.
            """

        async def turn(self) -> None:
            """Wait for our turn on a shared model; called before every request to it and every tool call."""

        def messages(self, session: str) -> Sequence[str] | None:
            """Give a conversation that is kept here, one JSON text per message; None when there is none."""

        def keep(self, session: str, messages: Sequence[str], *, usage: Usage) -> None:
            """Add messages to a conversation, at once and for good; the first time makes it."""

        def forget(self, session: str) -> None:
            """Forget a conversation that is kept here."""


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
    streams: bool = False  # somebody listens to the answer as it comes


@record
class Activity:
    """One thing an agent did: it called a tool, a tool ended, it said something, it used tokens.

    A `piece` is what it says as it comes, where `spec.streams` asks for that; the whole follows as `text`.
    """

    kind: Literal["tool", "tool_end", "text", "piece", "usage"]
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
class Ran:
    """What became of a command: how its task ended and what it printed, or why it was not allowed."""

    state: str  # of the task: completed, failed, cancelled, rejected ...
    output: str = ""
    code: int | None = None
    error: str | None = None
    task: str = ""


@record
class Answer:
    text: str
    usage: Usage = {}
