"""What keys do to tasks: the verbs of the engine, and what is said about each."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from errands.engine.actor import actor
from errands.engine.approval.answers import answers_to
from errands.engine.engine import Engine
from errands.frontends.tools.reopened_question import for_approval
from errands.model.errors import ErrandsError, StoreError
from errands.model.options.draft import Draft
from errands.model.text.answers import NO, ONCE, Answer, approved, rejected
from errands.model.view import View
from errands.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.approval import Scope

DOOR = "top"


class Actions:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._who = actor()

    def cancel(self, ids: Sequence[str]) -> str:
        self._engine.cancel(ids, by=self._who)
        return f"cancelled {_named(ids)}"

    def restart(self, ids: Sequence[str]) -> str:
        """Run tasks again; each is judged like every start: the person may not have read it."""
        return self._each(ids, "restarted", lambda each: self._engine.restart(each, door=DOOR))

    def pause(self, ids: Sequence[str]) -> str:
        """Pause what is running, and continue what is paused."""
        said = []
        for view in self._engine.summaries(ids):
            paused = view.state == "paused" if view.standing is not None else view.is_paused or view.is_held
            if paused:
                self._engine.queue.unpause(view.id)
            else:
                self._engine.queue.pause(view.id, by=self._who)
            said.append("unpaused" if paused else "paused")
        word = said[0] if len(set(said)) == 1 else "paused or unpaused"
        return f"{word} {_named(ids)}"

    def fire(self, ids: Sequence[str]) -> str:
        return self._each(ids, "runs now:", self._engine.schedules.fire)

    def clear(self, ids: Sequence[str]) -> str:
        return f"removed {plural(len(self._engine.clear(ids)), 'task')}"

    def resume(self, task_id: str, prompt: str) -> str:
        self._engine.sessions.resume(task_id, prompt)
        return f"asked {task_id}"

    def start(self, text: str) -> tuple[View, str]:
        """Start a command, or after `>` a prompt, in the directory of the viewer; it is judged like any."""
        prompt = text.strip().removeprefix(">").strip()
        if text.strip().startswith(">"):
            draft = Draft(prompt=prompt, cwd=os.getcwd(), door=DOOR)
            view = self._engine.sessions.ask(draft)
        else:
            view = self._engine.submit(Draft(command=text.strip(), cwd=os.getcwd(), door=DOOR))
        if view.state == "proposed":
            return view, "it waits for your answer: read all of it; then y approves and n rejects"
        return view, f"started {view.id}"

    def send(self, task_id: str, text: str) -> str:
        self._engine.send(task_id, text.encode("utf-8", "replace") + b"\n")
        return f"sent to {task_id}"

    def set_lane(self, name: str, width: int | None) -> str:
        lane = self._engine.queue.set_lane(name, width, by=self._who)
        return f"lane {lane.name} is {lane.width} wide"

    # Questions.

    def question(self, task_id: str) -> tuple[View, tuple[Answer, ...]]:
        """Return the task that an answer is for, and what it offers; nothing if it was rejected."""
        view = self._engine.get(self._engine.answer_target(task_id))
        if view.state == "rejected":
            return view, ()
        if view.question is None:
            return view, (ONCE, NO)
        return view, answers_to(self._engine, view.question)

    def ask_anew(self, view: View) -> str:
        """Ask a new question about a rejected task, as it is now."""
        for_approval(self._engine, view.id, by=self._who, door=DOOR)
        return f"{view.id} was rejected; this is a new question about it"

    def approve(self, view: View, scope: Scope, number: int | None) -> str:
        """Approve exactly the question that was shown."""
        self._engine.approve(view.id, by=self._who, door=DOOR, scope=scope, question=number)
        return approved(view.id, view.state, scope)

    def reject(self, view: View, note: str, number: int | None) -> str:
        self._engine.reject(view.id, by=self._who, door=DOOR, note=note, question=number)
        return rejected(view.id, view.state)

    def _each(self, ids: Sequence[str], word: str, act: Callable[[str], object]) -> str:
        """Do the same to every task; a refusal does not stop the others."""
        done, refused = [], ""
        for each in ids:
            try:
                act(each)
                done.append(each)
            except StoreError:
                raise
            except ErrandsError as error:
                if len(ids) == 1:
                    raise
                refused = refused or f"; {error}"
        return f"{word} {_named(done)}{refused}"


def _named(ids: Sequence[str]) -> str:
    return ids[0] if len(ids) == 1 else plural(len(ids), "task")
