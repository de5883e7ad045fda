"""wait: wait until tasks end; the exit code is the task's own."""

from __future__ import annotations

import sys

from errands.frontends.cli.context import Context
from errands.frontends.cli.live.follow import wait_for
from errands.frontends.cli.live.output_filter import clean
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Verb, operand, option
from errands.frontends.cli.targets import ALL, BATCH, all_live, chosen, fleet_tasks, newest_task, resolved
from errands.model.errors import UnknownTask
from errands.model.states import ENDED, OPEN
from errands.model.text.duration import parse_duration
from errands.model.view import STILL_LIVE, View, exit_code
from errands.ports.store import Query
from errands.text import clip, plural, rule, state_cell
from errands.text.describe import ending_line, now, progress_text, state_word, took_text, waits_for


def wait(context: Context, arguments: Arguments) -> int:
    if arguments.all:
        ids = all_live(context, arguments)
        if not ids:
            if not arguments.quiet:
                context.note("no task of yours runs or waits")
            return 0
    elif arguments.id or arguments.batch is not None:
        try:
            ids = chosen(context, arguments, lambda each: resolved(context, each))
        except UnknownTask as error:
            return fleet_tasks(context, error).wait(
                arguments,
                lambda each: resolved(context, each),
                lambda each, left: _wait(context, arguments, [each], left),
            )
    else:
        ids = [_newest(context)]
    timeout = None if arguments.timeout is None else arguments.timeout.total_seconds()
    return _wait(context, arguments, ids, timeout)


def _wait(context: Context, arguments: Arguments, ids: list[str], timeout: float | None) -> int:
    # A line that redraws itself is for people; a script reads one line per task at the end.
    live_line = (
        LiveLine(context) if sys.stderr.isatty() and not arguments.json and not arguments.quiet else None
    )
    try:
        if live_line is None:
            views = wait_for(context, ids, timeout=timeout, for_any=arguments.any)
        else:
            views = wait_for(
                context,
                ids,
                timeout=timeout,
                glance=live_line.draw,
                notify=live_line.note,
                for_any=arguments.any,
            )
    except KeyboardInterrupt:
        if live_line is not None:
            live_line.clear()
        they = "it continues" if len(ids) == 1 else "they continue"
        context.note(f"stopped waiting; {they} in the background")
        return 130
    if live_line is not None:
        live_line.clear()
    if arguments.any:
        views = [view for view in views if not view.is_live or view.state == "proposed"] or views
    return report(context, views, as_objects=arguments.json, quiet=arguments.quiet)


def _newest(context: Context) -> str:
    """Return the newest running task, or else the newest, even if it has ended: a short one may have."""
    running = Query(states=("running", "resumed"), owner=context.session, limit=1, with_commands=False)
    states = running.states if context.engine.list(running) else (*OPEN, *ENDED)
    return newest_task(context, states, "to wait for")


def report(context: Context, views: list[View], *, as_objects: bool, quiet: bool) -> int:
    """Print how tasks ended, or how far they are; return the exit code."""
    for view in views:
        if as_objects:
            _print_json(context, view)
        elif view.state == "proposed" and not quiet:
            from errands.frontends.cli.approval.proposals import print_proposal

            print_proposal(context, view)
        elif not quiet:
            context.say(ending_line(view, context.look, at=now()))
            if view.is_live:
                _partial_output(context, view)
        if quiet:
            context.engine.mark_retrieved(view)  # nothing was shown
        else:
            context.mark_shown(view)
    codes = [exit_code(view) for view in views]
    # A live task means that the wait timed out, however the others ended.
    return STILL_LIVE if STILL_LIVE in codes else next((code for code in codes if code), 0)


def _print_json(context: Context, view: View) -> None:
    piece = context.engine.tail(view.id)
    output = clean(context, view, piece, colour=False)
    context.print_view(view, output_tail=output, next_offset=piece.next_offset)


def _partial_output(context: Context, view: View) -> None:
    output = clean(context, view, context.engine.tail(view.id), colour=context.look.colour)
    if output.strip():
        context.print_as_is(rule("output so far", context.look), output.rstrip("\n"), rule("", context.look))


HINT = "  (Ctrl-C stops waiting)"


class LiveLine:
    """One line at the bottom of the terminal that shows how far the tasks are."""

    def __init__(self, context: Context) -> None:
        from errands.frontends.cli.context import look_of

        self._context = context
        self._look = look_of(sys.stderr, context.config.ui.colour, context.environ)

    def draw(self, views: list[View]) -> None:
        live = [view for view in views if view.is_live and view.state != "proposed"]
        if not live:
            return
        at = now()
        if len(views) == 1:
            view = live[0]
            words = [state_cell(state_word(view), self._look).text, took_text(view.latest, at=at)]
            if view.latest.state == "pending":
                words = [waits_for(view, at=at)]
            words.append(progress_text(view, self._look, at=at, columns=20))
            text = f"{view.id}  " + "  ".join(word for word in words if word)
        else:
            text = f"{len(views) - len(live)} of {plural(len(views), 'task')} ended; waiting for "
            text += ", ".join(view.id for view in live)
        room = self._look.columns - 1
        hint = HINT if room > 2 * len(HINT) else ""
        line = clip(text, room - len(hint)) + self._look.paint(hint, "dim")
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def note(self, text: str) -> None:
        """Print a text that stays, above the line."""
        self.clear()
        self._context.note(text)

    def clear(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


VERBS = (
    Verb(
        name="wait",
        summary="wait until tasks end; the exit code is the task's own",
        run=wait,
        details="Without an id, waits for the newest running task, or else the newest. With several tasks, "
        "the exit code is that of the first one, in the given order, that did not complete. A task that "
        "needs approval before it starts counts as ended, with exit code 4. An agent that needs approval "
        "while it runs is waited for, because it continues after the answer; the command to answer with is "
        "printed to standard error. Ctrl-C stops waiting; the tasks continue.",
        options=(
            option(
                "-t, --timeout DURATION",
                "wait at most this long, then exit with 124 (default: no limit)",
                convert=parse_duration,
            ),
            BATCH,
            ALL,
            option("--any", "wait only until the first of them ends, and report that one"),
            option("-q, --quiet", "print only what an agent needs approval for"),
            JSON_TASKS,
        ),
        operands=(operand("[ID...]", "the tasks", completes="live"),),
        examples=(
            ("errands wait pytest-7k && echo passed", "the task's own exit code"),
            ("errands wait --batch nightly --timeout 1h", "a whole batch, for an hour at most"),
            ("errands wait --all", "for everything that you have started"),
            ("errands wait --any --batch nightly", "whichever ends first"),
        ),
    ),
)
