"""Reach: whether words and texts name a place that a sandbox does not show, or a secret.

The answers are reasons for a person to read; "" means that there is no such name.
"""

from __future__ import annotations

import posixpath
import re

from errands.judge.lookalikes import placed
from errands.judge.programs import is_secret
from errands.judge.programs.globs import Glob
from errands.judge.programs.harms import shortened
from errands.judge.shell.payload import without_pattern, without_tests
from errands.judge.shell.tokens import STREAMS
from errands.judge.workspace import PROTECTED, TOOLS, is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.workspace import Workspace

# A pattern for hidden files that begins like a name, and not like the `.*` of a regular expression.
_HIDDEN = re.compile(r"(?:.*/)?\.[\w\[{?][^/]*")
_WILD = re.compile(r"[*?\[{]")
# A directory that a variable names, which is most often one in the project.
_BEFORE = re.compile(r"\$(?:\w+|\{\w+\}?)/(?=.)")
# Read-only inside, or private to the sandbox.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/etc", "/proc", "/sys")
_EMPTY = ("/tmp", "/var/tmp", "/run")
_OPEN = frozenset((*STREAMS, "/dev/stdin"))  # what every program has anyway
_DEVICES = _OPEN | frozenset("/dev/zero /dev/full /dev/random /dev/urandom /dev/tty".split())
# Places that most machines have; inside a longer text, anything else with a slash is rather a pattern.
_PLACES = re.compile(
    r"(?:/private)?/(?:tmp|var|home|root|srv|mnt|media|boot|run|dev|etc|Users|Volumes|workspace|data)(?:/|$)"
)
_PROTECTED = frozenset(PROTECTED)
# The private home directory leads to these tools of the real one.
_TOOLS = re.compile(rf"(?:~|\$HOME|\$\{{HOME\}})/(?:{'|'.join(map(re.escape, TOOLS))})(?:[/:]|$)")
_SEPARATORS = re.compile(r"""[\s;&|<>()'"`,]+""")
_ASSIGNED = re.compile(r"(?:-{0,2}[\w.-]+=|-[A-Za-z])(?=[/~.$])")
_ADDRESSES = ("http://", "https://", "ftp://", "ssh://")
# An address without a host is only compared: `startswith('https://')`.
_ADDRESS = re.compile(r"[\w+.-]*://[^\s'\"),;|\]}][^\s'\"]*")
# Code reads a variable; a sandbox has none with a secret.
_VARIABLE = re.compile(
    r"""(?x)(?<![\w./-])process\.env(?:\.\w+|\[\s*['"]\w+['"]\s*\]) | \bimport\.meta\.env\.\w+
    | \b(?:os\.environ(?:\.get\(|\[)|(?:os\.)?getenv\(|ENV(?:\[|\.fetch\())\s*['"]\w+['"]
    | ['"]\w+['"]\s+(?:not\s+)?in\s+os\.environ\b"""
)
# Code goes up to the parent of a directory, where a sandbox has nothing; what is put there would be lost.
_PARENT = re.compile(r"""(?<=[(,])\s*(['"])\.\.(?:/\.\.)*\1\s*(?=[,)])""")
_MODULES = re.compile(r"\bsys\.path\.(?:insert|append)\([^\n;]*")
_PUTTING = re.compile(
    r"""(?x)\b(?:shutil\.|os\.replace\(|(?:move|rename\w*|cp|cpSync|copy\w*|symlink\w*|link\w*|write\w*|to_\w+
    |save\w*|dump\w*|system|[sS]pawn\w*|exec\w*|mkdir\w*|makedirs|chdir|[pP]open)\() | \bsubprocess\b
    | \bopen\([^)]*,\s*(?:mode=)?['"][rb]*[wax+]"""
)
_HOMES = re.compile(r"~(?:/|$)|~[a-z_][a-z0-9_-]*/|\$\{?HOME\b")
# The home of another user as a word of these commands, without a slash.
_AT_HOME = re.compile(r"\b(?:cp|mv|ln|tee|cd|ls|cat|install|rsync)\b[^;&|\n]*\s(~[a-z_][\w-]*)(?=[\s;&|)]|$)")
# The first operand of these is a pattern or a program of their own, not a file.
PATTERNED = frozenset("grep egrep fgrep rg sed gsed awk gawk mawk nawk jq yq perl tr ag ack".split())
# Options that give it instead, and those with what `git log` looks for in changes.
_EXPRESSIONS = frozenset("-e --expression --regexp".split())
_PICKING = frozenset(("-S", "-G"))
# They only print their words.
SAYING = frozenset("echo printf : true false".split())
# Their operands are labels such as //src:all, or paths in a document.
_LABELLING = frozenset("bazel bazelisk buck buck2 pants xmllint xmlstarlet".split())
_SWITCH = re.compile(r"/[A-Za-z]+:")  # `/p:Name=value` is not a path


def place_of_words(words: tuple[str, ...], workspace: Workspace) -> str:
    """Return which operand of a command names a place that does not exist inside a sandbox, or a secret."""
    name = posixpath.basename(words[0])
    rest = (without_pattern if name in ("fd", "fdfind") else without_tests)(placed(words, workspace))[1:]
    if name in SAYING:
        return ""
    if words[:2] == ("git", "grep"):
        given = _without_values(words[2:], _EXPRESSIONS)
        rest = given if given != words[2:] else without_pattern(words)[2:]
    if name in PATTERNED:
        first = next((at for at, word in enumerate(rest) if not word.startswith("-")), len(rest))
        given = _without_values(rest, _EXPRESSIONS)
        rest = given if given != rest else rest[:first] + rest[first + 1 :]
    if name == "git" and words[1:2] and words[1] in ("log", "show", "diff"):
        rest = _without_values(rest, _PICKING)
    if name in _LABELLING:
        rest = tuple(word for word in rest if not word.startswith("//"))
    if name in ("dotnet", "msbuild"):
        rest = tuple(word for word in rest if not _SWITCH.match(word))
    return next(filter(None, (place_of_word(word, workspace) for word in (words[0], *rest))), "")


def place_of_word(word: str, workspace: Workspace) -> str:
    """Return what a word names that does not exist inside a sandbox, or is a secret of the project."""
    path = value_of(word)
    home = f"{workspace.home}/"
    if _TOOLS.match(f"~/{path[len(home) :]}" if path.startswith(home) else path):
        return ""
    if "://" in word and (address := _ADDRESS.search(word)):
        return f"names {shortened([address[0]])}, and a sandbox has no network"
    if _HOMES.match(path):
        return _not_shown(path)
    if path.startswith("-"):
        return ""
    said = "" if path in _OPEN else _secret_in(path, workspace)
    if said and has_several(path):
        said = place_in_text(path, workspace) or said  # which names the place alone
    if not path.startswith(("/", "..")) and "/../" not in path:
        return said
    real = workspace.real(path)
    is_shown = path in _DEVICES or any(is_within(real, place) for place in _SYSTEM)
    if is_shown or is_within(real, workspace.real(workspace.project)):
        return said
    return _not_shown(path)


def place_in_text(text: str, workspace: Workspace) -> str:
    """Return which place outside, or secret, is named in a text of several words, such as code."""
    if "env" in text or "ENV" in text:
        text = _VARIABLE.sub(" ", text)
    if ".." in text:
        text = _MODULES.sub(lambda found: _PARENT.sub(" ", found[0]), text)
        text = text if _PUTTING.search(text) else _PARENT.sub(" ", text)
    pieces = (value_of(piece).strip("{}[]") for piece in dict.fromkeys(_SEPARATORS.split(text)))
    paths = [path for path in pieces if path and not _TOOLS.match(path)]
    # First what costs little: most texts that name a place name the home directory or an address.
    for path in paths:
        if _HOMES.match(path) or (path.startswith(_ADDRESSES) and _ADDRESS.match(path)):
            return place_of_word(path, workspace)
    for path in paths:
        if path[0] == "~" and "/" not in path:
            if into := _AT_HOME.search(text):
                return _not_shown(into[1])
            continue  # rather a number: `~5 s`, `line ~1897`
        named = path.startswith("../") or path == ".." or _PLACES.match(path) or "/../" in path
        if named and (said := place_of_word(path, workspace)):
            return said
        path = _BEFORE.sub("", path) or path
        if path[0] not in "/$*" and (said := _secret_in(path, workspace)):
            return said
        if not _PROTECTED.isdisjoint(path.split("/")[:-1]):
            return f"names {shortened([path])}, which is read-only in a sandbox"
    return ""


def objection_to_writing(target: str, workspace: Workspace) -> str:
    """Return why a sandbox is not enough for writing to the target of a redirection in a text."""
    path = target.strip("'\"")
    if path in _DEVICES or path.isdigit() or path == "-" or "$" in path:
        return ""  # an expansion may be anything, and the walls hold
    is_home = _HOMES.match(path) is not None
    if not is_home and writes_inside(path, workspace):
        return ""
    if not is_home and is_within(workspace.real(path), workspace.real(workspace.project)):
        return f"writes to {shortened([path])}, which a sandbox may not change or which may hold secrets"
    return f"writes to {shortened([path])}, which a sandbox does not keep"


def writes_inside(path: str, workspace: Workspace) -> bool:
    """Return whether a file may be written: it is in the project, and nothing outside acts on it."""
    project = workspace.real(workspace.project)
    real = workspace.real(path)
    if not is_within(real, project) or is_secret(path, workspace):
        return False
    return _PROTECTED.isdisjoint(real[len(project) :].split("/"))


def value_of(word: str) -> str:
    """Return what an option or a variable is set to in a word, or the word; a wildcard counts as a name."""
    assigned = _ASSIGNED.match(word)
    return word[assigned.end() if assigned else 0 :]


def sets_value(word: str) -> bool:
    """Return whether a word sets an option or a variable to a path."""
    return _ASSIGNED.match(word) is not None


def has_several(word: str) -> bool:
    """Return whether a word is a text of several words."""
    return _SEPARATORS.search(word) is not None


def pieces_of(text: str) -> list[str]:
    """Split a text at blanks, quotes and the operators of a shell."""
    return _SEPARATORS.split(text)


def _secret_in(path: str, workspace: Workspace) -> str:
    return (
        f"names {shortened([path])}, which may hold secrets"
        if is_secret(_as_pattern(path), workspace)
        else ""
    )


def _not_shown(path: str) -> str:
    for place in _EMPTY:
        if is_within(path, place):
            return f"names {shortened([path])}, and a sandbox has a {place} of its own"
    return f"names {shortened([path])}, which a sandbox does not show"


def _without_values(words: tuple[str, ...], options: frozenset[str]) -> tuple[str, ...]:
    return tuple(word for before, word in zip(("", *words), words, strict=False) if before not in options)


def _as_pattern(path: str) -> str:
    """Return a pattern for hidden files as what a program or the shell makes of it; braces count as `*`."""
    is_pattern = _WILD.search(path) and _HIDDEN.fullmatch(path)
    return Glob(path.partition("{")[0] + "*" if "{" in path else path) if is_pattern else path
