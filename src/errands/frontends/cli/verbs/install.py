"""install and uninstall: Errands as tools of an agent's client, or the daemon as a system service."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import is_person
from errands.frontends.cli.approval.confirm import DECLINED, agrees, answered, unwritten
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Usage, Verb, operand, option
from errands.model.errors import ErrandsError
from errands.text import clip, plural
from errands.text.question import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Installation
    from errands.text import Colour

CLIENTS = ("claude", "opencode", "codex", "cursor", "gemini", "vscode")
SERVICE = "service"
_COLOURS: dict[str, Colour] = {"+": "green", "-": "red", "@": "cyan"}
# Lines of longer changes, and of files that are ours alone, are only counted: nobody reads hundreds.
MOST_LINES = 24
OURS = "/errands/"  # below a client's hidden directory


def install(context: Context, arguments: Arguments) -> int:
    if arguments.trust and arguments.no_trust:
        raise Usage("give --trust or --no-trust, not both")
    trust = True if arguments.trust else False if arguments.no_trust else None
    made = _installation(context, arguments, arguments.dialect, trust)
    if arguments.print:
        for path, text in made.snippets():
            context.print_as_is(context.look.paint(f"# {path}", "dim"), text, "")
        _hint(context, made)
        return 0
    if made.missing:
        raise ErrandsError(
            f"nothing was written: the server needs a package that is missing; first run: {made.missing}"
        )
    is_asked = made.offer is not None and not arguments.yes and is_person()
    if made.offer is not None and is_asked:
        why, setting = made.offer
        context.say(why, f"The setting that lets it use them: {setting}")
        try:
            is_trusted = answered("Let it use the tools of Errands without asking? [y/N] ")
        except KeyboardInterrupt:
            return unwritten(context)
        if is_trusted:
            made = _installation(context, arguments, arguments.dialect, True)
    is_done = _changed(context, arguments, made, removing=False)
    if is_done and not is_asked:
        _hint(context, made)
    return 0 if is_done else DECLINED


def _hint(context: Context, made: Installation) -> None:
    """Say which setting was not written because no person was asked."""
    if made.offer is not None:
        why, setting = made.offer
        context.note(f"{why} Pass --trust to let it use them without asking ({setting}).")


def uninstall(context: Context, arguments: Arguments) -> int:
    made = _installation(context, arguments, None, None)
    return 0 if _changed(context, arguments, made, removing=True) else DECLINED


def _installation(
    context: Context, arguments: Arguments, dialect: str | None, trust: bool | None
) -> Installation:
    if arguments.project and arguments.user:
        raise Usage("give --project or --user, not both")
    if arguments.client == SERVICE:
        chosen = {"--project": arguments.project, "--dialect": dialect, "--trust": trust}
        stray = next((name for name, value in chosen.items() if value), "")
        if stray:
            raise Usage(f"{stray} does not apply to the service; leave it out")
        return context.bootstrap.service(context.home, environ=context.environ, web=arguments.web)
    if arguments.web:
        raise Usage("--web is for the service: errands install service --web")
    if dialect is not None:
        from errands.dialects import named

        named(dialect)  # it must exist
    project = context.cwd if arguments.project else None
    return context.bootstrap.installation(
        arguments.client, environ=context.environ, project=project, dialect=dialect, trust=trust
    )


def _changed(context: Context, arguments: Arguments, made: Installation, *, removing: bool) -> bool:
    """Show the changes, ask, and make them; return False if the answer was no."""
    changes = made.plan(removing=removing)
    steps = made.steps()
    if not changes and not steps:
        context.say("nothing to do: not installed" if removing else "nothing to do: already installed")
        made.carry_out()
        return True
    for path, lines in changes:
        if arguments.diff:
            context.print_as_is(*_painted(context, lines))
        else:
            context.say(*_summary(context, path, lines))
    if changes and not arguments.diff:
        context.say(context.look.paint("--diff shows every line", "dim"))
    for step in steps:
        context.say(context.look.paint(f"$ {step}", "cyan"))
    if not arguments.yes:
        if not is_person():
            raise Usage(
                "cannot ask without a terminal, so nothing was written; pass --yes"
                + ("" if removing else ", or see --print")
            )
        what = [f"Change {plural(len(changes), 'file')}"] if changes else []
        what += [f"run {plural(len(steps), 'command')}"] if steps else []
        if not agrees(f"{' and '.join(what).capitalize()}? [y/N] "):
            unwritten(context)
            return False
    context.say(*made.carry_out())
    return True


def _summary(context: Context, path: str, diff: list[str]) -> list[str]:
    """Return a file that would change; of one that is not ours alone also its changed lines, if few."""
    is_new, is_gone = diff[0] == "--- /dev/null", diff[1] == "+++ /dev/null"
    changed = [line for line in diff[2:] if line.startswith(("+", "-"))]
    what = "create" if is_new else "remove" if is_gone else "change"
    look, name = context.look, visible(_from_home(context, path))
    lines = [f"{what} {look.paint(name, 'bold')}  ({plural(len(changed), 'line')})"]
    if len(changed) <= MOST_LINES and OURS not in path.partition("/.")[2]:
        shown = [clip(visible(line), look.columns - 2) for line in changed]
        lines += [f"  {look.paint(line, _COLOURS.get(line[:1], ''))}" for line in shown]
    return lines


def _painted(context: Context, lines: list[str]) -> list[str]:
    return [context.look.paint(visible(line), _COLOURS.get(line[:1], "")) for line in lines]


def _from_home(context: Context, path: str) -> str:
    home = context.environ.get("HOME", "").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


_CLIENT = operand(
    "CLIENT", "the client, or `service` to start the daemon at boot or login", choices=(*CLIENTS, SERVICE)
)
_WHERE = (
    option("--user", "for all your projects (the default)"),
    option("--project", "only for the project in this directory"),
)
_WEB = option("--web", "with `service`: the web page instead of the daemon")
_YES = option("-y, --yes", "write without asking; the changes are still shown")
_DIFF = option("--diff", "show every line that would change, not only the files")

VERBS = (
    Verb(
        name="install",
        summary="connect an agent program to Errands, or start the daemon at boot",
        run=install,
        details="Shows what would change and asks before writing. All else in the files stays as it is, "
        "comments included; a file that cannot be read is left alone. Claude Code gets a plugin with the "
        "server, the commands /errands:background and /errands:tasks, a skill, and hooks that wake it when a "
        "task ends; OpenCode gets a plugin with the tools, which reports results. --trust also writes the "
        "client's own setting to let it use our tools without asking: Errands does its own asking. "
        "If the package that the server needs is missing, nothing is written; --print works anyway (see "
        "docs/how-to/clients.md). `service` makes systemd or launchd start the daemon at boot or login, so "
        "that schedules survive a reboot (see docs/how-to/schedules.md); with --web, "
        "the server of `errands web`.",
        options=(
            *_WHERE,
            option(
                "--dialect NAME",
                "the names and wording of the tools (default: those the client's agents know)",
            ),
            option(
                "--trust",
                "let the client use the tools without asking: Errands asks about what could do harm",
            ),
            option("--no-trust", "remove that setting again"),
            _WEB,
            option("--print", "only print what belongs in which file"),
            _DIFF,
            _YES,
        ),
        operands=(_CLIENT,),
        examples=(
            ("errands install claude", "for all projects"),
            ("errands install codex --trust --yes", "without questions, and Codex asks none either"),
            ("errands install opencode --project", "for the project in this directory"),
            ("errands install vscode --print", "to add it by hand"),
            ("errands install claude --diff", "every line, before you answer"),
            ("errands install service", "the system starts the daemon of this home"),
            ("errands install service --web", "and the server of the web page"),
        ),
    ),
    Verb(
        name="uninstall",
        summary="undo `install`",
        run=uninstall,
        details="Shows what would change and asks before writing. What others wrote stays, and so does a "
        "file of ours that was edited since. Directories that install made are removed if they are empty. "
        "Errands itself is removed by what installed it: uv tool uninstall errands.",
        options=(*_WHERE, _WEB, _DIFF, _YES),
        operands=(
            operand(
                "CLIENT",
                "the client, or `service`, so that the daemon no longer starts at boot",
                choices=(*CLIENTS, SERVICE),
            ),
        ),
        examples=(
            ("errands uninstall claude", "the plugin and what enables it"),
            ("errands uninstall service", "the daemon no longer starts at boot"),
        ),
    ),
)
