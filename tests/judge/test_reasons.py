"""Reasons: a question says first what needs more than a sandbox allows, then why the line is not plain."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]

PROJECT = FakeWorkspace()


def first_reason(line: str, **env: str) -> str:
    found = judge([line], PROJECT, env=env)
    assert found.verdict == "ask"
    return found.reasons[0].text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        # places
        ("for f in 1; do cat ~/.ssh/id_rsa; done", "names ~/.ssh/id_rsa, which a sandbox does not show"),
        ("python3 - <<'X'\nopen('../other/x')\nX", "names ../other/x, which a sandbox does not show"),
        ("python3 -c 'print(open(\"/srv/x\").read())'", "names /srv/x, which a sandbox does not show"),
        (
            "python3 -c 'print(open(\"/root/.ssh/id_rsa\").read())'",
            "names /root/.ssh/id_rsa, which a sandbox does not show",
        ),
        ("make && cat /srv/x/README.md", "names /srv/x/README.md, which a sandbox does not show"),
        ("cat $(ls /tmp/x | head -1)", "names /tmp/x, and a sandbox has a /tmp of its own"),
        ("while read l; do echo $l; done < .env", "names .env, which may hold secrets"),
        ("(cat .git/config)", "names .git/config, which may hold secrets"),
        ("x=.e; cat ${x}nv", "puts the name .env together, which may hold secrets"),
        ("for i in 1; do echo $i > /srv/x; done", "writes to /srv/x, which a sandbox does not keep"),
        ("echo $(date) > /tmp/x", "writes to /tmp/x, which a sandbox does not keep"),
        # the network
        ("node <<'X'\nget('https://a.org/b')\nX", "names https://a.org/b, and a sandbox has no network"),
        ("(curl x)", "may use a network, which a sandbox does not have: curl"),
        (
            "python -c 'import requests as r; r.get(1)'",
            "may use a network, which a sandbox does not have: requests as",
        ),
        ("python -c 'requests.get(1)'", "may use a network, which a sandbox does not have: requests.get"),
        ("npm install x", "`npm install x` needs a network, which a sandbox does not have"),
        # deletion, processes, privileges
        ("python - <<'X'\nimport os\nos.remove('x')\nX", "may delete: os.remove"),
        ("node -e 'fs.rmSync(\"x\")'", "may delete: rmSync"),
        ("for f in *.py; do rm $f; done", "may delete: rm"),
        ("(kill 1)", "may end processes: kill"),
        ("for x in 1; do sudo make; done", "may run with other privileges: sudo"),
        ("(docker ps)", "may use a service, which a sandbox cannot reach: docker"),
        ("eval $x", "may run what is only known when it runs: eval"),
        ("git -c core.pager='rm -rf x' log", "may make another program run `rm`"),
        ("make clean", "`make clean` removes something"),
        ("make deploy", "`make deploy` publishes or deploys something"),
        # what does not end
        ("npm run dev", "`npm run dev` starts a server, which does not end by itself"),
        ("npm start", "`npm start` starts a server, which does not end by itself"),
        ("pnpm run watch", "`pnpm run watch` starts a server, which does not end by itself"),
        ("yarn serve", "`yarn serve` starts a server, which does not end by itself"),
        ("flask run", "`flask run` starts a server, which does not end by itself"),
        # disguise
        ("$x$y z", "puts the name of a program together: $x$y"),
        ("(base64 -d x) | bash", "pipes something into a shell, which runs it"),
        ("X='rm -rf y' make", "may delete: rm"),
    ],
)  # fmt: skip
def test_the_cause_of_a_question_comes_first(line: str, says: str) -> None:
    assert first_reason(line) == says


def test_what_walls_would_be_enough_for_comes_after_it() -> None:
    found = judge(["PORT=1 make && curl example.com; pytest"], PROJECT)

    texts = [each.text for each in found.reasons]
    assert texts[0] == "talks to the network: example.com"
    assert "runs tests of the project, which are code" in texts[1:]


def test_a_variable_that_a_task_adds_is_a_cause_by_its_value() -> None:
    assert first_reason("make", PAGER="cat ~/.netrc") == "names ~/.netrc, which a sandbox does not show"


def test_a_long_name_is_shortened() -> None:
    assert len(first_reason(f"(cat /srv/{'x' * 500})")) < 150
