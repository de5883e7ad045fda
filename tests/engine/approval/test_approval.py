"""Approval: what is not proven harmless visibly waits for a person and is answered once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from errands.bootstrap import open_engine
from errands.config import load
from errands.engine.approval.questions import expire
from errands.engine.engine import Engine
from errands.model.errors import AlreadyResolved, BadValue, Denied, IllegalMove, NotAPerson
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.view import View, as_json, exit_code
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import TestEngine, embedded, until

PERSON: dict[str, Any] = {"by": "ada", "door": "terminal"}
HARMLESS = Draft(command=("true",))

if TYPE_CHECKING:
    from errands.model.approval import Consent


@pytest.fixture
def configured(home: Home) -> Iterator[Callable[..., Engine]]:
    """Open engines with some configuration keys set."""
    opened: list[Engine] = []

    def open_with(keys: Mapping[str, str], consent: Consent = "none") -> Engine:
        opened.append(open_engine(home, load(overrides=keys), consent=consent))
        return opened[-1]

    yield open_with
    for engine in opened:
        engine.close()


@pytest.mark.spec("A1", "A5", "A7")
def test_a_harmless_command_starts_at_once_on_the_judges_approval(asking: Engine) -> None:
    view = asking.submit(HARMLESS)

    assert (view.state, view.verdict, view.approved_by) == ("pending", "auto", "judge")
    assert view.approved_at == view.created_at
    assert asking.approvals(view.id) == []


@pytest.mark.spec("A4", "A11", "D1")
@pytest.mark.trap(65)
@pytest.mark.trap(66)
def test_a_task_that_needs_approval_is_stored_as_proposed(asking: Engine, harm: Draft) -> None:
    view = asking.submit(harm)
    flat = as_json(asking.get(view.id))

    assert (view.state, view.task_state, view.approved_by, exit_code(view)) == (
        "proposed",
        "proposed",
        None,
        4,
    )
    assert view.question is not None
    assert view.question.expires_at - view.question.asked_at == timedelta(days=7)
    assert flat["commands"] == [list(harm.command)]
    assert (flat["approval"], flat["approved_at"]) == (view.question.id, None)
    assert flat["reasons"][0]["undo"] == "no"
    assert [each.state for each in asking.list(Query(states=("proposed",)))] == ["proposed"]
    assert asking.list(Query(states=("pending",))) == []
    assert asking.store.counts()["proposed"] == 1


@pytest.mark.spec("A11")
@pytest.mark.trap(8)
async def test_the_owner_of_a_proposal_is_notified_once_and_the_notice_carries_no_consent(
    engine: TestEngine, asking: Engine, harm: Draft
) -> None:
    view = asking.submit(Draft(command=harm.command, owner="chat-1", notify="never"))
    [notice] = await engine.take_notices("chat-1")
    body = json.loads(notice.body)

    assert (notice.event, body["state"], body["task"]) == ("proposed", "proposed", view.id)
    assert view.question is not None
    assert body["approval"] == view.question.id
    assert "cannot be undone" in body["error"]
    assert await engine.take_notices("chat-1") == []
    # An answer that comes from a notice or an agent never counts.
    for by, door in (
        ("ada", "notice"),
        ("ada", "toolset"),
        ("", "terminal"),
        ("run x.1", "cli"),
        ("judge", "cli"),
    ):
        with pytest.raises(NotAPerson):
            asking.approve(view.id, by=by, door=door)
    assert asking.get(view.id).state == "proposed"


@pytest.mark.spec("A5", "A7", "A10")
async def test_an_approval_starts_the_task_and_records_who_when_and_where(
    engine: TestEngine, asking: Engine, harm: Draft
) -> None:
    view = asking.submit(harm)
    before = datetime.now(UTC)
    approved = engine.engine.approve(view.id, **PERSON)
    ended = await engine.wait(view.id)
    found = await engine.get(view.id)

    assert (approved.approved_by, approved.door) == ("ada", "terminal")
    assert approved.approved_at is not None
    assert approved.approved_at >= before
    assert ended.state == "completed"
    assert not os.path.exists(harm.command[1])
    log = Path(ended.latest.output_file).read_text()
    assert "# approved  by ada, " in log
    assert "(terminal)" in log
    assert [event.name for event in await engine.events(view.id)][:3] == ["queued", "proposed", "approved"]
    assert (found.details or {})["approvals"][0]["by"] == "ada"


@pytest.mark.spec("A5", "D1")
@pytest.mark.trap(65)
async def test_a_rejected_task_never_starts_and_disappears_from_lists(
    engine: TestEngine, asking: Engine, harm: Draft
) -> None:
    view = asking.submit(harm)
    rejected = engine.engine.reject(view.id, by="ada", door="terminal", note="not today")
    notices = await engine.take_notices()

    assert (rejected.state, rejected.latest.state, exit_code(rejected)) == ("rejected", "cancelled", 4)
    assert rejected.latest.error == "rejected by ada: not today"
    assert await engine.list() == []
    assert await engine.list(states=("cancelled",)) == []
    assert [each.id for each in await engine.list(states=("rejected",))] == [view.id]
    assert [notice.event for notice in notices] == ["proposed", "rejected"]
    assert os.path.exists(harm.command[1])
    with pytest.raises(IllegalMove, match="is rejected"):
        await engine.restart(view.id)


@pytest.mark.spec("A5")
@pytest.mark.parametrize("is_expired", [False, True], ids=["rejected", "expired"])
async def test_a_rejected_task_can_be_approved_later_with_a_new_question(
    engine: TestEngine, asking: Engine, harm: Draft, is_expired: bool
) -> None:
    view = asking.submit(harm)
    if is_expired:
        with asking.store:
            expire(asking.store, now=engine.now() + timedelta(days=8))
    else:
        asking.reject(view.id, **PERSON)
    assert asking.summaries([view.id])[0].state == "rejected"
    with pytest.raises(NotAPerson):
        asking.ask_anew(view.id, by="run x.1", door="terminal")

    asked = asking.ask_anew(view.id, **PERSON)
    with pytest.raises(IllegalMove, match="is proposed, not rejected"):
        asking.ask_anew(view.id, **PERSON)
    assert asked.question is not None
    asking.approve(view.id, **PERSON, question=asked.question.id)

    assert (await engine.wait(view.id)).state == "completed"
    assert not os.path.exists(harm.command[1])
    first, second = asking.store.approvals(view.id)
    assert (first.state, second.state) == ("expired" if is_expired else "refused", "granted")
    assert (first.run, second.run) == (1, 2)


@pytest.mark.spec("A5")
async def test_a_harmless_task_that_was_rejected_waits_for_the_answer_to_the_new_question(
    engine: TestEngine, asking: Engine
) -> None:
    view = asking.submit(Draft(command="true", propose=True))
    asking.reject(view.id, **PERSON)

    asked = asking.ask_anew(view.id, **PERSON)

    assert (asked.state, asked.latest.state) == ("proposed", "pending")
    assert asked.question is not None
    asking.approve(view.id, **PERSON, question=asked.question.id)
    assert (await engine.wait(view.id)).approved_by == PERSON["by"]


@pytest.mark.spec("A12")
def test_a_typed_command_asks_again_only_about_what_lasts_or_reaches_outside(
    asking: Engine, harm: Draft, tmp_path: Path
) -> None:
    def typed(command: Any) -> View:
        return asking.submit(Draft(command=command, cwd=str(tmp_path), consent="typed", door="terminal"))

    made, deleted = typed("date > x; git fetch"), typed(harm.command)
    for line in ("git push", "curl -d a=b https://example.org", "date > ../x", "sed -i s/a/b/ /etc/hosts"):
        assert typed(line).state == "proposed", line
    [grant] = asking.approvals(made.id)

    assert (made.state, made.door) == ("pending", "terminal")
    assert made.approved_by == made.created_by
    assert (grant.state, grant.by, grant.digest) == (
        "granted",
        made.approved_by,
        asking.store.task(made.id).digest,
    )
    assert deleted.state == "proposed"


@pytest.mark.spec("A12")
def test_a_callers_yes_flag_is_recorded_as_such(asking: Engine, client: Engine, harm: Draft) -> None:
    spoken = asking.submit(Draft(command=harm.command, consent="yes", door="cli", environ={"USER": "ada"}))
    program = client.submit(harm)

    assert (spoken.state, spoken.approved_by) == ("pending", "ada (--yes)")
    assert (program.state, program.approved_by) == ("pending", "python (--yes)")


@pytest.mark.spec("A12")
def test_the_configuration_can_disable_the_yes_flag(configured: Callable[..., Engine], harm: Draft) -> None:
    strict = configured({"approval.yes": "false"}, consent="yes")

    view = strict.submit(harm)

    assert view.state == "proposed"
    assert strict.submit(HARMLESS).state == "pending"
    for door in ("cli", "python"):
        with pytest.raises(NotAPerson, match=r"approval\.yes is false"):
            strict.approve(view.id, by="ada", door=door)
    assert strict.approve(view.id, by="ada", door="web").state == "pending"


@pytest.mark.spec("A10", "A12")
def test_a_yes_flag_from_before_it_was_disabled_does_not_approve_a_restart(
    asking: Engine, configured: Callable[..., Engine], harm: Draft
) -> None:
    view = asking.submit(evolve(harm, consent="yes"))
    asking.cancel([view.id])
    again = configured({"approval.yes": "false"}).restart(view.id)
    asking.approve(view.id, **PERSON)
    asking.cancel([view.id])

    assert again.state == "proposed"
    assert configured({"approval.yes": "false"}).restart(view.id).approved_by == "ada"


@pytest.mark.spec("A9")
def test_a_deny_rule_wins_over_everything(
    asking: Engine, configured: Callable[..., Engine], harm: Draft
) -> None:
    asked = asking.submit(harm)
    strict = configured({"approval.deny": "rm *; true"}, consent="yes")

    for draft in (
        harm,
        HARMLESS,
        Draft(command="sh -c 'rm x'"),
        Draft(command="true && rm x", consent="typed"),
    ):
        with pytest.raises(Denied, match=r"a rule forbids it: (rm|true)") as refused:
            strict.submit(draft)
        assert refused.value.exit_code == 4
    with pytest.raises(Denied):
        strict.approve(asked.id, **PERSON)
    assert [view.id for view in strict.list(Query())] == [asked.id]


@pytest.mark.spec("A9")
def test_rules_can_allow_and_ask(configured: Callable[..., Engine]) -> None:
    engine = configured({"approval.allow": "touch *", "approval.ask": "true"})

    assert engine.submit(Draft(command=("touch", "x"))).approved_by == "judge"
    assert engine.submit(HARMLESS).state == "proposed"


@pytest.mark.spec("D1")
def test_a_proposed_task_waits_even_if_it_is_harmless(asking: Engine) -> None:
    view = asking.submit(Draft(command=("true",), propose=True, consent="yes"))

    assert (view.state, view.verdict) == ("proposed", "auto")
    assert asking.approve(view.id, **PERSON).state == "pending"


@pytest.mark.spec("A10")
def test_a_person_can_always_approve_exactly_this_command(asking: Engine, harm: Draft) -> None:
    asking.approve(asking.submit(harm).id, scope="always", **PERSON)
    repeated = {**os.environ, "PATH": os.environ["PATH"] + ":/bin"}
    again = asking.submit(Draft(command=harm.command, environ=repeated))
    assert (again.state, again.approved_by) == ("pending", "ada (always)")
    assert asking.submit(Draft(command=(*harm.command, "x"))).state == "proposed"
    assert asking.submit(Draft(command=harm.command, env={"A": "b"})).state == "proposed"


@pytest.mark.spec("A10")
def test_an_always_approved_command_does_not_load_anything_unseen(asking: Engine, harm: Draft) -> None:
    asking.approve(asking.submit(harm).id, scope="always", **PERSON)
    preloaded = {**os.environ, "LD_PRELOAD": "/nowhere/x.so"}
    view = asking.submit(Draft(command=harm.command, environ=preloaded))
    task = asking.store.task(view.id)

    assert view.approved_by == "ada (always)"
    assert "LD_PRELOAD" not in asking.store.environment(task.action.environment)
    assert "LD_PRELOAD" in task.removed.split()


@pytest.mark.spec("A10")
@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'rm x'",
        ("env", "rm", "x"),
        ("python3", "-c", "1"),
        ("./x",),
        "rm $X",
        "uv run x",
        "npx x",
        "pip install .",
    ],
)
def test_a_command_that_may_differ_each_time_cannot_be_always_approved(
    asking: Engine, command: str | tuple[str, ...]
) -> None:
    view = asking.submit(Draft(command=command, propose=True))
    with pytest.raises(BadValue, match="--always"):
        asking.approve(view.id, scope="always", **PERSON)
    assert asking.get(view.id).state == "proposed"


def test_a_proposed_task_can_be_cancelled_which_voids_its_question(asking: Engine, harm: Draft) -> None:
    view = asking.submit(harm)
    [cancelled] = asking.cancel([view.id])

    assert (cancelled.state, cancelled.task_state) == ("cancelled", "cancelled")
    assert [each.state for each in asking.approvals(view.id)] == ["void"]
    with pytest.raises(AlreadyResolved, match="was already withdrawn"):
        asking.approve(view.id, **PERSON)


@pytest.mark.spec("L14", "A5")
async def test_dependents_of_a_proposal_follow_its_approval_or_rejection(
    engine: TestEngine, asking: Engine, harm: Draft
) -> None:
    good, bad = asking.submit(harm), asking.submit(Draft(command=("rm", "/nowhere/x")))
    later = asking.submit(Draft(command=("true",), after=(good.id,)))
    never = asking.submit(Draft(command=("true",), after=(bad.id,)))
    held = asking.submit(Draft(command=("rm", "/nowhere/y"), after=(bad.id,)))
    asking.reject(bad.id, **PERSON)
    asking.approve(good.id, **PERSON)

    assert (await engine.wait(later.id)).state == "completed"
    skipped = await engine.wait(never.id)
    assert (skipped.state, skipped.latest.error) == ("skipped", f"it waited for {bad.id} (rejected)")
    assert asking.get(held.id).state == "skipped"
    assert [each.state for each in asking.approvals(held.id)] == ["void"]
    late = asking.submit(Draft(command=("true",), after=(bad.id,)))
    assert (late.state, late.latest.error) == ("skipped", f"it waited for {bad.id} (rejected)")


@pytest.mark.spec("A10", "A11")
@pytest.mark.trap(67)
async def test_an_unanswered_question_expires_and_its_owner_is_notified(home: Home, harm: Draft) -> None:
    async with embedded(home.path, yes=False, **{"approval.expires": "300ms"}) as engine:
        view = await engine.submit(harm)
        await until(lambda: engine.engine.get(view.id).state == "rejected")
        expired = await engine.get(view.id)
        notices = await engine.take_notices()

    assert "not answered" in (expired.latest.error or "")
    assert [notice.event for notice in notices] == ["proposed", "rejected"]
    assert os.path.exists(harm.command[1])


@pytest.mark.spec("A10")
@pytest.mark.trap(67)
def test_a_late_answer_is_refused_even_while_no_daemon_runs(
    configured: Callable[..., Engine], harm: Draft
) -> None:
    engine = configured({"approval.expires": "20ms"})
    view = engine.submit(harm)
    time.sleep(0.03)
    with pytest.raises(AlreadyResolved, match="because it was not answered"):
        engine.approve(view.id, **PERSON)

    assert engine.get(view.id).state == "rejected"


@pytest.mark.spec("A10")
async def test_an_approval_that_is_not_used_in_time_is_void(home: Home, asking: Engine, harm: Draft) -> None:
    view = asking.submit(harm)
    asking.approve(view.id, **PERSON)
    time.sleep(0.05)
    async with embedded(home.path, yes=False, **{"approval.expires": "40ms"}):
        await until(lambda: asking.approvals(view.id)[0].state == "void")
        assert "did not start in time" in asking.approvals(view.id)[1].reasons[-1].text
        assert os.path.exists(harm.command[1])
