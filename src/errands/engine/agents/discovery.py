"""Discovery: while the person is away, an agent looks for work that is worth proposing.

It is a recurring task like any other, so its history says when it looked, what that cost, and why it did
not. A run that is not allowed to look costs no request. The agent gets tools that only read and answers with
suggestions; what becomes of them is decided here, where no prompt can change the limits.
"""

from __future__ import annotations

import logging
import os
import subprocess
from contextlib import suppress
from datetime import UTC, datetime

from errands.config.backends import lane_of
from errands.engine.agents.model_gate import LANE, ModelGate
from errands.model.action import Prompt
from errands.model.agent.session import CHAT
from errands.model.agent.suggestion import FORMAT, Suggestion, suggestions_in
from errands.model.approval import is_unattended
from errands.model.errors import ErrandsError, StoreError
from errands.model.options.draft import HERE, Draft
from errands.model.record import evolve
from errands.model.run import task_of
from errands.model.states import OPEN, STANDING
from errands.model.text.duration import spoken
from errands.model.text.sanitise import line
from errands.model.trigger import Every
from errands.ports.store import Query
from errands.text import fenced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.config import Config
    from errands.engine.engine import Engine
    from errands.model.task import Task
    from errands.model.view import View
    from errands.ports.agent import Spec
    from errands.ports.home import Home

KEY = "discovery"
TALKS, EXCHANGES, LONGEST = 5, 6, 600  # conversations, what was said last in each, characters of each text
READING = ("read_file", "list_files", "search_files", "memory_get")
MOST_TASKS, MOST_FILES = 30, 40
RECENT = 100  # tasks and answers that are searched for a person or a conversation
GIT_WITHIN = 5.0  # seconds
_PERSONAL = ("terminal", "chat", "discord", "web", "top")

_TASK = """\
You look for useful work that could be done in the background, while the person is away from the keyboard.
Below is what is known: recent conversation, the state of the repository, open tasks, the time of day.
Consider: what the person waits for, builds and deploys that were begun, work that was put off, files that
were being discussed. Only propose something if it is genuinely useful; do not make work for the sake of it.
Do not propose what is there already, or what was turned down. Whatever you propose is shown to the person,
and starts only with their yes.

"""


def agent_of(config: Config) -> str | None:
    """Return the agent that looks: the configured one, or the first whose model costs nothing.

    Without a model on this machine it is the default agent, if a model is configured for it. Programs with
    an account of their own never look unless they are told to.
    """
    if config.discovery.agent != "auto":
        return config.discovery.agent
    default, backends = config.agents.default, config.backends
    local = next((name for name in backends if lane_of(name, backends) == LANE), None)
    has_model = _is_builtin(default, config) and bool(backends.get(default, {}).get("model"))
    return local or (default if has_model else None)


def _is_builtin(agent: str, config: Config) -> bool:
    return bool(config.backends.get(agent, {}).get("backend", agent) == "builtin")


def _tools(agent: str, config: Config) -> tuple[str, ...] | None:
    # Other backends bring tools of their own, and ask before they use them.
    return READING if _is_builtin(agent, config) else None


def arrange_or_log(engine: Engine) -> None:
    """Arrange the task; a failure is only logged, because the daemon works without it."""
    try:
        arrange(engine)
    except ErrandsError as error:
        logging.getLogger("errands.discovery").error("discovery cannot be set up: %s", error)


def arrange(engine: Engine) -> str | None:
    """Create, replace or end the task as the configuration says; return its id if there is one."""
    settings, agent = engine.config.discovery, agent_of(engine.config)
    known = engine.store.id_by_key(KEY)
    is_wanted = settings.enabled and agent is not None
    if known is not None:
        task = engine.store.task(known)
        if is_wanted and _is_as_wanted(task, agent or "", engine.config):
            return known
        if task.state in STANDING:
            engine.cancel([known], by="the configuration")
        if not is_wanted or engine.store.view(known).is_live:
            return None  # a run that is still live blocks it until the next start
        engine.clear([known])
    if not settings.enabled or agent is None:
        return None
    return engine.submit(
        Draft(
            prompt="Look for useful work in the background, and propose it.",
            name="discovery",
            description="looks for work to propose while the person is away",
            key=KEY,
            agent=agent,
            lane=lane_of(agent, engine.config.backends),
            cwd="/",
            host=HERE,  # it reads the tasks and conversations of this home
            every=settings.every,
            notify="on_failure",
            tools=_tools(agent, engine.config),
            owner="user",
            door="python",
        )
    ).id


def _is_as_wanted(task: Task, agent: str, config: Config) -> bool:
    return (
        task.state in STANDING
        and isinstance(task.action, Prompt)
        and task.action.agent == agent
        and task.action.tools == _tools(agent, config)
        and task.lane == lane_of(agent, config.backends)
        and isinstance(task.trigger, Every)
        and task.trigger.span == config.discovery.every
    )


def is_discovery(engine: Engine, run_id: str) -> bool:
    return engine.store.task(task_of(run_id)[0]).key == KEY


class Discovery:
    """One look for work, in the process of its run."""

    def __init__(self, engine: Engine, run_id: str) -> None:
        self._engine = engine
        self._run = run_id
        self._settings = engine.config.discovery
        self._place = _place(engine)

    def hindrance(self) -> str:
        """Return why it must not look now; empty if it may."""
        now, settings = self._engine.clock.now(), self._settings
        if not settings.enabled:
            return "discovery.enabled is false"
        present = last_presence(self._engine)
        if present is None or now - present > settings.present:
            return f"no person was active in the last {spoken(settings.present)}, so none could approve"
        if now - present < settings.idle:
            return f"a person is here; it looks after {spoken(settings.idle)} of silence"
        if ModelGate(self._engine.home.path).is_closed():
            return "a conversation uses the model"
        waiting = [view.id for view in self._engine.list(Query(states=("proposed",))) if is_discovered(view)]
        if len(waiting) >= settings.most:
            return f"what it proposed before is not answered yet: {', '.join(waiting)}"
        return ""

    def scoped(self, spec: Spec) -> Spec:
        """Return the specification of the look: it reads where the person was last, or nothing."""
        if self._place is None:
            return evolve(spec, tools=() if spec.tools is not None else None)
        return evolve(spec, cwd=self._place.action.cwd)

    def prompt(self) -> str:
        """Write the prompt; everything that came from outside is fenced."""
        now = self._engine.clock.now().astimezone()
        parts = [f"It is {now:%A, %Y-%m-%d %H:%M}.\n\n"]
        for label, text in (
            ("recent conversation", "\n".join(self._conversations())),
            ("git status", self._git()),
            ("open tasks", "\n".join(self._tasks())),
            ("turned down", "\n".join(line(each) for each in self._refused())),
        ):
            if text:
                parts.append(fenced(text, label) + "\n")
        return _TASK + "".join(parts) + FORMAT.format(most=self._settings.most)

    def propose(self, answer: str) -> str:
        """Turn suggestions into proposals, up to the limit; say what became of each."""
        refused, known = self._refused(), dict(self._known())
        said: list[str] = []
        made = 0
        for number, suggestion in enumerate(suggestions_in(answer), 1):
            if isinstance(suggestion, str):
                said.append(f"left out, it cannot be read: {line(suggestion)}")
            elif any(suggestion.is_like(each) for each in refused):
                span = spoken(self._settings.cooldown)
                said.append(
                    f"left out {line(suggestion.name)}: something like it was rejected in the last {span}"
                )
            elif like := next((each for each, text in known.items() if suggestion.is_like(text)), None):
                said.append(f"left out {line(suggestion.name)}: {like} does it already")
            elif made >= self._settings.most:
                said.append(f"left out {line(suggestion.name)}: no more than {self._settings.most} at a time")
            else:
                try:
                    view = self._submit(suggestion, number)
                except StoreError:
                    raise
                except ErrandsError as error:
                    said.append(f"left out {line(suggestion.name)}: {line(str(error))}")
                    continue
                made += 1
                known[view.id] = _text_of(view)
                said.append(f"proposed {view.id}: {line(suggestion.reason)}")
        return "\n".join(said)

    def _submit(self, suggestion: Suggestion, number: int) -> View:
        """Make a proposal; after a crash, the same suggestion returns the first one."""
        place = self._place
        environment = {} if place is None else self._engine.store.environment(place.action.environment)
        return self._engine.submit(
            Draft(
                command=suggestion.command or (),
                prompt=suggestion.prompt,
                name=suggestion.name,
                description=suggestion.reason,
                every=suggestion.every,
                max_runs=suggestion.max_runs,
                cwd="/" if place is None else place.action.cwd,
                environ=environment,
                agent=agent_of(self._engine.config) if suggestion.prompt else None,
                owner="user" if place is None else place.owner,
                parent=None if place is None else place.parent,
                channels=() if place is None else tuple(map(str, place.channels)),
                created_by=f"run {self._run}",
                door=KEY,
                key=f"{KEY}:{self._run}:{number}",
                propose=True,
            )
        )

    def _refused(self) -> list[str]:
        return self._engine.store.recent_refusals(since=self._engine.clock.now() - self._settings.cooldown)

    def _known(self) -> Iterator[tuple[str, str]]:
        own = task_of(self._run)[0]
        for view in self._engine.list(Query(states=(*OPEN, *STANDING), limit=200)):
            if view.id != own and not (view.key or "").startswith(CHAT):
                yield view.id, _text_of(view)

    def _conversations(self) -> Iterator[str]:
        """Yield what was said last in the latest conversations, whichever frontend they were held in."""
        own = task_of(self._run)[0]
        views = self._engine.list(Query(limit=RECENT, with_commands=False))
        talks = [each for each in views if each.agent is not None and each.id != own]
        talks = [each for each in talks if not is_discovered(each)]
        for view in sorted(talks, key=lambda each: each.updated_at)[-TALKS:]:
            yield f"[{view.door}: {view.id}]"
            mask = self._engine.mask(view.id)
            for _, exchange in self._engine.store.exchanges(view.id)[-EXCHANGES:]:
                yield f"person: {mask.text(exchange.text)[:LONGEST]}"
                if exchange.answer:
                    yield f"agent: {mask.text(exchange.answer)[:LONGEST]}"

    def _tasks(self) -> Iterator[str]:
        for task_id, text in list(self._known())[:MOST_TASKS]:
            yield f"{task_id}: {line(text)[:200]}"

    def _git(self) -> str:
        """Ask git for the state of the project, without running anything that its configuration names."""
        if self._place is None:
            return ""
        safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"]
        try:
            asked = subprocess.run(
                ["git", *safe, "status", "--short", "--branch", "--ignore-submodules=all"],
                cwd=self._place.action.cwd,
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=GIT_WITHIN,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return ""
        return "\n".join(asked.stdout.decode("utf-8", "replace").splitlines()[:MOST_FILES])


def is_discovered(view: View) -> bool:
    return view.door == KEY


def _text_of(view: View) -> str:
    return f"{view.name}\n{view.description}\n{view.command}"


def _place(engine: Engine) -> Task | None:
    """Find where the person was last: the latest conversation, or else their latest task."""
    views = engine.list(Query(limit=200))
    talks = [view for view in views if (view.key or "").startswith(CHAT)]
    latest = max(talks, key=lambda view: view.updated_at, default=None)
    if latest is None:
        latest = next((view for view in views if view.door in _PERSONAL), None)
    return None if latest is None else engine.store.task(latest.id)


def note_presence(home: Home, at: datetime | None = None) -> None:
    """Note that a person typed something, now or `at` another time."""
    path = home.presence
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(path, None if at is None else (at.timestamp(), at.timestamp()))


def last_presence(engine: Engine) -> datetime | None:
    """Return when a person last typed, started or answered something."""
    return max(_traces_of_a_person(engine), default=None)


def _traces_of_a_person(engine: Engine) -> Iterator[datetime]:
    with suppress(OSError):
        yield datetime.fromtimestamp(os.stat(engine.home.presence).st_mtime, UTC)
    for view in engine.list(Query(limit=RECENT)):
        if view.door in _PERSONAL:
            yield view.created_at
    for entry in engine.audit(limit=RECENT):
        answer = entry.approval
        if answer.at is not None and answer.door and not is_unattended(answer.by or "", answer.door):
            yield answer.at
