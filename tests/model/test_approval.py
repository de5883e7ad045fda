"""Approvals: a digest covers everything that will run, and consent covers nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from errands.model.action import Shell
from errands.model.approval import Evidence, digest, evidence_of, evidence_text, way_in
from errands.model.record import evolve
from errands.model.verdict import Judgement, Reason
from tests.samples import sample_task

ACTION = Shell(commands=(("make", "test"),), cwd="/project", environment="e")
EVIDENCE = Evidence(
    files={"/project/Makefile": "1"}, programs={"make": "/usr/bin/make"}, links={"/a": "/b"}, path="/usr/bin"
)
LASTING = Reason(text="deletes x; cannot be undone", undo="no", kind="delete")
PASSING = Reason(text="writes x", undo="unknown", kind="write")


@pytest.mark.spec("A10")
@pytest.mark.trap(69)
@pytest.mark.parametrize(
    "changes",
    [
        {"commands": (("make", "test "),)},
        {"commands": ("make test",)},
        {"commands": (("make",), ("test",))},
        {"commands": (("make", "test"), ("true",))},
        {"cwd": "/project/"},
        {"env": {"A": "1"}},
        {"before": (("true",),)},
        {"lastly": (("true",),)},
        {"input": "pipe"},
    ],
)
def test_any_other_action_has_another_digest(changes: dict[str, Any]) -> None:
    assert digest(evolve(ACTION, **changes), EVIDENCE) != digest(ACTION, EVIDENCE)
    assert digest(evolve(ACTION, **changes)) != digest(ACTION)


@pytest.mark.spec("A10")
@pytest.mark.parametrize(
    "changes",
    [
        {"files": {"/project/Makefile": "2"}},
        {"files": {"/project/Makefile": ""}},
        {"programs": {"make": "/tmp/make"}},
        {"links": {"/a": "/c"}},
        {"path": "/bin"},
    ],
)
def test_any_other_evidence_has_another_digest(changes: dict[str, Any]) -> None:
    assert digest(ACTION, evolve(EVIDENCE, **changes)) != digest(ACTION, EVIDENCE)


def test_the_order_of_variables_and_the_whole_environment_do_not_matter() -> None:
    one, two = {"A": "1", "B": "2"}, {"B": "2", "A": "1"}

    assert digest(evolve(ACTION, env=one)) == digest(evolve(ACTION, env=two))
    assert digest(evolve(ACTION, environment="other")) == digest(ACTION)


def test_evidence_is_read_back_as_it_was_written() -> None:
    odd = evolve(EVIDENCE, files={"/\udcff/\n": "unreadable: Permission denied"}, indexes={"/i": "2"})

    assert evidence_of(sample_task(evidence=evidence_text(odd))) == odd
    assert evidence_of(sample_task()) is None


@pytest.mark.spec("A5", "A12")
@pytest.mark.parametrize(
    ("reasons", "consent", "yes", "way"),
    [
        ((), "none", True, "judge"),
        ((), "yes", False, "judge"),
        ((PASSING,), "none", True, None),
        ((PASSING,), "typed", False, "typed"),
        ((PASSING,), "yes", True, "yes"),
        ((PASSING,), "yes", False, None),
        ((PASSING, LASTING), "typed", True, None),
        ((PASSING, LASTING), "yes", True, "yes"),
    ],
)
def test_consent_counts_for_what_it_says(
    reasons: tuple[Reason, ...], consent: Any, yes: bool, way: str | None
) -> None:
    judgement = Judgement(verdict="ask" if reasons else "auto", reasons=reasons)

    assert way_in(judgement, consent, yes=yes) == way
    assert way_in(evolve(judgement, verdict="deny"), consent, yes=yes) is None
