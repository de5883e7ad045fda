"""Attach to a task as if it ran in the foreground, and detach at any time.

Ctrl-Z and a single Ctrl-C detach: the task has been in the background all along, so nothing is restarted or
lost. A second Ctrl-C soon after the first one cancels the task.
"""

from __future__ import annotations

import os
import sys

from errands.frontends.cli.context import Context
from errands.frontends.cli.display.pending import why_pending
from errands.frontends.cli.live.follow import follow, wait_for
from errands.frontends.cli.live.keyboard import INTERRUPT, SUSPEND, KeyPresses
from errands.frontends.cli.live.output_filter import Bare, OutputFilter
from errands.frontends.cli.parser import Arguments
from errands.model.run import task_of
from errands.model.view import STILL_LIVE, View, exit_code
from errands.text.describe import ending_line, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.engine import Engine

# How long after the first one a second Ctrl-C counts.
SECOND_THOUGHTS = 2.0
INTERRUPTED = 130
PIECE = 1 << 16
# How often to check whether the task takes input yet.
STDIN_LOOK = 0.02


def attach(context: Context, arguments: Arguments, view: View, *, is_new: bool) -> int:
    """Show a task's output until it ends; return its exit code.

    Only a new task gets our standard input: one found by its key got that of the command that started it.
    """
    run_id = view.latest.id
    view = context.engine.get(view.id)
    person = sys.stderr.isatty() and sys.stdin.isatty()
    if not arguments.quiet:
        keys = "  (Ctrl-Z leaves it running, Ctrl-C twice cancels it)" if person else ""
        is_later = view.due_at is not None or view.waits
        context.note(f"{'queued' if is_later else 'started'} {view.id}{keys}")
        if is_later:
            context.note(why_pending(context, view))
    if is_new:
        _feed(context, arguments, view)
    try:
        if arguments.json:
            from errands.frontends.cli.verbs.wait import report

            return report(context, wait_for(context, [view.id]), as_objects=True, quiet=False)
        output = Bare() if arguments.raw else OutputFilter(context, context.engine.mask(view.id))
        if person:
            with KeyPresses() as presses:
                code = _follow_keys(context, view, run_id, output, presses, is_quiet=arguments.quiet)
        else:
            follow(context, run_id, output)
            while again := _next_attempt(context, run_id, is_quiet=arguments.quiet):
                run_id = again
                follow(context, run_id, output)
            output.close()
            code = 0
    except KeyboardInterrupt:
        context.note(_continues(view))
        return INTERRUPTED
    return code or _ended(context, view.id, is_reported=not arguments.quiet, person=person)


def _feed(context: Context, arguments: Arguments, view: View) -> None:
    """Pass standard input on to a task that takes input; say so if it is not passed on."""
    if (view.details or {}).get("input", "none") != "none":
        _pass_stdin(context, view.id)
    elif not arguments.quiet and _has_input():
        context.note("standard input is not passed on to the task; give --stdin for that")


def _pass_stdin(context: Context, task_id: str) -> None:
    """Start passing standard input on to a task; return at once."""
    import threading

    home, settings = context.home, context.config

    def run() -> None:
        # A connection to the store belongs to the thread that opened it.
        engine = context.bootstrap.open_client(home, settings)
        try:
            _copy_stdin(engine, task_id, sys.stdin.fileno())
        finally:
            engine.close()

    threading.Thread(target=run, daemon=True, name="stdin").start()


def _has_input() -> bool:
    """Return whether there is input to read; an empty pipe is often only inherited."""
    import fcntl
    import termios

    source = sys.stdin.fileno()
    if os.isatty(source):
        return False
    try:
        count = fcntl.ioctl(source, termios.FIONREAD, bytes(4))
    except OSError:
        return False  # such as /dev/null
    return int.from_bytes(count, sys.byteorder) > 0


def _copy_stdin(engine: Engine, task_id: str, source: int) -> None:
    from errands.model.errors import ErrandsError

    _wait_until_it_runs(engine, task_id)
    piece = b"?"
    while piece:
        try:
            piece = os.read(source, PIECE)
            engine.send(task_id, piece, eof=not piece)
        except (ErrandsError, OSError):
            return  # the task has ended or closed its input, or the terminal is gone


def _wait_until_it_runs(engine: Engine, task_id: str) -> None:
    import time

    while True:
        view = engine.summaries([task_id])[0]
        run = view.latest
        has_started = run.state == "running" if view.host else run.pid is not None
        if has_started or run.completed_at is not None:
            return
        time.sleep(STDIN_LOOK)


def _follow_keys(
    context: Context, view: View, run_id: str, output: OutputFilter, presses: KeyPresses, *, is_quiet: bool
) -> int:
    """Follow a task and obey the keys; return the exit code for detaching, or 0 at its end."""
    offset, cancelling = 0, False
    while True:
        offset = follow(context, run_id, output, offset=offset, presses=presses)
        pressed = presses.next()
        if pressed == INTERRUPT and not cancelling:
            context.note("", f"leaving {view.id} running; Ctrl-C again cancels it")
            pressed = presses.next(SECOND_THOUGHTS)
            if pressed == INTERRUPT:
                context.note("", f"cancelling {view.id}")
                context.engine.cancel([view.id])
                cancelling = True
                continue
            pressed = pressed or INTERRUPT
        if pressed is None and (again := _next_attempt(context, run_id, is_quiet=is_quiet)):
            run_id, offset = again, 0
            continue
        output.close()
        if pressed is None:
            return 0
        context.note("", _continues(view))
        return STILL_LIVE if pressed == SUSPEND else INTERRUPTED


def _next_attempt(context: Context, run_id: str, *, is_quiet: bool) -> str | None:
    """Return the retry of a run that has ended, and say so; None if there is none."""
    task_id, number = task_of(run_id)
    view = context.engine.summaries([task_id])[0]
    if view.latest.number == number:
        return None
    causes = {run.number: run.cause for run in context.engine.get(task_id).history}
    if causes.get(number + 1) != "retry":
        return None
    is_pending = view.latest.number == number + 1 and view.latest.state == "pending"
    if not is_quiet:
        context.note(why_pending(context, view) if is_pending else "failed, trying again")
    return f"{task_id}.{number + 1}"


def _continues(view: View) -> str:
    return f"{view.id} continues in the background: errands logs -f {view.id}, errands cancel {view.id}"


def _ended(context: Context, task_id: str, *, is_reported: bool, person: bool) -> int:
    view = context.engine.get(task_id)
    context.mark_shown(view)
    if view.state == "proposed":
        from errands.frontends.cli.approval.proposals import print_proposal

        # What was approved has changed before the task could start.
        print_proposal(context, view)
    elif is_reported and (person or view.state != "completed"):
        context.note(ending_line(view, context.error_look, at=now()))
    return exit_code(view)
