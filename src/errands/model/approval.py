"""An approval: one question about one task, what it rested on, and the answer a person gave.

A question is bound to a digest of everything that will run. It is answered once; if something changed since
it was asked, it is void, and a new one is asked.
"""

from __future__ import annotations

from errands.model.action import Prompt
from errands.model.errors import BadValue, StoreUnreadable
from errands.model.record import fields, record
from errands.model.text.json_text import plain_text
from errands.model.trigger import recurring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Literal

    from errands.model.action import Action
    from errands.model.states import RunState
    from errands.model.task import Task
    from errands.model.verdict import Judgement, Reason

    Consent = Literal["none", "typed", "yes"]
    ApprovalState = Literal["waiting", "granted", "refused", "expired", "void"]
    # What a yes covers: what was asked about, the same again in this task, or the same anywhere.
    Scope = Literal["once", "task", "always"]
    # Why a task may start at once.
    Way = Literal["judge", "typed", "yes", "mode"]

CONSENTS: tuple[Consent, ...] = ("none", "typed", "yes")
# An answer through one of these comes from a person, known by their account here or by the service.
PERSONAL = ("terminal", "cli", "python", "mcp", "opencode", "chat", "web", "top", "discord")
# An answer through one of these may come from a program that answers for itself.
UNATTENDED = ("cli", "python", "mcp", "opencode")
FLEET = "fleet"  # the frontend of what another home placed on this host
KEPT = "kept"  # the first word of the owner of a schedule that this home keeps for another one
BY_JUDGE = "judge"
BY_MODE = "approval.mode"  # instead of a person: the configuration trusts the project's own work
# Appended to the name of a caller that approved with --yes, without a terminal.
SAID_YES = " (--yes)"
# The beginning of a question about a call of an agent.
CALLS = "the agent calls "


@record
class Approval:
    """A question about the run of a task; `by`, `at` and `door` are set once it is answered."""

    id: int
    task_id: str
    run: int
    digest: str
    reasons: tuple[Reason, ...]
    asked_at: datetime
    expires_at: datetime
    state: ApprovalState = "waiting"
    by: str | None = None
    at: datetime | None = None
    door: str | None = None
    note: str = ""
    scope: Scope = "once"


def is_unattended(by: str, door: str) -> bool:
    """Return whether an approval may come from a program that answers for itself."""
    return door in UNATTENDED or by.endswith(SAID_YES)


def chosen_scope(*, task: bool, always: bool) -> Scope:
    """Return what a person wants their yes to cover."""
    if task and always:
        raise BadValue("--task and --always exclude each other; --always covers the task, too")
    return "always" if always else "task" if task else "once"


def scope_of(task: Task, scope: Scope) -> Scope:
    """Return what a yes covers: the whole task, if it is a schedule or gives its agent permissions."""
    if isinstance(task.action, Prompt) and task.action.has_grants:
        return "task"
    return "task" if scope == "once" and recurring(task.trigger) is not None else scope


def call_of(approval: Approval) -> str | None:
    """Return the call of an agent that a question is about; None when it is about the task itself."""
    calls = [each.text.removeprefix(CALLS) for each in approval.reasons if each.kind == "call"]
    return calls[0] if calls else None


@record
class AuditEntry:
    """A question in the audit: what it was about, and what became of the run; the task may be gone by now."""

    approval: Approval
    name: str
    command: str
    cwd: str
    verdict: str
    outcome: RunState | None
    exit_code: int | None
    error: str | None
    summary: str | None
    is_gone: bool


@record
class StandingApproval:
    """A permanent approval of exactly this command."""

    digest: str
    command: str
    cwd: str
    by: str
    at: datetime


@record
class Evidence:
    """What a verdict rests on besides the command itself.

    `files` maps paths to a digest of their content (empty if the file does not exist), `programs` maps bare
    names to the file that `path` leads to, `links` maps paths to where they really lead, `indexes` maps git
    indexes to a digest of the repositories they name.
    """

    files: Mapping[str, str] = {}
    programs: Mapping[str, str] = {}
    links: Mapping[str, str] = {}
    indexes: Mapping[str, str] = {}
    path: str = ""


def is_read_only(task: Task) -> bool:
    """Return whether the judge alone let a task start, because it only reads; a person's yes allows more.

    Of a prompt, this is about the command that watches for its event.
    """
    return task.verdict == "auto" and task.approved_by == BY_JUDGE and task.action.read_only


def evidence_text(evidence: Evidence) -> str:
    return plain_text(_plain(evidence))


def evidence_of(task: Task) -> Evidence | None:
    """Return what the verdict on a task rests on; the error about damaged evidence names the task."""
    if task.evidence is None:
        return None
    try:
        return read_evidence(task.evidence)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreUnreadable(
            f"the evidence of task {task.id} is damaged ({error}); see `errands doctor`"
        ) from error


def read_evidence(text: str) -> Evidence:
    import json

    evidence = Evidence(**json.loads(text))
    _plain(evidence)
    return evidence


def digest(action: Action, evidence: Evidence | None = None) -> str:
    """Return a digest of everything that will run, so that any change is noticed."""
    from errands.model.text.blake2 import blake2b

    facts: tuple[object, ...]
    if isinstance(action, Prompt):
        # Newer fields are left out where they are empty, so that older questions keep their digest.
        later = [name for name in ("watch", "allow", "allow_tools", "host") if not getattr(action, name)]
        left_out = ("environment", "read_only", "cwd_is_named", *later)
        facts = tuple(_ordered(getattr(action, name)) for name in fields(action) if name not in left_out)
        if evidence is not None:
            facts = (*facts, _plain(evidence))
        return blake2b(plain_text(facts).encode(), digest_size=16).hexdigest()
    facts = (
        action.commands,
        action.cwd,
        sorted(action.env.items()),
        action.before,
        action.lastly,
        action.input,
        None if action.sandbox is None else (action.sandbox.writable, action.sandbox.network),
        None if evidence is None else _plain(evidence),
        *([action.watch] if action.watch else []),
        *([["host", action.host]] if action.host else []),
    )
    return blake2b(plain_text(facts).encode(), digest_size=16).hexdigest()


def is_contained(task: Task) -> bool:
    """Return whether a task runs in a sandbox without approval; an approval takes the walls away."""
    return task.verdict == "contained" and task.approved_by == BY_JUDGE


def is_unasked(task: Task) -> bool:
    """Return whether a task runs without an approval, which could expire or be outdated."""
    return task.verdict == "auto" or (task.verdict == "contained" and task.approved_by in (BY_JUDGE, BY_MODE))


def way_in(
    judgement: Judgement, consent: Consent, *, yes: bool, is_trusting: bool = False, is_placed: bool = False
) -> Way | None:
    """Return why a task may start at once; None if it needs approval first.

    A person who typed it is asked again only about what cannot be undone and about what changes something on
    other hosts or outside of the project; `yes` is whether the configuration lets callers approve for
    themselves, `is_trusting` whether it trusts the project's own work without walls. What is placed on
    another host is judged there, and that host wants to know who consented.
    """
    if is_placed and (consent == "typed" or (consent == "yes" and yes)):
        return consent
    if judgement.verdict == "auto":
        return "judge"
    if judgement.verdict in ("ask", "contained"):
        if consent == "typed" and not judgement.lasting and not judgement.is_outward:
            return "typed"
        if consent == "yes" and yes:
            return "yes"
    if judgement.verdict == "contained" and not (consent == "typed" and judgement.is_outward):
        return "mode" if is_trusting else "judge"
    return None


def _plain(evidence: Evidence) -> dict[str, object]:
    return {
        "files": dict(sorted(evidence.files.items())),
        "programs": dict(sorted(evidence.programs.items())),
        "links": dict(sorted(evidence.links.items())),
        "indexes": dict(sorted(evidence.indexes.items())),
        "path": evidence.path,
    }


def _ordered(value: object) -> object:
    return sorted(value.items()) if isinstance(value, dict) else value
