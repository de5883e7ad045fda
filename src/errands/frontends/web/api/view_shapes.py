"""The shapes of answers about many tasks, notices or the installation, and the events of the stream."""

from __future__ import annotations

from errands.frontends.web.api.schema import (
    Schema,
    choice,
    flag,
    integer,
    listed,
    mapped,
    maybe,
    number,
    ref,
    text,
    thing,
    time,
)
from errands.model.states import SIGNS

_any = text(longest=None)
_STATE = choice(tuple(SIGNS), "the state, in one word")
_ID = text("the task", longest=None)
GROUPS = ("lane", "name", "batch")

VIEW_SHAPES: dict[str, Schema] = {
    "Overview": thing(
        "The first screen.",
        now=time(),
        counts=ref("Counts"),
        waiting=listed(ref("Row"), "what waits for you, newest first, at most 50"),
        running=listed(ref("Row"), "newest first, at most 50"),
        pending=listed(ref("Row"), "what starts next, in that order, at most 10"),
        failed=listed(ref("Row"), "what failed since the given time, newest first, at most 50"),
        causes=mapped(
            text(longest=None), "the line of output that tells why it failed, by task; of the newest 20"
        ),
        completed=listed(ref("Row"), "what completed in the last hour, newest first, at most 5"),
        coming=listed(ref("Coming"), "the next scheduled runs, at most 10"),
        lanes=listed(ref("Lane")),
        in_fleet=flag("whether this home belongs to a fleet, whose hosts can be listed"),
        daemon=ref("Daemon"),
    ),
    "Counts": thing(
        "How many runs there are in each state, and how many tasks wait for approval.",
        waiting=integer("tasks that wait for approval"),
        pending=integer(),
        running=integer(),
        completed=integer(),
        failed=integer(),
        cancelled=integer(),
        skipped=integer(),
    ),
    "Coming": thing(
        task=_ID, name=_any, at=maybe(time("null: at an event")), said=thing(rule=text(longest=None))
    ),
    "Lane": thing(
        name=_any,
        width=integer("how many tasks run at once"),
        configured=maybe(integer()),
        running=integer(),
        pending=integer(),
        set_by=maybe(_any),
    ),
    "Lanes": thing(lanes=listed(ref("Lane"))),
    "Daemon": thing(
        live=flag("whether a daemon runs"),
        said=thing(
            why=text(
                "what does not happen without one; empty if one runs or nothing waits for one", longest=None
            )
        ),
    ),
    "Bar": thing(
        "One run, or several of a row that are drawn as one.",
        started_at=time("when the first started"),
        ended_at=time("when the last ended, or now"),
        state=choice(tuple(SIGNS), "the worst of theirs"),
        count=integer("how many runs", 1),
        track=integer("bars of a row that overlap have different ones, from 0"),
        task=text("one of the tasks", longest=None),
    ),
    "TimelineRow": thing(label=_any, bars=listed(ref("Bar"), "in order; on a track they do not overlap")),
    "Timeline": thing(
        since=time(),
        until=time(),
        now=time(),
        rows=listed(ref("TimelineRow")),
        coming=listed(thing(label=_any, task=_ID, at=time())),
        left_off=integer("rows that were left off, because there are too many"),
    ),
    "Point": thing(
        at=time("when the run ended"),
        task=_ID,
        run=integer(),
        state=_STATE,
        seconds=maybe(number()),
        tokens=integer(),
        cost=number("in dollars"),
    ),
    "Figures": thing(
        "How runs went over time: of all tasks, or of those with one name.",
        names=listed(thing(name=_any, runs=integer()), "the names with the most runs, at most 50"),
        name=maybe(_any),
        points=listed(ref("Point"), "oldest first, the newest 1,000"),
        days=listed(
            thing(day=text(longest=None), completed=integer(), failed=integer(), other=integer()),
            "how runs ended, by the day in UTC",
        ),
        median=maybe(number("seconds that half of the completed runs took at most")),
        said=thing(summary=text(longest=None)),
    ),
    "Slot": thing(
        "What became of one due time of a schedule, or of several in a row.",
        slot=time("the first due time"),
        until=time("the last due time"),
        count=integer(),
        outcome=choice(("waiting", "ran", "late", "coalesced", "skipped", "missed")),
        reason=_any,
        run=maybe(integer()),
        at=time("when it was decided"),
        state=maybe(choice(tuple(SIGNS), "how the run ended")),
    ),
    "Schedule": thing(
        "When a recurring task runs, and how it went.",
        row=ref("Row"),
        rule=text("in words", longest=None),
        runs=integer(),
        max_runs=maybe(integer()),
        failures=integer("how many of its latest runs failed in a row"),
        last_at=maybe(time()),
        next_runs=listed(time()),
        streak=listed(ref("Slot"), "its latest 20 slots, newest first"),
        watch=maybe(
            thing(
                "Of a task that waits for events.",
                health=_any,
                checked_at=maybe(time()),
                last_event_at=maybe(time()),
            )
        ),
    ),
    "Schedules": thing(schedules=listed(ref("Schedule"), "those that can still fire, newest first")),
    "Slots": thing(slots=listed(ref("Slot"), "newest first"), next_runs=listed(time())),
    "Agent": thing(
        "A conversation with an agent.",
        session=_any,
        row=ref("Row"),
        model=maybe(_any),
        prompts=integer("how many prompts there were"),
        forked_from=maybe(_any),
        gone=flag("whether the agent no longer has it"),
        created_at=time(),
        usage=mapped(integer()),
    ),
    "Agents": thing(agents=listed(ref("Agent"), "newest first")),
    # Notices.
    "Notice": thing(
        id=integer(),
        task=_ID,
        run=_any,
        event=_any,
        channel=_any,
        target=_any,
        state=choice(("unread", "waiting", "delivered", "unknown", "dead")),
        attempts=integer(),
        created_at=time(),
        said=thing(
            text=text("what it says", longest=None),
            why=text("why it is not delivered; empty in the inbox", longest=None),
        ),
    ),
    "Notices": thing(
        inbox=listed(ref("Notice"), "what you have not read; reading it here leaves it unread"),
        undelivered=listed(ref("Notice"), "what could not be sent yet or was given up"),
    ),
    "Channel": thing(
        name=_any,
        kind=_any,
        target=maybe(_any),
        ready=flag(),
        waiting=integer("notices that wait for their next attempt"),
        dead=integer("notices that were given up"),
        said=thing(health=text("ready, or what is wrong", longest=None)),
    ),
    "Channels": thing(channels=listed(ref("Channel"))),
    # Everything else.
    "Done": thing("A verb was carried out.", said=thing(text=text(longest=None))),
    "Changed": thing("A verb was carried out.", row=ref("Row"), said=thing(text=text(longest=None))),
    "BatchDone": thing(
        done=listed(_ID, "the tasks that it was done to"),
        refused=listed(thing(task=_ID, detail=_any, kind=_any)),
        said=thing(text=text(longest=None)),
    ),
    "Judgement": thing(
        verdict=choice(("auto", "contained", "ask", "deny")),
        starts=flag("whether it would start at once, sent by this caller"),
        reasons=listed(ref("Reason")),
        next_runs=listed(time(), "when a schedule would run"),
        said=thing(text=text("what would happen", longest=None)),
    ),
    "TaskOption": thing(
        "An option of a new task, as the form offers it.",
        name=_any,
        type=_any,
        help=_any,
        kind=choice(("", "shell", "agent"), "the kind of task that it applies to; empty: both"),
        group=choice(("task", "start", "recurring")),
        choices=listed(_any),
        default=_any,
        placeholder=_any,
    ),
    "TaskOptions": thing(
        options=listed(ref("TaskOption")),
        agents=listed(_any, "the agents that are configured"),
        default_agent=_any,
        lanes=listed(_any),
        cwd=text("the directory that tasks run in unless another is given", longest=None),
    ),
    "Template": thing(name=_any, parameters=listed(_any), said=thing(what=text(longest=None))),
    "Templates": thing(templates=listed(ref("Template"))),
    "Setting": thing(key=_any, value=text("as it is written; secrets are masked", longest=None), origin=_any),
    "Settings": thing(
        version=_any,
        home=_any,
        file=text("your configuration file", longest=None),
        settings=listed(ref("Setting")),
    ),
    "Finding": thing(section=_any, level=choice(("ok", "warn", "fail")), text=_any, advice=_any),
    "Findings": thing(findings=listed(ref("Finding")), said=thing(verdict=text(longest=None))),
    "Host": thing(
        "A host of the fleet.",
        name=_any,
        state=choice(("up", "draining", "gone"), "draining: it takes no more runs; gone: it left or is lost"),
        slots=integer("how many runs of other homes it takes at once"),
        running=integer("how many it has"),
        labels=listed(_any),
        seen_at=time("when it was last heard of"),
        version=text("its version of Errands", longest=None),
        own=flag("whether it is this home"),
    ),
    "Hosts": thing(
        "Refused with 503 and the reason while the fleet cannot be reached.",
        member=flag("whether this home belongs to a fleet"),
        hosts=listed(ref("Host"), "by name; those that are gone last"),
    ),
    "Key": thing(
        action=text("what it is called in code", longest=None),
        keys=listed(_any),
        place=text("where it does this", longest=None),
        label=text("a word for the line of keys; may be empty", longest=None),
        help=_any,
    ),
    "Keys": thing(
        keys=listed(ref("Key")),
        places=listed(thing(place=_any, said=text("the place, in words", longest=None))),
    ),
    "Session": thing(
        "A browser that is signed in.",
        id=text("names it; it is not its key", longest=None),
        browser=_any,
        address=_any,
        created_at=time(),
        seen_at=time(),
        current=flag("whether it is the one that asks"),
    ),
    "Sessions": thing(sessions=listed(ref("Session"), "the one that was used last first")),
    "SignedIn": thing(
        key=text("send it as `Authorization: Bearer KEY`; it is shown once", longest=None),
        session=ref("Session"),
    ),
    "Me": thing(
        kind=choice(("person", "program"), "a signed-in browser, or a program with the API token"),
        can_approve=flag("whether an answer to a question would count"),
        said=thing(
            who=text(longest=None), why_not=text("why no answer would count; may be empty", longest=None)
        ),
    ),
}

# The stream: what follows `data:` of each kind of event.
FRAMES: dict[str, Schema] = {
    "hello": thing(
        "The first event: read everything that is shown, unless it is resumed, and go on with the others.",
        version=_any,
        resumed=flag("whether the events after `after` follow"),
        now=time(),
        daemon=ref("Daemon"),
        counts=ref("Counts"),
    ),
    "counts": ref("Counts"),
    "rows": thing("Tasks that were added or changed.", rows=listed(ref("Row"))),
    "gone": thing("Tasks that were removed.", ids=listed(_ID)),
    "output": {
        **ref("Output"),
        "description": "More of the output of a run that was asked for with `logs`.",
    },
    "lanes": ref("Lanes"),
    "daemon": ref("Daemon"),
    "again": thing(
        "Events were left off, because too many came: read everything that is shown again.", now=time()
    ),
    "beat": thing("Every 15 seconds; without it the stream is dead.", now=time()),
}
