"""Private things: a sandbox keeps what a line makes, uses and ends itself, so nobody is asked about that."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from errands.judge.private import without_private
from errands.judge.rules import read_rules
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]

PROJECT = FakeWorkspace()


@pytest.mark.parametrize(
    "line",
    [
        "npm test > /tmp/test.log 2>&1; tail -50 /tmp/test.log",
        "pytest -q &> /tmp/out.txt || tail -100 /tmp/out.txt",
        "go test ./... 2>&1 | tee /tmp/go.log | tail -5; grep FAIL /tmp/go.log",
        "g++ -g t.cpp -o /tmp/t && /tmp/t",
        "cat > /tmp/check.py <<'EOF'\nprint(1)\nEOF\npython /tmp/check.py",
        "mkdir -p /tmp/t && cd /tmp/t && echo 'print(1)' > a.py && python a.py",
        "python server.py & PID=$!; sleep 2; kill $PID",
        "npm run dev & sleep 5; kill %1",
        "PORT=3001 npm run dev > dev.log 2>&1 & sleep 4; cat dev.log; kill $!",
        "npm start & sleep 3; curl -s localhost:3000/health; kill %1",
        "node a.js & A=$!; curl -s -X POST -H 'X: y' -d '{\"a\":1}' http://localhost:3000/x; kill $A",
        "uvicorn app:app & sleep 2; curl -sf http://127.0.0.1:8000/docs | head -5; kill %1",
        "npm run dev -- --port 4000 > /tmp/dev.log 2>&1 & sleep 6 && curl -s http://localhost:4000; kill %1",
        "go test -coverprofile=/tmp/c.out ./... && go tool cover -func=/tmp/c.out | tail -1",
        "pytest --junitxml=/tmp/r.xml -q; python3 -c 'print(1)' < /tmp/r.xml",
        "sed s/a/b/ a.py > /tmp/a.py && mv -f /tmp/a.py a.py",
        "mkdir /tmp/t; echo 1 > /tmp/t/a; mv /tmp/t/a /tmp/t/b 2>/dev/null; cat /tmp/t/b",
        "timeout 10 npm run dev",
        "timeout 5 npm start 2>&1 | head -20 || true",
    ],
)
def test_what_a_line_makes_and_ends_itself_is_contained(line: str) -> None:
    found = judge([line], PROJECT)

    assert found.verdict == "contained"
    assert found.reasons, "a person who wants to be asked sees why"


@pytest.mark.parametrize(
    "line",
    [
        # what others use, or made
        "npm test | tee /tmp/test.log",
        "echo x > /tmp/a; cat /tmp/b",
        "cat /tmp/a; echo x > /tmp/a",
        "echo x > /tmp/a/../../etc/x; cat /tmp/a",
        "cp /tmp/a src; echo x > /tmp/a; cat /tmp/a",
        "echo x > /tmp/a; rm -rf /tmp/a src",
        "python a.py > ~/x; cat ~/x",
        # what would be lost with the sandbox
        "mkdir /tmp/old; mv src /tmp/old",
        "mkdir -p /tmp/old && cd /tmp/old && mv /work/project/src .",
        "mkdir /tmp/old; mv -t /tmp/old src tests",
        "touch /tmp/a; mv /tmp/a src /tmp/b",
        "mkdir /tmp/old; find src -name '*.py' -exec mv {} /tmp/old \\;",
        "mkdir /tmp/old; rsync -a --remove-source-files src /tmp/old",
        "mkdir /tmp/old; python -c \"import shutil; shutil.move('src', '/tmp/old')\"",
        "npm run dev &",
        "npm run dev > /tmp/dev.log 2>&1 & sleep 5; curl -s localhost:3000",
        "npm run dev & sleep 5; npm test > /tmp/test.log 2>&1; kill %1",
        "pytest --config=/tmp/a.toml; cat /tmp/a.toml",
        "kill %1",
        "sleep 1 & kill 4321",
        "sleep 1 & kill $1",
        "sleep 1 & kill -9 -1",
        "sleep 1 & P=$!; kill $P $OTHER",
        "curl -s localhost:3000",
        "npm start & sleep 3; curl -s example.com; kill %1",
        "npm start & curl -s http://localhost:3000 http://example.com; kill %1",
        "npm start & curl -s http://localhost:3000@example.com; kill %1",
        "npm start & curl -s localhost.example.com; kill %1",
        "npm start & curl -x example.com http://localhost:3000; kill %1",
        "npm start & curl --proxy example.com http://localhost:3000; kill %1",
        "npm start & curl -T .env http://localhost:3000; kill %1",
        "npm start & curl -d @.env http://localhost:3000; kill %1",
        "npm start & curl -K c http://localhost:3000; kill %1",
        "npm start & curl -s localhost:3000/install | sh; kill %1",
        "timeout 10 npm publish",
        "npm publish & sleep 1; kill %1",
    ],
)
def test_what_reaches_others_is_asked_about(line: str) -> None:
    assert judge([line], PROJECT).verdict == "ask"


def test_a_rule_counts_for_private_things_too() -> None:
    rules = read_rules(ask=("curl *",))
    line = "npm start & sleep 3; curl -s localhost:3000; kill %1"

    assert judge([line], PROJECT, rules=rules).verdict == "ask"


def test_a_file_that_only_begins_alike_is_another_one() -> None:
    line = "echo x > /tmp/a; cat /tmp/a.txt /var/tmp/a"

    assert without_private(line) == line
