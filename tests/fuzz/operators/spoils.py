"""Harmless lines with something harmful or unknown added."""

from __future__ import annotations

from random import Random

from tests.fuzz.operators.constructs import background, write
from tests.fuzz.operators.signs import odd_sign
from tests.fuzz.operators.traps import TRAPS
from tests.fuzz.words import Simple, respell, simple

_ENDS = "sh|bash|bash -s|tee out|xargs rm|xargs touch|xargs -n1 sh -c|python3|perl|sponge x|dd of=x|sort -o x"
_WORDS = (
    "$(rm x)",
    "`rm x`",
    "<(rm x)",
    ">(rm x)",
    "$x",
    '"$x"',
    "${x}",
    "$((x))",
    "${x:=y}",
    '"$(rm x)"',
    "$@",
)
_READERS = frozenset(
    "cat head tail wc nl od hexdump strings grep rg sort tac rev md5sum sha256sum cut".split()
)
_SECRETS = """
.env ./.env .//.env src/../.env /project/.env .env.local .env.production config/.env /etc/shadow /etc//shadow
/etc/../etc/shadow /proc/1/environ /proc/self/environ server.pem certs/tls.key id_rsa .netrc .aws/credentials
/home/person/.ssh/id_ed25519 /home/person/.kube/config /home/person/.bash_history /root/.ssh/id_rsa .pgpass
""".split()
_HOMES = """
~/.ssh/id_rsa ~/.aws/credentials ~/.netrc ~/.kube/config ~/.ssh/ ~person/.ssh/id_rsa ~/../person/.netrc
""".split()
# By program or subcommand: what makes it write, start a program or read a secret.
_FLAGS = {
    "sort": "-o x|--output=x|-ox|-uo x|--output x|--compress-program=sh|--compress-prog sh",
    "sed": "-i|-i.bak|-ni|-Ei|--in-place|--in-place=.bak|--in-pl|-f x|-fx|--file=x",
    "rg": "--pre sh|--pre=sh|-z|-nz|--search-zip|--hostname-bin=sh|-f .env",
    "fd": "-x rm|-X rm|--exec rm|--exec=rm|--exec-batch rm",
    "grep": "-f .env|--file=.env|-f.env",
    "tree": "-o x|-ox",
    "awk": "-f x|-fx|-i inplace|-l x|--file=x|-ox|-E x",
    "date": "-s 1|--set=1|-s1|--se=1",
    "file": "-C|--compile",
    "pytest": "-p x|-px|-c x|--basetemp=x|--rootdir=/|--junitxml=x|--pdb|-o addopts=x|--pyargs x",
    "diff": "--output=x|--output x|--ext-diff|--outp=x",
    "log": "--output=x|--output x|--ext-diff|--outp=x|--show-signature",
    "show": "--output=x|--output x|--ext-diff|--outp=x|--show-signature",
}
_FOR_FIND = (
    r"-delete|-exec rm {} \;|-exec rm {} +|-execdir sh {} \;|-ok rm {} \;|-fprint x|-fls x|-fprintf x y"
)


def spoil_by_sign(text: str, random: Random) -> str | None:
    return odd_sign(text, random)


def spoil_by_writing(text: str, random: Random) -> str | None:
    return write(text, random)


def spoil_by_background(text: str, random: Random) -> str | None:
    return background(text, random)


def spoil_by_pipe(text: str, random: Random) -> str | None:
    return f"{text} | {random.choice(_ENDS.split('|'))}"


def spoil_by_word(text: str, random: Random) -> str | None:
    return f"{text} {random.choice(_WORDS)}" if simple(text) is not None else None


def spoil_by_secret(text: str, random: Random) -> str | None:
    """Add a secret file to a program that reads files."""
    command = simple(text)
    if command is None or command.program not in _READERS:
        return None
    secret = random.choice(_SECRETS)
    return f"{text} {random.choice((secret, respell(secret, random), random.choice(_HOMES)))}"


def spoil_by_option(text: str, random: Random) -> str | None:
    """Add an option that no program has."""
    command = simple(text)
    if command is None or not command.is_started:
        return None
    return _with_word(command, 1, random.choice(("--zz", "--zz=1", "--zz-top", "-\u00e9")))


def spoil_by_flag(text: str, random: Random) -> str | None:
    """Add an option that turns a harmless program into another one."""
    command = simple(text)
    if command is None or command.assignments:
        return None
    if command.program == "find":
        return f"{text} {random.choice(_FOR_FIND.split('|'))}"
    place = 1
    if command.program == "git":
        place = next((n for n, raw in enumerate(command.raws, 1) if raw in {"diff", "log", "show"}), 0)
    if not place or (name := command.raws[place - 1]) not in _FLAGS or (name == "diff" and place == 1):
        return None
    return _with_word(command, place, random.choice(_FLAGS[name].split("|")))


def _with_word(command: Simple, place: int, word: str) -> str:
    return " ".join([*command.raws[:place], word, *command.raws[place:]])


SPOILS = (
    spoil_by_sign,
    spoil_by_writing,
    spoil_by_background,
    spoil_by_pipe,
    spoil_by_word,
    spoil_by_secret,
    spoil_by_option,
    spoil_by_flag,
    *TRAPS,
)
