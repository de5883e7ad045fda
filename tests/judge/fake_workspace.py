"""A workspace written down by hand: a clean repository and trusted programs, unless a test says otherwise."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch

from errands.judge.workspace import FoundProgram
from errands.model.verdict import Reason


@dataclass(frozen=True, kw_only=True)
class FakeWorkspace:
    cwd: str = "/project"
    project: str = "/project"
    home: str = "/home/person"
    shell: str = "/bin/bash"
    dangers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    with_passwords: frozenset[str] = frozenset()
    programs: Mapping[str, FoundProgram] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    directories: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    is_own_home: bool = True
    is_home_plain: bool = True
    doubt_of_shell: str = ""
    strangers: Mapping[str, str] = field(default_factory=dict)
    known: dict[tuple[object, ...], Reason | None] = field(default_factory=dict, init=False, compare=False)

    def git_has_passwords(self, directory: str) -> bool:
        return directory in self.with_passwords

    def git_dangers(self, directory: str) -> tuple[str, ...]:
        return self.dangers.get(directory, ())

    def program(self, name: str) -> FoundProgram:
        return self.programs.get(name, FoundProgram(path=f"/usr/bin/{name}"))

    def real(self, path: str) -> str:
        path = posixpath.normpath(posixpath.join(self.cwd, path))
        return self.links.get(path, path)

    def is_same_repository(self, directory: str) -> bool:
        return self.cwd in self.directories

    def shell_doubt(self) -> str:
        return self.doubt_of_shell

    def linked(self, place: str, *, below: bool) -> tuple[str, ...] | None:
        path = posixpath.normpath(posixpath.join(self.cwd, place))
        if below:
            return tuple(each for each in self.links if each.startswith(f"{path}/"))
        return tuple(each for each in self.links if fnmatch(each, path))

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        path = posixpath.normpath(posixpath.join(self.cwd, pattern))
        return tuple(each for each in sorted(self.files) if fnmatch(each, path))

    def is_directory(self, path: str) -> bool:
        return posixpath.normpath(posixpath.join(self.cwd, path)) in self.directories

    def stranger(self, path: str) -> str:
        return self.strangers.get(posixpath.normpath(posixpath.join(self.cwd, path)), "")

    def at(self, directory: str) -> FakeWorkspace:
        return replace(self, cwd=directory)
