"""An agent context that records what the agent did.

It lives in a folder, so that a test can kill the agent's process and continue with the same context.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from errands.model.record import fields
from errands.ports.agent import Activity, CommandResult, Decision, Spec, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import BackgroundTools

SPEC = Spec(agent="tested", cwd="/", system="You are executing a background task. Prove the contract.")


def yes(call: ToolCall) -> Decision:
    return Decision(allowed=True)


def no(call: ToolCall) -> Decision:
    return Decision(allowed=False, reason="the person said no")


class RecordingContext:
    def __init__(
        self,
        folder: Path,
        *,
        spec: Spec | None = None,
        session: str = "task:tested-222222",
        run: str = "tested-222222.1",
        decide: Callable[[ToolCall], Decision] = yes,
    ) -> None:
        self.folder = folder
        self.spec = spec or SPEC
        self.session = session
        self.run = run
        self.background: BackgroundTools | None = None
        self.decide = decide
        self.notes: list[Activity] = []
        self.asked: list[ToolCall] = []
        self.turns = 0
        self.open_gate = asyncio.Event()
        self.open_gate.set()
        for name in ("sessions", "commands"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def report(self, event: Activity) -> None:
        self.notes.append(event)
        with (self.folder / "notes").open("a") as file:
            file.write(f"{event.kind} {event.name} {event.call_id}\n")

    async def request_approval(self, call: ToolCall) -> Decision:
        self.asked.append(call)
        with (self.folder / "asked").open("a") as file:
            file.write(f"{call.id} {call.tool} {call.command or ''}\n")
        return self.decide(call)

    async def run_command(self, call_id: str, line: str) -> CommandResult:
        """Run the line for real, at most once per call and run."""
        place = self.folder / "commands" / f"{self.run}:{call_id}".replace("/", "_")
        if not place.exists():
            decision = await self.request_approval(
                ToolCall(id=call_id, tool="command", arguments={}, command=line)
            )
            if not decision.allowed:
                return CommandResult(state="rejected", error=decision.reason)
            place.touch()
            # Like a task, it continues when the agent's process is killed.
            shell = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                f'cd "$1" || exit; ( {line}\n) >"$2.out" 2>&1; echo $? >"$2.code"',
                "sh",
                self.spec.cwd,
                str(place),
                start_new_session=True,
            )
            try:
                await shell.wait()
            except asyncio.CancelledError:
                os.killpg(shell.pid, signal.SIGKILL)
                await shell.wait()
                raise
        while not (code := Path(f"{place}.code")).exists() or not code.read_text():
            await asyncio.sleep(0.01)
        number = int(code.read_text())
        return CommandResult(
            state="failed" if number else "completed",
            output=Path(f"{place}.out").read_text(),
            code=number,
            task=f"child-{call_id}",
        )

    async def wait_turn(self) -> None:
        self.turns += 1
        await self.open_gate.wait()

    def messages(self, session: str) -> Sequence[str] | None:
        try:
            lines = self._place(session).read_text().splitlines()
        except FileNotFoundError:
            return None
        return [each for line in lines for each in json.loads(line)]

    def append_messages(self, session: str, messages: Sequence[str]) -> None:
        for each in messages:
            json.loads(each)
        with self._place(session).open("a") as file:
            file.write(json.dumps(list(messages)) + "\n")

    def delete_messages(self, session: str) -> None:
        self._place(session).unlink(missing_ok=True)

    def tools(self) -> list[str]:
        """Return the names of the tools that were called, in order."""
        return [each.name for each in self.notes if each.kind == "tool"]

    def used(self, name: str) -> int:
        """Add up a kind of usage over all reports."""
        return sum(each.usage.get(name, 0) for each in self.notes if each.kind == "usage")

    def _place(self, session: str) -> Path:
        return self.folder / "sessions" / session.replace("/", "_")


def spec_text(spec: Spec) -> str:
    """Serialise a spec as JSON, for another process."""
    return json.dumps({name: getattr(spec, name) for name in fields(spec)})


def spec_from(text: str) -> Spec:
    values = json.loads(text)
    if values["tools"] is not None:
        values["tools"] = tuple(values["tools"])
    return Spec(**values)
