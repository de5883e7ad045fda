"""A harmful line is asked about in any disguise, and every text gets a verdict."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from errands.judge.judge import judge
from errands.model.verdict import Judgement
from tests.fuzz import fuzz
from tests.fuzz.lines import CORPUS, UNSEEN, read
from tests.fuzz.mutants import Mutants
from tests.fuzz.operators import constructs, joins, signs, spelling, spoils, wrapping
from tests.fuzz.words import respell, simple
from tests.judge.fake_workspace import FakeWorkspace

SEED = 20

Command = str | tuple[str, ...]


@pytest.mark.spec("A1", "A2", "A3")
@pytest.mark.trap(70)
def test_no_mutant_of_a_harmful_line_passes() -> None:
    findings = fuzz.Findings()
    fuzz.try_mutants(findings, count=5_000, seed=SEED)

    assert findings.passed == []
    assert findings.unexplained == []
    assert findings.raised == []


def test_the_neighbour_of_a_mutant_is_not_what_is_asked_about() -> None:
    assert judge((fuzz.NEIGHBOUR,), fuzz.HERE, hooks=(fuzz.NEIGHBOUR,)).verdict == "auto"


@pytest.mark.spec("A1", "A3")
def test_random_text_gets_a_verdict() -> None:
    findings = fuzz.Findings()
    fuzz.try_strings(findings, count=2_000, seed=SEED)

    assert findings.raised == []


def test_a_judge_without_shell_syntax_lets_mutants_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the mutants would prove nothing."""

    def split_at_blanks(
        commands: Sequence[Command], place: FakeWorkspace, *, hooks: Sequence[Command] = ()
    ) -> Judgement:
        lines = [each if isinstance(each, str) else " ".join(each) for each in (*commands, *hooks)]
        return judge([tuple(line.split()) for line in lines], place)

    monkeypatch.setattr(fuzz, "judge", split_at_blanks)
    findings = fuzz.Findings()
    fuzz.try_mutants(findings, count=1_000, seed=SEED)

    assert len(findings.passed) >= 20


def test_every_operator_is_used() -> None:
    operators = [*spelling.SPELLING, *signs.SIGNS, *wrapping.WRAPPING, *constructs.CONSTRUCTS]
    names = {each.__name__ for each in (*operators, *joins.JOINS, *spoils.SPOILS)} | {"as_words"}

    assert {name for mutant in islice(Mutants(SEED), 5_000) for name in mutant.operators} == names


def test_the_same_seed_draws_the_same_mutants() -> None:
    assert list(islice(Mutants(3), 50)) == list(islice(Mutants(3), 50))
    assert list(islice(Mutants(3), 50)) != list(islice(Mutants(4), 50))


def test_a_word_spelled_otherwise_is_the_same_word_to_a_shell(tmp_path: Path) -> None:
    """Otherwise the mutants would not be the commands they claim to be."""
    random, spelled, meant = Random(SEED), [], []
    for line in (*read(CORPUS), *read(UNSEEN)):
        command = simple(line.command)
        for word in command.words if command else ():
            if word.value is not None:
                spelled += [word.raw, respell(word.value, random)]
                meant += [word.value, word.value]
    script = "printf '%s\\0' " + " ".join(spelled)
    said = subprocess.run(["bash"], input=script, cwd=tmp_path, text=True, capture_output=True, check=True)

    assert said.stdout.split("\0")[:-1] == meant
