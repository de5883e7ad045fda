"""The prompt of a draft, with everything its agent needs fixed at submission."""

from __future__ import annotations

from errands.engine.actor import LAUNCHED, enclosing_runs
from errands.model.action import Prompt
from errands.model.agent.session import HISTORY, HOSTS_DEFAULT, remote_place
from errands.model.approval import FLEET
from errands.model.errors import Ambiguous, BadValue, NotFound, SessionGone, UnknownAgent
from errands.model.run import task_of
from errands.model.text.ids import is_id
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from errands.config import Config
    from errands.model.agent.session import Session
    from errands.model.options.draft import Draft
    from errands.model.task import Task
    from errands.ports.store import Store

_KEEPERS = ("offline", "builtin")  # backends whose conversations are all in our store


def asked(draft: Draft, store: Store, config: Config, environ: Mapping[str, str]) -> Prompt:
    """Return the prompt of a draft; refuse an unknown agent, and agents nested too deep."""
    from errands.config.backends import settings_of

    assert draft.prompt is not None
    is_history = draft.fork is not None and draft.fork.startswith(HISTORY)
    parent = None if draft.fork is None or is_history else _forked(draft.fork, store)
    depth = _depth(draft, store, environ)
    if depth > config.agents.depth:
        raise BadValue(
            f"agents are nested {depth} deep here, but agents.depth allows {config.agents.depth}; "
            "do it here instead, or let a person start it"
        )
    place = None if parent is None else remote_place(parent.name)
    if draft.host is not None:
        return _placed(draft, parent, place, store, environ, depth)
    if place is not None:
        assert parent is not None
        raise BadValue(
            f"the session of {parent.task_id} is on the host {place[0]!r}; fork it there: --host {place[0]}"
        )
    fork, fork_at = _fork_point(draft.fork, parent, store)
    agent = draft.agent or (parent.agent if parent else config.agents.default)
    if is_history:
        agent = _reader(draft.agent, config)
    if parent is not None and parent.agent != agent:
        raise BadValue(
            f"the session of {parent.task_id} belongs to the agent {parent.agent!r}, "
            f"so {agent!r} cannot fork it; leave --agent out"
        )
    known(agent, config)
    settings = settings_of(agent, config.backends)
    _check_settings(draft, agent, settings, config)
    _check_offline(draft, agent, settings)
    if draft.fork is not None and parent is None and not is_history and settings["backend"] in _KEEPERS:
        raise NotFound(f"unknown conversation {draft.fork!r}; `errands sessions` lists the conversations")
    model = draft.model or settings.get("model")
    return Prompt(
        text=draft.prompt,
        agent=agent,
        cwd="",
        environment="",
        env=draft.env,
        model=model,
        tools=draft.tools,
        allow=draft.allow,
        allow_tools=draft.allow_tools,
        depth=depth,
        budget={**settings.get("budget", {}), **draft.budget},
        fork=fork,
        fork_at=fork_at,
    )


def _placed(
    draft: Draft,
    parent: Session | None,
    place: tuple[str, str] | None,
    store: Store,
    environ: Mapping[str, str],
    depth: int,
) -> Prompt:
    """Return a prompt for another host, whose configuration says which agents and models there are."""
    assert draft.prompt is not None
    if is_guest(store, _launchers(draft, environ)):
        raise BadValue(
            "another home placed this agent here, so it cannot place prompts on other hosts; ask one here"
        )
    if draft.fork is not None and place is None:
        where = "on this host" if parent is not None else "not known here"
        raise BadValue(
            f"the conversation {draft.fork!r} is {where}, so no other host can fork it; leave --host out"
        )
    if (
        parent is not None
        and place is not None
        and draft.host not in (place[0], store.task(parent.task_id).host)
    ):
        raise BadValue(
            f"the session of {parent.task_id} is on the host {place[0]!r}; fork it there: --host {place[0]}"
        )
    if parent is not None and draft.agent not in (None, parent.agent):
        raise BadValue(
            f"the session of {parent.task_id} belongs to the agent {parent.agent!r}, "
            f"so {draft.agent!r} cannot fork it; leave --agent out"
        )
    return Prompt(
        text=draft.prompt,
        agent=draft.agent or (parent.agent if parent else HOSTS_DEFAULT),
        cwd="",
        environment="",
        env=draft.env,
        model=draft.model,
        tools=draft.tools,
        allow=draft.allow,
        allow_tools=draft.allow_tools,
        depth=depth,
        budget=draft.budget,
        fork=parent.name if parent else None,
        host=place[0] if place else draft.host or "",
    )


def is_guest(store: Store, run_ids: Iterable[str]) -> bool:
    """Return whether one of these runs was started by a run that another home placed here."""
    return any(task.door == FLEET for run_id in run_ids for task in _above(run_id, store))


def known(agent: str, config: Config) -> str:
    """Return the name of an agent; refuse an unknown one."""
    from errands.config.backends import BACKENDS, is_agent

    if not is_agent(agent, config.backends):
        names = tuple(dict.fromkeys((*BACKENDS, *config.backends)))
        raise UnknownAgent(
            f"unknown agent {agent!r}{did_you_mean(agent, names)}; known: {', '.join(names)}; "
            f"to add it, write a table [agents.{agent}] in your configuration, with "
            'backend = "command" for a program such as claude, or "builtin" for a model'
        )
    return agent


def _check_settings(draft: Draft, agent: str, settings: dict[str, Any], config: Config) -> None:
    """Refuse an agent that could never answer, in the words of `errands config check`."""
    from errands.config.backends import lacking
    from errands.config.loader import BadConfig, Problem

    if draft.model is not None:
        settings = {**settings, "model": draft.model}
    source = config.origin.get(f"agents.{agent}", "configuration")
    problems = [
        Problem(source=source, key=f"agents.{agent}.{key}", advice=advice)
        for key, advice in lacking(agent, settings, config.lanes)
    ]
    if problems:
        raise BadConfig(tuple(problems))


def _check_offline(draft: Draft, agent: str, settings: Mapping[str, Any]) -> None:
    """Refuse what an offline agent cannot do: it has no model, and commands are its only tool."""
    if settings["backend"] != "offline":
        return
    advice = "leave it out, or ask an agent that has a model, such as `builtin`"
    if draft.model is not None:
        raise BadValue(
            f"the agent {agent!r} works offline and cannot use the model {draft.model!r}; {advice}"
        )
    for tool in draft.tools or ():
        if tool != "command":
            raise BadValue(
                f"the agent {agent!r} works offline: its one tool is `command`, not {tool!r}; {advice}"
            )


def readers(config: Config) -> list[str]:
    """List the agents that can fork the conversation of a pydantic-ai program, the default agent first."""
    found = [name for name, settings in config.backends.items() if settings.get("backend", name) == "builtin"]
    return sorted(found, key=lambda name: name != config.agents.default)


def _reader(agent: str | None, config: Config) -> str:
    """Return the agent that continues a conversation which a program passed in."""
    able = readers(config)
    if agent is None and able:
        return able[0]
    if agent not in able:
        known = f"; these can: {', '.join(able)}" if able else ""
        raise BadValue(
            f"the agent {agent or config.agents.default!r} cannot fork this conversation, because its "
            f"backend is not `builtin`{known}; leave out fork, or name another agent"
        )
    return agent


def check_fan_out(store: Store, config: Config, parent: str, created_by: str) -> None:
    """Refuse another task of a session that has as many live ones as allowed.

    The conversation of a chat is a task of the chat itself; it does not count.
    """
    launcher = created_by.removeprefix(LAUNCHED).partition(".")[0]
    live = [each for each in store.live_children(parent) if task_of(each)[0] != launcher]
    if len(live) >= config.agents.fan_out:
        raise BadValue(
            f"{parent} has {config.agents.fan_out} live tasks, as many as agents.fan_out allows; "
            "wait for one to end"
        )


def _forked(name: str, store: Store) -> Session | None:
    """Find the session to fork; an unknown name may be known to the agent's own server."""
    found = store.session(name=name) or store.session(name=name.partition("@")[0])
    if found is None and is_id(name):
        try:
            task_id = store.resolve(name)
        except Ambiguous:
            raise
        except NotFound:
            return None
        found = store.session(task_id)
        if found is None:
            raise BadValue(f"task {task_id} has no session that could be forked")
    if found is not None and found.gone_at is not None:
        raise SessionGone
    return found


def _fork_point(name: str | None, parent: Session | None, store: Store) -> tuple[str | None, str | None]:
    """Return the session to fork and where its copy ends: a run that waits copies nothing said meanwhile."""
    if name is None or name.startswith(HISTORY):
        return name, None
    session, _, call = name.partition("@")
    if parent is None:
        return session, call or None
    return parent.name, call or str(len(store.messages(parent)))


def _depth(draft: Draft, store: Store, environ: Mapping[str, str]) -> int:
    """Count the agents above a prompt.

    A run may change its environment but not its ancestors, so the enclosing runs are looked up, too.
    """
    return max(_below(each, store) for each in _launchers(draft, environ))


def _launchers(draft: Draft, environ: Mapping[str, str]) -> list[str]:
    names = [(draft.created_by or "").removeprefix(LAUNCHED)]
    names += enclosing_runs() if draft.environ is None else [environ.get("ERRANDS_RUN_ID", "")]
    return names


def _below(run_id: str, store: Store) -> int:
    """Return the depth of an agent that is started in a run; 0 for an unknown run."""
    return next(
        (each.action.depth + 1 for each in _above(run_id, store) if isinstance(each.action, Prompt)), 0
    )


def _above(run_id: str, store: Store) -> Iterator[Task]:
    """Yield the task of a run, the one whose run started it, and so on, as far as they are known."""
    seen: set[str] = set()
    while run_id not in seen:
        seen.add(run_id)
        try:
            task = store.task(task_of(run_id)[0])
        except NotFound:
            return
        yield task
        run_id = task.created_by.removeprefix(LAUNCHED)
