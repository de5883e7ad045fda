"""Tasks of other homes: the verbs for an id that is unknown here but known to the fleet.

Loaded only in a home that belongs to a fleet, and only for such an id.
"""

from __future__ import annotations

import time
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from errands.engine.approval.question_facts import is_hidden
from errands.engine.fleet import far_task, member
from errands.engine.fleet.outlook import why_it_waits
from errands.frontends.cli.approval.confirm import DECLINED, agrees
from errands.frontends.cli.display.far_tasks import flat, joined, last_lines, mask_of, pairs, print_pieces
from errands.frontends.cli.fleet_calls import REPLIES, FleetCalls
from errands.frontends.cli.live.output_filter import Bare, OutputFilter
from errands.frontends.cli.parser import Arguments, Usage
from errands.model.approval import chosen_scope
from errands.model.errors import FleetUnreachable, IllegalMove, never_ends
from errands.model.text.answers import NO, ONCE, prompt
from errands.model.text.sanitise import line
from errands.model.view import STILL_LIVE, plain_fields
from errands.ports.output import Piece
from errands.text import facts, last_output, titled
from errands.text.question import question as laid_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from errands.ports.fleet import Fleet, FoundRun, Wish


class FleetTasks(FleetCalls):
    def show(self, given: str, arguments: Arguments) -> int:
        async def read(fleet: Fleet) -> tuple[FoundRun, list[tuple[int, bytes]], str]:
            run = await self._find(fleet, given)
            return run, await far_task.output(fleet, run), await why_it_waits(fleet, run)

        run, pieces, why = self._ask(read)
        context, look = self._context, self._context.look
        count = context.config.runs.tail_lines if arguments.lines is None else arguments.lines
        tail = last_lines(pieces, count)
        shown = mask_of(run).output(
            tail.content, before=tail.before, after=b"", colour=look.colour and not arguments.json
        )
        if arguments.json:
            context.print_json({**flat(run), "no_host": why or None, "output_tail": shown})
            return 0
        name = run.task if "." not in given else far_task.run_id(run)
        context.say(titled(name, "paused" if far_task.is_paused(run) else far_task.word(run), look))
        context.say(*facts(pairs(run, why), look))
        if lines := last_output(shown, look):
            context.say("", *lines)
            more = look.command("logs -f" if run.outcome is None else "logs")
            context.say(look.paint(f"full output: {more} {run.task}", "dim"))
        return 0

    def logs(self, given: str, arguments: Arguments) -> None:
        async def read(fleet: Fleet) -> None:
            run = await self._find(fleet, given)
            output = Bare() if arguments.raw else OutputFilter(self._context, mask_of(run))
            offset = arguments.offset or 0
            pieces = await far_task.output(fleet, run, offset)
            if arguments.tail is not None:
                piece = last_lines(pieces, arguments.tail)
            else:
                piece = joined(pieces, offset)
            if arguments.json:
                return self._print_piece(run, piece)
            try:
                if run.state in ("queued", "offered", "doubted"):
                    self._context.note(f"{run.task} has not started: it waits for {line(run.selector)}")
                if arguments.tail is not None:
                    output.show(piece)
                    offset = piece.next_offset
                else:
                    offset = print_pieces(output, pieces, offset)
                if arguments.follow:
                    await self._follow(fleet, run, output, offset)
            finally:
                output.close()

        self._ask(read)

    def wait(
        self,
        arguments: Arguments,
        resolve: Callable[[str], str],
        wait_here: Callable[[str, float | None], int],
    ) -> int:
        """Wait for tasks of other homes, and then for those of this one; return their exit code."""
        if arguments.any or arguments.batch is not None:
            raise Usage("--any and --batch are for tasks of this home; leave out those of other homes")
        own, far = self._split(arguments.id, resolve)
        limit = None if arguments.timeout is None else time.monotonic() + arguments.timeout.total_seconds()
        try:
            runs = self._ask(lambda fleet: self._wait(fleet, far, limit))
        except KeyboardInterrupt:
            self._context.note_interrupted("stopped waiting; what was waited for continues")
            return 130
        codes = {given: far_task.exit_code(run) for given, run in zip(far, runs, strict=True)}
        for run in runs:
            self._report(run, arguments)
        for given, task_id in own.items():
            codes[given] = wait_here(task_id, None if limit is None else max(0.0, limit - time.monotonic()))
        ordered = [codes[given] for given in dict.fromkeys(arguments.id)]
        return STILL_LIVE if STILL_LIVE in ordered else next((code for code in ordered if code), 0)

    def cancel(
        self, arguments: Arguments, resolve: Callable[[str], str], cancel_here: Callable[[list[str]], int]
    ) -> int:
        """Cancel tasks of other homes, and then those of this one."""
        if arguments.batch is not None:
            raise Usage("--batch is for tasks of this home; leave out those of other homes")
        own, far = self._split(arguments.id, resolve)
        self._ask(lambda fleet: self._cancel(fleet, far, arguments))
        return cancel_here(list(own.values())) if own else 0

    def awaited(self, given: str) -> str:
        """Return the whole id of a task that another one is to wait for."""
        run = self._ask(lambda fleet: self._find(fleet, given))
        if run.body.get("goes_on") == "always":
            raise never_ends(run.task)
        return run.task

    def approve(self, given: str, arguments: Arguments, *, by: str, door: str) -> int:
        """Answer what is asked about a task of another home, which counts it for exactly that question."""
        if arguments.always:
            raise Usage("a standing approval is given at the home of a task; leave out --always")
        body = {"by": by, "door": door, "scope": chosen_scope(task=arguments.task, always=False)}

        async def act(fleet: Fleet) -> int:
            run = await self._find(fleet, given)
            is_held = run.outcome is not None
            if door == "terminal" and not self._agrees(run):
                self._context.note(f"not approved: {run.task} still waits")
                return DECLINED
            if not await self._answer(fleet, run, "approve", arguments, body):
                return 0
            if arguments.wait:
                ended = await self._end(fleet, run, None, without=run.key if is_held else "")
                self._report(ended, arguments)
                return far_task.exit_code(ended)
            self._say(
                run, arguments, f"approved; {self._bold(run.task)} {'starts' if is_held else 'continues'}"
            )
            return 0

        return self._ask(act)

    def reject(self, given: str, arguments: Arguments, *, by: str, door: str) -> int:
        if arguments.always or arguments.task:
            raise Usage("approvals are withdrawn at the home of a task; leave out --always and --task")
        body = {"by": by, "door": door, "note": arguments.note or ""}

        async def act(fleet: Fleet) -> int:
            run = await self._find(fleet, given)
            if await self._answer(fleet, run, "reject", arguments, body):
                said = "it will not start" if run.outcome is not None else "its agent is told and continues"
                self._say(run, arguments, f"rejected {self._bold(run.task)}; {said}")
            return 0

        return self._ask(act)

    def resume(self, given: str, prompt: str, arguments: Arguments) -> int:
        """Send another prompt to the session of an agent, whose task another home has."""

        async def act(fleet: Fleet) -> int:
            run = await self._find(fleet, given)
            reply = await self._request(fleet, run, "resume", {"prompt": prompt})
            if reply is None:
                return 0
            if not arguments.wait:
                self._say(run, arguments, f"asked {self._bold(run.task)} again, as run {line(reply.result)}")
                return 0
            ended = await self._end(fleet, run, None, without=run.key)
            if arguments.json:
                self._context.print_json({**flat(ended), "answer": ended.view.get("answer")})
            elif ended.view.get("answer"):
                self._context.say(mask_of(ended).text(str(ended.view["answer"])).rstrip("\n"))
            if far_task.word(ended) != "completed":
                self._report(ended, arguments)
            return far_task.exit_code(ended)

        return self._ask(act)

    # What they need

    def _agrees(self, run: FoundRun) -> bool:
        """Ask a person once more, below what would run, if they cannot know that otherwise."""
        asked, command = far_task.asked(run), far_task.commands(run.body)
        if asked is None or not is_hidden((command, *asked.texts), asked.kinds):
            return True
        shown = [("command", command), ("directory", str(run.body.get("cwd", "")))]
        shown += [("because", text) for text in asked.texts]
        return agrees("\n".join(["", *laid_out(shown, self._context.error_look), "", prompt((ONCE, NO))]))

    async def _answer(
        self, fleet: Fleet, run: FoundRun, wish: Wish, arguments: Arguments, body: Mapping[str, Any]
    ) -> bool:
        """Have a question answered; return False if its home does not know of it yet."""
        author = member.require(self._context.home).name
        question, number = await far_task.answer(fleet, run, wish, author=author, body=body)
        if not arguments.json and not getattr(arguments, "quiet", False):
            self._context.note(
                *(f"  {line(text)}" for text in (far_task.commands(run.body), *question.texts))
            )
        return await self._reply(fleet, run, number) is not None

    async def _follow(self, fleet: Fleet, run: FoundRun, output: OutputFilter, offset: int) -> None:
        """Print output as it comes, until the run ends."""
        until, attempt = 0.0, run.attempt
        async with aclosing(self._looks(fleet, run, far_task.run_id(run))) as looks:
            async for found in looks:
                if found.attempt != attempt:
                    attempt, offset = found.attempt, 0  # another host runs it again
                with suppress(FleetUnreachable):
                    if time.monotonic() >= until:
                        await fleet.follow([found.number], seconds=far_task.FOLLOWED)
                        until = time.monotonic() + far_task.FOLLOWED / 2
                    printed = print_pieces(output, await far_task.output(fleet, found, offset), offset)
                    if printed == offset:
                        output.pause()
                    offset = printed
                    if found.outcome is not None:
                        return

    async def _wait(self, fleet: Fleet, given: list[str], limit: float | None) -> list[FoundRun]:
        runs = [await self._find(fleet, each) for each in given]
        return [await self._end(fleet, run, limit) for run in runs]

    async def _end(self, fleet: Fleet, run: FoundRun, limit: float | None, *, without: str = "") -> FoundRun:
        """Wait for the end of a task; return its newest run, which is live if the time was over before.

        The run with the key `without` is over already, and another one follows it.
        """
        has_said = False
        async with aclosing(self._looks(fleet, run, run.task)) as looks:
            async for found in looks:
                if found.key == without:
                    continue
                if far_task.is_over(found) or (limit is not None and time.monotonic() >= limit):
                    return found
                if found.outcome is not None and not found.acked and not found.home_is_up and not has_said:
                    has_said = True
                    self._context.note(
                        f"{far_task.run_id(found)} is {far_task.word(found)}; whether the task continues is "
                        f"decided by its home {line(found.home_name)}, which is out of touch"
                    )
        raise AssertionError("the changes of a fleet do not end")

    async def _cancel(self, fleet: Fleet, given: list[str], arguments: Arguments) -> None:
        author = member.require(self._context.home).name
        for run in [await self._find(fleet, each) for each in given]:
            request = await far_task.cancel(fleet, run, author=author)
            if arguments.no_wait:
                await far_task.end(fleet, run)
                found = run
            else:
                found = await self._cancelled(fleet, run, request)
            self._report(found, arguments, is_cancelled=True)

    async def _cancelled(self, fleet: Fleet, run: FoundRun, request: int) -> FoundRun:
        """Wait until nothing of a task is left, and its home has cancelled it.

        If its home is out of touch, the fleet ends the run, and its home learns of it later.
        """
        patience, has_ended = time.monotonic() + REPLIES, False
        async with aclosing(self._looks(fleet, run, run.task)) as looks:
            async for found in looks:
                with suppress(FleetUnreachable):
                    reply = await fleet.reply_to(request)
                    if reply is not None and reply.refusal:
                        raise IllegalMove(reply.refusal)
                    is_away = reply is None and (not found.home_is_up or time.monotonic() >= patience)
                    if is_away and not has_ended:
                        await far_task.end(fleet, found)
                        has_ended = True
                        home = f"its home {line(found.home_name)}"
                        self._context.note(f"{home} is out of touch; it will record this when it is back")
                    elif found.outcome is not None and (is_away or reply is not None):
                        return found
        raise AssertionError("the changes of a fleet do not end")

    def _report(self, run: FoundRun, arguments: Arguments, *, is_cancelled: bool = False) -> None:
        """Print how a task ended, or how far it is, on one line."""
        context, word = self._context, far_task.word(run)
        if is_cancelled and word in ("proposed", "failed"):
            word = "cancelled"  # it has no run, and will not get one
        if arguments.json:
            context.print_json({**flat(run), "state": word})
        elif not getattr(arguments, "quiet", False):
            where = f"on {line(run.host)}" if run.host else f"waiting for {line(run.selector)}"
            more = " · ".join(filter(None, [where, line(far_task.error_of(run))]))
            context.say(f"{titled(run.task, word, context.look)} · {more}")
            if word == "proposed":
                context.say(f"it waits for approval: errands approve {run.task}")

    def _print_piece(self, run: FoundRun, piece: Piece) -> None:
        self._context.print_json(
            {
                "id": run.task,
                "run_id": far_task.run_id(run),
                "state": far_task.word(run),
                "output": mask_of(run).output(piece.content, before=piece.before, after=b""),
                **plain_fields(piece, ("offset", "next_offset", "missing")),
            }
        )
