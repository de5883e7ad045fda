"""Patterns for the names of files: which may match a file with secrets, or were written to find one."""

from __future__ import annotations

from errands.judge.programs.globs import Glob, may_match, may_match_plain
from errands.judge.programs.ordinary import says_secret
from errands.model.text.regex import is_wild, regex
from errands.model.text.secret_files import ANYWHERE, NAMES, SETTINGS, TELLING, is_secret_name

# What to compare a wildcard with: one in the middle of a name, and one at its beginning.
_anchored = tuple(name for name in (*NAMES, *TELLING) if name[0] != "*" or not is_wild(name[1:]))
_settings_anchored = tuple(name for name in SETTINGS if name[0] != "*" or not is_wild(name[1:]))
_fixed = tuple(name for name in NAMES if not is_wild(name[1:]))
_spelled = _fixed + tuple(name for name in TELLING if not is_wild(name))
_settings_fixed = tuple(name for name in SETTINGS if name.startswith("*.") and not is_wild(name[1:]))
_BRACES = regex(r"(?s)(.*?)\{(.*)\}(.*)")
# A beginning that says nothing about the name.
_OPEN = regex(r"(\[[^]]*\]|\?)?\*")
# A pattern that only says how names end: `*.py`.
_ENDING = regex(r"(?:\[[^]]*\]|\?)?\*+(?:\.[\w*?]+)*$")
# All files of a kind among which there are often some with secrets: `*.yml`, `config.*`.
_TELLING_ENDING = regex(r"\*\.(?:json|ya?ml|toml|ini|xml|conf|config|plist|properties|php)$|[^.*?\[]*\.\*$")
# A pattern for many files, which was not written to find one that has secrets.
_BROAD = regex(
    r"[^.*?\[]{0,2}\*(?:\.[\w*?]+)?$|[^.*?\[]+(?:\.config)?\.\*$"
    r"|(?i:readme|licen[cs]e|changelog|(?:make|docker|gem|pip)file|package|[tj]sconfig|requirements|pyproject|setup"
    r"|(?:build|settings)\.gradle|\.(?:eslint|prettier|babel|stylelint|mocha|swc|nyc)rc|\.golangci)[\w.-]*\*(?:\.\w+)?$"
)
_MAY_MATCH = "which may match a file with secrets"
AMONG = "which may have passwords among other things"
_WILDCARDS = regex(r"[*?]")
# A set of letters with a slash in it, which to find and grep is one letter of a name: `p[^]/]m`.
_SLASHED = regex(r"\[[!^]?\]?(?:\[[:.=][^\]]*\]|[^\]/])*/[^\]]*\]")
# One of each of those kinds, for a pattern with another wildcard: `*.y*ml`.
_SAMPLES = tuple(
    f"\0.{ending}" for ending in "json yml yaml toml ini xml conf config plist properties php".split()
)
# A pattern that begins with three letters of a name, and whose ending is plain.
_FIXED = regex(r"[\w-][\w.-]{2,}(?:[*?]|\[[\w-]+\])[\w*?\[\]-]*(?:\.\w+)*$")
# Names of secrets without wildcards, and those of the directories where they are kept.
_secret_names = frozenset(name.replace("*", "") for name in (*NAMES, *TELLING))
_whole_names = _secret_names.union(
    part.replace("*", "") for place in (*ANYWHERE, *SETTINGS) for part in place.split("/")
)
_LETTERS = regex(r"[a-z\d]{3}")
_WRITTEN = regex(r"[\w.*?+@-]+")  # without sets and braces
_STARS = regex(r"\*+")


def said_of_pattern(name: str, use: str) -> str | None:
    """Return what to say about the files that a name with wildcards may match; None if nothing."""
    name = _STARS.sub("*", name)
    # A search over `src/*` sees what a search through `src` sees.
    names = _names_like(name)
    if not (use == "SEARCH" and name == "*") and any(may_match(name, each) for each in names):
        return _MAY_MATCH
    if _names_secret(name):
        return _MAY_MATCH
    if _TELLING_ENDING.match(name) or (is_wild(name[1:]) and any(may_match(name, each) for each in _SAMPLES)):
        return _MAY_MATCH
    among = _settings_fixed if _OPEN.match(name) else _settings_anchored
    return AMONG if name.strip("*") and any(may_match(name, each) for each in among) else None


def is_among_settings(said: str) -> bool:
    """Return whether an objection is only that a file often has passwords among other things."""
    return said.endswith(AMONG)


def is_only_possible(word: str, said: str) -> bool:
    """Return whether an objection is that a pattern for many files may also match one with secrets."""
    if not isinstance(word, Glob) or not said.endswith(_MAY_MATCH):
        return False
    return _BROAD.match(word.rpartition("/")[2]) is not None or begins_like_a_name(word)


def begins_like_a_name(pattern: str) -> bool:
    """Return whether a pattern begins like the name of an ordinary file: `report-*.json`."""
    name = pattern.rpartition("/")[2]
    return (
        _FIXED.match(name) is not None
        and not _names_secret(name.casefold())
        and not says_secret(name)
        and not any(may_match(name.casefold(), each) for each in _anchored if each[0] not in "*?")
        and not any(may_match_plain(each, name.casefold()) for each in _secret_names)
    )


def looks_for_a_name(pattern: str) -> bool:
    """Return whether a pattern has three fixed letters in a row, and was not written to find secrets."""
    name = pattern.casefold()
    return (
        _LETTERS.search(name) is not None
        and _WRITTEN.fullmatch(name) is not None
        and not _names_secret(name)
        and not says_secret(pattern)
        and not any(may_match_plain(each, name) for each in _whole_names)
    )


def may_name_secret(pattern: str) -> bool:
    """Return whether a pattern whose wildcards match a leading dot could match a known secret file."""
    # Some programs know alternatives in braces.
    if braces := _BRACES.fullmatch(pattern):
        before, choices, after = braces.groups()
        if "{" in before + choices + after:
            return True
        return any(may_name_secret(before + choice + after) for choice in choices.split(","))
    # A backslash makes the next letter literal.
    if _SLASHED.search(pattern) and may_name_secret(_SLASHED.sub("?", pattern)):
        return True
    name = pattern.replace("\\", "").casefold().rpartition("/")[2]
    if not is_wild(name):
        return is_secret_name(name)
    names = _names_like(name)
    return name.strip("*") != "" and (
        any(may_match(name, each) if is_wild(each) else may_match_plain(each, name) for each in names)
        or _names_secret(name)
    )


def _names_like(pattern: str) -> tuple[str, ...]:
    """Return the names of secrets to compare a pattern with: the less it says, the fewer it is meant for."""
    if not _OPEN.match(pattern):
        return _anchored
    return _fixed if _ENDING.match(pattern) else _spelled


def _names_secret(pattern: str) -> bool:
    """Return whether the plain part of a pattern alone names a secret: `*-credentials.json`."""
    return any(is_secret_name(_WILDCARDS.sub(each, pattern)) for each in ("", "x"))
