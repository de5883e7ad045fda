"""Functions of a line that only run their arguments: `run() { echo "+ $*"; "$@"; }; run make`.

What they run stands in the calls, so a line that is not followed is looked at as if it stood there alone.
This merely keeps questions rare; walls hold whatever a function does.
"""

from __future__ import annotations

import re
from itertools import islice

from errands.judge.code import danger_in
from errands.model.text.regex import regex

_MOST = 10  # functions, so that judging takes a moment
_START = r"(?:^|[;&|\n({!]|\b(?:then|do|else|if|while|until|time)\b)[ \t]*"
# Its body has no other braces but those of variables, so that it ends where it seems to end.
_DEFINITION = regex(
    r"""(?x)(?:^|(?<=[;&|\n]))[ \t]*
    (?:function[ \t]+(?P<word>\w+)[ \t]*(?:\([ ]*\))?|(?P<name>\w+)[ \t]*\([ ]*\))
    \s*\{(?P<body>(?:\s|;)(?:[^{}]|\$\{\w+\})*?)\}"""
)
# Nothing may follow them but a redirection.
_ARGUMENTS = regex(rf'({_START})(?:timeout[ \t]+\d+[smh]?[ \t]+)?"\$@"(?=[ \t]*(?:$|[;&|\n)]|\d?[<>]))')
_OTHERS = regex(r"\bset\b")  # it changes the arguments
_SHIFT = regex(r"\bshift\b(?![ \t]*[\w$])")
_FIRST = r"""(?:'[^']*'|"[^"$`\\]*"|[\w.:/-]+)[ \t]+"""


def without_runners(source: str) -> str:
    """Return a line with what such functions are given instead of their calls, and without their `"$@"`."""
    if '"$@"' not in source:
        return source
    left = source
    for found in islice(_DEFINITION.finditer(source), _MOST):
        name, body = found["word"] or found["name"], found["body"]
        ran = _ARGUMENTS.sub(r"\1true", body)
        if danger_in(name) or '"$@"' in ran or len(_SHIFT.findall(body)) > 1 or left.count(f"{name}()") > 1:
            continue
        if _OTHERS.search(body) or re.search(rf"=[\"']?{name}\b", left):
            continue  # it may run more than what stands behind its name
        left = left.replace(found[0], found[0].replace(body, ran).replace(name, "called", 1))
        # The first word after `shift` is a title, and may not be what is run.
        title = _FIRST if _SHIFT.search(body) else ""
        left = re.sub(rf"({_START}){name}[ \t]+{title}(?=[^\s;&|])", r"\1", left)
    return left
