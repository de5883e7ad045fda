"""Edits: harmless lines with random shell syntax inserted.

Nobody knows beforehand what such a line does. A shell does: it reads those that pass, where only programs
stand that write their name down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

# Programs with a note of their own in the sandbox; the harmful ones are what the edits try to start.
HARMLESS = ("ls", "cat", "grep", "wc", "head", "sort")
HARMFUL = ("touch", "rm", "tee", "sh", "bash")
_LINES = (
    "echo a | cat b && ls c",
    "grep -n 'x y' f | head -5",
    'ls "a b" 2>/dev/null',
    "cat a; wc -l b",
    "printf '%s' \"x\" | sort -u",
    "ls -la || echo 'none; here'",
    "cat a 2>&1 | grep -c 'touch x' >/dev/null",
    "echo one\nls two\n",
    "LC_ALL=C sort a\\ b | head -n 3",
    "test -f a && cat a # and so on",
    "(ls a; cat b)",
    "! grep -q a b",
    "ls \\\n  -l a",
)
_WORDS = r"""
' " \ $ ` ; | & > < ( ) { } # ! = * ? [ ] ~ $' $" $( ${ && || |& ;; << <<< <( >( >> >| &> 2>&1 <<E a= -o x E
touch rm tee sh 'touch' "rm" \n \x27 \' '# `touch` $(touch) ;touch |tee >w >&w {touch,x} if then fi do time
"""
_TOKENS = [
    *_WORDS.split(),
    " ",
    "\n",
    "\t",
    "\\\n",
    "\r",
    " # ",
    " & ",
    "touch x",
    "\ntouch x\n",
    "'\ntouch x\n'",
]
_TOKENS += ["$(touch x)", "`touch x`", "; touch x", "&& rm a", "| tee w", "{ touch x; }", "<<'E'\n", "\nE\n"]

# Any other path could lead out of the sandbox, if the judge were wrong about the line.
_NULL = re.compile(r"/dev/null(?=[\s;&|)]|$)")


def edited_lines(seed: int) -> Iterator[str]:
    """Draw lines; the same seed draws the same ones."""
    random = Random(seed)
    while True:
        pieces = re.findall(r"/dev/null|.", random.choice(_LINES), re.DOTALL)
        for _ in range(random.choice((1, 1, 2, 2, 3, 4, 6))):
            place = random.randint(0, len(pieces) - 1)
            match random.randrange(6):
                case 0:
                    del pieces[place]
                case 1:
                    other = random.randint(place, len(pieces))
                    pieces[place:place] = pieces[place:other]
                case _:
                    pieces.insert(place, random.choice(_TOKENS))
            pieces = pieces or [" "]
        line = "".join(pieces)
        if "/" not in _NULL.sub("", line):
            yield line
