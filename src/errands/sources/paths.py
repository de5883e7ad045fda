"""Path patterns: which files match, and their current state."""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Iterator

from errands.model.errors import SourceError
from errands.model.record import record

# Directories that programs fill by themselves; skipped unless the pattern names them.
IGNORED = frozenset(
    ".git .hg .svn .tox .venv __pycache__ node_modules .mypy_cache .pytest_cache .ruff_cache".split()
)
MOST = 50_000  # files that one pattern may match


@record
class Pattern:
    """Files below `root` whose path matches `expression`, except those below `hidden`."""

    root: str
    expression: re.Pattern[str]
    is_deep: bool
    names: frozenset[str]
    hidden: str


@record
class Seen:
    """The state of a file: `mark` changes with its content, `changed` is the time of its last change."""

    mark: str
    changed: float


def pattern_of(text: str, *, cwd: str, hidden: str) -> Pattern:
    """Parse a pattern such as `src/**/*.py`; a directory matches everything below it."""
    whole = os.path.normpath(os.path.join(cwd, os.path.expanduser(text)))
    if os.path.isdir(whole):
        whole += "/**"
    parts = whole.split("/")
    literal = 0
    while literal < len(parts) - 1 and not set(parts[literal]) & set("*?["):
        literal += 1
    rest = parts[literal:]
    return Pattern(
        root="/".join(parts[:literal]) or "/",
        expression=re.compile(_expression("/".join(rest))),
        is_deep=len(rest) > 1 or "**" in rest,
        names=frozenset(parts),
        hidden=os.path.realpath(hidden),
    )


def _expression(pattern: str) -> str:
    found, place = "", 0
    while place < len(pattern):
        if pattern.startswith("**/", place):
            found, place = found + "(?:[^/]+/)*", place + 3
        elif pattern.startswith("**", place):
            found, place = found + ".*", place + 2
        elif pattern[place] == "*":
            found, place = found + "[^/]*", place + 1
        elif pattern[place] == "?":
            found, place = found + "[^/]", place + 1
        elif pattern[place] == "[" and (end := pattern.find("]", place + 2)) > 0:
            inner = pattern[place + 1 : end].replace("\\", r"\\")
            found += f"[^{inner[1:]}]" if inner[:1] in "!^" else f"[{inner}]"
            place = end + 1
        else:
            found, place = found + re.escape(pattern[place]), place + 1
    return found + r"\Z"


def check_root(pattern: Pattern) -> None:
    if not os.path.isdir(pattern.root):
        raise SourceError(f"directory {pattern.root} does not exist; create it, or cancel the task")


def scan(pattern: Pattern) -> dict[str, Seen]:
    """Return the state of all matching files, by their paths below the root."""
    check_root(pattern)
    found: dict[str, Seen] = {}
    for name, facts in _walk(pattern, pattern.root, ""):
        if len(found) >= MOST:
            raise SourceError(f"the pattern matches more than {MOST:,} files; use a narrower one")
        found[name] = Seen(mark=f"{facts.st_mtime_ns}.{facts.st_size}.{facts.st_ino}", changed=facts.st_ctime)
    return found


def _walk(pattern: Pattern, directory: str, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        os.stat(directory)  # so that the kernel notes its next change to the nanosecond
        entries = os.scandir(directory)
    except OSError:
        return  # deleted meanwhile, or not readable
    with entries:
        for entry in entries:
            name = prefix + entry.name
            try:
                if entry.is_dir(follow_symlinks=False):
                    if pattern.is_deep and not _is_left_out(pattern, entry):
                        yield from _walk(pattern, entry.path, f"{name}/")
                elif pattern.expression.match(name):
                    yield name, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _is_left_out(pattern: Pattern, entry: os.DirEntry[str]) -> bool:
    if entry.name in IGNORED and entry.name not in pattern.names:
        return True
    return os.path.realpath(entry.path) == pattern.hidden


def pack(pattern: Pattern, marks: dict[str, str]) -> str:
    """Serialise the marks of files."""
    content = json.dumps({"root": pattern.root, "for": pattern.expression.pattern, "marks": marks})
    return base64.b64encode(zlib.compress(content.encode("utf-8", "surrogatepass"), 1)).decode()


def unpack(pattern: Pattern, baseline: str | None) -> dict[str, str] | None:
    """Parse packed marks; return None if they are of another pattern."""
    if baseline is None:
        return None
    try:
        kept = json.loads(zlib.decompress(base64.b64decode(baseline)))
    except (ValueError, zlib.error):
        return None
    if kept["root"] != pattern.root or kept["for"] != pattern.expression.pattern:
        return None
    marks: dict[str, str] = kept["marks"]
    return marks
