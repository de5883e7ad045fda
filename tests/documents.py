"""The documents in parts: code blocks, commands, links and the files they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])

_FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FILE = re.compile(r"(?<![\w/.-])[\w.-]+(?:/[\w.-]+)*\.(?:py|toml|md)\b")


class Block(NamedTuple):
    """A code block in a document."""

    place: Path
    language: str
    text: str


def blocks(*languages: str, places: list[Path] = DOCUMENTS) -> list[Block]:
    """Return the code blocks in the given languages."""
    return [
        Block(place, match[1], match[2])
        for place in places
        for match in _FENCE.finditer(place.read_text())
        if match[1] in languages
    ]


def prose(place: Path) -> str:
    """Return a document without its code blocks."""
    return _FENCE.sub("", place.read_text())


def commands(text: str) -> Iterator[list[str]]:
    """Yield the `errands` commands in a shell block, split into words."""
    joined = text.replace("\\\n", " ").replace("$(", " ; ").replace("$ errands", "errands")
    for line in joined.splitlines():
        words: list[str] = []
        for word in [*_words(line), ";"]:
            if word and not word.strip(";&|()<>"):
                if words[:1] == ["errands"]:
                    yield words[1:]
                words = []
            else:
                words.append(word)


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    return list(lexer)


def links(place: Path) -> list[str]:
    """Return the links of a document that stay within the project."""
    return [
        link for link in _LINK.findall(prose(place)) if "://" not in link and not link.startswith("mailto:")
    ]


def anchors(place: Path) -> set[str]:
    """Return the headings of a document as link anchors."""
    headings = [heading.lower().replace("`", "") for heading in _HEADING.findall(prose(place))]
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}


def named_files(place: Path) -> set[str]:
    """Return everything in a document that looks like a file of the project."""
    return set(_FILE.findall(place.read_text()))
