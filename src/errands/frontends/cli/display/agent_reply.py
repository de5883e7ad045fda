"""The reply to a prompt: that it was sent, or with `--wait` the answer."""

from __future__ import annotations

from errands.frontends.cli.display.format import ending_line, now
from errands.frontends.cli.reply import reply
from errands.model.view import exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.view import View


def converse(context: Context, arguments: Arguments, view: View, *, is_new: bool) -> int:
    """Report that an agent was asked; with --wait, wait for its answer and print it."""
    if not arguments.wait:
        return reply(context, arguments, view, is_new=is_new)
    from errands.frontends.cli.live.follow import wait_for

    run_id = view.latest.id
    if not arguments.quiet and not arguments.json:
        context.note(f"asked {view.id}  (Ctrl-C leaves it running)")
    try:
        wait_for(context, [view.id])
    except KeyboardInterrupt:
        # The caller no longer waits, so the answer becomes a notice.
        context.engine.sessions.give_up_waiting(run_id)
        context.note(f"{view.id} continues in the background: errands show {view.id}")
        return 130
    view = context.engine.get(view.id)
    context.mark_shown(view)
    _print(context, arguments, view)
    return exit_code(view)


def _print(context: Context, arguments: Arguments, view: View) -> None:
    from errands.frontends.cli.live.output_filter import clean

    if arguments.json:
        context.print_view(view)
        return
    answer = view.agent.answer if view.agent else None
    if answer:
        context.say(clean(context, view, answer.encode(), colour=False).rstrip("\n"))
    if view.state != "completed":
        context.note(ending_line(view, context.error_look, at=now()))
