"""Agent processes that are killed at every step, one after the other, and those that continue after them.

python -m tests.agents.builtin_mortal SETTINGS FOLDER TEXT prints a JSON object for each step.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from errands.agents.builtin import Builtin
from errands.agents.builtin.project import Project
from errands.model.record import evolve
from errands.ports.agent import Activity, CommandResult, Decision, ToolCall
from errands.testing.agent_context import SPEC, RecordingContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


class MortalContext(RecordingContext):
    """A context that kills its process before or after the nth call."""

    left = -1

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def report(self, event: Activity) -> None:
        self.step()
        super().report(event)

    async def request_approval(self, call: ToolCall) -> Decision:
        self.step()
        decision = await super().request_approval(call)
        self.step()
        return decision

    async def run_command(self, call_id: str, line: str) -> CommandResult:
        self.step()
        ran = await super().run_command(call_id, line)
        self.step()
        return ran

    async def wait_turn(self) -> None:
        self.step()
        await super().wait_turn()

    def append_messages(self, session: str, messages: Sequence[str]) -> None:
        self.step()
        super().append_messages(session, messages)
        self.step()


def witnessed(project: Path) -> None:
    """Have every write to a file leave a trace of its own: the second one would not change the file."""
    write = Project.write

    def traced(self: Project, path: str, content: str) -> str:
        with (project / "writes").open("a") as file:
            file.write(f"{path}\n")
        return write(self, path, content)

    Project.write = traced  # type: ignore[method-assign]


def process(act: Callable[[], Any]) -> int:
    """Do something in a process of its own; give how it ended, as `wait` does."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  # the edge of a process
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def sit_down(settings: dict[str, Any], folder: Path, text: str, step: int, *, again: bool) -> None:
    """Answer a prompt, or go on with it, until the end or the given step."""
    witnessed(folder / "project")
    asyncio.run(answer(settings, folder, text, step, again=again))


async def answer(settings: dict[str, Any], folder: Path, text: str, step: int, *, again: bool) -> None:
    context = MortalContext(folder / "context", spec=evolve(SPEC, cwd=str(folder / "project")))
    agent = Builtin({**settings, "home": str(folder)})
    session = context.session if again else await agent.open(context)
    context.left = step
    said = await (agent.recover if again else agent.prompt)(session, text, context)
    (folder / "answer").write_text(said.text)


def main(settings: str, place: str, text: str) -> None:
    # Loads once what all of them need: the libraries put off much of their work to the first answer.
    (Path(place) / "first" / "project").mkdir(parents=True)
    asyncio.run(answer(json.loads(settings), Path(place) / "first", text, -1, again=False))
    step, ended = 0, -1
    while ended != 0:
        step += 1
        folder = Path(place) / str(step)
        (folder / "project").mkdir(parents=True)

        def next_one(at: int, *, again: bool, folder: Path = folder) -> int:
            return process(lambda: sit_down(json.loads(settings), folder, text, at, again=again))

        ended = next_one(step, again=False)
        deaths = [ended, next_one(6, again=True), next_one(-1, again=True)]
        print(json.dumps({"step": step, "deaths": deaths}), flush=True)
        assert step < 500, "it never ends"


if __name__ == "__main__":
    main(*sys.argv[1:])
