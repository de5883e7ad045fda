"""Repositories: what git would use in a directory, which parts of it run something else, and in which files.

What cannot be read is a danger.
"""

from __future__ import annotations

import os
import stat

from errands.judge.evidence.evidence import GITLINK, inner_repositories
from errands.judge.evidence.gitconfig import Unreadable, danger, read_settings
from errands.judge.workspace import is_within
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from errands.judge.evidence.gitconfig import Setting

_LARGEST = 1_000_000
_DEEPEST = 4
# The hook that git runs whenever it refreshes its index, which even `git status` does.
_READING_HOOK = "post-index-change"
# The hooks that git runs when it does more than read.
_HOOKS = tuple(
    """applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
    post-commit pre-rebase post-checkout post-merge pre-push post-rewrite pre-auto-gc push-to-checkout
    reference-transaction sendemail-validate""".split()
)
# Where a repository keeps what git prints if it makes no sense, and the files that it always reads.
_TOLD = ("", "info", "objects/info", "rebase-merge", "rebase-apply", "sequencer")
_ALWAYS_TOLD = ("packed-refs", "shallow", "info/grafts", "objects/info/alternates")
# What git accepts as the HEAD of a repository.
_HEAD = regex(r"ref: refs/\S|[0-9a-f]{40}(?:[0-9a-f]{24})?\s*\Z")
# A password or a token in an address: `https://token@host`, `ssh://name:password@host`.
_PASSWORD = regex(r"https?://[^/\s@]+@|://[^/\s@:]*:[^/\s@]+@")
# A program, or a script for one, whose path is relative to wherever git runs it.
_RELATIVE = regex(r"(?:^|[\s!\"'=])(?:\.{1,2}/|[\w.-]+/)")


class Repositories:
    """The repository that git finds from a directory, and the ones inside it that git would enter.

    `dangers` are why git would run another program. `has_passwords` is whether an address in its
    configuration, or in the person's own, has one. `files` is everything that this rests on, whether it
    exists or not; of `indexes` only the listed repositories matter, of `links` where they lead; `hooks` are
    run as well when git does more than read.
    """

    def __init__(self, directory: str, foreign: Iterable[str] = (), own: Iterable[str] = ()) -> None:
        self.has_passwords = False
        self.dangers: dict[str, None] = {}
        self.files: dict[str, None] = {}
        self.indexes: dict[str, None] = {}
        self.links: dict[str, str] = {}
        self.hooks: dict[str, None] = {}
        # Where this person's own configuration looks for hooks, relative to the repository.
        self._relative: list[str] = []
        for name in foreign:
            self._look_at_foreign(name)
        for name in own:
            self._look_at_own(name, depth=0)
        # Git starts from the real directory, but a shell may have come through a link.
        for start in dict.fromkeys((os.path.realpath(directory), os.path.abspath(directory))):
            self._discover(start)

    def _discover(self, start: str) -> None:
        for each in upwards(start):
            mark = os.path.join(each, ".git")
            if self._is_there(mark):
                return self._look(each, mark, depth=0)
            if self._is_bare(each):
                self.dangers[f"{each} is itself a repository, which git would use"] = None
                return None
        return None

    def _is_bare(self, directory: str) -> bool:
        if not self._is_there(os.path.join(directory, "HEAD")):
            return False
        return any(self._is_there(os.path.join(directory, name)) for name in ("objects", "refs", "commondir"))

    def _look(self, worktree: str, mark: str, *, depth: int) -> None:
        """Check one repository and the ones inside it that git would enter."""
        if depth > _DEEPEST:
            self.dangers[f"{worktree} nests repositories too deeply"] = None
            return
        try:
            directory = _git_directory(worktree, mark)
            common = self._common(directory)
            self._check_owners(worktree, mark, directory, common)
            self._check_valid(mark, directory, common)
            for base in dict.fromkeys((directory, common)):
                self._check_links(base)
            short = True
            hooks = [os.path.join(common, "hooks"), os.path.join(directory, "hooks")]
            hooks += [os.path.join(base, value) for base in (worktree, directory) for value in self._relative]
            for name in dict.fromkeys(
                (
                    f"{common}/config",
                    f"{directory}/config",
                    f"{common}/config.worktree",
                    f"{directory}/config.worktree",
                )
            ):
                for setting in self._settings(name):
                    if setting.name == "core.hookspath":
                        value = os.path.expanduser(setting.value)
                        hooks += [os.path.join(worktree, value), os.path.join(directory, value)]
                    elif setting.name == "core.worktree":
                        there = os.path.join(directory, setting.value)
                        if os.path.realpath(there) != os.path.realpath(worktree):
                            self.dangers[f"the repository's files are elsewhere: {setting.value}"] = None
                    elif setting.name == "extensions.objectformat":
                        short = setting.value == "sha1"
                    elif said := danger(setting):
                        self.dangers[said] = None
            self.hooks.update((os.path.join(where, name), None) for where in hooks for name in _HOOKS)
            if any(self._is_there(os.path.join(where, _READING_HOOK)) for where in hooks):
                said = f"the repository has a hook that git runs even when it only reads: {_READING_HOOK}"
                self.dangers[said] = None
            for inner in self._inner(directory, short=short):
                below = os.path.join(worktree, inner)
                if self._is_there(os.path.join(below, ".git")):
                    self._look(below, os.path.join(below, ".git"), depth=depth + 1)
        except (OSError, UnicodeError, Unreadable) as error:
            self.dangers[f"the repository in {worktree} cannot be read: {error}"] = None

    def _check_owners(self, *places: str) -> None:
        for place in dict.fromkeys(places):
            if os.stat(place).st_uid not in (0, os.geteuid()):
                self.dangers[f"{place} belongs to another user, who can change what git runs"] = None

    def _check_valid(self, mark: str, directory: str, common: str) -> None:
        """Find what git does not take for a repository: it would continue in the directories above."""
        for part in ("objects", "refs"):
            place = os.path.join(common, part)
            if not self._is_there(place) or not os.access(place, os.X_OK):
                raise Unreadable(f"{mark} is incomplete, so git would use a repository above it")
        head = os.path.join(directory, "HEAD")
        if not os.path.exists(head) or not _HEAD.match(_content(head)):
            raise Unreadable(f"{mark} has no valid HEAD, so git would use a repository above it")

    def _check_links(self, base: str) -> None:
        """Find links to files elsewhere: git shows a line that it does not understand."""
        self.links.update(
            (path, os.path.realpath(path)) for each in _ALWAYS_TOLD if (path := f"{base}/{each}")
        )
        folders = [*_TOLD, *(f"worktrees/{each}" for each in _names(f"{base}/worktrees"))]
        for path in (f"{base}/{folder}".rstrip("/") for folder in folders):
            for link in _links(path):
                real = os.path.realpath(link)
                if not (is_within(real, base) or real.endswith(link[len(base) :])):
                    self.dangers[f"{link} is a link to {real}, which git may show"] = None

    def _is_there(self, name: str) -> bool:
        self.files[name] = None
        return os.path.lexists(name)

    def _settings(self, name: str) -> Iterable[Setting]:
        if not self._is_there(name):
            return ()
        content = _content(name)
        self.has_passwords = self.has_passwords or _PASSWORD.search(content) is not None
        return read_settings(content)

    def _look_at_foreign(self, name: str) -> None:
        try:
            found = [said for setting in self._settings(name) if (said := danger(setting))]
        except (OSError, Unreadable) as error:
            found = [f"{name} cannot be read: {error}"]
        self.dangers.update(dict.fromkeys(found))

    def _look_at_own(self, name: str, *, depth: int) -> None:
        """Note what this person's own configuration would run inside a repository."""
        try:
            if depth > _DEEPEST:
                raise Unreadable("files include each other too deeply")
            for setting in self._settings(name):
                value = os.path.expanduser(setting.value)
                if setting.name == "core.hookspath" and not os.path.isabs(value):
                    self._relative.append(value)
                elif setting.section in ("include", "includeif") and setting.key == "path":
                    self._look_at_own(os.path.join(os.path.dirname(name), value), depth=depth + 1)
                elif setting.section != "alias" and danger(setting) and _RELATIVE.search(setting.value):
                    self.dangers[f"{name} runs a program of the repository: {setting.name}"] = None
        except (OSError, UnicodeError, Unreadable) as error:
            self.dangers[f"{name} cannot be read: {error}"] = None

    def _common(self, directory: str) -> str:
        """Return the directory that a worktree shares with its repository."""
        name = os.path.join(directory, "commondir")
        if not self._is_there(name):
            return directory
        return os.path.realpath(os.path.join(directory, _content(name).rstrip("\r\n")))

    def _inner(self, directory: str, *, short: bool) -> Iterator[str]:
        """Yield the repositories inside a repository that its index lists, if its hashes are short."""
        index = os.path.join(directory, "index")
        self.indexes[index] = None
        if os.path.lexists(index):
            try:
                inner = inner_repositories(_bytes(index))
            except ValueError as error:
                raise Unreadable(str(error)) from None
            if inner and not short:
                raise Unreadable("its index has long hashes and may contain other repositories")
            yield from map(os.fsdecode, inner)
        for name in os.listdir(directory):
            if name.startswith("sharedindex.") and GITLINK in _bytes(os.path.join(directory, name)):
                raise Unreadable("its index is split and may contain other repositories")


def upwards(directory: str) -> Iterator[str]:
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _git_directory(worktree: str, mark: str) -> str:
    if os.path.isdir(mark):
        return os.path.realpath(mark)
    text = _content(mark)
    if not text.startswith("gitdir: "):
        raise Unreadable(f"{mark} points to no repository")
    directory = os.path.realpath(os.path.join(worktree, text[len("gitdir: ") :].rstrip("\r\n")))
    if not os.path.isdir(directory):
        raise Unreadable(f"{mark} points to no repository")
    return directory


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _links(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.path for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def _content(name: str) -> str:
    content = _bytes(name, _LARGEST + 1)
    if len(content) > _LARGEST or b"\0" in content:
        raise Unreadable(f"{name} is too large or not text")
    return content.decode("utf-8", "surrogateescape")


def _bytes(name: str, most: int = -1) -> bytes:
    # Reading anything but a regular file, a pipe for instance, could block.
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"{name} is not a regular file")
        return file.read(most)
