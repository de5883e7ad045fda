"""A draft: what a caller asks for, before there is a task.

Everything has the default a person expects, so `Draft(command="make test")` is enough, and so is
`Draft(prompt="why do the tests fail?")`.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.approval import CONSENTS
from errands.model.errors import BadValue
from errands.model.notices.notice import POLICIES, parse_address
from errands.model.record import record
from errands.model.sandbox import WALLS
from errands.model.task import PRIORITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from errands.model.action import Command, Input
    from errands.model.approval import Consent
    from errands.model.limits import OnIdle
    from errands.model.notices.notice import Policy
    from errands.model.sandbox import Walls
    from errands.model.task import Priority
    from errands.model.trigger import Misfire

UNLIMITED = timedelta.max
STANDING = ("every", "cron", "zone", "hours", "jitter", "misfire", "max_age", "max_runs")
WATCHING = ("on", "on_options", "debounce", "max_wait", "rate")
BUDGETS = ("input_tokens", "output_tokens", "total_tokens", "requests", "tool_calls", "cost_microdollars")


@record
class Draft:
    """None means the default: of the configuration, or, for `environ` and `cwd`, of the launching process.

    With `every`, `cron` or `on` it is a standing task, which runs again and again; the fields from `zone` to
    `rate` are about that. `on` is a source and its subject, such as `file:src/**/*.py`. `UNLIMITED` (for
    memory and processes: 0) means no limit although the configuration has one. `consent` says whether a
    person typed it, or the caller answers for it; `propose` has it wait for a person anyway.
    """

    command: Command = ()
    prompt: str | None = None
    then: tuple[Command, ...] = ()
    before: tuple[Command, ...] = ()
    lastly: tuple[Command, ...] = ()
    name: str | None = None
    description: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] = {}
    environ: Mapping[str, str] | None = None
    lane: str | None = None
    priority: Priority = "normal"
    after: tuple[str, ...] = ()
    at: datetime | None = None
    every: timedelta | None = None
    cron: str | None = None
    zone: str | None = None
    hours: str | None = None
    jitter: timedelta | None = None
    misfire: Misfire | None = None
    max_age: timedelta | None = None
    max_runs: int | None = None
    on: str | None = None
    on_options: Mapping[str, str] | None = None
    debounce: timedelta | None = None
    max_wait: timedelta | None = None
    rate: int | None = None
    batch: str | None = None
    key: str | None = None
    owner: str | None = None
    parent: str | None = None
    message: str | None = None
    created_by: str | None = None
    template: str | None = None
    notify: Policy | None = None
    channels: tuple[str, ...] | None = None
    timeout: timedelta | None = None
    idle: timedelta | None = None
    on_idle: OnIdle | None = None
    memory: int | None = None
    cpu: timedelta | None = None
    processes: int | None = None
    output: int | None = None
    grace: timedelta | None = None
    retries: int = 0
    input: Input = "none"
    sandbox: Walls = "none"
    consent: Consent = "none"
    door: str = "python"
    propose: bool = False
    agent: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    fork: str | None = None
    budget: Mapping[str, int] = {}


def check(draft: Draft) -> None:
    """Refuse what could never run, with a sentence that says what to change."""
    if draft.prompt is None:
        _check_commands(draft)
    else:
        _check_prompt(draft, draft.prompt)
    _check_text(
        (draft.cwd or "", draft.name or "", draft.description or ""), "directory, name and description"
    )
    for key, value in draft.env.items():
        if not key or "=" in key:
            raise BadValue(f"{key!r} is no name for an environment variable; write NAME=VALUE")
        _check_text((key, value), "the environment")
    for label in ("batch", "key", "owner", "parent", "message", "created_by", "door"):
        if getattr(draft, label) is not None:
            _check_label(label, getattr(draft, label))
    _one_of("priority", draft.priority, PRIORITIES)
    _one_of("notify", draft.notify or "always", POLICIES)
    for each in draft.channels or ():
        parse_address(each)
    _one_of("input", draft.input, ("none", "pipe", "pty"))
    _one_of("sandbox", draft.sandbox, WALLS)
    _one_of("consent", draft.consent, CONSENTS)
    _one_of("on_idle", draft.on_idle or "stop", ("stop", "report"))
    for label, span in (("timeout", draft.timeout), ("idle", draft.idle), ("cpu", draft.cpu)):
        if span is not None and span.total_seconds() <= 0:
            raise BadValue(f"{label} must be longer than nothing; leave it out for no limit")
    if draft.grace is not None and draft.grace.total_seconds() < 0:
        raise BadValue("grace cannot be less than nothing; 0 kills at once")
    for label, amount in (("memory", draft.memory), ("processes", draft.processes)):
        if amount is not None and amount < 0:
            raise BadValue(f"{label} cannot be less than 0; leave it out for no limit")
    if draft.retries < 0:
        raise BadValue(f"retries must be at least 0 (got {draft.retries})")
    if draft.retries and (draft.every or draft.cron or draft.on):
        raise BadValue("retries is for a task that runs once; a recurring task is retried once by itself")
    if draft.output is not None and draft.output < 4096:
        raise BadValue(f"an output cap of {draft.output} bytes is too small; the least is 4096")
    if draft.at is not None and draft.at.tzinfo is None:
        raise BadValue(f"the start time {draft.at} has no time zone; give it one, such as datetime.now(UTC)")
    for label in (*STANDING, *WATCHING):
        if getattr(draft, label) is not None:
            from errands.model.schedule.recurring import check_recurring

            check_recurring(draft)
            break


def _check_commands(draft: Draft) -> None:
    for command in (draft.command, *draft.then, *draft.before, *draft.lastly):
        words = (command,) if isinstance(command, str) else command
        if not words or not words[0].strip():
            raise BadValue("there is no command to run; give one, for example: errands run -- make test")
        _check_text(words, "a command")
    for label in ("agent", "model", "tools", "fork"):
        if getattr(draft, label) is not None:
            raise BadValue(f"{label} is about a prompt, and this is a command; leave it out")


def _check_prompt(draft: Draft, prompt: str) -> None:
    if draft.command:
        raise BadValue("a task has a command or a prompt, not both; leave one out")
    if not prompt.strip():
        raise BadValue("there is no prompt; give one, for example: errands ask 'why do the tests fail?'")
    if draft.then or draft.before or draft.lastly or draft.input != "none" or draft.sandbox != "none":
        raise BadValue("a prompt has no further commands, hooks, input or walls; leave them out")
    for label in ("prompt", "agent", "model", "fork"):
        _check_label(label, getattr(draft, label) or "")
    for name, amount in draft.budget.items():
        if name not in BUDGETS:
            raise BadValue(f"a budget cannot be of {name!r}; choose one of: {', '.join(BUDGETS)}")
        if amount <= 0:
            raise BadValue(f"a budget of {amount} {name} is none at all; leave it out for no limit")


def _check_text(words: tuple[str, ...], where: str) -> None:
    """Refuse what no system call takes; bytes that are no UTF-8 come as escapes and are fine."""
    for word in words:
        if "\0" in word:
            raise BadValue(f"{where} cannot contain a NUL character; remove it")
        try:
            word.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise BadValue(f"{where} contains half a character, which is no text: {word[:80]!r}") from None


def _check_label(label: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadValue(f"{label} cannot be {value!r}; it must be text in UTF-8") from None


def _one_of(label: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise BadValue(f"{label} cannot be {value!r}; choose one of: {', '.join(allowed)}")
