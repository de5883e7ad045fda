"""Private homes: the home directories of sandboxes, one for each project, kept while the project has tasks.

They keep the caches of a project's tools warm, so they outlive single tasks; the janitor and `errands clear`
remove those of projects without any.
"""

from __future__ import annotations

import os

from errands.model.text.blake2 import blake2b
from errands.ports.rundir import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.ports.home import Home
    from errands.ports.store import Store


def private_home(home: Home, project: str) -> str:
    """Return the home directory of the sandboxes of a project."""
    return f"{home.homes}/{_name(project)}"


def unused_homes(home: Home, store: Store) -> list[str]:
    """Return the private homes of projects that no task works in any more."""
    try:
        names = os.listdir(home.homes)
    except FileNotFoundError:
        return []
    if not names:
        return []
    from errands.judge.evidence.local_workspace import LocalWorkspace  # a daemon that has no homes needs none

    used = {_name(LocalWorkspace(each, os.environ).project) for each in store.directories()}
    return [f"{home.homes}/{name}" for name in names if name not in used]


def remove_homes(homes: Iterable[str]) -> None:
    """Remove private homes, although tools make parts of their caches read-only."""
    for each in homes:
        for folder, names, _ in os.walk(each):
            for name in names:
                path = f"{folder}/{name}"
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        remove_tree(each)


def _name(project: str) -> str:
    return blake2b(os.fsencode(project), digest_size=10).hexdigest()
