"""Words of code and of texts are no hunt for keys, although some of them are parts of how keys begin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from errands.judge.programs.hunting import about_keys
from tests.judge.programs.lines import reasons

pytestmark = pytest.mark.spec("A2")

ROOT = Path(__file__).parents[3]
# Modules and pages that speak of keys of services.
ABOUT_KEYS = frozenset(("hunting.py", "secrets.py", "search.py", "commands.md", "approval.md"))
# What keys begin with.
BEGINNINGS = frozenset("akia ghp_ whsec_".split())


def _words() -> set[str]:
    """Return the words and names in our own code and documents, also in capitals."""
    files = [*ROOT.glob("src/errands/**/*.py"), *ROOT.glob("docs/**/*.md")]
    texts = [file.read_text() for file in files if file.name not in ABOUT_KEYS]
    found = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
    return found | {spelled for word in found for spelled in (word.lower(), word.upper(), word.capitalize())}


def test_no_word_of_code_or_of_a_text_is_a_hunt_for_keys() -> None:
    words = _words()
    hunting = {word for word in words if about_keys([word], ["basic", "extended"])}

    assert len(words) > 20_000
    assert {word.lower() for word in hunting} <= BEGINNINGS


@pytest.mark.parametrize(
    "pattern",
    """
    app App apps hook hooks git github hub try was ruby gem gems slack scale cal ops lack it as api pal age
    ant sec key pat test live com pro val kit asia Asia A2 S5 T3 app|hook (app|hook) app\\|hook ^app app$
    \\bapp\\b \\<app\\> app.* .*app.* app- app_ github_ hooks\\. hooks_ ops_ scale_ _token access_token "app"
    .app app\\( app: useApp h[o]ok apps? EUROPE|ASIA
    """.split(),
)
def test_a_word_that_is_a_part_of_a_key_is_not_one(pattern: str) -> None:
    for line in (f"grep -rn '{pattern}' src", f"rg '{pattern}' src", f"git log --oneline -S '{pattern}'"):
        assert not [each for each in reasons(line) if each.kind == "secret"], line


@pytest.mark.parametrize(
    "pattern",
    r"""
    AKIA akia AKI ASIA A[KS]IA AK.A A.IA AKIA.* .*AKIA \bAKIA ^AKIA (AKIA) AKIA|app app|AKIA app|ghp
    (git|glpat) app.x|glpat name|eyJ value\\|xapp (app|ghp_)
    ghp ghp_ gho_ github_pat github_pat_ github_pat_.* ^github_p github_[a-z]*_[A-Z0-9]+ github_.{20} glpat
    glpat- xox xoxb xox[bp] xapp xapp- xapp-1 xapp-[0-9] xapp\w* .*xapp hooks.slack hooks\.slack\.com/services
    eyJ eyJh eyJhbGci AIza AIzaS MIIE MIIEpAI whsec whsec_ shpat shpat_ GOCSPX tskey tskey- hvs ntn_ sk-ant
    yJhb hbGciOi IIEpA
    sk_live rubygems_ pscale_ ops_eyJ dckr_ dckr ATATT3 AGE-SECRET access_token\$ pypi-Ag npm_[A-Za-z0-9]{30}
    """.split(),
)
def test_what_keys_begin_with_is_a_hunt(pattern: str) -> None:
    for line in (f"grep -rhE '{pattern}' .", f"rg '{pattern}'"):
        assert [each for each in reasons(line) if each.kind == "secret"], line


def test_naming_the_files_is_no_hunt() -> None:
    assert reasons("rg -l AKIA") == ()
    assert reasons("grep -rl ghp_ src") == ()
