"""client: what the clients that `errands install` sets up start. People never type it.

Claude Code has many sessions on one connection, so a hook of ours adds the session to the arguments of each
call; it learns of results from a process that waits beside it. Codex names its session itself. OpenCode's
plugin has one process for all.
"""

from __future__ import annotations

import os
import sys

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Usage, Verb, operand, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ARGUMENT = "_session"  # the argument by which a hook of Claude Code names the session
BLOCKING = 2  # with this exit code, Claude Code passes a hook's output to the model
# `claude -p` answers once and exits, so it cannot be woken: the person is notified of what it started.
ONE_SHOT = "sdk-cli"
OWN_AGENT = "command"  # the backend that runs `claude` unless it is configured otherwise
# What Claude Code says about itself to its own processes. Tasks outlive it, and another Claude Code that is
# started by one of them must not think that it is part of this one.
_OF_CLAUDE = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
)


def client(context: Context, arguments: Arguments) -> int:
    match arguments.client, arguments.deed, arguments.dialect:
        case "claude", "mcp", str(dialect):
            environ = _served(context.environ)
            for variable in _OF_CLAUDE:
                os.environ.pop(variable, None)
            return context.bootstrap.serve_mcp(dialect, http=None, everything=False, environ=environ)
        case "codex", "mcp", str(dialect):
            environ = {**context.environ, "ERRANDS_SESSION_META": "codex", "ERRANDS_OWN_AGENT": "codex"}
            return context.bootstrap.serve_mcp(dialect, http=None, everything=False, environ=environ)
        case "claude", "wake", None:
            return _wake_claude(context)
        case "claude", "session", None:
            return _name_session()
        case "claude", "remind", None:
            return _remind_claude(context)
        case "opencode", "serve", None:
            return context.bootstrap.serve_opencode(context.home, context.environ)
    raise Usage("this is for clients that `errands install` has set up; see errands install --help")


def _served(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the server's environment: whose tasks it serves, and whether its client can be woken."""
    session = environ.get("CLAUDE_CODE_SESSION_ID")
    if not session:
        return dict(environ)
    is_woken = environ.get("CLAUDE_CODE_ENTRYPOINT", "") != ONE_SHOT
    # The hook that names the session comes with our plugin; a server that was set up by hand has none.
    argument = {"ERRANDS_SESSION_ARGUMENT": ARGUMENT} if environ.get("CLAUDE_PLUGIN_ROOT") else {}
    return {
        **environ,
        "ERRANDS_SESSION": _claude(session),
        "ERRANDS_WAKE": "session" if is_woken else "none",
        "ERRANDS_OWN_AGENT": OWN_AGENT,
        **argument,
    }


def _claude(session: str) -> str:
    return f"claude:{session}"


def _name_session() -> int:
    """Add the session to the arguments of a call; this decides nothing about permission to make it."""
    import json

    try:
        event = json.load(sys.stdin)
        arguments = {**event["tool_input"], ARGUMENT: str(event["session_id"])}
        output = {"hookEventName": event["hook_event_name"], "updatedInput": arguments}
    except (ValueError, TypeError, KeyError):
        return 0
    _printed(json.dumps({"hookSpecificOutput": output}))
    return 0


def _wake_claude(context: Context) -> int:
    """Wait until there are notices for the session of Claude Code, and wake it with them."""
    from errands.engine.notices.notice_waiter import attend, turn

    sessions = _claude_sessions(context)
    if context.environ.get("CLAUDE_CODE_ENTRYPOINT") == ONE_SHOT or not sessions:
        return 0
    owner, engine = sessions[0], context.engine
    with turn(engine, owner) as is_mine:
        while is_mine and attend(engine, owner, is_wanted=_is_wanted(context)):
            if _delivered(context, owner, _reported):
                return BLOCKING
    return 0


def _remind_claude(context: Context) -> int:
    """Add notices to the prompt that a person has typed: the output of this hook becomes part of it.

    They include what `claude -p` started earlier in this session, which could not be woken.
    """
    from errands.engine.agents.discovery import note_presence
    from errands.engine.notices.agent_report import deliver_missed

    note_presence(context.home)
    for owner in _claude_sessions(context):
        _delivered(context, owner, _printed)
        deliver_missed(context.engine, owner, write=_printed)
    return 0


def _delivered(context: Context, owner: str, write: Callable[[str], None]) -> bool:
    """Deliver all notices, in as many messages as it takes; return whether there was anything to say."""
    from errands.engine.notices.agent_report import MOST, deliver

    written: list[str] = []

    def keep(text: str) -> None:
        write(text)
        written.append(text)

    while deliver(context.engine, owner, reader="claude", write=keep) == MOST:
        pass
    return bool(written)


def _claude_sessions(context: Context) -> list[str]:
    """Return the sessions that may have notices: the hook's own, and those of tasks it has just seen.

    The server keeps the session it was started in, while Claude Code may begin another one.
    """
    import json
    import re

    from errands.ports.store import Query

    try:
        event = json.load(sys.stdin)
        session = str(event["session_id"])
    except (ValueError, TypeError, KeyError):
        return []
    words = set(re.findall(r"[a-z0-9][a-z0-9-]*-[a-z0-9]{6}", json.dumps(event.get("tool_response", ""))))
    tasks = context.engine.list(Query(ids=tuple(words)[:100])) if words else []
    served = [view.owner for view in tasks if view.owner.startswith(_claude(""))]
    return list(dict.fromkeys([*served, _claude(session)]))


def _is_wanted(context: Context) -> Callable[[], bool]:
    """Return a function that checks whether the client still runs; a shell may be between it and us."""
    parent, program = os.getppid(), context.environ.get("CLAUDE_PID", "")

    def lives() -> bool:
        if os.getppid() != parent:
            return False
        try:
            os.kill(int(program) if program.isdecimal() else parent, 0)
        except OSError:
            return False
        return True

    return lives


def _printed(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _reported(text: str) -> None:
    """Write what a model reads, with the lines as they are: Claude Code sets COLUMNS for its hooks."""
    sys.stderr.write(text)
    sys.stderr.flush()


VERBS = (
    Verb(
        name="client",
        summary="serve a client that errands install has set up",
        run=client,
        options=(option("--dialect NAME", "the tools to offer"),),
        operands=(
            operand("CLIENT", "the client", choices=("claude", "codex", "opencode")),
            operand("DEED", "what it needs", choices=("mcp", "session", "wake", "remind", "serve")),
        ),
        hidden=True,
    ),
)
