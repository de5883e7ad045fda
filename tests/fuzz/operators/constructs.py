"""The same line, inside a construct of the shell, or with one added."""

from __future__ import annotations

import re
from random import Random

from tests.fuzz.words import RESERVED, Simple, is_complete, simple

# A line break before the end of each, so that no comment of the line swallows it.
_CONSTRUCTS = (
    "( {}\n)",
    "{{ {}\n}}",
    "( ( {}\n) )",
    "(\n{}\n) 2>&1",
    "{{ {}\n}} 2>/dev/null | cat",
    "if true; then {}\nfi",
    "if {}\nthen true; fi",
    "if false; then true; else {}\nfi",
    "for x in 1; do {}\ndone",
    "for ((;;)); do {}\nbreak; done",
    "while {}\ndo break; done",
    "until {}\ndo break; done",
    "case x in x) {}\n;; esac",
    "select x in 1; do {}\nbreak; done",
    "[[ -n x ]] && {{ {}\n}}",
    "f() {{ {}\n}}; f",
    "function f {{ {}\n}}; f",
    "time {{ {}\n}}",
    "coproc {{ {}\n}}",
    "( {}\n) &",
    "{}\n",
    "\n\n{}",
    "# note\n{}",
)
_SUBSTITUTIONS = (
    "echo $( {}\n)",
    'echo "$( {}\n)"',
    "echo ${{x:-$( {}\n)}}",
    "echo ${{x/a/$( {}\n)}}",
    "echo $(( $( {}\n) + 1 ))",
    "cat <( {}\n)",
    "ls > >( {}\n)",
    "cat <<E\n$( {}\n)\nE",
    "grep x <<< $( {}\n)",
    "[[ -n $( {}\n) ]]",
    'test -n "$( {}\n)"',
    'git log --format="$( {}\n)"',
    "ls $( {}\n)",
    "x=$( {}\n)",
    "LANG=$( {}\n) ls",
)
_ASSIGNMENTS = (
    "FOO=bar|LC_ALL=C|LANG=C|NO_COLOR=1|TZ=UTC|LANG=C TZ=UTC|PATH=/tmp:/bin|A+=1|a[0]=1|FOO=|FOO='a b'"
)
_HARMLESS = ">/dev/null|2>/dev/null|2>&1|</dev/null|&>/dev/null|> /dev/null 2>&1|2>&-|1>/dev/null".split("|")
_WRITES = (
    *"> out,>> out,>out,&> out,&>> out,>| out,2> out,1>out,<> out,>& out,>&out,3> out,2>>out,{f}> out".split(
        ","
    ),
    *"> /dev/tcp/h/80,> ~/.bashrc,> $x,> /dev/sda,> /tmp/out,> /dev/./shm/x,> .git/hooks/pre-commit".split(
        ","
    ),
    *">/dev/null >out,> '/dev/null ',>/dev/null/../x,>/dev/null2,> /DEV/NULL,2>&1 >out,>dev/null".split(","),
)


def construct(text: str, random: Random) -> str | None:
    return random.choice(_CONSTRUCTS).format(text) if is_complete(text) else None


def substitution(text: str, random: Random) -> str | None:
    return random.choice(_SUBSTITUTIONS).format(text) if is_complete(text) else None


def backticks(text: str, random: Random) -> str | None:
    if not is_complete(text) or re.search(r"[`\\$\"]", text):
        return None
    return random.choice(("echo `{}`", 'echo "`{}`"', "ls `{}`", "`{}`", "x=`{}`")).format(text)


def assignment(text: str, random: Random) -> str | None:
    return f"{random.choice(_ASSIGNMENTS.split('|'))} {text}" if _prefixable(text) else None


def redirect(text: str, random: Random) -> str | None:
    """Add a redirection that is harmless by itself, before, among or behind the words."""
    if (command := _prefixable(text)) is None:
        return None
    words = list(command.raws)
    words.insert(random.randint(0, len(words)), random.choice(_HARMLESS))
    return " ".join(words)


def write(text: str, random: Random) -> str | None:
    return f"{text} {random.choice(_WRITES)}" if is_complete(text) and "#" not in text else None


def background(text: str, random: Random) -> str | None:
    return f"{text} &" if is_complete(text) and "#" not in text else None


def _prefixable(text: str) -> Simple | None:
    command = simple(text)
    return None if command is None or command.words[0].raw in RESERVED else command


CONSTRUCTS = (construct, substitution, backticks, assignment, redirect, write, background)
