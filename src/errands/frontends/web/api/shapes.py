"""The answers of the API: every shape once, as a JSON Schema.

Times are ISO 8601 in UTC. Texts below `said` are worded here, in the words of the command line, and are to be
shown as they are. Every other text that a task, an agent or a person wrote is masked and has no control
characters; what it means to a browser is the page's concern, which shows it as text.
"""

from __future__ import annotations

from typing import Any

from errands.frontends.web.api.view_shapes import STATE, TASK_ID, VIEW_SHAPES
from errands.model.text.sanitise import line
from errands.model.view import plain_value
from errands.ports.schema import (
    Schema,
    choice,
    flag,
    integer,
    listed,
    mapped,
    maybe,
    number,
    ref,
    thing,
    time,
    words,
)

VERBS = (
    *("cancel", "stop", "restart", "resume", "pause", "unpause", "hold", "release", "move", "fire", "send"),
    *("approve", "reject", "ask-anew", "clear"),
)

SHAPES: dict[str, Schema] = {
    **VIEW_SHAPES,
    # Every answer that is not 2xx.
    "Problem": thing(
        "Why a request was refused, as RFC 9457 has it.",
        type=words("always about:blank"),
        title=words("the status, in words"),
        status=integer("the status", 400, 599),
        detail=words("what is wrong and what to do, in a sentence"),
        kind=words("the class of the error: NotFound, BadValue, IllegalMove, Drifted ..."),
    ),
    # Tasks.
    "Row": thing(
        "A task as a list shows it.",
        id=TASK_ID,
        kind=choice(("shell", "agent"), "what it runs"),
        state=STATE,
        name=words(),
        what=words("its description, or its command or prompt, on one line, shortened"),
        lane=words(),
        batch=maybe(words()),
        parent=maybe(words("the task whose agent started it")),
        agent=maybe(words("the agent that is asked; null for a command")),
        recurring=flag("whether it runs repeatedly"),
        live=flag("whether a run is pending or running"),
        run=integer("the number of its latest run; 0: none yet"),
        created_at=time(),
        started_at=maybe(time("when its latest run started")),
        completed_at=maybe(time("when its latest run ended")),
        next_at=maybe(time("when it runs next, or starts")),
        percent=maybe(number("how much of it is done, from 0 to 100, if it reports that")),
        question=maybe(integer("the open question about it, or about a call of its agent")),
        said=ref("RowWords"),
    ),
    "RowWords": thing(
        "What to say about a task.",
        state=words("the state, as a person calls it"),
        more=words("progress, result, reason, or what it waits for; may be empty"),
    ),
    "LightRow": thing(
        "A task in a list of thousands: at most 400 bytes.",
        id=TASK_ID,
        kind=choice(("shell", "agent")),
        state=STATE,
        what=words("its description, or its command or prompt, shortened"),
        lane=words(),
        run=integer("the number of its latest run; 0: none yet"),
        created_at=time(),
        started_at=maybe(time()),
        completed_at=maybe(time()),
        next_at=maybe(time()),
        more=words("the result or what it waits for, shortened; may be empty"),
    ),
    "LightRows": thing(
        "A long list, newest first.",
        rows=listed(ref("LightRow")),
        before=maybe(words("pass it as `before` for the rest; null: this is all")),
    ),
    "Rows": thing(
        "A page of a list, newest first.",
        rows=listed(ref("Row")),
        before=maybe(words("pass it as `before` for the next page; null: this is the last")),
        total=maybe(integer("how many tasks match in all, if no more than 10,000 do")),
        hidden=integer("how many tasks there would be without the filters; 0 if any matches"),
    ),
    "Task": thing(
        "Everything about one task.",
        row=ref("Row"),
        runs=listed(ref("Run"), "its runs, oldest first; of a recurring task the latest 100"),
        facts=listed(ref("Fact"), "what `errands show` prints, in its words and order"),
        can=listed(
            choice(VERBS),
            "the verbs that make sense now",
        ),
        files=listed(words("a file that its latest run left")),
        parent=maybe(ref("Row")),
        children=listed(ref("Row"), "the tasks that its runs started, newest first, at most 100"),
        proposals=listed(ref("Row"), "the tasks of its latest run that wait for approval"),
        schedule=maybe(ref("Schedule")),
        fields={
            "type": "object",
            "additionalProperties": True,
            "description": "the same in values, as `errands show --json` prints them (reference/json.md)",
        },
    ),
    "Fact": thing(
        "One line of a table: what it is about, and what it says.",
        name=words("may be empty: the value continues the fact before it"),
        value=words("may have several lines"),
    ),
    "Run": thing(
        "One run of a task.",
        id=words("TASK.NUMBER"),
        number=integer(),
        state=STATE,
        cause=words("why it started: submit, schedule, event, manual, retry, resume, restart"),
        created_at=time(),
        started_at=maybe(time()),
        completed_at=maybe(time()),
        bytes=integer("how much it printed"),
        lines=integer(),
        truncated=flag("whether a part of its output was not kept"),
        files=listed(words(), "the files that it left"),
        said=thing(
            more=words("how it ended, or what it does"),
            cause=words("the line of output that tells why the latest run failed; may be empty"),
        ),
    ),
    "Event": thing(
        "A fact about a task, recorded when it happened.",
        at=time(),
        run=maybe(integer("the number of the run")),
        name=words(),
        detail=words(),
    ),
    "Events": thing(events=listed(ref("Event"), "oldest first")),
    "Span": thing(
        "One stretch of time in the trace of a task and all that it started.",
        id=words(),
        parent=maybe(words()),
        task=maybe(words()),
        name=words(),
        started_at=time(),
        ended_at=maybe(time("null: it still runs")),
        error=maybe(words()),
        attributes={"type": "object", "additionalProperties": True},
    ),
    "Trace": thing(spans=listed(ref("Span"), "parents before their children")),
    "Exchange": thing(
        "One prompt to an agent, what it did, and what it answered.",
        run=integer(),
        state=maybe(STATE),
        prompt=words(),
        answer=maybe(words()),
        error=maybe(words()),
        usage=mapped(integer(), "input_tokens, output_tokens, requests, tool_calls, cost_microdollars"),
        calls=listed(ref("Call"), "the tools it used, in order"),
    ),
    "Call": thing(
        "One call of a tool.",
        id=words(),
        name=words(),
        arguments=words("shortened; empty if they were not kept"),
        result=words("shortened; empty if it was not kept"),
        failed=flag(),
        started_at=time(),
        ended_at=maybe(time("null: it has not ended")),
        task=maybe(words("the task that the call started")),
    ),
    "Conversation": thing(
        exchanges=listed(ref("Exchange")),
        resumable=flag("whether another prompt can be sent now"),
        said=thing(why_not=words("why no other prompt can be sent; empty if one can")),
    ),
    # Output.
    "Output": thing(
        "A part of what a run printed: masked, and of all control sequences only colours are left.",
        run=words("the run that it is from"),
        offset=integer("where the part begins, in bytes that the run printed"),
        next_offset=integer("where to read on"),
        missing=integer("how many bytes right before this part were not kept"),
        end=integer("how many bytes the run has printed so far"),
        live=flag("whether more may come"),
        text=words(),
    ),
    "Found": thing(
        "Where a text occurs in the output of a run.",
        run=words(),
        matches=listed(
            thing(
                offset=integer("where the line begins, in bytes that the run printed"),
                line=words("the line, masked, at most 400 characters around the match"),
            )
        ),
        next_offset=maybe(integer("where to search on; null: all of it was searched")),
    ),
    # Questions.
    "Reason": thing(
        "Why a person is asked.",
        text=words(),
        undo=choice(("yes", "no", "unknown"), "whether it can be undone"),
        kind=words(),
    ),
    "Answer": thing(
        "One of the answers that a question offers.",
        name=choice(("once", "task", "always", "no")),
        key=words("the letter to type in a terminal"),
        label=words("what a button says"),
        said=thing(covers=words("how far a yes reaches; empty for a no")),
    ),
    "Question": thing(
        "An open question. `facts` are all of what would run: show them whole before an answer is possible.",
        id=integer("send it with the answer"),
        digest=words("what would run, as a digest; send it with the answer"),
        task=TASK_ID,
        run=integer(),
        row=ref("Row"),
        facts=listed(ref("Fact"), "every character that could hide or mislead is spelled out"),
        reasons=listed(ref("Reason")),
        answers=listed(ref("Answer"), "the narrowest yes first, the no last"),
        lasting=flag("whether it cannot be undone: ask for a typed yes"),
        asked_at=time(),
        expires_at=time(),
        said=thing(
            title=words("the headline"),
            asked_by=words("who asks: a person, or the run of an agent"),
            changed=words("what has changed since it was asked before; empty if nothing"),
        ),
    ),
    "Questions": thing(questions=listed(ref("Question"), "newest first, at most 50"), total=integer()),
    "AnyQuestion": thing(
        "A question by its number, open or not.",
        open=maybe(ref("Question")),
        task=TASK_ID,
        said=thing(state=words("who answered it how and when; empty if it is open")),
    ),
    "AuditEntry": thing(
        "A question and its answer; the task may be gone by now.",
        id=integer("the question"),
        task=TASK_ID,
        run=integer(),
        name=words(),
        command=words(),
        cwd=words(),
        state=choice(("waiting", "granted", "refused", "expired", "void")),
        scope=choice(("once", "task", "always")),
        asked_at=time(),
        answered_at=maybe(time()),
        by=maybe(words()),
        door=maybe(words("the frontend")),
        note=words(),
        reasons=listed(ref("Reason")),
        gone=flag("whether the task was removed"),
        said=thing(outcome=words("how the run ended")),
    ),
    "Audit": thing(entries=listed(ref("AuditEntry"), "newest first")),
}


def shaped(shape: str, record: object, **more: Any) -> dict[str, Any]:
    """Return a record in a shape: the fields in `more` as they are, the others by name, without controls."""
    names = SHAPES[shape]["properties"]
    return {name: more[name] if name in more else _shown(getattr(record, name)) for name in names}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return line(value)
    return [_shown(each) for each in value] if isinstance(value, tuple) else plain_value(value)
