"""Try mutants of harmful lines and random text on the judge: none may pass, nothing may raise.

Every mutant comes in through one of the judge's entrances: alone, behind a harmless command, as a hook.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from errands.judge.judge import judge
from errands.model.verdict import Judgement
from tests.fuzz.mutants import Mutant, Mutants
from tests.judge.fake_workspace import FakeWorkspace

MUTANTS, STRINGS, SEED = 100_000, 20_000, 1
HERE = FakeWorkspace()
NEIGHBOUR = ("git", "status")
_WORDS = r"""
ls cat rm git status push echo grep -n -rf --output=x README.md .env ~ / . .. ' " \ $ ` ( ) { } [ ] < > | & ;
! # * ? = : , % @ $( $(( ${ $' $" << <<- <<< <( >( >> >| &> 2>&1 && || |& ;; [[ ]] if then fi do done for in
case esac while until function time coproc EOF 1 2 x a=b A+=1 /dev/null /bin/rm
"""
_TOKENS = [*_WORDS.split(), "\n", "\t", "\\\n"]


@dataclass
class Findings:
    """What a run found, by operator."""

    tried: Counter[str] = field(default_factory=Counter)
    passed: list[Mutant] = field(default_factory=list)
    unexplained: list[Mutant] = field(default_factory=list)
    raised: list[tuple[str, str]] = field(default_factory=list)

    @property
    def are_bad(self) -> bool:
        return bool(self.passed or self.unexplained or self.raised)


def try_mutants(findings: Findings, *, count: int, seed: int) -> None:
    """Judge mutants, each through one of the entrances."""
    for number, mutant in enumerate(islice(Mutants(seed), count)):
        findings.tried.update(set(mutant.operators))
        try:
            judgement = _judged(mutant, entrance=number % 4)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be told with the line that raised it
            findings.raised.append((ascii(mutant.command), type(error).__name__))
            continue
        if judgement.verdict == "auto":
            findings.passed.append(mutant)
        elif not all(reason.text for reason in judgement.reasons) or not judgement.reasons:
            findings.unexplained.append(mutant)


def try_strings(findings: Findings, *, count: int, seed: int) -> None:
    """Judge text that means nothing; any verdict will do."""
    for kind, text in islice(strings(seed), count):
        findings.tried[kind] += 1
        try:
            judge((text,), HERE)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be told with the line that raised it
            findings.raised.append((ascii(text), type(error).__name__))


def strings(seed: int) -> Iterator[tuple[str, str]]:
    """Draw random text, with the name of its kind."""
    random = Random(seed)
    while True:
        size = random.choice((0, 1, 2, 5, 20, 80, 300))
        raw = random.randbytes(size)
        yield "random ASCII", "".join(chr(random.randrange(128)) for _ in range(size))
        yield "random Unicode", "".join(chr(random.randrange(0x110000)) for _ in range(size))
        yield "random bytes as Latin-1", raw.decode("latin-1")
        yield "random bytes, escaped", raw.decode("utf-8", "surrogateescape")
        yield "random tokens", random.choice((" ", "")).join(random.choices(_TOKENS, k=size))


def _judged(mutant: Mutant, *, entrance: int) -> Judgement:
    match entrance:
        case 0:
            return judge((NEIGHBOUR, mutant.command), HERE)
        case 1:
            return judge((NEIGHBOUR,), HERE, hooks=(mutant.command,))
        case _:
            return judge((mutant.command,), HERE)


def main() -> int:
    arguments = _arguments()
    findings, began = Findings(), time.monotonic()
    try_mutants(findings, count=arguments.count, seed=arguments.seed)
    took = time.monotonic() - began
    try_strings(findings, count=arguments.strings, seed=arguments.seed)
    for name, count in findings.tried.most_common():
        print(f"{count:8,} {name}")
    rate = arguments.count / took
    print(f"{arguments.count:,} mutants of seed {arguments.seed} in {took:.0f} s, {rate:,.0f} a second:")
    print(f"{len(findings.passed):8,} passed")
    print(f"{len(findings.unexplained):8,} asked about without a reason")
    print(f"{len(findings.raised):8,} raised an error")
    for mutant in (*findings.passed, *findings.unexplained):
        print(f"  {mutant.origin} {'+'.join(mutant.operators)}: {mutant.command!a}")
    for text, error in findings.raised:
        print(f"  {error}: {text}")
    return 1 if findings.are_bad else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=MUTANTS, help=f"how many mutants (default {MUTANTS:,})")
    parser.add_argument(
        "--strings", type=int, default=STRINGS, help=f"how many random texts (default {STRINGS:,})"
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"draws the same ones again (default {SEED})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
