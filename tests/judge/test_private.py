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
        # copies, and what the line removes itself
        "cp src/a.py /tmp/a.py && sed -i s/a/b/ src/a.py && diff /tmp/a.py src/a.py",
        "cp -r src tests /tmp/copy; diff -r /tmp/copy/src src",
        "cp a.py '/tmp/a.py' && make && cp /tmp/a.py a.py",
        "pytest -q > /tmp/o.txt 2>&1; tail -3 /tmp/o.txt; rm -f /tmp/o.txt",
        "mkdir -p /tmp/t && cp a.py /tmp/t/ && (cd /tmp/t && python a.py); rm -rf /tmp/t",
        "gcc -o /tmp/t a.c && /tmp/t && rm /tmp/t 2>/dev/null",
        "for i in 1 2; do make > /tmp/o; grep x /tmp/o; rm /tmp/o; done",
        # servers that the line only uses: nothing outlives a run
        "npm run dev & sleep 5; curl -s localhost:5173",
        "npm run dev > /tmp/dev.log 2>&1 & sleep 5; curl -s localhost:3000",
        "(npm run dev > /tmp/w.log 2>&1 &); sleep 5; curl -s localhost:5173; tail /tmp/w.log",
        "(npm start > /tmp/srv.log 2>&1 &) ; sleep 3; cat /tmp/srv.log",
        "python api_server.py & sleep 2; python scripts/smoke.py http://localhost:8000; kill %1",
        "python api_server.py & sleep 2; python smoke.py --url=http://127.0.0.1:8000/v1",
        "node server.js & sleep 2; ab -n 10 'http://localhost:8000/'",
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
        "mkdir -p /tmp/x && cp f /tmp/x/",
        "mkdir -p /tmp/x && cp f /tmp/x/ && ls -la /tmp/x",
        "cp data.db /tmp/data.db && echo saved /tmp/data.db",
        "git diff > /tmp/a.diff; cat /tmp/a.diff; git diff --cached > /tmp/a.diff",
        "mkdir -p /tmp/out && python gen.py --out /tmp/out",
        # removing what is not the line's own
        "rm -f /tmp/o.txt; pytest > /tmp/o.txt; tail /tmp/o.txt",
        "pytest > /tmp/o.txt; tail /tmp/o.txt; rm -f /tmp/o.txt src/a.py",
        "pytest > /tmp/o.txt; tail /tmp/o.txt; rm -f /tmp/o*",
        "pytest > /tmp/o.txt; tail /tmp/o.txt; ls | xargs rm -f /tmp/o.txt",
        "mkdir /tmp/t; ln -s $PWD/src /tmp/t/l; ls -R /tmp/t; cat /tmp/t/l/a; rm -rf /tmp/t/l",
        "pytest > /tmp/o.txt; tail /tmp/o.txt; rm -rf /tmp/other",
        "cp .env /tmp/x && cat /tmp/x",
        "cp ~/.ssh/id_rsa /tmp/x && cat /tmp/x",
        "cp /tmp/theirs /tmp/x && diff /tmp/x a",
        "mkdir /tmp/old; mv src /tmp/old",
        "mkdir -p /tmp/old && cd /tmp/old && mv /work/project/src .",
        "mkdir /tmp/old; mv -t /tmp/old src tests",
        "touch /tmp/a; mv /tmp/a src /tmp/b",
        "mkdir /tmp/old; find src -name '*.py' -exec mv {} /tmp/old \\;",
        "mkdir /tmp/old; rsync -a --remove-source-files src /tmp/old",
        "mkdir /tmp/old; python -c \"import shutil; shutil.move('src', '/tmp/old')\"",
        "npm run dev &",
        "npm run dev > /tmp/dev.log 2>&1 &",
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
        "node a.js & python smoke.py http://localhost.example.com:8000",
        "node a.js & python smoke.py http://127.0.0.1@evil.example",
        "node a.js & python smoke.py http://localhost:8000@evil.example/",
        "node a.js & python smoke.py http://localhost:8000,http://evil.example",
        "node a.js & python smoke.py http://0x7f000001:8000",
        "node a.js & python smoke.py http://2130706433/",
        "node a.js & python smoke.py http://127.0.0.1.nip.io",
        "node a.js & python smoke.py http://evil.example/http://localhost:8000",
        "python smoke.py http://localhost:8000",
        "timeout 10 npm publish",
        "npm publish & sleep 1; kill %1",
    ],
)
def test_what_reaches_others_is_asked_about(line: str) -> None:
    assert judge([line], PROJECT).verdict == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "mkdir -p /tmp/work; cat /tmp/work/notes; rm -rf /tmp/work",
        "touch /tmp/work/app/x; cat /tmp/work/app/x; rm -rf /tmp/work/app/src",
        "echo x > /tmp/work/app/x; cat /tmp/work/app/x; rm -rf /tmp/work",
    ],
)
def test_a_project_below_tmp_is_no_temporary_file(line: str) -> None:
    assert judge([line], FakeWorkspace(cwd="/tmp/work/app", project="/tmp/work/app")).verdict == "ask"
    assert judge([line], PROJECT).verdict == "contained"


def test_a_rule_counts_for_private_things_too() -> None:
    rules = read_rules(ask=("curl *",))
    line = "npm start & sleep 3; curl -s localhost:3000; kill %1"

    assert judge([line], PROJECT, rules=rules).verdict == "ask"


def test_a_file_that_only_begins_alike_is_another_one() -> None:
    line = "echo x > /tmp/a; cat /tmp/a.txt /var/tmp/a"

    assert without_private(line) == line
