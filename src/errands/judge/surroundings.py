"""Surroundings: what the judge may know about the place where a command would run.

The judge does no input or output of its own; whoever calls it hands this in. The real one reads the file
system (`errands.judge.evidence.machine`), tests use the plain record `Place`.
"""

from __future__ import annotations

import posixpath

from errands.model.record import evolve, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class Surroundings(Protocol):
        """Directories are absolute and without a slash at the end; `shell` is what reads a line."""

        @property
        def cwd(self) -> str: ...
        @property
        def project(self) -> str: ...
        @property
        def home(self) -> str: ...
        @property
        def shell(self) -> str: ...

        def git_dangers(self, directory: str) -> tuple[str, ...]:
            """Name what in the configuration of the repository that git would use there runs a program."""

        def program(self, name: str) -> Program:
            """Find a program by its bare name, the way the shell does."""

        def real(self, path: str) -> str:
            """Resolve a path, relative to `cwd`, with all its symbolic links; it need not exist."""

        def at(self, directory: str) -> Surroundings:
            """Give the same surroundings, seen from another directory."""


@record
class Program:
    """Where a bare name leads: `path` is empty when nothing has that name; `doubt` says why not to trust it.

    `own` tells that the doubt is only about a virtual environment that this person made.
    """

    path: str = ""
    doubt: str = ""
    own: bool = False


@record
class Place:
    """Surroundings written down by hand: a clean repository and trusted programs, unless told otherwise."""

    cwd: str = "/project"
    project: str = "/project"
    home: str = "/home/person"
    shell: str = "/bin/bash"
    dangers: Mapping[str, tuple[str, ...]] = {}
    programs: Mapping[str, Program] = {}
    links: Mapping[str, str] = {}

    def git_dangers(self, directory: str) -> tuple[str, ...]:
        return self.dangers.get(directory, ())

    def program(self, name: str) -> Program:
        return self.programs.get(name, Program(path=f"/usr/bin/{name}"))

    def real(self, path: str) -> str:
        path = posixpath.normpath(posixpath.join(self.cwd, path))
        return self.links.get(path, path)

    def at(self, directory: str) -> Place:
        return evolve(self, cwd=directory)


def is_within(path: str, directory: str) -> bool:
    """Tell whether an absolute, normal path is a directory or something in it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
