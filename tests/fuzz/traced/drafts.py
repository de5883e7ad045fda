"""Drafts: harmless and harmful lines, crossed and edited at random.

Words come from all lines of the corpus, from the tables of the judge and from the files of the scratch image.
Scripts for sed, awk, jq and find are put together from the words of these languages, harmful ones included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

from errands.judge.programs import FAMILIES, VERSIONS, entry_for
from errands.judge.programs.git import SUBCOMMANDS
from tests.fuzz.lines import ADVISORIES, CORPUS, PASSED, UNSEEN, read
from tests.fuzz.operators.constructs import CONSTRUCTS
from tests.fuzz.operators.joins import JOINS, can_be_beside
from tests.fuzz.operators.spelling import SPELLING
from tests.fuzz.operators.spoils import SPOILS
from tests.fuzz.operators.wrapping import WRAPPING
from tests.fuzz.traced.languages import EVERYDAY, LANGUAGES
from tests.fuzz.traced.machine import FILES
from tests.fuzz.words import simple

LONGEST = 400
_SIGNS: list[str] = [
    *"[]{}()/\\|;&<>!*?^$`'\"=:,.-+#~%@ \n",
    *"ewrRWsydpFnqi0129",
    "[]/]",
    "[[:alpha:]/]",
    "[^]/]",
]
_SIGNS += ["$(", "${", "$((", "&&", "||", "<(", ">&", "2>", "\\n", "{}", "-exec", "/dev/tcp/127.0.0.1/9"]
_OPERANDS = [*FILES, ".", "..", "/", "/etc", "~", "/tmp/x", "out", "-", "*", "src/*", "HEAD", "HEAD~1", "5"]
_OPERANDS += ["s/a/b/w out", "1e id", '{system("id")}', '{print > "out"}', "$ENV", "input", "%s", "-n", "--"]
_OPERANDS += ["a=b", "'/inet/tcp/0/127.0.0.1/9'", "/dev/tcp/127.0.0.1/9", "localhost", "example.com"]
_VALUES = {"NUMBER": "3", "TEXT": "x", "PATTERN": "'a.*'", "READ": "README.md", "LIST": "src"}
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")

Edit = Callable[[str, Random], str | None]


class Drafts:
    """An endless supply; the same seed draws the same ones."""

    def __init__(self, seed: int) -> None:
        corpus = (*read(CORPUS), *read(UNSEEN), *read(PASSED), *read(ADVISORIES))
        lines = [each for each in corpus if len(each.command) <= LONGEST and each.family != "size_limits"]
        self._random = Random(seed)
        self._harmless = [*(each.command for each in lines if each.is_harmless), *EVERYDAY]
        self._harmful = [each.command for each in lines if not each.is_harmless]
        self._beside = [each for each in self._harmless if can_be_beside(each)]
        self._words = sorted({word for each in lines for word in each.command.split()})
        self._options = {name: _options(entry_for(name)) for name in FAMILIES} | _options_of_git()
        self._programs = sorted({*self._options, *VERSIONS})
        self._edits: list[Edit] = [*SPELLING, *WRAPPING, *CONSTRUCTS, *SPOILS]
        self._edits += [self._word, self._word, self._operand, self._sign, self._sign, self._quoted] * 8
        self._edits += [self._join] * 12

    def __iter__(self) -> Iterator[str]:
        while True:
            match self._random.randrange(10):
                case 0 | 1:
                    text = self._composed()
                case 2:
                    text = self._scripted()
                case 3:
                    text = self._random.choice(self._harmful)
                case _:
                    text = self._random.choice(self._harmless)
            for edit in self._random.choices(self._edits, k=self._random.choice((0, 1, 1, 1, 2, 2, 3))):
                edited = edit(text, self._random)
                if edited is not None and len(edited) <= LONGEST:
                    text = edited
            yield text

    def _composed(self) -> str:
        """Compose a command of a program, options of its table and files."""
        random = self._random
        name = random.choice(self._programs)
        options = self._options.get(name) or ["--version"]
        words = random.choices(options, k=random.randint(0, 3))
        words += random.choices(_OPERANDS, k=random.choice((0, 1, 1, 2)))
        if random.random() < 0.1:
            random.shuffle(words)
        return " ".join([name, *words])

    def _scripted(self) -> str:
        """Compose a script of one of the little languages."""
        random = self._random
        calls, words = random.choice(LANGUAGES)
        call, chosen = random.choice(calls), random.choices(words, k=random.randint(1, 6))
        if call.startswith("find"):
            return call.replace("@", " ".join(chosen))
        script = random.choice(("", "", " ", ";")).join(chosen).replace("'", "")
        return call.replace("@", f"'{script}'")

    def _word(self, text: str, random: Random) -> str | None:
        """Add, replace or remove a word; an added one is mostly an option of the program."""
        words = text.split(" ")
        place = random.randrange(len(words))
        options = self._options.get(words[0], [])
        new = random.choice(options) if options and random.random() < 0.6 else random.choice(self._words)
        match random.randrange(4):
            case 0 if place:
                words[place] = new
            case 1 if place:
                del words[place]
            case _:
                words.insert(max(place, 1), new)
        return " ".join(words)

    def _operand(self, text: str, random: Random) -> str | None:
        command = simple(text)
        if command is None or len(command.words) < 2:
            return None
        words = [each.raw for each in command.words]
        words[random.randrange(1, len(words))] = random.choice(_OPERANDS)
        return " ".join([*command.assignments, *words])

    def _sign(self, text: str, random: Random) -> str | None:
        place = random.randrange(len(text) + 1)
        keep = random.randrange(3)
        return text[:place] + random.choice(_SIGNS) + text[place + (keep == 0) :]

    def _quoted(self, text: str, random: Random) -> str | None:
        """Edit inside of quotes: a script of sed or awk, a pattern, a program for jq."""
        found = list(_QUOTED.finditer(text))
        if not found:
            return None
        start, end = random.choice(found).span()
        inner = text[start + 1 : end - 1]
        for _ in range(random.randint(1, 3)):
            place = random.randrange(len(inner) + 1)
            inner = inner[:place] + random.choice(_SIGNS) + inner[place + random.randrange(2) :]
        return text[: start + 1] + inner + text[end - 1 :]

    def _join(self, text: str, random: Random) -> str | None:
        join: Callable[[str, str, Random], str | None] = random.choice(JOINS)
        return join(text, random.choice(self._beside), random)


def _options_of_git() -> dict[str, list[str]]:
    found = {}
    for name, entry in SUBCOMMANDS.items():
        for more, each in entry.items() if isinstance(entry, dict) else [("", entry)]:
            found[f"git {name} {more}".rstrip()] = _options(each)
    return found


def _options(entry: object) -> list[str]:
    """Return the options that an entry of the tables names, with a value where they take one."""
    found = []
    for each in str(getattr(entry, "options", "")).split():
        option, _, kind = each.replace("[", "").replace("]", "").replace("==", "=").partition("=")
        if option.startswith("-"):
            value = _VALUES.get(kind, kind.partition("|")[0].lower())
            found += [option] if not kind or "[" in each else []
            found += [f"{option}={value}" if option.startswith("--") else f"{option} {value}"] if kind else []
    return [each.replace("-NUMBER", "-5").replace("+NUMBER", "+5") for each in found]


def shape(line: str) -> str:
    """Return what a line has in common with others that do the same to other words.

    Options, single letters and signs stay, because they decide; longer words and numbers do not.
    """
    first, *rest = re.split(r"(\s+)", line.strip())
    kept = [each if each.startswith("-") else re.sub(r"[A-Za-z_]{2,}|\d+", _sort, each) for each in rest]
    return first + "".join(kept)


def _sort(found: re.Match[str]) -> str:
    text = found.group()
    return text if text in FAMILIES or text in _KEPT else "0" if text.isdecimal() else "w"


# Words that change what a command does although they are no options.
_KEPT = frozenset(
    """system print printf getline close exec env input inputs include import then else if do done for in
    while until case esac function time xargs timeout nice nohup command builtin dev tcp inet eval source git
    log show diff status branch tag config remote stash blame grep cat ls find sort""".split()
)
