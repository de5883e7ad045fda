"""Code: what a text that is not followed may do, by the words in it.

Such a text is a line that could not be parsed for certain, or code on the command line. What it may do is
said in words that a person is shown; "" means that nothing speaks against a sandbox.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DELETES, _OVERWRITES = "may delete", "may overwrite files or disks"
_CONNECTS = "may use a network, which a sandbox does not have"
# What programs do that a sandbox does not allow or does not prevent.
_MEANINGS = {
    program: says
    for says, programs in {
        _DELETES: "rm rmdir unlink shred srm truncate",
        _OVERWRITES: "dd mkfs fdisk parted",
        _CONNECTS: "curl wget ssh scp sftp rsync nc ncat netcat socat telnet ftp",
        "may run with other privileges": "sudo doas su pkexec",
        "may end processes": "kill pkill killall reboot shutdown",
        "may use a service, which a sandbox cannot reach": "docker podman kubectl crontab",
        "may run what is only known when it runs": "eval exec",
    }.items()
    for program in programs.split()
}
# No language has functions with these names, so `curl(url)` calls one that the code itself defines.
_OWN = _MEANINGS.keys() - set("rm rmdir unlink srm eval exec".split())
# One of these words is reason enough to ask. Where no word begins, all that stands behind one `\b` is skipped
# at once: searching a line of 44 characters takes 4.4 instead of 12.8 us, one of 86 characters 7.8 instead of
# 25.6.
_WORDS = re.compile(
    rf"""(?<![\w.-])
    (?!exec(?:(?:\s+\d*(?:>>?|<)(?:&\d|&-|\s*[\w.][\w./-]*))+\s*(?:[;\n]|&&|$)|$)) # it only redirects
    (?:{"|".join(_MEANINGS)})(?![\w-])
    | \b(?:
        (?:rmtree|rmSync|unlinkSync|rmdirSync|removedirs|urlopen|rm_rf|rm_r|urllib\.request)\b
        | os\.(?:remove|rmdir|unlink|truncate)\b | File\.delete\b | Deno\.remove
        | (?:delete|destroy)_all\b | Remove-Item\b | file\s+delete\b
        | (?:removeSync|remove_(?:dir|file|entry)\w*)\b
        | import\s+(?:remove|unlink|rmdir)\b
        | (?:globalThis|window)\.fetch\b | git\s+(?:-\S+\s+)*fetch\b
        # Imported or mentioned is not used yet, and these parts of them need no network.
        | (?<!\bimport\ )(?:urllib|httpx|aiohttp|requests|socket)\s*
          (?:\.(?!(?:__\w+__|parse|exceptions|gethostname)\b)\w|\()
        | from\s+(?:urllib|httpx|aiohttp|requests|socket)\b(?!\.(?:parse|exceptions)\b)
        | (?:urllib|httpx|aiohttp|requests|socket)\s+as\b
        | (?:__import__|import_module)\(\W*(?:urllib|httpx|aiohttp|requests|socket)\b
      )
    | -delete\b | \.(?:unlink\( | rm\( | delete\(\s*\)) | \(delete-(?:file|directory)\b
    | (?<![\w.])(?<!\bdef\ )(?<!\bfunction\ )fetch\s*\(""",
    re.VERBOSE,
)
_IMPORTING = re.compile(r"\b(?:import\b|(?:const|let|var)\s*\{)[^\n;}()]{0,200}$")
# Where `truncate(` cuts off a file.
_TRUNCATING = re.compile(r"\b(?:perl|unistd|fs|php|import\s*\*|use\s+POSIX)(?![\w-])|\bos\s+import\b")
_NETWORK = re.compile(r"\b(?:urlopen|fetch|urllib|httpx|aiohttp|requests|socket)(?![\w-])")
_REST = re.compile(r"[\w.]*")
# Another command as one word, which an option or a setting may run: `git -c core.pager='rm -rf x'`.
_COMMAND = re.compile(
    r"(?:^(?:-[A-Za-z])?|[=!\s\"'(`;])(?P<program>(?:[^\s=]*/)?"
    r"(?:rm|rmdir|unlink|shred|srm|dd|curl|wget|ssh|scp|nc|ncat|socat|sudo|doas))[\s,]+[^\s|]"
)
_DATABASES = frozenset(("sqlite3", "duckdb"))
_STATEMENTS = re.compile(
    r"\b(?:delete|drop|truncate|update|attach|alter)\b|\.(?:shell|system|import)", re.IGNORECASE
)
# What keeps a line from being understood.
_DISGUISES = (
    # A function that starts itself in the background never ends; a shell that reads a pipe runs anything.
    (re.compile(r"\(\)\s*\{[^}]*(?<![>&])&(?![&>\d])"), "may start itself again and again"),
    (
        re.compile(r"\|\s*(?:[^\s|]*/)?(?:ba|z|da|k)?sh\b(?!\s+(?:-c\b|\S*\.sh\b))"),
        "pipes something into a shell, which runs it",
    ),
    (re.compile(r"(?:^|[;&|(])\s*\$'"), "spells the name of a program in a way that hides it"),
    # A letter, and not a control character such as the beginning of a colour: `$'\x2eenv'`.
    (
        re.compile(r"\$'[^']*\\(?:x[2-7][0-9a-fA-F]|u00[2-7][0-9a-fA-F]|0?[4-7][0-7](?![0-7])|1[0-7]{2})"),
        "spells letters as numbers, which hides what they say",
    ),
    (re.compile(r"(?<!\S)-+\w*\{(?!\})"), "lets the shell put an option together"),
    (
        re.compile(r"(?:^|[\s;&|])IFS=[^\s;]*\s*(?:[;&|\n]|$)"),
        "changes where the shell splits words (IFS)",
    ),
)


def danger_in(text: str) -> str:
    """Return what a text may do that a sandbox does not allow or does not prevent; "" if nothing."""
    for found in _dangerous(text):
        word = found[0] + (_REST.match(text, found.end()) or found)[0]
        return f"{_meaning(found[0])}: {' '.join(word.strip(' .(').split())}"
    return ""


def deletes(text: str) -> bool:
    """Return whether a word of a text deletes or overwrites something."""
    return any(_meaning(found[0]) in (_DELETES, _OVERWRITES) for found in _dangerous(text))


def disguise_in(text: str) -> str:
    """Return how a text hides what it does; "" if it does not."""
    return next((says for pattern, says in _DISGUISES if pattern.search(text)), "")


def command_in(word: str) -> str:
    """Return which harmful command a word is or sets, for another program to run; "" if there is none."""
    found = _COMMAND.search(word)
    return f"may make another program run `{found['program']}`" if found else ""


def change_of_data(texts: Iterable[str]) -> str:
    """Return how a line with these words changes the rows of a database, whatever feeds it; "" if not."""
    found = tuple(texts)
    if _DATABASES.isdisjoint(found):
        return ""
    statement = next(filter(None, map(_STATEMENTS.search, found)), None)
    return f"may change a database: {statement[0]}" if statement else ""


def _dangerous(text: str) -> Iterator[re.Match[str]]:
    """Yield the words that do something, without functions of the code that only have such a name."""
    for found in _WORDS.finditer(text):
        is_own = found[0] in _OWN and (
            text[found.end() : found.end() + 1] == "(" or _IMPORTING.search(text[: found.start()])
        )
        if not is_own or (found[0] == "truncate" and _TRUNCATING.search(text)):
            yield found


def _meaning(word: str) -> str:
    return _MEANINGS.get(word) or (_CONNECTS if _NETWORK.search(word) else _DELETES)
