"""Sandboxes: all that the shim needs to start a command in bubblewrap."""

from __future__ import annotations

import os

from errands.engine.walls import mounts
from errands.engine.walls.bubblewrap import NAMESPACES, bubblewrap, obstacle
from errands.engine.walls.private_homes import private_home
from errands.engine.walls.projects import check_project, resolved
from errands.engine.walls.seccomp import program
from errands.engine.walls.variables import inner_variables
from errands.judge.evidence.local_workspace import LocalWorkspace
from errands.model.action import Sandbox
from errands.model.errors import BadValue, ErrandsError
from errands.model.record import evolve
from errands.ports.rundir import EVENT_FILE, PROGRESS, make_own_files, own_files
from errands.ports.runner import Walls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from errands.model.action import Shell
    from errands.ports.home import Home
    from errands.ports.runner import Launch

# A shim is sent its base again if that is not the same object as before.
_inner: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def obstacle_to(project: str, home: str, cache: str, *, path: str) -> str:
    """Return why the work of a project cannot run in a sandbox; "" if it can. `path` is the search path."""
    try:
        check_project(project, home=home, path=path)
        if os.stat(project).st_uid != os.geteuid():
            return f"{project} belongs to another user, so a sandbox could not write to it"
    except (BadValue, OSError) as error:
        return str(error)
    return obstacle(cache)


def contained(action: Shell, variables: Mapping[str, str]) -> Sandbox:
    """Return the sandbox of work that was not approved: it has its project, and no network."""
    return Sandbox(writable=(LocalWorkspace(action.cwd, variables).project,), network=False)


def sandboxed(launch: Launch, sandbox: Sandbox, home: Home) -> Launch:
    """Return a launch whose commands run in a sandbox."""
    base = _inner_base(launch.base)
    path = launch.env.get("PATH", base.get("PATH", ""))
    projects = {project: resolved(project) for project in sandbox.writable}
    for project, real in projects.items():
        check_project(project, home=home.path, path=path, real=real)
    person = base.get("HOME", "")
    files = own_files(launch.directory)
    private = private_home(home, sandbox.writable[0])
    try:
        make_own_files(launch.directory)
        os.makedirs(private, 0o700, exist_ok=True)
    except OSError as error:
        raise ErrandsError(f"cannot prepare the sandbox: {error.strerror}: {error.filename}") from error
    tools = mounts.home_tools(person)
    _link_tools(private, person, tools)
    events = f"{launch.directory}/{EVENT_FILE}"
    words = (
        *NAMESPACES,
        *(() if sandbox.network else ("--unshare-net",)),
        *mounts.mounts(
            projects,
            person=person,
            tools=tools,
            path=path,
            store=home.path,
            own=(private, files),
            network=sandbox.network,
        ),
        *(("--ro-bind", events, events) if os.path.exists(events) else ()),
        *("--chdir", launch.cwd),
    )
    walls = Walls(
        program=bubblewrap(),
        words=words,
        seccomp=program(os.uname().machine),
        unprotected={
            directory: names
            for each in sandbox.writable
            for directory, names in mounts.unprotected(each).items()
        },
    )
    inner = {"HOME": private, "ERRANDS_RUN_DIR": files, "ERRANDS_PROGRESS": f"{files}/{PROGRESS}"}
    return evolve(launch, base=base, env={**launch.env, **inner}, walls=walls)


def _inner_base(base: Mapping[str, str]) -> Mapping[str, str]:
    """Return what a sandbox may see of a submitter's environment, which most runs have in common."""
    global _inner
    if _inner[0] is not base:
        _inner = base, inner_variables(base)
    return _inner[1]


def _link_tools(private: str, person: str, tools: Sequence[str]) -> None:
    """Let the private home lead to the tools of the real one, as far as the project has none of its own."""
    for tool in tools:
        if os.path.lexists(f"{private}{tool[len(person) :]}"):
            continue
        *folders, name = tool[len(person) + 1 :].split("/")
        folder = os.open(private, _FOLDER)
        try:
            for each in folders:
                # A task may have replaced any part of its home by a link to somewhere else.
                if each not in os.listdir(f"/proc/self/fd/{folder}"):
                    os.mkdir(each, 0o700, dir_fd=folder)
                inner = os.open(each, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            os.symlink(tool, name, dir_fd=folder)
        except OSError:
            pass  # it is there already, or the task put something else in its place
        finally:
            os.close(folder)
