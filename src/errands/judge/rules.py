"""Rules: what the configuration says about commands, as patterns of their words.

    make *          make with any words, or none
    npm test        exactly these words
    git push *      a subcommand with any words
    pip install ?*  at least one more word; `*` and `?` inside a word match within that word

Deny wins over ask, ask over allow. A rule never sees a line, only the simple commands in it.
"""

from __future__ import annotations

import posixpath

from errands.judge.carriers import SUBCOMMANDS, carried, runs_anything
from errands.judge.shell.scripts import is_interpreter
from errands.judge.shell.wrappers import is_wrapper
from errands.model.errors import BadValue
from errands.model.record import record
from errands.model.text.regex import is_wild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from errands.judge.shell.grammar import Word


@record
class Pattern:
    """One rule: its words, and whether others may follow them."""

    words: tuple[str, ...]
    open: bool
    text: str

    def matches(self, words: tuple[Word, ...], *, surely: bool) -> bool:
        """Return whether a command's words match; `surely` accepts only literal words.

        Otherwise a path counts as the program it names, and a word that is not literal may be anything.
        """
        if surely and any(not word.literal or word.pattern for word in words):
            return False
        if len(words) < len(self.words) or (len(words) > len(self.words) and not self.open):
            return False
        for place, (wanted, word) in enumerate(zip(self.words, words, strict=False)):
            texts = {word.text}
            if place == 0 and not surely:
                texts.add(posixpath.basename(word.text))
            if not word.literal or word.pattern:
                if place == 0:
                    return False
                continue
            if not any(_fits(text, wanted) for text in texts):
                return False
        return True


def _fits(text: str, wanted: str) -> bool:
    """Return whether a text is what a word of a rule wants, which may have wildcards."""
    if not is_wild(wanted):
        return text == wanted
    from fnmatch import fnmatchcase  # few rules have any

    return fnmatchcase(text, wanted)


@record
class Rules:
    """The patterns of each kind; empty when the configuration has none."""

    allow: tuple[Pattern, ...] = ()
    ask: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()

    def denying(self, words: tuple[Word, ...]) -> Pattern | None:
        return _perhaps(self.deny, words)

    def asking(self, words: tuple[Word, ...]) -> Pattern | None:
        return _perhaps(self.ask, words)

    def allowing(self, words: tuple[Word, ...]) -> Pattern | None:
        return next((each for each in self._matching(words) if not carried_by(each, words)), None)

    def exceeding(self, words: tuple[Word, ...]) -> str:
        """Say what a rule does not cover although it matches, because it runs another program."""
        for each in self._matching(words):
            if word := carried_by(each, words):
                return f"the rule {each.text!r} does not cover {word!r}, which can run another program"
        return ""

    def _matching(self, words: tuple[Word, ...]) -> Iterator[Pattern]:
        return (each for each in self.allow if each.matches(words, surely=True))


NO_RULES = Rules()


def carried_by(pattern: Pattern, words: tuple[Word, ...]) -> str:
    """Return a word that runs another program and that only a wildcard of a rule covers; "" if none does."""
    if not pattern.open and not any(map(is_wild, pattern.words)):
        return ""
    return carried([word.text for word in words], pattern.words)


# Options of git itself that take the next word as their value.
_GIT_VALUED = frozenset(
    "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix".split()
)


def _perhaps(patterns: tuple[Pattern, ...], words: tuple[Word, ...]) -> Pattern | None:
    """Return a pattern that may match; options between `git` and its subcommand are skipped."""
    if not patterns:  # as in most configurations
        return None
    spellings = [words]
    if posixpath.basename(words[0].text) == "git":
        at = 1
        while at < len(words) and words[at].text.startswith("-"):
            at += 2 if words[at].text in _GIT_VALUED else 1
        spellings.append((words[0], *words[at:]))
    return next(
        (each for each in patterns for spelling in spellings if each.matches(spelling, surely=False)), None
    )


def read_rules(*, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()) -> Rules:
    """Parse the patterns of a configuration; raise BadValue for one that cannot be used."""
    rules = Rules(
        allow=tuple(map(_pattern, allow)), ask=tuple(map(_pattern, ask)), deny=tuple(map(_pattern, deny))
    )
    for pattern in rules.allow:
        _check_allowed(pattern)
    return rules


_FETCHERS = frozenset("npx uvx pipx bunx pnpx".split())
_LAUNCHERS = frozenset("git uv npm docker podman kubectl errands".split())


def _pattern(text: str) -> Pattern:
    words = text.split()
    if not words:
        raise BadValue("A rule needs a program, such as `make *`; this one is empty.")
    if any(letter in text for letter in "'\"\\`$|&;<>()\n"):
        raise BadValue(
            f"The rule {text!r} has quotes or shell operators. A rule is the plain words of one command, "
            "such as `npm test`; write `?` for a character that is not allowed here."
        )
    is_open = words[-1] == "*"
    return Pattern(words=tuple(words[:-1] if is_open and len(words) > 1 else words), open=is_open, text=text)


def _check_allowed(pattern: Pattern) -> None:
    name = posixpath.basename(pattern.words[0])
    rest = (*pattern.words[1:], "*") if pattern.open else pattern.words[1:]
    if is_wild(pattern.words[0]):
        raise BadValue(f"The allow rule {pattern.text!r} must name one program.")
    is_open = pattern.open or any(map(is_wild, pattern.words))
    if name in _FETCHERS or is_wrapper(name) or is_interpreter(name) or (is_open and runs_anything(name)):
        raise BadValue(
            f"The allow rule {pattern.text!r} would allow anything: `{name}` runs any program. "
            "Allow the program that it runs instead."
        )
    if name in _LAUNCHERS and (not rest or is_wild(rest[0]) or rest[0].startswith("-")):
        raise BadValue(
            f"The allow rule {pattern.text!r} must name a subcommand of `{name}`, such as `{name} x *`."
        )
    if rest and f"{name}:{rest[0]}" in SUBCOMMANDS and (len(rest) == 1 or _runs_anything(rest[1])):
        raise BadValue(
            f"The allow rule {pattern.text!r} would allow anything: `{name} {rest[0]}` runs any program. "
            "Name the one that it may run."
        )


def _runs_anything(word: str) -> bool:
    name = posixpath.basename(word)
    return is_wild(word) or word.startswith("-") or is_wrapper(name) or is_interpreter(name)
