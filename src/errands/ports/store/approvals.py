"""The part of the store about approvals: questions, their answers, and what was approved for good."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.approval import Approval, ApprovalState, AuditEntry, Scope, StandingApproval
    from errands.model.run import Run
    from errands.model.task import Task
    from errands.model.verdict import Reason

    class ApprovalStore(Protocol):
        def ask(
            self,
            task: Task,
            run: int,
            reasons: Sequence[Reason],
            *,
            now: datetime,
            expires_at: datetime,
            granted: Scope | None = None,
        ) -> Approval:
            """Add a question about a task; `granted` if the answer was given before it was asked."""

        def question(self, task_id: str) -> Approval | None:
            """Return the question about a task that waits for an answer."""

        def approvals(
            self, task_id: str | None = None, *, expired_by: datetime | None = None
        ) -> list[Approval]:
            """List the questions about one task, oldest first, or about all tasks, newest first.

            With `expired_by`, list only those that wait for an answer and had expired by then.
            """

        def audit(self, task_id: str | None = None, *, limit: int | None = None) -> list[AuditEntry]:
            """List what was asked, newest first: about all tasks, or about one and what its runs started.

            Questions about removed tasks are included, until they are purged.
            """

        def resolve_removed(self, prefix: str) -> str:
            """Complete a unique prefix of the id of a removed task that the audit knows."""

        def answer(
            self,
            approval_id: int,
            state: ApprovalState,
            *,
            by: str,
            door: str,
            now: datetime,
            note: str = "",
            scope: Scope = "once",
        ) -> bool:
            """Answer a question; False when it was answered before."""

        def task_approvals(self, task_id: str) -> list[Approval]:
            """List the approvals in force for a whole task: of it, and of what its runs started."""

        def withdraw_task_approvals(self, task_id: str) -> int:
            """End the approvals for a whole task; return how many there were."""

        def recent_refusals(self, *, since: datetime) -> list[str]:
            """Return what a person refused: name, description and command or prompt, a line each."""

        def grant(self, task_id: str, *, by: str, door: str, now: datetime) -> None:
            """Make a proposed task active, and release its run."""

        def hold(self, run: Run, *, now: datetime) -> bool:
            """Make a task proposed again and hold its run, which has not started; answers so far are void.

            False when the task has ended.
            """

        def rejudge(self, task: Task, *, now: datetime) -> bool:
            """Replace the verdict on a task, and who approved it.

            False when it is neither active nor proposed.
            """

        def add_standing_approval(self, task: Task, *, by: str, now: datetime) -> None:
            """Approve exactly what this task runs for good."""

        def standing_approvals(self, digest: str | None = None) -> list[StandingApproval]:
            """List what was approved for good, the latest first, or only the approval of one digest."""

        def remove_standing_approval(self, digest: str) -> bool:
            """Withdraw a standing approval; False if it does not exist."""
