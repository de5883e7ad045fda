"""A client: a process that launches, cancels, restarts and clears tasks, as its part of the plan says.

It may be killed at any time; started again, it continues with the acts that were not answered. Launches are
safe to repeat because they have keys; a restart that was not answered is left alone.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from errands import bootstrap, config
from errands.engine.engine import Engine
from errands.model.errors import DaemonError, IllegalMove, NotFound, StillLive, StoreError
from errands.model.options.draft import Draft
from tests.chaos import history, kill_points, mutants, plan, witness
from tests.chaos.planned_task import PlannedTask
from tests.chaos.processes import wait_until
from tests.chaos.zygote import DIES_AT

if TYPE_CHECKING:
    from errands.model.notices.notice import Policy
    from errands.model.task import Priority

PAUSE = 0.05
PATIENCE = 60.0
IMPATIENCE = 3.0  # a task that is still live then stays so for long


class Client:
    def __init__(self, base: str, number: int, began: float) -> None:
        with open(f"{base}/plan.json") as file:
            self._plan = plan.read(file.read())
        self._deeds = {planned.token: planned for planned in self._plan.planned_tasks}
        self._base = base
        self._answers = history.read(base)
        self._history = history.History(f"{base}/history.{number}")
        self._number = number
        self._began = began
        self._witness = os.environ["CHAOS_WITNESS"]
        self._environ = {name: value for name, value in os.environ.items() if name != kill_points.VARIABLE}

    def run(self) -> None:
        self._engine: Engine = bootstrap.open_engine(config=config.load(cwd="/"), consent="yes")
        for number, act in enumerate(self._plan.acts):
            if act.client != self._number or number in self._answers.answered:
                continue
            time.sleep(max(0.0, self._began + act.at - time.monotonic()))
            self._do(number, act)

    def _do(self, number: int, act: plan.Act) -> None:
        again = number in self._answers.asked
        if act.verb == "ensure":
            self._ensure()
            return
        if act.verb == "restart" and again:
            return  # it may have been restarted; asking again could be once too often
        self._await(act)
        give_up = time.monotonic() + (IMPATIENCE if act.verb in ("restart", "clear") else PATIENCE)
        self._history.write("ask", number)
        while True:
            try:
                ids = self._carry_out(act)
                self._history.write("answer", number, ids=ids)
                for token, task_id in ids.items():
                    self._answers.ids.setdefault(token, set()).add(task_id)
                return
            except (StoreError, StillLive, IllegalMove, NotFound) as error:
                self._history.write("refusal", number, error=str(error))
                if time.monotonic() > give_up or isinstance(error, NotFound):
                    return
                time.sleep(PAUSE)

    def _await(self, act: plan.Act) -> None:
        match act.when:
            case "running":
                wait_until(lambda: witness.have_started(self._witness, act.tokens), within=PATIENCE)
            case "down":
                wait_until(lambda: not self._engine.bell.ring(), within=PATIENCE)
            case "faults done":
                wait_until(lambda: os.path.exists(f"{self._base}/{plan.FAULTS_DONE}"), within=PATIENCE)

    def _carry_out(self, act: plan.Act) -> dict[str, str]:
        if act.verb == "submit":
            drafts = [self._draft(self._deeds[token]) for token in act.tokens]
            witness.say(self._witness, "asked", act.tokens)
            views = self._engine.submit_all(drafts)
            witness.say(self._witness, "known", act.tokens)
            return dict(zip(act.tokens, (view.id for view in views), strict=True))
        ids = [self._id(token) for token in act.tokens]
        match act.verb:
            case "cancel":
                self._engine.cancel(ids)
            case "restart":
                if not self._engine.store.ended(ids[0]):
                    raise StillLive("not yet")
                self._engine.restart(ids[0])
            case "clear":
                self._engine.clear(ids)
        return {}

    def _id(self, token: str) -> str:
        for task_id in self._answers.ids.get(token, ()):
            return task_id
        raise NotFound(f"the launch of {token} was never answered")

    def _draft(self, planned: PlannedTask) -> Draft:
        priority: Priority = planned.priority  # type: ignore[assignment]  # the plan writes it as text
        notify: Policy = planned.notify  # type: ignore[assignment]
        dies = {DIES_AT: planned.dies_at} if planned.dies_at else {}
        return Draft(
            command=planned.words,
            name=planned.token,
            cwd="/",
            environ=self._environ,
            env={"CHAOS_TOKEN": planned.token, **dies},
            lane=planned.lane,
            priority=priority,
            after=tuple(self._id(token) for token in planned.after),
            at=datetime.now(UTC) + timedelta(seconds=planned.delay) if planned.delay else None,
            key=planned.key,
            owner=planned.owner,
            notify=notify,
            timeout=None if planned.timeout is None else timedelta(seconds=planned.timeout),
            output=planned.cap,
            grace=timedelta(seconds=planned.grace),
        )

    def _ensure(self) -> None:
        """Ensure that a daemon runs, as every command does."""
        try:
            if not self._engine.bell.is_answered():
                bootstrap.start_daemon(self._engine.home)
        except DaemonError as error:
            print(f"no daemon: {error}", flush=True)


if __name__ == "__main__":
    mutants.break_engine()
    kill_points.arm(kill_points.CLIENT_POINTS)
    Client(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])).run()
