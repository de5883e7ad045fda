"""doctor: check the installation, and say how to fix what is wrong."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.doctor.checks import examine
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Verb, option
from errands.model.text.sanitise import line
from errands.text import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.doctor import Finding
    from errands.text import Colour

SIGNS: dict[str, tuple[str, str, Colour]] = {
    "ok": ("✓", "ok  ", "green"),
    "warn": ("!", "warn", "yellow"),
    "fail": ("✗", "FAIL", "red"),
}
VERDICTS = {"ok": "no problems found", "warn": "it works, with warnings", "fail": "something is wrong"}


def doctor(context: Context, arguments: Arguments) -> int:
    # A wrong configuration is one of the findings and must not hide the others.
    context.ignore_problems()
    if arguments.repair:
        _repair(context)
    worst, shown = "ok", ""
    for section, finding in examine(context):
        worst = max(worst, finding.level, key=list(SIGNS).index)
        if arguments.json:
            facts = {"level": finding.level, "text": finding.text, "advice": finding.advice}
            context.print_json({"section": section, **facts})
            continue
        if section != shown:
            shown = section
            context.say(context.look.paint(section, "bold"))
        _say(context, finding)
    if not arguments.json:
        context.say("", VERDICTS[worst])
    return 1 if worst == "fail" else 0


def _say(context: Context, finding: Finding) -> None:
    look = context.look
    fancy, plain, colour = SIGNS[finding.level]
    sign = look.paint(look.sign(fancy, plain), colour)
    context.say(*wrap(f"  {sign} {line(finding.text)}", look.columns, hang=2))
    if finding.advice:
        advice = wrap(f"      {line(finding.advice)}", look.columns)
        context.say(*(look.paint(each, "dim") for each in advice))


def _repair(context: Context) -> None:
    if not context.bootstrap.store_damage(context.home):
        context.note("the store is not damaged; there is nothing to repair")
        return
    done = context.bootstrap.repair_store(context.home)
    saved = ", ".join(f"{count:,} {name}" for name, count in done.saved.items() if count) or "nothing"
    lost = ", ".join(f"{count:,} {name}" for name, count in done.lost.items() if count) or "nothing"
    context.note(f"saved {saved}; could not read {lost}; the damaged file is {done.set_aside}")


VERBS = (
    Verb(
        name="doctor",
        summary="check the installation and suggest fixes; exits with 1 if something is wrong",
        run=doctor,
        fields=("section", "level", "text", "advice"),
        options=(
            option("--repair", "set a damaged store aside and keep what can be read"),
            JSON_FIELDS,
        ),
    ),
)
