"""agents: list the agents that can be asked, and set one up."""

from __future__ import annotations

from itertools import count

from errands import config
from errands.frontends.cli.approval.caller import is_person
from errands.frontends.cli.approval.confirm import DECLINED, agrees, unwritten
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, option
from errands.model.agent.install_hints import INSTALLED_BY
from errands.model.errors import ErrandsError
from errands.text import Cell, Column, did_you_mean, facts, table, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.agent.candidate import Candidate

COLUMNS = (Column(title="AGENT"), Column(title=""), Column(title="", flex=1))
NOTHING = 1  # the exit code when no agent can be set up
HOW = (
    "install Ollama (https://ollama.com/download) and run `ollama pull qwen3`, for a model on this machine",
    f"or install Claude Code: {INSTALLED_BY['claude']}",
    f"or Codex: {INSTALLED_BY['codex']}",
    f"or OpenCode: {INSTALLED_BY['opencode']}",
    "or set a key of a provider, such as ANTHROPIC_API_KEY or OPENAI_API_KEY",
)


def ls(context: Context, arguments: Arguments) -> int:
    from errands.config.backends import BACKENDS, lacking

    backends, default = context.config.backends, context.config.agents.default
    rows: list[tuple[str | Cell, ...]] = []
    for name in dict.fromkeys([default, *backends, *BACKENDS]):
        settings = backends.get(name, {})
        missing = [f"{key} {advice}" for key, advice in lacking(name, settings, context.config.lanes)]
        try:
            said, is_ready = context.bootstrap.agent_readiness(name, context.config), not missing
        except ErrandsError as error:
            said, is_ready = str(error), False
        said = missing[0] if missing else said
        if arguments.json:
            context.print_json({
                "name": name, "backend": settings.get("backend", name), "default": name == default,
                "ready": is_ready, "reason": said,
            })  # fmt: skip
        mark = " (default)" if name == default else ""
        sign = context.look.sign("\u2713", "ok") if is_ready else context.look.sign("\u2717", "no")
        state = Cell(text=sign, colour="green" if is_ready else "grey")
        rows.append((Cell(text=name + mark, colour="bold"), state, Cell(text=said)))
    if not arguments.json:
        columns = (Column(title="AGENT"), Column(title=""), Column(title="", flex=1, least=16, wraps=True))
        context.say(*table(columns, rows, context.look))
    return 0


def setup(context: Context, arguments: Arguments) -> int:
    """Find what can answer prompts here, and write it into the configuration after asking."""
    from errands.config.edit import agents_text, with_agents, write

    found = context.bootstrap.agent_candidates(context.environ)
    usable = [each for each in found if not each.trouble]
    if arguments.agent is not None:
        usable = [_named(arguments.agent, found)]
    file = config.user_file(context.environ)
    now = context.config.agents.default if "agents.default" in context.config.origin else None
    if not arguments.json:
        _explain(context, found, now)
    if not usable:
        if arguments.json:
            _print(context, found, None, file, is_written=False)
        else:
            context.say("", "To set one up, do one of these:")
            context.say(*(each for way in HOW for each in wrap(f"  {way}", context.look.columns, hang=2)))
        return NOTHING
    chosen: Candidate | None = usable[0]
    if not arguments.yes and arguments.agent is None and not arguments.json and is_person():
        chosen = _choice(usable)
    if chosen is None:
        return unwritten(context)
    tables = {chosen.agent: chosen.settings} if chosen.settings else {}
    try:
        with open(file, encoding="utf-8") as read:
            text = read.read()
    except FileNotFoundError:
        text = ""
    after = with_agents(text, chosen.agent, tables)
    if arguments.json and not arguments.yes:
        _print(context, found, chosen, file, is_written=False)
        return 0
    if not arguments.json:
        context.say(
            "", f"In {file}:", *(f"  {each}" for each in agents_text(chosen.agent, tables).splitlines())
        )
    if not arguments.yes:
        if not is_person():
            raise Usage("cannot ask without a terminal, so nothing was written; pass --yes")
        if not agrees("Write this? [y/N] "):
            return unwritten(context)
    write(file, after)
    if arguments.json:
        _print(context, found, chosen, file, is_written=True)
    else:
        context.say(
            f"{chosen.agent} answers prompts from now on, in clients from their next start; "
            "try it: errands ask --wait 'who are you?'"
        )
    return 0


def _named(name: str, found: list[Candidate]) -> Candidate:
    for each in found:
        if each.name == name and each.trouble:
            raise ErrandsError(f"{name} cannot be set up yet: {each.trouble}")
        if each.name == name:
            return each
    names = [each.name for each in found]
    known = f"found: {', '.join(names)}" if names else "found nothing that can answer prompts"
    raise Usage(f"{name!r} was not found on this machine{did_you_mean(name, names)}; {known}")


def _explain(context: Context, found: list[Candidate], now: str | None) -> None:
    if now is not None:
        context.say(f"The default agent is {now} ({context.config.origin['agents.default']}).", "")
    context.say("Found on this machine:" if found else "Nothing on this machine can answer prompts.")
    numbers = count(1)
    lines = [
        (
            "" if each.trouble else str(next(numbers)),
            f"{each.name}: {each.found}" + (f"; but {each.trouble}" if each.trouble else ""),
        )
        for each in found
    ]
    context.print_as_is(*facts(lines, context.look))


def _choice(usable: list[Candidate]) -> Candidate | None:
    """Ask which one; none for an empty answer."""
    from errands.frontends.cli.approval.confirm import typed

    if len(usable) == 1:
        return usable[0]
    try:
        said = typed(f"Which one? [1-{len(usable)}, or Enter for none] ")
    except KeyboardInterrupt:
        return None
    if said.isdecimal():
        if not 1 <= int(said) <= len(usable):
            raise Usage(f"there is no {said} in the list; nothing was written")
        return usable[int(said) - 1]
    return _named(said, usable) if said else None


def _print(
    context: Context, found: list[Candidate], chosen: Candidate | None, file: str, *, is_written: bool
) -> None:
    context.print_json({
        "found": [
            {"name": each.name, "agent": each.agent, "found": each.found, "settings": dict(each.settings),
             "trouble": each.trouble or None}
            for each in found
        ],
        "chosen": None if chosen is None else chosen.name,
        "file": file,
        "written": is_written,
    })  # fmt: skip


VERBS = (
    Verb(
        name="agents ls",
        summary="list the agents that can be asked, and whether each can start",
        run=ls,
        options=(JSON_FIELDS,),
    ),
    Verb(
        name="agents setup",
        summary="find agents on this machine and choose the default",
        run=setup,
        fields=("found", "chosen", "file", "written"),
        details="Looks for Ollama, for Claude Code, Codex and OpenCode, and for provider keys in the "
        "environment; asks no model, and sends no key anywhere. Shows what it would write and asks first. "
        f"Exits with {NOTHING} if there is nothing to set up, and with {DECLINED} if the answer is no.",
        options=(
            option("--agent NAME", "set up this one of those that are found"),
            option("-y, --yes", "write without asking; without --agent, the first that is found"),
            JSON_FIELDS,
        ),
        examples=(
            ("errands agents setup", "choose, and confirm"),
            ("errands agents setup --agent claude --yes", "in a script"),
            ("errands agents setup --json", "only look"),
        ),
    ),
)
