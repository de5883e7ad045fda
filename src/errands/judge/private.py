"""Private things: what a line makes, uses and ends by itself, which a sandbox keeps to it.

In there `/tmp` is empty at the start, only the line's own processes can be signalled, and only its own
servers answer. A line that is asked about because of these alone may start at once behind walls.
"""

from __future__ import annotations

from errands.judge.shell.payload import LOCAL
from errands.model.record import evolve
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from re import Match

    from errands.model.action import Command
    from errands.model.verdict import Judgement

_TEMPORARY = regex(r"(?<![\w.$/}-])/tmp/(?P<name>\w[\w.-]*)")
_CLIMBING = regex(r"/tmp/[^\s'\"]*\.\.")
# What may move files of the project away, to be lost with `/tmp`: all but moving one file of `/tmp` itself.
_MOVING = regex(
    r"""(?x)\b(?:g?mv|rename)\b(?!\s+(?:-[a-z]+\s+)*"?/tmp/[^\s;&|]+\s+[^\s;&|]+\s*(?:$|[;&|\n)]|\d?>))
    |--remove-source|\bmove\(|\brename\w*\(|\bos\.replace\("""
)
# What stands in front of a file or a directory that a command makes.
_MAKING = regex(
    r"(?:\bcp(?:\s+-[a-zA-Z]+)*(?:\s+[^\s;&|<>()`-][^\s;&|<>()`]*)+\s+"
    r"|(?<!<)>{1,2}\s*|\b(?:tee|mkdir|touch)\s+(?:-[ap]\s+)?|\s-o\s*|\s--out(?:put|file)?[=\s]"
    r"|\s--?[\w-]*(?:profile|xml|report|out|log)[\w-]*=)[\"']?$"
)
_AFTERWARDS = regex(r"[;&|\n]")
# Only looks at what is there, which the line seems to leave for later.
_LOOKING = regex(r"(?:^|[;&|\n({])\s*(?:ls|ll|tree|stat|du|file|realpath|chmod|echo|printf)\b[^;&|\n]*$")
# Removes files that the line has made; a link among them could lead elsewhere.
_REMOVAL = regex(
    r"""(?x)(?P<before>(?:^|[;&|\n({]|\b(?:do|then|else)\b)\s*)rm(?:\s+-[rf]+)*
    (?P<files>(?:\s+["']?/tmp/\w[\w.-]*(?:/[\w.-]+)*["']?)+)(?=\s*(?:$|[;&|\n)}]|2?>\s*/dev/null))"""
)
_LINKING = regex(r"\b(?:ln|symlink\w*)\b")
# The sign that puts a command into the background, and not a part of `&&`, `2>&1` or `&>`.
_BACKGROUND = r"(?<![&>\\|])&(?![&>\d])"
_IN_BACKGROUND = regex(_BACKGROUND)
_JOB = regex(r"[;&\s](\w+)=\$!")
_KILL = regex(
    r"""(?x)\bkill(?:\s+-\w+)?((?:\s+(?:%\w+|%%|"?\$!"?|\$\(jobs\ -p\)|"?\$(?:\w+|\{\w+\})"?))+)
    (?=\s*(?:$|[;&|\n)}]|2?>\s*/dev/null))"""
)
_NAMED = regex(r"\$\{?(\w+)")
_SERVING = r"""
    (?:(?:(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:start|dev|serve|server|preview)
    |(?:(?:uv|poetry)\s+run\s+)?(?:python3?\s+-m\s+(?:http\.server|uvicorn)|python3?\s+manage\.py\s+runserver
    |uvicorn|gunicorn|hypercorn|daphne|flask\s+(?:--app\s+[\w.:]+\s+)?run)
    |(?:npx\s+)?(?:serve|http-server)|(?:bundle\s+exec\s+|bin/)?rails\s+(?:server|s)|php\s+artisan\s+serve
    |mix\s+phx\.server)(?![\w:-]))"""
# A server that is ended after a time, and one in the background that the line ends.
_TIMED = regex(rf"(?x)(\btimeout\s+(?:-[sk]\s*\w+\s+)?\d+[sm]?\s+){_SERVING}")
_STARTED = regex(
    rf"(?x)((?:^|[;&|\n(])\s*(?:nohup\s+)?(?:\w+=[\w./:-]*\s+)*){_SERVING}(?=(?:[^;&|\n()]|>&\d|&>)*{_BACKGROUND})"
)
# The file to which a job redirects its output.
_LOG = regex(rf">{{1,2}}\s*([\w./-]+)(?:\s+2>&1)?\s*{_BACKGROUND}")
# The log of such a server, which is not kept when nothing reads it.
_LOGGED = regex(rf"(?:\d?>{{1,2}}|&>{{1,2}})\s*/tmp/\w[\w.-]*(?=(?:\s+2>&1)?\s*{_BACKGROUND})")
# Requests to a server of the line, which print what it answers.
_QUOTED = r"""(?:'[^']*'|"[^"$`\\]*")"""
_OPTION = rf"""(?:-[sSfikvLIGqz]+|-qO-|-o\s*/dev/null|-X\s*[A-Z]+|--[a-z-]+
    |(?:-[Hw]|--header|--write-out)\s*{_QUOTED}|(?:-m|--max-time|--retry|--retry-delay)[\s=]?\d+
    |(?:-d|--data|--json)\s*'[^'@]*')"""
_ADDRESS = r"""["']?(?:http://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)
    (?:[:\s](?:\d+|\$\{?PORT\}?))?(?:/[\w./?=&%\[\]-]*)?["']?"""
_REQUEST = regex(
    rf"(?x)\b(?:curl|wget|nc)(?:\s+{_OPTION})*\s+{_ADDRESS}(?:\s+{_OPTION})*(?=\s*(?:$|[;&|\n)]|\d?>))"
)
# The address of such a server in the words of any other program.
_OPERAND = regex(rf"(?<=[\s=\"']){LOCAL.pattern}(?=[\s\"';&|)]|$)")


def spared(
    commands: Sequence[Command], judge: Callable[[Sequence[Command]], Judgement], *projects: str
) -> Judgement:
    """Judge commands, and once more without private things if those may be all that is asked about.

    `projects` are the names of the project, which is in a sandbox wherever it is, below `/tmp`, too.
    """
    found = judge(commands)
    if found.verdict != "ask" or any(reason.kind == "rule" for reason in found.reasons):
        return found
    left = [without_private(each, *projects) if isinstance(each, str) else each for each in commands]
    if left == list(commands) or judge(left).verdict not in ("auto", "contained"):
        return found
    return evolve(found, verdict="contained")


def without_private(source: str, *projects: str) -> str:
    """Return a line with its private files in the project, and without what it does to its own processes."""
    return _without_jobs(_without_temporary(source, projects))


def _without_temporary(source: str, projects: Iterable[str]) -> str:
    """Move files below `/tmp` into the current directory if a line makes them first and uses them then."""
    if _CLIMBING.search(source) or _MOVING.search(source):
        return source
    made: dict[str, int] = {}
    used: dict[str, bool] = {}  # whether its last use is more than being written
    for found in _TEMPORARY.finditer(source):
        name, before = found["name"], source[: found.start()]
        is_made = _MAKING.search(before) is not None
        if name not in made:
            made[name] = found.end() if is_made else len(source)
        elif is_made:
            used[name] = False
        elif _AFTERWARDS.search(source, made[name], found.start()) and not _LOOKING.search(before):
            used[name] = True
    for around in filter(None, map(_TEMPORARY.match, projects)):
        used.pop(around["name"], None)

    def ended(found: Match[str]) -> str:
        names = [each["name"] for each in _TEMPORARY.finditer(found["files"])]
        is_own = all(made[name] <= found.start() and used.get(name) for name in names)
        return f"{found['before']}true" if is_own else found[0]

    left = source if _LINKING.search(source) else _REMOVAL.sub(ended, source)
    return _TEMPORARY.sub(lambda found: f".{found[0]}" if used.get(found["name"]) else found[0], left)


def _without_jobs(source: str) -> str:
    """Leave out servers that a line starts and uses, what it asks them, and how it ends its jobs."""
    source = _TIMED.sub(r"\1true", source)
    if not _IN_BACKGROUND.search(source):
        return source
    jobs = set(_JOB.findall(source))

    def ended(found: Match[str]) -> str:
        return "true" if jobs.issuperset(_NAMED.findall(found[1])) else found[0]

    left = _OPERAND.sub("local", _REQUEST.sub("true", _KILL.sub(ended, source)))
    is_read = any(found[1] in source[found.end() :] for found in _LOG.finditer(source))
    if left != source or is_read:  # nothing outlives a run, so what the line starts need not be ended
        left = _LOGGED.sub("", _STARTED.sub(r"\1true", left))
    return left
