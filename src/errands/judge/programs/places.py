"""Places: files that are not read without asking, because they hold secrets or never end.

What counts is where a path leads, not how it is written: `~`, `..`, doubled slashes, links and letter case
make no difference. A wildcard asks if it could match such a file.
"""

from __future__ import annotations

import posixpath

from errands.judge.programs.globs import Glob, may_match, may_match_plain
from errands.judge.programs.known_places import HIDDEN, KERNEL, READABLE, SYSTEM
from errands.judge.programs.name_patterns import AMONG, is_among_settings, is_only_possible, said_of_pattern
from errands.judge.workspace import is_within
from errands.model.text.regex import is_wild, regex
from errands.model.text.secret_files import ANYWHERE, is_secret_name, may_hold_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.workspace import Workspace

# Source code is not secret just because its directory is called `secrets`.
_SOURCES = tuple(
    """
    .py .pyi .js .jsx .ts .tsx .go .rs .java .kt .rb .php .c .h .cc .cpp .hpp .cs .swift .md .rst .html .css
    """.split()
)

_places = tuple(tuple(place.split("/")) for place in ANYWHERE)
# Hidden directories with such a place inside, `.git` for instance.
_hidden = tuple(place for place in _places if place[0][0] == "." and len(place) > 1)
_system = tuple(tuple(place.split("/")[1:]) for place in SYSTEM)
_readable = tuple(tuple(place.split("/")[1:]) for place in READABLE)
_kernel = tuple(tuple(place.split("/")[1:]) for place in KERNEL)

_VAULTS = frozenset(
    "secrets .secrets credentials .credentials legacy_credentials .env.d .envs private_keys".split()
)
_DEEPEST_VAULT = 3  # directories above a file
# What people write for agents is not secret; the settings of agents may be.
_AGENTS = frozenset((".claude", ".codex", ".gemini"))
_PROMPTS = frozenset("agents commands output-styles prompts rules skills".split())
# Settings of a repository, which may have passwords in addresses.
_SETTINGS = frozenset(("config", "config.worktree"))
_CLOSED_AT_HOME = ("/.", "/library/", "/snap/")
_HOME = regex(r"/(home|Users)/[^/]+/")


def _indexed(places: tuple[tuple[str, ...], ...]) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for place in places:
        found.setdefault(place[0], []).append(place)
    return found


# By their first part, which is plain. Comparing each with every word would take half of the judge's time.
_by_first = _indexed(_places)
_system_by_first = _indexed(_system)


def objection_to_place(word: str, use: str, workspace: Workspace) -> str | None:
    """Return why this path is not read (READ), searched (SEARCH) or listed (LOOK) without asking."""
    if word == "-" or not word:
        return None
    path = _absolute(word, workspace)
    if path is None:
        return f"`{word}` is the home directory of another user"
    wild = isinstance(word, Glob)
    said = _said(path, word, use, wild=wild) or _said_of_home(path, word, use, workspace)
    if said is None or is_among_settings(said):
        # Where it leads may be worse. Only the directory before a wildcard can be resolved.
        written = _joined(word, workspace)
        real = workspace.real(posixpath.dirname(Glob(written).prefix) if wild else written)
        worse = None
        if real != path:
            worse = _said(real, word, use, wild=False) or _said_of_home(real, word, use, workspace)
        if worse is None and wild and use != "LOOK":
            worse = _said_of_links(written, word, workspace, below=False)
        said = worse or said
    if said is not None and use == "READ" and is_only_possible(word, said):
        said = _said_of_matches(_joined(word, workspace), workspace) or said
    return said


def objection_to_following(word: str, workspace: Workspace) -> str | None:
    """Return why not every link below this directory is followed without asking."""
    return _said_of_links(_joined(word, workspace), word, workspace, below=True)


def _said_of_matches(place: str, workspace: Workspace) -> str | None:
    """Return why not to read what a pattern matches now; it may match more when its command runs."""
    found = workspace.matching(place)
    if found is None:
        return f"reads {place}, which matches too much to check"
    said = (_said(path, path, "READ", wild=False) for path in found)
    worse = next((each for each in said if each and not is_among_settings(each)), None)
    return worse or _said_of_links(place, place, workspace, below=False)


def _said_of_links(place: str, word: str, workspace: Workspace, *, below: bool) -> str | None:
    links = workspace.linked(place, below=below)
    if links is None:
        return f"follows the links of {word}, which has too many entries to check"
    for link in links:
        real = workspace.real(link)
        said = _said(real, link, "READ", wild=False) or _said_of_home(real, link, "READ", workspace)
        if said is None and _holds_secrets(real, workspace.home):
            said = f"searches everything in {real}, where secrets are kept"
        if said is not None:
            return f"{said} (a link leads to {real})"
    return None


def objection_to_recursion(word: str, workspace: Workspace) -> str | None:
    """Return why not everything below this directory is read without asking."""
    path = _absolute(word, workspace)
    if path is None:
        return f"`{word}` is the home directory of another user"
    written = _joined(word, workspace)
    for each in {path, workspace.real(Glob(written).prefix if isinstance(word, Glob) else written)}:
        if _holds_secrets(each, workspace.home):
            return f"searches everything in {each}, where secrets are kept"
    if isinstance(word, Glob) and _may_hold_secrets(path, workspace.home):
        return f"searches everything in {word}, which may be where secrets are kept"
    return None


def is_inside(word: str, workspace: Workspace) -> bool:
    """Return whether a path, with its links resolved, is inside the project."""
    path = _absolute(word, workspace)
    if path is None:
        return False
    written = _joined(word, workspace)
    real = workspace.real(posixpath.dirname(Glob(written).prefix) if isinstance(word, Glob) else written)
    project = workspace.project
    return is_within(path, project) and is_within(real, workspace.real(project))


def objection_to_listing(word: str, workspace: Workspace) -> str | None:
    """Return why not every name in this directory is listed without asking: it is or contains a home."""
    path = _absolute(word, workspace)
    if path is not None and isinstance(word, Glob) and _may_lead_to_home(path, workspace.home):
        return f"lists everything in {word}, which may be a whole home"
    if path is not None and not any(
        is_within(workspace.home, each)
        or each in ("/home", "/Users", "/root")
        or (_HOME.fullmatch(f"{each}/") and not is_within(each, workspace.project))
        for each in (path, workspace.real(_joined(word, workspace)))
    ):
        return None
    return f"lists everything in {word}"


def _absolute(word: str, workspace: Workspace) -> str | None:
    if word.startswith("~") and "/" not in word and word != "~":
        return None
    # POSIX keeps two leading slashes; Linux and macOS treat them as one.
    return "/" + posixpath.normpath(_joined(word, workspace)).lstrip("/")


def _joined(word: str, workspace: Workspace) -> str:
    """Make a path absolute but keep every `..`, which may follow a link."""
    if word.startswith("~"):
        user, _, rest = word[1:].partition("/")
        return f"{f'/home/{user}' if user else workspace.home}/{rest}"
    return posixpath.join(workspace.cwd, word)


def _said(path: str, word: str, use: str, *, wild: bool) -> str | None:
    parts = tuple(part.casefold() for part in path.split("/")[1:] if part)
    if not parts:
        return None
    if parts[0] == "private" and parts[1:2] in (("etc",), ("var",)):
        parts = parts[1:]  # where macOS has them
    top = parts[0]
    if top in ("proc", "sys", "dev") or (
        wild and any(may_match(top, each) for each in ("proc", "sys", "dev"))
    ):
        return None if use == "LOOK" else _said_of_kernel(parts, word, wild=wild)
    of_system = _system if wild and is_wild(top) else _system_by_first.get(top, ())
    if any(_begins(parts, place, wild=wild) for place in of_system):
        return f"reads {word}, where the system keeps accounts or secrets"
    if use != "LOOK" and _is_closed(parts):
        return f"reads {word}, which belongs to the system and may hold secrets"
    for start, part in enumerate(parts):
        places = _places if wild and is_wild(part) else _by_first.get(part, ())
        if parts[start + 1 : start + 2] and part in _AGENTS and parts[start + 1] in _PROMPTS:
            continue
        if any(_begins(parts[start:], place, wild=wild) for place in places):
            return f"reads {word}, where secrets are kept"
    if use == "LOOK":
        return None
    name = parts[-1]
    if not _VAULTS.isdisjoint(parts[-1 - _DEEPEST_VAULT :]) and not name.endswith(_SOURCES):
        return f"reads {word}, which may hold secrets"
    if name in _SETTINGS and any(part.endswith(".git") for part in parts[:-1]):
        return f"reads {word}, where secrets are kept"
    if not (wild and is_wild(name)):
        if is_secret_name(name):
            return f"reads {word}, which may hold secrets"
        return f"reads {word}, {AMONG}" if may_hold_secret(name) else None
    said = said_of_pattern(name, use)
    return f"reads {word}, {said}" if said else None


def _is_closed(parts: tuple[str, ...]) -> bool:
    """Return whether a path leads to settings or state of the system that are not known to be readable."""
    parts = parts[1:] if parts[:2] == ("var", "run") else parts
    if parts[0] not in ("etc", "run") and parts[:2] != ("var", "lib"):
        return False
    depth = 1 if parts[0] in ("etc", "run") else 2
    return len(parts) > depth and not any(_begins(parts, place, wild=False) for place in _readable)


def _begins(parts: tuple[str, ...], place: tuple[str, ...], *, wild: bool) -> bool:
    return len(parts) >= len(place) and all(
        _alike(*pair, wild=wild) for pair in zip(parts, place, strict=False)
    )


def _said_of_home(path: str, word: str, use: str, workspace: Workspace) -> str | None:
    """Object to what programs keep in a home directory, in hidden files most often."""
    if use == "LOOK" or is_within(path, workspace.project):
        return None
    homes = (workspace.home, workspace.real(workspace.home), "/root")
    inside = next((path[len(home) :] for home in homes if path.startswith(home + "/")), None)
    if inside is None:
        found = _HOME.match(path)
        inside = path[found.end() - 1 :] if found else ""
    if not inside.casefold().startswith(_CLOSED_AT_HOME):
        return None
    if any(is_within(inside, f"/{name}") for name in HIDDEN):
        return None
    return f"reads {word}, where programs keep their data in a home directory"


def _said_of_kernel(parts: tuple[str, ...], word: str, *, wild: bool) -> str | None:
    for place in _kernel:
        if not wild and len(parts) == len(place) and _begins(parts, place, wild=False):
            return None
    kinds = {"proc": "kernel data about a process", "sys": "kernel data", "dev": "a device"}
    return f"reads {word}: {kinds.get(parts[0], 'a device or kernel data')}"


def _alike(part: str, pattern: str, *, wild: bool) -> bool:
    if part == pattern:
        return True
    if wild and is_wild(part):
        return may_match(part, pattern)
    return is_wild(pattern) and may_match_plain(part, pattern)


def _may_lead_to_home(pattern: str, home: str) -> bool:
    """Return whether a pattern may match a home directory, or one that contains it: `/ho?e`."""
    parts = _parts(pattern)
    while parts and not parts[-1].strip("*?"):
        parts = parts[:-1]  # everything in a directory amounts to the directory itself
    if _may_contain(parts, _parts(home)):
        return True
    return any(_may_contain(parts, (top, "*")) for top in ("home", "users", "root"))


def _may_hold_secrets(pattern: str, home: str) -> bool:
    """Return whether a pattern may match a directory below which secrets are kept: `/et[c]`, `.gi?`."""
    parts = _parts(pattern)
    if _may_lead_to_home(pattern, home):
        return True
    if any(_may_contain(parts, (top, "*")) for top in ("proc", "sys", "dev")):
        return True
    if any(len(parts) < len(place) and _may_contain(parts, place) for place in _system):
        return True
    return any(
        _may_contain(parts[-size:], place[:size])
        for place in _hidden
        for size in range(1, min(len(place), len(parts) + 1))
    )


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.casefold().split("/") if part)


def _may_contain(parts: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Return whether a pattern may match a place or a directory above it."""
    return len(parts) <= len(place) and all(
        _alike(*pair, wild=True) for pair in zip(parts, place, strict=False)
    )


def _holds_secrets(path: str, home: str) -> bool:
    if path == "/" or is_within(home, path):
        return True
    lowered = path.casefold()
    if lowered.split("/")[1] in ("proc", "sys", "dev", "home", "users", "root") and lowered.count("/") < 3:
        return True
    parts = tuple(lowered.split("/")[1:])
    if any(len(parts) < len(place) and place[: len(parts)] == parts for place in _system):
        return True
    if any(parts[-size:] == place[:size] for place in _hidden for size in range(1, len(place))):
        return True
    if parts[-1].endswith(".git") or ".git/modules" in lowered:
        return True
    if not is_within(path, home):
        return False
    inner = tuple(path.removeprefix(home).casefold().strip("/").split("/"))
    return any(len(inner) < len(place) and place[: len(inner)] == inner for place in _places)
