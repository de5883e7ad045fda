"""Ids: those of tasks and runs, and the readable half of them.

A task's id is a slug and six random letters, `pytest-7k2m4x`; a run's is the task's and its number,
`pytest-7k2m4x.1`. Ids become parts of paths, so only exactly this shape is accepted.
"""

from __future__ import annotations

from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # no letters that look or sound alike
SUFFIX_LENGTH = 6
# The names of the two spans of a run in a trace: until it starts, and from then on.
START = "background_task_start"
EXECUTE = "background_task_execute"
LONGEST_SLUG = 32
SHORTENED = ("…", "~")  # stands for the middle of an id that a list has shortened; the second is ASCII
LONGEST_TASK_ID = LONGEST_SLUG + 1 + SUFFIX_LENGTH

_SLUG_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_SUFFIX_LETTERS = frozenset(ALPHABET)
_DIGITS = frozenset("0123456789")
# Neither quotes nor operators.
_PLAIN_LETTERS = _SLUG_LETTERS | frozenset(" ABCDEFGHIJKLMNOPQRSTUVWXYZ_./=:,+@%")

# Programs that only run another one; the words before its name belong to the wrapper.
_WRAPPERS = frozenset((
    "caffeinate", "chronic", "chrt", "command", "doas", "env", "exec", "flock", "ionice", "nice", "nohup",
    "npx", "pnpx", "setsid", "stdbuf", "sudo", "taskset", "time", "timeout", "unbuffer", "uvx", "xvfb-run",
))  # fmt: skip
_RUNNERS = frozenset(("bundle", "hatch", "pdm", "pipenv", "pixi", "poetry", "rye", "uv"))  # `uv run pytest`
_SHELLS = frozenset(("bash", "dash", "ksh", "sh", "zsh"))
_PYTHONS = frozenset(("pypy", "pypy3", "python", "python2", "python3"))
_INTERPRETERS = _SHELLS | _PYTHONS | {"bun", "deno", "node", "perl", "php", "ruby", "tsx"}
_OPTIONS_WITH_VALUE = frozenset((
    "-C", "-c", "-e", "-g", "-i", "-k", "-n", "-o", "-p", "-s", "-u", "-w", "--adjustment", "--chdir",
    "--group", "--kill-after", "--signal", "--unset", "--user",
))  # fmt: skip
_EXTENSIONS = (".py", ".sh", ".bash", ".js", ".mjs", ".ts", ".rb", ".pl", ".php")


def slug(text: str) -> str:
    """Turn a name into the readable half of an id: lower-case letters, digits and single hyphens."""
    if not text.isascii():
        import unicodedata

        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    if _SLUG_LETTERS.issuperset(text) and "-" not in text:
        return text[:LONGEST_SLUG] or "task"
    letters = "".join(c if c in _SLUG_LETTERS else "-" for c in text[:1000].lower())
    words = [word for word in letters.split("-") if word]
    return "-".join(words)[:LONGEST_SLUG].rstrip("-") or "task"


def command_slug(command: str) -> str:
    """Turn a command line into a slug: the program that does the work, not its wrappers."""
    return slug(_program(_words(command[:4000])))


def new_id(slug: str, randomness: bytes) -> str:
    """Make a task's id; eight random bytes or more distribute the letters evenly."""
    if len(randomness) < 8:
        raise ValueError("a new id needs at least 8 random bytes")
    number = int.from_bytes(randomness, "big")
    suffix = ""
    for _ in range(SUFFIX_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        suffix += ALPHABET[digit]
    made = f"{slug}-{suffix}"
    if not is_task_id(made):
        raise BadValue(f"{slug!r} cannot be part of an id. Use lower-case letters, digits and hyphens.")
    return made


def is_task_id(text: str) -> bool:
    if len(text) > LONGEST_TASK_ID:
        return False
    name, hyphen, suffix = text.rpartition("-")
    return (
        hyphen == "-"
        and len(suffix) == SUFFIX_LENGTH
        and _SUFFIX_LETTERS.issuperset(suffix)
        and _SLUG_LETTERS.issuperset(name)
        and bool(name)
        and not name.startswith("-")
        and not name.endswith("-")
        and "--" not in name
    )


def is_run_id(text: str) -> bool:
    task_id, dot, number = text.rpartition(".")
    return (
        dot == "."
        and 1 <= len(number) <= 9
        and _DIGITS.issuperset(number)
        and number[0] != "0"
        and is_task_id(task_id)
    )


def is_id(text: str) -> bool:
    """Return whether this can name a task: an id, the beginning of one, or one that a list has shortened."""
    beginning, end = ends_of_id(text)
    if not _SLUG_LETTERS.issuperset(beginning) or not _SUFFIX_LETTERS.issuperset(end):
        return False
    return 0 < len(text) <= LONGEST_TASK_ID and text[0] != "-"


def ends_of_id(text: str) -> tuple[str, str]:
    """Split what names a task into a beginning and, if a list has cut out the middle, the random end."""
    for mark in SHORTENED:
        beginning, found, end = text.rpartition(mark)
        if found and len(end) == SUFFIX_LENGTH:
            return beginning, end
    return text, ""


def meant(prefix: str, found: Iterable[tuple[str, object]]) -> str | None:
    """Return which of the ids that a prefix begins it means, each of them with whether its task is live.

    A whole name wins over the beginning of a longer one, and a live task over an ended one.
    """
    rows = list(found)
    named = [row for row in rows if row[0].rpartition("-")[0] == prefix] or rows
    wanted = named if len(named) == 1 else [row for row in named if row[1]]
    return wanted[0][0] if len(wanted) == 1 else None


def short_id(task_id: str, room: int, *, mark: str) -> str:
    """Shorten an id in the middle: its beginning is what people know, its end tells it apart from others."""
    if len(task_id) <= room:
        return task_id
    end = mark + task_id[-SUFFIX_LENGTH:]
    return task_id[: max(room - len(end), 0)] + end


def _words(command: str) -> list[str]:
    """Split a command line roughly: quotes group words; `;`, `&` and `|` become `;`."""
    if _PLAIN_LETTERS.issuperset(command):
        return command.split()
    words: list[str] = []
    word: str | None = None
    at = 0
    while at < len(command):
        letter = command[at]
        at += 1
        if letter in "'\"":
            quoted, _, _ = command[at:].partition(letter)
            word = (word or "") + quoted
            at += len(quoted) + 1
        elif letter.isspace() or letter in ";&|(){}<>!":
            if word is not None:
                words.append(word)
                word = None
            if letter in ";&|\n":
                words.append(";")
        else:
            word = (word or "") + letter
    return words if word is None else [*words, word]


def _program(words: list[str]) -> str:
    rest = _after_prologue(words)
    while rest:
        name = rest[0].rstrip("/").rpartition("/")[2]
        if name in _WRAPPERS:
            rest = _without_options(rest[1:])
        elif name in _RUNNERS and rest[1:2] in (["run"], ["exec"]):
            rest = _without_options(rest[2:])
        elif _is_interpreter(name):
            return _interpreted(name, rest[1:])
        else:
            return _without_extension(name)
    return "shell"


def _after_prologue(words: list[str]) -> list[str]:
    """Skip `cd somewhere &&`, `set -e;` and the like, which say nothing about the work."""
    while words and words[0] in (";", "cd", "set", "export", "source", ".", "ulimit", "umask", "pushd"):
        if ";" not in words:
            return words
        words = words[words.index(";") + 1 :]
    while words and _is_assignment(words[0]):
        words = words[1:]
    return words


def _without_options(words: list[str]) -> list[str]:
    """Skip a wrapper's own options, numbers, durations and assignments."""
    while words:
        if words[0] in _OPTIONS_WITH_VALUE and len(words) > 2:
            words = words[2:]
        elif words[0].startswith("-") or words[0][:1].isdigit() or _is_assignment(words[0]):
            words = words[1:]
        else:
            break
    return words


def _is_interpreter(name: str) -> bool:
    return name in _INTERPRETERS or (name.startswith("python3.") and name[8:].isdigit())


def _interpreted(name: str, words: list[str]) -> str:
    """Return what an interpreter runs: its module, its script, or the program in a shell's line."""
    for place, word in enumerate(words):
        following = words[place + 1 : place + 2]
        if word == ";":
            break
        if word == "-m" and name.startswith(("python", "pypy")) and following:
            return following[0].partition(".")[0]
        if (
            name in _SHELLS
            and word.startswith("-")
            and not word.startswith("--")
            and "c" in word
            and following
        ):
            return _program(_words(following[0]))
        if word in ("-c", "-e", "-p", "-"):
            break
        if not word.startswith("-"):
            return _without_extension(word.rstrip("/").rpartition("/")[2])
    return name


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return equals == "=" and name.isidentifier()


def _without_extension(name: str) -> str:
    if name.endswith(_EXTENSIONS) and name not in _EXTENSIONS:
        return name[: name.rindex(".")]
    return name


def span_id(run_id: str, created_at: datetime, name: str = EXECUTE) -> str:
    """Return the id of a span of a run: always the same, and never that of another run, here or elsewhere."""
    return digest(f"{name} {run_mark(run_id, created_at)}", 8)


def run_mark(run_id: str, created_at: datetime) -> str:
    """Return text that tells a run apart from all others, past and future."""
    since = created_at - created_at.fromtimestamp(0, created_at.tzinfo)
    return f"{run_id} {since.days} {since.seconds} {since.microseconds}"


def digest(text: str, size: int) -> str:
    """Return a digest of a text, `size` bytes in hexadecimal."""
    from errands.model.text.blake2 import blake2b

    return blake2b(text.encode(), digest_size=size).hexdigest()
