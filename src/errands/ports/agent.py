"""An agent backend: it answers prompts.

The process of one run uses a backend, and keeps nothing that matters: the conversation is in the backend, or
in the store behind `AgentContext`. So the process can be killed at any moment, and another one continues. A
session is known by the name that its backend gave it.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, Protocol

    from errands.ports.dialect import Reply, Tool

    Usage = Mapping[str, int]  # input_tokens, output_tokens, requests, tool_calls, cost_microdollars

    class Agent(Protocol):
        async def open(self, context: AgentContext) -> str:
            """Create a session and return its name: `context.session` unless the backend chooses its own."""

        async def fork(self, session: str, context: AgentContext) -> str:
            """Create a session from a shortened copy of another one's history, which stays unchanged.

            What came after `context.spec.fork_at` is left out: the run may have waited in the queue.
            Raise `SessionGone` when no history is left to copy.
            """

        async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
            """Send a prompt and return the answer; raise `SessionGone` when the session no longer exists.

            When cancelled, everything the prompt started ends before this returns.
            """

        async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
            """Return the answer to a prompt that an earlier process of this run sent or was about to send.

            The prompt is sent at most once. A call with side effects that may have finished is never
            repeated: the agent learns that it was interrupted, or `AgentError` says so.
            """

        async def post(self, session: str, text: str, context: AgentContext) -> None:
            """Add a message without asking for an answer."""

        async def abort(self, session: str) -> None:
            """Stop what the session is doing, if anything."""

        async def drop(self, session: str, context: AgentContext) -> None:
            """Delete a session, if it still exists."""

        async def close(self) -> None:
            """Release processes and connections."""

    class AgentContext(Protocol):
        """What a run's process offers its agent while a prompt is being answered."""

        spec: Spec
        session: str  # a name for a new session of this task
        run: str  # the run that sends the prompt: the same for every process that works on it
        background: BackgroundTools | None  # what the agent of a conversation with a person is offered

        def report(self, event: Activity) -> None:
            """Report what is going on; never blocks, never fails."""

        async def request_approval(self, call: ToolCall) -> Decision:
            """Ask whether a tool call may proceed. A person may take days to answer, from any frontend."""

        async def run_command(self, call_id: str, line: str) -> CommandResult:
            """Run a shell line as its own task, if it is allowed, and wait for it to end.

            It asks for approval by itself; `request_approval` is for calls that the backend carries out. A
            call runs at most once: the same `call_id` in the same run returns the same task.
            """

        async def wait_turn(self) -> None:
            """Wait for our turn on a shared model; call it before every model request and every tool call."""

        def messages(self, session: str) -> Sequence[str] | None:
            """Return a stored conversation, one JSON text per message; None if there is none."""

        def append_messages(self, session: str, messages: Sequence[str]) -> None:
            """Store messages durably before returning; the first call creates the conversation."""

        def delete_messages(self, session: str) -> None:
            """Delete a stored conversation."""

    class BackgroundTools(Protocol):
        """Tools that start and follow tasks in the background; what needs approval becomes a proposal."""

        @property
        def tools(self) -> Sequence[Tool]: ...

        async def call(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> Reply:
            """Call a tool; the same `call_id` in the same run launches nothing twice."""


@record
class Spec:
    """The launch specification, frozen when the task is created: resumes and forks keep it."""

    agent: str  # its name in the configuration
    cwd: str
    system: str
    model: str | None = None
    tools: tuple[str, ...] | None = None  # None: the agent's default tools
    depth: int = 0
    budget: Mapping[str, int] = {}  # upper limits for a run's usage, with the same names
    streams: bool = False  # report the answer as it is generated
    title: str = ""  # what the task is about
    parent: str | None = None  # the session that started the task, and which of its messages did
    message: str | None = None
    fork_at: str | None = None  # where a fork ends: after so many stored messages, or before this call


@record
class SoughtSession:
    """A session that is looked up before a prompt is sent to it."""

    agent: str
    name: str
    environ: Mapping[str, str]  # of its task
    cwd: str
    messages: tuple[str, ...]  # what is stored of it
    may_start: bool  # a program that has to be started to answer, which takes seconds


@record
class Activity:
    """One thing an agent did: it called a tool, a tool ended, it said something, it used tokens.

    The `text` of a tool call has its arguments, that of its end the result. A `piece` is part of a text that
    is still being generated, if `spec.streams`; the whole follows as `text`.
    """

    kind: Literal["tool", "tool_end", "text", "piece", "usage"]
    name: str = ""
    call_id: str = ""
    text: str = ""
    failed: bool = False
    usage: Usage = {}


@record
class ToolCall:
    """A tool call that needs approval. `command` is set if it would run one in a shell."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    command: str | None = None


@record
class Decision:
    allowed: bool
    reason: str = ""


@record
class CommandResult:
    """How a command's task ended and what it printed, or why it was not allowed."""

    state: str  # of the task: completed, failed, cancelled, rejected ...
    output: str = ""
    code: int | None = None
    error: str | None = None
    task: str = ""


@record
class Answer:
    text: str
    usage: Usage = {}
