"""Deleting: commands that delete files or data although their program does not look like it.

No wall keeps the project from its own work, so these ask: a program that is told to run `rm`, an option that
removes what was packed, a framework that empties its database.
"""

from __future__ import annotations

from errands.model.text.regex import regex
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DELETERS = frozenset("rm grm unlink rmdir shred srm wipe rimraf del-cli trash trash-put".split())
# What a word after these is: a name, a title or a pattern.
_NAMED_BY = frozenset("-k -t -m -n -p -f --name --filter --grep --title --message".split())
# They name commands, and run none of them.
_NAMING = frozenset("man info apropos whatis which whereis type help hash tldr apt-cache brew".split())
# Programs that do nothing else, and options with which others do; letters may be bundled.
_ALWAYS = frozenset("rimraf del-cli gvfs-rm bleachbit tmpreaper tmpwatch npkill".split())
_OPTIONS = {
    **dict.fromkeys("tar gtar bsdtar".split(), "--remove-files --delete --recursive-unlink"),
    "zip": "-m -d --move --delete",
    **dict.fromkeys("7z 7za 7zz".split(), "-sdel"),
    **dict.fromkeys("fdupes jdupes".split(), "-d --delete -N"),
    "rdfind": "-deleteduplicates",
    "symlinks": "-d",
    "fallocate": "-p --punch-hole -c --collapse-range -z --zero-range",
    "zstd": "--rm",
    "mongorestore": "--drop",
    "uv": "--clear",
    "meson": "--wipe",
}
_SUBCOMMANDS = {
    **dict.fromkeys("7z 7za 7zz ar".split(), "d"),
    "cmake": "rm remove remove_directory",
    "ninja": "clean cleandead",
    "lerna": "clean",
    "sqlite-utils": "drop-table drop-view delete",
    "mysqladmin": "drop",
    "celery": "purge",
    "dbmate": "drop down rollback",
    "goose": "down down-to reset",
}
_DEEP = frozenset("celery mysqladmin".split())  # the value of an option may come first
# Tests begin with an empty directory there, whatever it was before.
_EMPTIED = regex(r"--basetemp(?:=(.+))?")
_TEMPORARY = regex(r"(?:\./)?\.?\w*(?:tmp|temp|scratch|cache)\w*(?:/.*)?|(?:/var)?/tmp/.*|.*\$.*")
# What tools of databases call it, as words of their own: `rake db:drop`, `prisma migrate reset`, `downgrade`.
_EMPTYING = regex(
    r"(?:^|[ /])(?:(?:\w+[:.])*(?:db|database|schema|ecto|migrate|migration|data|sql|firestore)"
    r"(?:[:. -]\w+)?[:. -](?:drop|reset|wipe|fresh|purge|flush|rollback|truncate|delete|destroy)(?:[-:.]\w+)*"
    r"|migrate:(?:fresh|reset|refresh)|drop-(?:all|table|database)|downgrade"
    r"|manage\.py (?:flush|reset_db|sqlflush|clear\w+|delete\w*)|flyway clean|--force-reset)(?: |$)"
)
# What git loses or gives away when another program is told to run it, in one word or in several.
_GIT = regex(r"(?<![\w.-])git (?:-[cC] \S+ |-\S+ )*(?:clean(?! -n| --dry-run)|push|reset|restore)(?![\w.-])")
# Programs whose words are texts: what they say deletes nothing.
_TEXTS = frozenset(
    "echo printf git gh grep egrep fgrep rg ag sed awk cat ls test [ jq pytest jest vitest cd".split()
)


def deletion_of(words: tuple[str, ...]) -> Reason | None:
    """Return what a command deletes in a way that its program does not tell; None if nothing is known."""
    name, rest = words[0].rpartition("/")[2], words[1:]
    told = next(_deletions(name, rest), "")
    return Reason(text=f"{told}; cannot be undone", kind="delete", undo="no") if told else None


def _deletions(name: str, rest: tuple[str, ...]) -> Iterator[str]:
    if name in _ALWAYS:
        yield f"deletes {' '.join(rest)}"
    yield from (f"deletes what it was given: `{name} {word}`" for word in rest if _is_deleting(name, word))
    named = [word for word in rest if not word.startswith("-")][: 2 if name in _DEEP else 1]
    found = _SUBCOMMANDS.get(name, "").split()
    yield from (f"deletes: `{name} {word}`" for word in named if word in found)
    if name in _NAMING or name in _TEXTS - {"pytest"}:
        return
    for at, word in enumerate(rest):
        before, after = "".join(rest[at - 1 : at]), rest[at + 1 :]
        if word.rpartition("/")[2] in _DELETERS and after and before not in _NAMED_BY:
            yield f"tells `{name}` to `{' '.join(rest[at:])}`"
        if emptied := _EMPTIED.fullmatch(word):
            place = emptied[1] or "".join(after[:1])
            yield from () if _TEMPORARY.fullmatch(place) else (f"removes everything in {place}",)
    if name not in _TEXTS and (told := _GIT.search(" ".join(rest))):
        yield f"tells `{name}` to `{told[0]}`"
    if name not in _TEXTS and (emptying := _EMPTYING.search(" ".join((name, *rest)))):
        yield f"deletes data: `{emptying[0].strip(' /')}`"


def _is_deleting(name: str, word: str) -> bool:
    for option in _OPTIONS.get(name, "").split():
        if word == option or (option.startswith("--") and word.startswith(f"{option}=")):
            return True
        if len(option) == 2 and word[:1] == "-" and word[:2] != "--" and option[1] in word[1:]:
            return True
    return False
