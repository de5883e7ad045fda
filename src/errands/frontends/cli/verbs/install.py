"""install: Errands as tools of the program that an agent works in, or the daemon as a service of the system;
uninstall: out of it again.
"""

from __future__ import annotations

from errands.frontends.cli.approval.caller import is_person
from errands.frontends.cli.approval.confirm import answered, visible
from errands.frontends.cli.parser import Operand, Option, Usage, Verb
from errands.model.errors import ErrandsError
from errands.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context, Installation
    from errands.frontends.cli.parser import Arguments
    from errands.text import Colour

CLIENTS = ("claude", "opencode", "codex", "cursor", "gemini", "vscode")
SERVICE = "service"
_COLOURS: dict[str, Colour] = {"+": "green", "-": "red", "@": "cyan"}


def install(context: Context, arguments: Arguments) -> int:
    made = _installation(context, arguments, arguments.dialect)
    if arguments.print:
        for path, text in made.snippets():
            context.say(context.look.paint(f"# {path}", "dim"), text, "")
        return 0
    if made.missing:
        raise ErrandsError(
            "nothing was written: the server that it would start needs one package more, "
            f"which is missing here; first type: {made.missing}"
        )
    return 0 if _changed(context, arguments, made, removing=False) else 4


def uninstall(context: Context, arguments: Arguments) -> int:
    made = _installation(context, arguments, None)
    return 0 if _changed(context, arguments, made, removing=True) else 4


def _installation(context: Context, arguments: Arguments, dialect: str | None) -> Installation:
    if arguments.project and arguments.user:
        raise Usage("give --project or --user, not both")
    if arguments.client == SERVICE:
        stray = "--project" if arguments.project else "--dialect" if dialect is not None else ""
        if stray:
            raise Usage(f"{stray} has no meaning for the service, which starts the daemon; leave it out")
        return context.bootstrap.service(context.home, environ=context.environ)
    if dialect is not None:
        from errands.dialects import named

        named(dialect)  # it must exist
    project = context.cwd if arguments.project else None
    return context.bootstrap.installation(
        arguments.client, environ=context.environ, project=project, dialect=dialect
    )


def _changed(context: Context, arguments: Arguments, made: Installation, *, removing: bool) -> bool:
    """Show what would change, ask, and do it; False when a person said no."""
    changes = made.plan(removing=removing)
    steps = made.steps()
    if not changes and not steps:
        context.say("nothing to do: it is not there" if removing else "nothing to do: it is there already")
        made.carry_out()
        return True
    for _, lines in changes:
        for line in lines:
            context.say(context.look.paint(visible(line), _COLOURS.get(line[:1], "")))
    for step in steps:
        context.say(context.look.paint(f"$ {step}", "cyan"))
    if not arguments.yes:
        if not is_person():
            raise Usage(
                "nobody is there to be asked, and nothing was written; pass --yes"
                + ("" if removing else ", or see --print")
            )
        what = [f"Change {plural(len(changes), 'file')}"] if changes else []
        what += [f"run {plural(len(steps), 'command')}"] if steps else []
        if not answered(f"{' and '.join(what).capitalize()}? [y/N] "):
            context.note("nothing was written")
            return False
    context.say(*made.carry_out())
    return True


_CLIENT = Operand(
    metavar="CLIENT",
    help="the program, or `service` for a daemon that the system starts",
    choices=(*CLIENTS, SERVICE),
)
_WHERE = (
    Option(flags=("--user",), help="for all your projects, which is the default"),
    Option(flags=("--project",), help="for the project in this directory alone"),
)
_YES = Option(flags=("-y", "--yes"), help="write without asking; the changes are shown all the same")

VERBS = (
    Verb(
        name="install",
        summary="give the agents of a program background tasks, or have the system start the daemon",
        run=install,
        details="Shows every change and asks before it writes. What else stands in the files stays as it is, "
        "comments included; a file that cannot be read is left alone. Claude Code also gets two commands, "
        "/background and /tasks, a skill, and hooks that wake it when a task ends; OpenCode gets a plugin "
        "that reports each end. Without the package that the server needs nothing is written, and --print "
        "prints all the same (see docs/clients.md). `service` has systemd or launchd start the daemon with "
        "the machine or your login, so that schedules are kept after a reboot (see docs/schedules.md).",
        options=(
            *_WHERE,
            Option(
                flags=("--dialect",),
                metavar="NAME",
                help="the words of the tools; by default those that the program's agents know",
            ),
            Option(flags=("--print",), help="only print what belongs into which file"),
            _YES,
        ),
        operands=(_CLIENT,),
        examples=(
            ("errands install claude", "for all projects"),
            ("errands install opencode --project", "for the project in this directory"),
            ("errands install vscode --print", "to put it there by hand"),
            ("errands install service", "the daemon of this home starts by itself"),
        ),
    ),
    Verb(
        name="uninstall",
        summary="take back what install has written",
        run=uninstall,
        details="Shows every change and asks. What was written by others, before or since, stays; so does a "
        "file of ours that somebody has changed. Directories that install made go if nothing is in them.",
        options=(*_WHERE, _YES),
        operands=(_CLIENT,),
        examples=(
            ("errands uninstall claude", "with the hooks, commands and skill"),
            ("errands uninstall service", "nothing starts the daemon after a reboot"),
        ),
    ),
)
