"""What a wrapper runs, as far as it can be followed."""

from __future__ import annotations

from itertools import islice

from errands.judge.shell.grammar import Step, Word
from errands.model.record import record
from errands.model.text.regex import regex

# Programs that only read the files they are given.
READERS = frozenset(
    """cat head tail wc grep egrep fgrep rg ls stat file basename dirname realpath readlink du echo
    printf test md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum nl od hexdump
    strings jq diff cmp sed cut sort tac rev column fold""".split()
)
# And those that only show names, sizes and dates.
LOOKERS = frozenset("ls stat basename dirname realpath readlink du echo printf test".split())
VARIABLE = regex(r"(?s)([A-Za-z_][A-Za-z0-9_]*)=(.*)")
NAMELIKE = regex(r"[A-Za-z_./]")


@record
class Followed:
    """What a wrapper runs: commands, or lines for a shell; `itself` is what remains of the wrapper to judge.

    With a `doubt`, of the kind that its reason gets, the rest is what it might run.
    """

    steps: tuple[Step, ...] = ()
    lines: tuple[str, ...] = ()
    itself: tuple[Word, ...] = ()
    doubt: str = ""
    kind: str = "program"


def unknown(words: tuple[Word, ...], doubt: str) -> Followed:
    """Return a doubt, with the commands that these words might run."""
    if words[0].text in ("eval", "watch", "su", "script", "ssh", "trap"):
        texts = [word.text for word in words[1:] if word.literal and not word.text.startswith("-")]
        return Followed(lines=(" ".join(texts),) if texts else (), doubt=doubt)
    might_run = (
        at
        for at in range(1, len(words))
        if NAMELIKE.match(words[at].text) and not VARIABLE.fullmatch(words[at].text)
    )
    steps = tuple(Step(words=words[at:]) for at in islice(might_run, 4))
    return Followed(steps=steps, doubt=doubt)
