"""client: what the programs start that `errands install` was told about. People never type it.

Claude Code has one session for each of its processes, and tells its hooks which. OpenCode has many on one
line; its plugin says which of them calls. Both are told of an end by a process that waits beside them.
"""

from __future__ import annotations

import os
import sys

from errands.frontends.cli.parser import Operand, Option, Usage, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments

ARGUMENT = "_session"  # by which the plugin of OpenCode names its session; it sets it in errands.js
BLOCKING = 2  # the exit code by which a hook of Claude Code has its words read by the model
# `claude -p` answers once and is gone: nothing can wake it.
ONE_SHOT = "sdk-cli"


def client(context: Context, arguments: Arguments) -> int:
    match arguments.client, arguments.deed, arguments.session, arguments.dialect:
        case name, "mcp", None, str(dialect):
            environ = _served(name, context.environ)
            return context.bootstrap.serve_mcp(dialect, http=None, everything=False, environ=environ)
        case "claude", "wake", None, None:
            return _wake_claude(context)
        case "claude", "remind", None, None:
            return _remind_claude(context)
        case "opencode", "news", str(session), None:
            return _tell_opencode(context, session)
    raise Usage("this is for the programs that `errands install` sets up; see errands install --help")


def _served(name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Say to the server whose tasks it serves, and whether its client is woken."""
    if name == "opencode":
        more = {"ERRANDS_SESSION": name, "ERRANDS_WAKE": "session", "ERRANDS_SESSION_ARGUMENT": ARGUMENT}
        return {**environ, **more}
    session = environ.get("CLAUDE_CODE_SESSION_ID")
    if not session:
        return dict(environ)
    is_woken = environ.get("CLAUDE_CODE_ENTRYPOINT", "") != ONE_SHOT
    return {
        **environ,
        "ERRANDS_SESSION": _claude(session),
        "ERRANDS_WAKE": "session" if is_woken else "none",
    }


def _claude(session: str) -> str:
    return f"claude:{session}"


def _wake_claude(context: Context) -> int:
    """Wait beside Claude Code until there is news for its session, and wake it with them."""
    from errands.engine.notices.notice_waiter import attend, turn

    sessions = _claude_sessions(context)
    if context.environ.get("CLAUDE_CODE_ENTRYPOINT") == ONE_SHOT or not sessions:
        return 0
    owner, engine = sessions[0], context.engine
    with turn(engine, owner) as is_mine:
        while is_mine and attend(engine, owner, is_wanted=_is_wanted(context)):
            if _delivered(context, owner, context.note):
                return BLOCKING
    return 0


def _remind_claude(context: Context) -> int:
    """Tell what has ended since with the next prompt: what is printed here becomes part of it."""
    for owner in _claude_sessions(context):
        _delivered(context, owner, _printed)
    return 0


def _delivered(context: Context, owner: str, write: Callable[[str], None]) -> bool:
    """Hand over all that there is, in as many messages as it takes; tell whether there was anything."""
    from errands.engine.notices.agent_report import MOST, deliver

    count = told = deliver(context.engine, owner, reader="claude", write=write)
    while count == MOST:
        count = deliver(context.engine, owner, reader="claude", write=write)
    return told > 0


def _claude_sessions(context: Context) -> list[str]:
    """Name whose tasks may have news: the session of a hook, and that of the tasks it has just heard of.

    The server keeps the session that it was started in, and Claude Code may begin another one meanwhile.
    """
    import json
    import re

    from errands.ports.store import Query

    try:
        told = json.load(sys.stdin)
        session = str(told["session_id"])
    except (ValueError, TypeError, KeyError):
        return []
    words = set(re.findall(r"[a-z0-9][a-z0-9-]*-[a-z0-9]{6}", json.dumps(told.get("tool_response", ""))))
    tasks = context.engine.list(Query(ids=tuple(words)[:100])) if words else []
    served = [view.owner for view in tasks if view.owner.startswith(_claude(""))]
    return list(dict.fromkeys([*served, _claude(session)]))


def _is_wanted(context: Context) -> Callable[[], bool]:
    """Tell, whenever asked, whether the program is still there; between it and us may be a shell."""
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


def _tell_opencode(context: Context, session: str) -> int:
    """Print the next news of a session, and count them as told when a line comes back."""
    from errands.engine.notices.agent_report import MOST, message, news
    from errands.engine.notices.notice_waiter import attend, turn

    owner, engine = f"opencode:{session}", context.engine
    with turn(engine, owner) as is_mine:
        if not is_mine or not attend(engine, owner, is_wanted=_is_wanted(context)):
            return 0
        found = news(engine, owner)[:MOST]
        _printed(message(engine, found))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the reader sees the end
        if sys.stdin.readline().strip() != "told":
            return 1
        engine.notices.mark_delivered([each.id for each in found])
    return 0


VERBS = (
    Verb(
        name="client",
        summary="what the programs start that errands install has set up",
        run=client,
        options=(Option(flags=("--dialect",), metavar="NAME", help="the words of the tools"),),
        operands=(
            Operand(metavar="CLIENT", help="the program", choices=("claude", "opencode")),
            Operand(metavar="DEED", help="what it wants", choices=("mcp", "wake", "remind", "news")),
            Operand(metavar="SESSION", help="its session", optional=True),
        ),
        hidden=True,
    ),
)
