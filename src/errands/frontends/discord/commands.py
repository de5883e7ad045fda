"""The bot's slash commands, for allowed users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import discord
from discord import app_commands

from errands.engine.agents.discovery import note_presence
from errands.engine.engine import Engine
from errands.frontends.discord.option_parameters import command as command_with_options
from errands.frontends.tools.reopened_question import for_approval
from errands.model.approval import Approval
from errands.model.errors import BadValue, ErrandsError
from errands.model.notices.delivery import NO_SIGN, YES_SIGN
from errands.model.notices.notice import REPORTS
from errands.model.options.draft import Draft
from errands.model.text.answers import ANSWERS, BY_NAME, reach
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.ports.store import Query
from errands.text.describe import lane_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.approval import Scope

FRONTEND = "discord"
MAX_LISTED = 15  # tasks
MAX_REPLY = 1900  # characters
NOT_ALLOWED = "You may not do this: your user id is not in `allowed` of this channel's configuration."


class Listener(Protocol):
    """What the commands need of the bot."""

    engine: Engine

    def is_allowed(self, user_id: int) -> bool: ...
    def context(self, place: int) -> dict[str, Any]: ...
    def interrupt(self, place: int, *, by: str) -> bool: ...


class Commands:
    """The commands, each one verb of the engine."""

    def __init__(self, bot: Listener) -> None:
        self._bot = bot
        self._engine = bot.engine

    def add_to(self, tree: app_commands.CommandTree[discord.Client]) -> None:
        """Register every command; each refuses users who are not allowed."""
        tree.add_command(
            command_with_options(
                "run", "Run a command in the background; a risky one needs approval",
                kind="shell", subject="command", meaning="a shell line", run=self._run,
            )
        )  # fmt: skip
        tree.add_command(
            command_with_options(
                "ask", "Send a prompt to an agent in the background",
                kind="agent", subject="prompt", meaning="what the agent should do", run=self._ask,
            )
        )  # fmt: skip
        self._add_lists(tree)
        for name, description, act in (
            ("reject", "Reject a proposed task", self._reject),
            ("cancel", "Cancel a task", self._cancel),
            ("pause", "Pause a running task or a schedule", self._pause),
            ("unpause", "Continue a paused task or schedule", self._unpause),
            ("hold", "Keep a pending task from starting", self._hold),
            ("release", "Let a held task start when its turn comes", self._release),
            ("fire", "Run a task now, regardless of its schedule", self._fire),
            ("restart", "Run a finished task again", self._restart),
        ):
            tree.add_command(self._about_a_task(name, description, act))

    def _add_lists(self, tree: app_commands.CommandTree[discord.Client]) -> None:
        @tree.command(name="tasks", description="List the latest tasks")
        async def tasks(interaction: discord.Interaction) -> None:
            query = Query(limit=MAX_LISTED, with_commands=False)
            await self._reply(interaction, lambda: task_list(self._engine.list(query)))

        @tree.command(name="approve", description="Approve a proposed task")
        @app_commands.describe(
            answer="how far the approval reaches; default: once",
            question="the number of the question that you saw, if it is not the first about the task",
        )
        @app_commands.choices(
            answer=[app_commands.Choice(name=each.label, value=each.name) for each in ANSWERS if each.scope]
        )
        async def approve(
            interaction: discord.Interaction, task: str, answer: str = "once", question: int | None = None
        ) -> None:
            scope, by = BY_NAME[answer].scope or "once", person(interaction.user)
            await self._reply(interaction, lambda: self._approve(task, by, scope, question))

        @tree.command(name="show", description="Show one task and the end of its output")
        async def show(interaction: discord.Interaction, task: str) -> None:
            await self._reply(interaction, lambda: task_text(self._engine, task))

        @tree.command(name="resume", description="Send an agent's task another prompt")
        async def resume(interaction: discord.Interaction, task: str, prompt: str) -> None:
            def act() -> str:
                view = self._engine.sessions.resume(task, prompt)
                return f"`{view.id}` continues; its answer is reported here."

            await self._reply(interaction, act)

        @tree.command(name="move", description="Move a pending task in its lane")
        @app_commands.describe(
            where="to the front (default) or to the end", before="before this task of the lane"
        )
        @app_commands.choices(
            where=[app_commands.Choice(name=each, value=each) for each in ("first", "last")]
        )
        async def move(
            interaction: discord.Interaction, task: str, where: str = "first", before: str | None = None
        ) -> None:
            await self._reply(interaction, lambda: self._move(task, where, before))

        @tree.command(name="edit", description="Change a pending task, or a recurring one between two runs")
        @app_commands.describe(
            command="another shell line",
            prompt="another prompt",
            at="when to start: 18:30, +10m",
            every="how often a recurring task runs: 30m, 2h",
            cron="when a recurring task runs: 0 4 * * *",
        )
        async def edit(
            interaction: discord.Interaction,
            task: str,
            command: str | None = None,
            prompt: str | None = None,
            name: str | None = None,
            timeout: str | None = None,
            lane: str | None = None,
            at: str | None = None,
            every: str | None = None,
            cron: str | None = None,
        ) -> None:
            given = {"command": command, "prompt": prompt, "name": name, "timeout": timeout, "lane": lane}
            given |= {"at": at, "every": every, "cron": cron}
            changes: dict[str, Any] = {each: value for each, value in given.items() if value is not None}
            await self._reply(interaction, lambda: self._edit(task, changes))

        @tree.command(name="lane", description="List the lanes, or set how many tasks of one run at once")
        async def lane(
            interaction: discord.Interaction, name: str | None = None, width: int | None = None
        ) -> None:
            await self._reply(interaction, lambda: self._lane(name, width, person(interaction.user)))

        @tree.command(name="stop", description="Interrupt the answer that is being written here")
        async def stop(interaction: discord.Interaction) -> None:
            def act() -> str:
                is_stopped = self._bot.interrupt(interaction.channel_id or 0, by=person(interaction.user))
                return "interrupted" if is_stopped else "nothing is being answered here"

            await self._reply(interaction, act)

    def _about_a_task(
        self, name: str, description: str, act: Callable[[str, str], str]
    ) -> app_commands.Command[Any, ..., None]:
        async def callback(interaction: discord.Interaction, task: str) -> None:
            await self._reply(interaction, lambda: act(task, person(interaction.user)))

        return app_commands.Command(name=name, description=description, callback=callback)

    async def _reply(self, interaction: discord.Interaction, answer: Callable[[], str]) -> None:
        if not self._bot.is_allowed(interaction.user.id):
            await interaction.response.send_message(NOT_ALLOWED, ephemeral=True)
            return
        note_presence(self._engine.home)
        try:
            words = answer()
        except ErrandsError as error:
            words = f"⚠️ {error}"
        await interaction.response.send_message(
            words[:MAX_REPLY], allowed_mentions=discord.AllowedMentions.none()
        )

    # Starting.

    async def _run(self, interaction: discord.Interaction, command: str, options: dict[str, str]) -> None:
        await self._reply(interaction, lambda: self._start(interaction, options, command=command))

    async def _ask(self, interaction: discord.Interaction, prompt: str, options: dict[str, str]) -> None:
        await self._reply(interaction, lambda: self._start(interaction, options, prompt=prompt))

    def _start(self, interaction: discord.Interaction, options: dict[str, str], **action: str) -> str:
        place = interaction.channel_id
        if place is None:
            raise BadValue("Discord does not say in which channel this is; try it in another one")
        fields = {**self._bot.context(place), **options, **action, "created_by": person(interaction.user)}
        view = self._engine.submit(Draft(**fields))
        if view.state == "proposed":
            return f"`{view.id}` is waiting for approval; the question follows here."
        if view.standing is not None:
            return f"started `{view.id}`, {line(view.standing.rule)}; {_reports(view)}."
        return f"started `{view.id}`; {_reports(view)}."

    # One task.

    def _approve(self, task: str, by: str, scope: Scope, number: int | None) -> str:
        """Approve what was shown; show a question first that is not the only one about the task."""
        named = for_approval(self._engine, task, by=by, door=FRONTEND)
        view = self._engine.get(self._engine.answer_target(named.id))
        if view.question is not None and number is None:
            if view.id != named.id or len(self._engine.approvals(view.id)) > 1:
                return _asked_again(view, view.question)
            number = view.question.id
        view = self._engine.approve(view.id, by=by, door=FRONTEND, scope=scope, question=number)
        return f"{YES_SIGN} `{view.id}` is approved{reach(scope)}"

    def _reject(self, task: str, by: str) -> str:
        return f"{NO_SIGN} `{self._engine.reject(task, by=by, door=FRONTEND).id}` is rejected"

    def _cancel(self, task: str, by: str) -> str:
        [view] = self._engine.cancel([task], by=by)
        return f"`{view.id}` is {view.state}"

    def _pause(self, task: str, by: str) -> str:
        view = self._engine.queue.pause(task, by=by)
        return f"`{view.id}` is {'held' if view.is_held else 'paused'}"

    def _unpause(self, task: str, by: str) -> str:
        view = self._engine.queue.unpause(task)
        next_at = None if view.standing is None else view.standing.next_at
        when = f"; it runs next <t:{int(next_at.timestamp())}:R>" if next_at else ""
        return f"`{view.id}` is {view.state}{when}"

    def _hold(self, task: str, by: str) -> str:
        return f"`{self._engine.queue.hold(task, by=by).id}` is held"

    def _release(self, task: str, by: str) -> str:
        view = self._engine.queue.release(task)
        return f"`{view.id}` is {view.state}"

    def _move(self, task: str, where: str, before: str | None) -> str:
        queue = self._engine.queue
        view = queue.move(task, before=before, last=where == "last")
        order = queue.order(view.lane)
        place = f"{order.index(view.id) + 1} of {len(order)}" if view.id in order else "no longer"
        return f"`{view.id}` is {place} in lane {view.lane}"

    def _edit(self, task: str, changes: dict[str, Any]) -> str:
        view = self._engine.queue.edit(task, door=FRONTEND, **changes)
        if view.state == "proposed":
            return f"`{view.id}` is waiting for approval; the question follows here."
        return f"`{view.id}` is edited: `$ {_without_backticks(line(view.command))[:300]}`"

    def _lane(self, name: str | None, width: int | None, by: str) -> str:
        queue = self._engine.queue
        if name is not None and width is not None:
            queue.set_lane(name, width, by=by)
        lanes = [each for each in queue.lanes() if name in (None, each.name)]
        if not lanes:
            raise BadValue(f"unknown lane {name!r}; give it a width to add it")
        return "\n".join(line(lane_line(each)) for each in lanes)

    def _fire(self, task: str, by: str) -> str:
        return f"started `{self._engine.schedules.fire(task).latest.id}`"

    def _restart(self, task: str, by: str) -> str:
        view = self._engine.restart(task, door=FRONTEND)
        if view.state == "proposed":
            return f"`{view.id}` is waiting for approval; the question follows here."
        return f"started `{view.id}` again"


def _asked_again(view: View, question: Approval) -> str:
    """Return a question in full, and how to approve exactly that."""
    words = _question_text(view, question)
    if len(words) > MAX_REPLY - 200:
        return (
            f"`{view.id}` cannot be shown here in full; approve it at a terminal: `errands approve {view.id}`"
        )
    return f"{words}\nTo approve exactly this: `/approve task:{view.id} question:{question.id}`"


def _question_text(view: View, question: Approval) -> str:
    reasons = [f"\n• {_without_backticks(line(each.text))}" for each in question.reasons]
    command = _without_backticks(line(view.command))
    return f"`{view.id}` waits for approval, question {question.id}:\n`$ {command}`{''.join(reasons)}"


def _reports(view: View) -> str:
    return f"this channel reports {REPORTS[view.notify]}"


def person(user: discord.abc.User) -> str:
    """Return the recorded name of a user; the name may change, the number does not."""
    return f"{user.name} (discord {user.id})"


def task_list(views: list[View]) -> str:
    if not views:
        return "no tasks yet"
    return "\n".join(
        f"`{view.id}` {view.state}: {_without_backticks(line(view.description))[:80]}" for view in views
    )


def task_text(engine: Engine, task_id: str) -> str:
    view = engine.get(task_id)
    piece = engine.tail(view.id)
    tail = engine.mask(view.id).output(piece.content, before=piece.before, after=piece.after)
    words = f"`{view.id}` {view.state}\n`$ {_without_backticks(line(view.command))[:300]}`"
    if view.standing is not None:
        words += f"\n{line(view.standing.rule)}"
    if view.latest.error:
        words += f"\n{line(view.latest.error)[:300]}"
    return f"{words}\n```\n{_without_backticks(tail)[-1200:]}\n```" if tail.strip() else words


def _without_backticks(text: str) -> str:
    return text.replace("`", "'")
