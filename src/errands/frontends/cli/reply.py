"""The reply to a verb that starts a task: that it has started, or with `--wait` its output and exit code."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.display.recurring import say_recurring, show_preview
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Usage, option
from errands.model.notices.notice import CONDITIONS
from errands.model.view import NOT_APPROVED, View
from errands.text.describe import reporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.model.options.draft import Draft

AT_ONCE = 0.1  # seconds to wait for a task to start, before saying that it is queued

REPLY = (
    option("-w, --wait", "show its output and exit with its exit code"),
    option("--raw", "with --wait: the raw bytes, nothing masked or removed"),
    option("-q, --quiet", "print only the id; with --wait only the output"),
    JSON_TASKS,
)


def check_reply(arguments: Arguments) -> None:
    """Refuse options that exclude each other, before anything has started."""
    if getattr(arguments, "raw", False) and (arguments.json or not arguments.wait):
        raise Usage("--raw applies to the output of --wait; give it with --wait and without --json")
    if arguments.wait and any(getattr(arguments, each, None) for each in ("every", "cron", "on")):
        raise Usage(
            "a recurring task has no end to wait for; leave out --wait, or run it now: errands fire ID --wait"
        )
    if arguments.json and arguments.quiet:
        raise Usage("give either --json or --quiet, not both")


def start(
    context: Context,
    arguments: Arguments,
    draft: Draft,
    submit: Callable[[Draft], View],
    report: Callable[..., int],
) -> int:
    """Submit what was typed and report it; or show when it would run, or let a host keep its schedule."""
    if arguments.preview:
        return show_preview(context, arguments, draft)
    if arguments.keep_on is not None:
        from errands.frontends.cli.kept_schedule import keep_on

        return keep_on(context, arguments, draft)
    if draft.after:
        from errands.frontends.cli.targets import with_far_tasks

        draft = with_far_tasks(context, draft)
    before = context.engine.clock.now()
    view = submit(draft)
    is_resumed = getattr(arguments, "resume", None) is not None
    return report(context, arguments, view, is_new=is_resumed or view.created_at >= before)


def reply(context: Context, arguments: Arguments, view: View, *, is_new: bool = True) -> int:
    """Print that a task has started, or follow it to its end; ask first if it needs approval."""
    if view.state in ("proposed", "rejected"):
        from errands.frontends.cli.approval.proposals import ask_or_report

        approved = ask_or_report(context, arguments, view, is_new=is_new)
        if approved is None:
            return NOT_APPROVED
        view = approved
    if getattr(arguments, "channels", ()) and not arguments.quiet:
        _note_trouble(context, view)
    if arguments.wait and view.standing is None:
        from errands.frontends.cli.live.attach import attach

        return attach(context, arguments, view, is_new=is_new)
    if arguments.json:
        context.print_view(view)
    elif arguments.quiet:
        context.say(view.id)
    elif not is_new:
        context.say(f"{view.id} already exists, {view.state}  (errands show {view.id})")
    elif view.standing is not None:
        say_recurring(context, view)
    else:
        _say_started(context, view)
    return 0


def _note_trouble(context: Context, view: View) -> None:
    """Say which of the channels that were asked for cannot deliver, and why."""
    for name in dict.fromkeys(each.channel for each in view.channels):
        if trouble := context.bootstrap.channel_trouble(name, context.config):
            context.note(f"channel {name} cannot deliver now: {trouble}")


def _say_started(context: Context, view: View) -> None:
    from errands.frontends.cli.live.follow import wait_for_start

    view = wait_for_start(context, view, AT_ONCE)
    name = context.look.paint(view.id, "bold")
    match view.latest.state:
        case "pending":
            if view.waits:
                view = context.engine.get(view.id)
            from errands.frontends.cli.display.pending import why_pending

            reports = f"{_reports(context, view)}{_limit(view)}"
            said = f"queued {name}: {why_pending(context, view)}  (errands show {view.id}; {reports})"
        case "running":
            reports = f"{_reports(context, view)}{_limit(view)}"
            said = f"started {name}  (errands logs -f {view.id}; {reports})"
        case "skipped":
            said = f"skipped {name}: {view.latest.error}  (errands show {view.id})"
        case state:
            said = f"started {name}  (already {state}; errands show {view.id})"
    context.say(said)


def _limit(view: View) -> str:
    """Say when an agent is stopped; how long it takes is hard to foresee."""
    if view.agent is None:
        return ""
    from errands.model.text.duration import spoken

    limit = view.agent.timeout
    return "; no time limit" if limit is None else f"; stopped after {spoken(limit)}"


def _reports(context: Context, view: View) -> str:
    if view.notify == "never":
        return f"errands wait {view.id} waits for its end"
    reporters = {each.channel: None for each in view.channels} | {
        reporter(view.owner, reader=context.session): None
    }
    report = "report" if len(reporters) > 1 else "reports"
    return f"{' and '.join(reporters)} {report} {CONDITIONS.get(view.notify, 'when it ends')}"
