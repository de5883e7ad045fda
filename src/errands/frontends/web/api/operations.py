"""The table of operations: everything that the page, or a program, can ask of the server.

Routes, validation, OpenAPI and the reference are made from it, so they cannot differ. An operation is a
verb or a question of the engine; `verb` names it. Its handler, of the same name, is in `handlers/`.
"""

from __future__ import annotations

from errands.frontends.web.api.bodies import (
    DRAFT,
    FILTERS,
    LONGEST_COMMAND,
    MOST_BYTES,
    MOST_IDS,
    MOST_LIGHT_ROWS,
    MOST_ROWS,
)
from errands.frontends.web.api.installation_operations import INSTALLATION
from errands.frontends.web.api.operation import NOTHING, Needs, Operation, Parameter, in_path, in_query
from errands.ports.schema import (
    Schema,
    choice,
    flag,
    integer,
    listed,
    mapped,
    maybe,
    text,
    thing,
    time,
)
from errands.ports.store.reports import GROUPS

_ID = Parameter(
    name="id",
    place="path",
    required=True,
    schema=text("the task, or a unique beginning of its id", shortest=1, longest=200),
)
_RUN = Parameter(name="run", schema=integer("the number of a run; default: the latest", 1, 10**9))
_LOGGED = (_ID, _RUN)


_FILTERS = tuple(in_query(name, schema) for name, schema in FILTERS.items())

_QUESTION = {
    "question": integer("the question that was shown", 1, 2**53),
    "digest": text("the digest that was shown with it", longest=200, shortest=1),
}
BATCH_VERBS = ("cancel", "restart", "pause", "unpause", "hold", "release", "fire", "clear")


def _verb(name: str, summary: str, verb: str, body: Schema = NOTHING, *, needs: Needs = "key") -> Operation:
    return Operation(
        name=name,
        method="POST",
        path=f"/api/tasks/{{id}}/{name}",
        summary=summary,
        verb=verb,
        parameters=(_ID,),
        body=body,
        answer="Changed",
        needs=needs,
        refusals=(404, 409),
    )


OPERATIONS: tuple[Operation, ...] = (
    # Signing in.
    Operation(
        name="sign-in", method="POST", path="/api/sign-in", summary="trade a one-time code for a key",
        verb="Signing.use", body=thing(code=text("from `errands web`", longest=200, shortest=1)),
        answer="SignedIn", status=201, needs="nothing", refusals=(403,),
    ),
    Operation(
        name="sign-out", method="POST", path="/api/sign-out", summary="end the session that asks",
        verb="Signing.end", body=NOTHING, answer="Done",
    ),
    Operation(
        name="me", method="GET", path="/api/me", summary="who asks, and what they may do",
        verb="Callers.identify", answer="Me",
    ),
    Operation(
        name="sessions", method="GET", path="/api/sessions", summary="list the signed-in browsers",
        verb="Signing.sessions", answer="Sessions", refusals=(403,),
    ),
    Operation(
        name="end-session", method="DELETE", path="/api/sessions/{session}", summary="sign a browser out",
        verb="Signing.end", parameters=(in_path("session", text("from the list", longest=64, shortest=1)),),
        answer="Done", refusals=(403, 404),
    ),
    # Views.
    Operation(
        name="overview", method="GET", path="/api/overview",
        summary="what waits for you, what runs, what failed, what comes next", verb="Engine.list",
        parameters=(in_query("failed_since", time("list what failed since then; default: a day ago")),),
        answer="Overview",
    ),
    Operation(
        name="tasks", method="GET", path="/api/tasks", summary="list tasks, newest first",
        verb="Engine.list",
        parameters=(
            *_FILTERS,
            in_query("before", text("continue after this task, the last one of the previous page")),
            in_query("limit", integer("rows in the answer", 1, MOST_ROWS, default=100)),
        ),
        answer="Rows", refusals=(404,),
    ),
    Operation(
        name="light-tasks", method="GET", path="/api/light-tasks",
        summary="list thousands of tasks in light rows, newest first", verb="Reports.rows",
        parameters=(
            *_FILTERS,
            in_query("before", text("continue after this task, the last one of the previous page")),
            in_query("limit", integer("rows in the answer", 1, MOST_LIGHT_ROWS, default=MOST_LIGHT_ROWS)),
        ),
        answer="LightRows", refusals=(404,),
    ),
    Operation(
        name="timeline", method="GET", path="/api/timeline", summary="show runs over time, in rows",
        verb="Reports.timeline",
        parameters=(
            in_query("since", time("default: an hour ago")),
            in_query("until", time("default: now")),
            in_query("group", choice(GROUPS, "what a row is", default="lane")),
            in_query("width", integer("bars that fit side by side", 10, 600, default=300)),
        ),
        answer="Timeline",
    ),
    Operation(
        name="figures", method="GET", path="/api/figures",
        summary="durations, successes, tokens and cost over time", verb="Reports.ended_runs",
        parameters=(
            in_query("name", text("only runs of tasks with this name")),
            in_query("since", time("default: 30 days ago")),
        ),
        answer="Figures",
    ),
    Operation(
        name="schedules", method="GET", path="/api/schedules", summary="list the recurring tasks",
        verb="Reports.recent_slots", answer="Schedules",
    ),
    Operation(
        name="slots", method="GET", path="/api/tasks/{id}/slots",
        summary="what became of the due times of a recurring task", verb="Schedules.ledger",
        parameters=(
            _ID,
            in_query("month", text("such as 2026-12; default: the latest 100", pattern=r"^\d{4}-\d{2}$")),
        ),
        answer="Slots", refusals=(404,),
    ),
    Operation(
        name="agents", method="GET", path="/api/agents", summary="list the conversations with agents",
        verb="Sessions.sessions", answer="Agents",
    ),
    Operation(
        name="lanes", method="GET", path="/api/lanes", summary="list the lanes", verb="Queue.lanes",
        answer="Lanes",
    ),
    Operation(
        name="set-lane", method="POST", path="/api/lanes/{lane}",
        summary="set how many tasks a lane runs at once", verb="Queue.set_lane",
        parameters=(in_path("lane", text("its name", shortest=1)),),
        body=thing(width=maybe(integer("null: as the configuration says", 0, 10_000))), answer="Lanes",
    ),
    # One task.
    Operation(
        name="task", method="GET", path="/api/tasks/{id}", summary="show everything about a task",
        verb="Engine.get", parameters=(_ID,), answer="Task", refusals=(404,),
    ),
    Operation(
        name="events", method="GET", path="/api/tasks/{id}/events", summary="list what happened to a task",
        verb="Engine.events", parameters=(_ID,), answer="Events", refusals=(404,),
    ),
    Operation(
        name="trace", method="GET", path="/api/tasks/{id}/trace",
        summary="show where the time went, of the whole tree that a task is in", verb="Tracing.tree",
        parameters=(_ID,), answer="Trace", refusals=(404,),
    ),
    Operation(
        name="conversation", method="GET", path="/api/tasks/{id}/conversation",
        summary="show what an agent was asked, did and answered", verb="Sessions.conversation",
        parameters=(_ID,), answer="Conversation", refusals=(404,),
    ),
    Operation(
        name="output", method="GET", path="/api/tasks/{id}/output", summary="read output from an offset",
        verb="Engine.output",
        parameters=(
            *_LOGGED,
            in_query("offset", integer("in bytes that the run printed", 0, 2**53, default=0)),
            in_query("limit", integer("bytes to read", 1, MOST_BYTES, default=65_536)),
        ),
        answer="Output", refusals=(404,),
    ),
    Operation(
        name="output-end", method="GET", path="/api/tasks/{id}/output/end", summary="read the last lines",
        verb="Engine.tail",
        parameters=(*_LOGGED, in_query("lines", integer("lines to read", 1, 5000, default=500))),
        answer="Output", refusals=(404,),
    ),
    Operation(
        name="output-find", method="GET", path="/api/tasks/{id}/output/find",
        summary="search output for a text, ignoring case", verb="Engine.output",
        parameters=(
            *_LOGGED,
            in_query("text", text("what to look for", shortest=1), required=True),
            in_query("offset", integer("where to begin", 0, 2**53, default=0)),
            in_query("limit", integer("matches in the answer", 1, 1000, default=200)),
        ),
        answer="Found", refusals=(404,),
    ),
    Operation(
        name="output-raw", method="GET", path="/api/tasks/{id}/output/raw",
        summary="download output as it was printed, unmasked", verb="Engine.output", parameters=_LOGGED,
        answer="application/octet-stream", needs="person", refusals=(404,),
    ),
    Operation(
        name="file", method="GET", path="/api/tasks/{id}/file",
        summary="download a file that a run left", verb="Engine.files",
        parameters=(
            *_LOGGED, in_query("name", text("from the task", shortest=1, longest=500), required=True)
        ),
        answer="application/octet-stream", needs="person", refusals=(404,),
    ),
    # Starting.
    Operation(
        name="submit", method="POST", path="/api/tasks",
        summary="start a task; what you type into a signed-in browser you have approved by that, unless it "
        "cannot be undone",
        verb="Engine.submit", body=DRAFT, answer="Changed", status=201, refusals=(403, 404, 409),
    ),
    Operation(
        name="judge", method="POST", path="/api/judge",
        summary="show whether a task would start or wait for approval, why, and when it would run",
        verb="Engine.judge", body=DRAFT, answer="Judgement", refusals=(403, 404, 409),
    ),
    Operation(
        name="options", method="GET", path="/api/options", summary="list the options of a new task",
        verb="Engine.submit", answer="TaskOptions",
    ),
    Operation(
        name="templates", method="GET", path="/api/templates", summary="list the templates",
        verb="Engine.templates", answer="Templates",
    ),
    Operation(
        name="submit-template", method="POST", path="/api/templates/{name}",
        summary="start a task from a template", verb="Engine.submit_template",
        parameters=(in_path("name", text("of the template", shortest=1)),),
        body=thing(
            optional=("values",), values=mapped(text(longest=LONGEST_COMMAND), "its parameters", most=100)
        ),
        answer="Changed", status=201, refusals=(403, 404, 409),
    ),
    # Verbs.
    _verb("cancel", "cancel a task", "Engine.cancel"),
    _verb("stop", "stop the running run of a task", "Engine.stop"),
    _verb("restart", "run an ended task again", "Engine.restart"),
    _verb(
        "resume", "send another prompt to an agent", "Sessions.resume",
        thing(prompt=text(longest=LONGEST_COMMAND, shortest=1)),
    ),
    _verb("pause", "pause a task, or the schedule of a recurring one", "Queue.pause"),
    _verb("unpause", "continue a paused task, release a held one", "Queue.unpause"),
    _verb("hold", "keep a pending task from starting", "Queue.hold"),
    _verb("release", "let a held task start", "Queue.release"),
    _verb(
        "move", "move a pending task in its lane", "Queue.move",
        thing(
            optional=("before", "last"),
            before=text("the task to move it before; default: the front"),
            last=flag("to the end"),
        ),
    ),
    _verb("fire", "run a task now, whatever its schedule says", "Schedules.fire"),
    _verb(
        "send", "send input to a running task", "Engine.send",
        thing(
            optional=("eof",),
            text=text("with its newline, if it takes one", longest=LONGEST_COMMAND),
            eof=flag("end the input"),
        ),
    ),
    Operation(
        name="clear", method="DELETE", path="/api/tasks/{id}", summary="remove an ended task and its files",
        verb="Engine.clear", parameters=(_ID,), answer="Done", refusals=(404, 409),
    ),
    Operation(
        name="batch", method="POST", path="/api/batch",
        summary="do the same to many tasks: those named, or all that match; refused if their number is no "
        "longer the expected one",
        verb="Reports.rows",
        body=thing(
            optional=("ids", "query"),
            verb=choice(BATCH_VERBS),
            ids=listed(text("a task", shortest=1), most=MOST_IDS, least=1),
            query=thing("All that match, as in the list.", optional=tuple(FILTERS), **FILTERS),
            expected=integer("how many tasks you mean", 1, 1_000_000),
        ),
        answer="BatchDone", refusals=(404, 409),
    ),
    # Questions.
    Operation(
        name="questions", method="GET", path="/api/questions", summary="list what waits for approval",
        verb="Engine.question", answer="Questions",
    ),
    Operation(
        name="question", method="GET", path="/api/questions/{number}",
        summary="show a question by its number", verb="Engine.question",
        parameters=(in_path("number", integer("of the question", 1, 2**53)),),
        answer="AnyQuestion", refusals=(404,),
    ),
    _verb(
        "approve", "approve what a question asks", "Engine.approve",
        thing(optional=(), **_QUESTION, answer=choice(("once", "task", "always"), "how far the yes reaches")),
        needs="person",
    ),
    _verb(
        "reject", "reject what a question asks", "Engine.reject",
        thing(optional=("note",), **_QUESTION, note=text("why", longest=2000)), needs="person",
    ),
    _verb("ask-anew", "ask again about a rejected task", "Engine.ask_anew", needs="person"),
    Operation(
        name="audit", method="GET", path="/api/audit", summary="list what was asked and answered",
        verb="Engine.audit",
        parameters=(
            in_query("task", text("a task, and what it started")),
            in_query("limit", integer("entries in the answer", 1, MOST_ROWS, default=100)),
        ),
        answer="Audit", refusals=(404,),
    ),
    # Notices.
    Operation(
        name="notices", method="GET", path="/api/notices",
        summary="list unread and undelivered notices; nothing is marked as read", verb="Inbox.unread",
        answer="Notices",
    ),
    Operation(
        name="retry-notices", method="POST", path="/api/notices/retry",
        summary="send undelivered notices again", verb="Inbox.retry",
        body=thing(ids=maybe(listed(integer(least=1, most=2**53), "null: all", most=MOST_IDS))),
        answer="Done", refusals=(404,),
    ),
    Operation(
        name="channels", method="GET", path="/api/channels", summary="list the channels and their health",
        verb="errands channel ls", answer="Channels",
    ),
    Operation(
        name="try-channel", method="POST", path="/api/channels/{name}/trial",
        summary="send a test message", verb="errands channel test",
        parameters=(in_path("name", text("NAME or NAME:TARGET", shortest=1)),), body=NOTHING, answer="Done",
        refusals=(404, 409, 502),
    ),
    *INSTALLATION,
)  # fmt: skip
BY_NAME = {each.name: each for each in OPERATIONS}
