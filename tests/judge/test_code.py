"""Code in a line: what looks like harm in its text and is none, and what stays harm."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]

PROJECT = FakeWorkspace(cwd="/work/shop", project="/work/shop")


def python(code: str) -> str:
    return f"python3 - <<'EOF'\n{code}\nEOF"


def node(code: str) -> str:
    return f"node <<'EOF'\n{code}\nEOF"


def written(name: str, body: str, then: str = "pytest -q") -> str:
    return f"cat > {name} <<'EOF'\n{body}\nEOF\n{then}"


@pytest.mark.parametrize(
    "line",
    [
        # a tilde in front of a number
        python("# takes ~5 s\nprint(1)"),
        python("# see line ~1897\nprint('~3 MB')"),
        "for f in *.py; do echo \"~10 lines in $f\"; done",
        # up from a directory, where nothing is inside
        python("import os, sys\nsys.path.insert(0, os.path.join(os.getcwd(), '..'))"),
        python("import sys\nsys.path.append('..')\nopen('out.txt', 'w').write('x')"),
        node("const p = require('path'); console.log(p.join(__dirname, '..', 'package.json'))"),
        "node -e \"console.log(require('path').resolve(process.cwd(), '../..'))\"",
        # an address without a host
        node("console.log(['a'].filter(l => !l.startsWith('https://')));"),
        "python -c \"print([u for u in open('u.txt') if u.startswith(('http://', 'https://'))])\"",
        # functions of the code's own
        "python -c \"from shop.util import truncate; print(truncate('abc', 2))\"",
        node("const { truncate } = require('./util'); console.log(truncate('abc', 2))"),
        python("from shop.net import curl, ssh\nprint(curl('a'), ssh(1))"),
        # variables that a sandbox does not have
        "python -c \"import os; print('OPENAI_API_KEY' in os.environ)\"",
        "python -c \"import os; print(bool(os.environ.get('API_TOKEN')), os.getenv('SECRET_KEY'))\"",
        node("console.log(process.env.API_KEY, process.env['GH_TOKEN'])"),
        # what sed replaces for each file
        "grep -rl lib src | xargs sed -i 's|\"../api/a\"|\"../api/b\"|g'",
        "find src -name '*.tsx' | xargs sed -i 's|\"../api/a\"|\"../api/b\"|g'",
        "rg -l lib src | xargs -n 1 sed -i \"s#'../api'#'../../web'#\"",
        # a test that is written and run, and deletes what it has made
        written("tests/conftest.py", "import shutil\ndef d():\n    yield tmp\n    shutil.rmtree(tmp)"),
        written("test_a.py", "import os\ndef test_a(tmp_path):\n    os.remove(tmp_path / 'x')"),
        written("src/a.test.ts", "afterEach(() => fs.rmSync(dir, { recursive: true }))", "npx vitest run"),
        written("tests/test_api.py", "def test_a(client):\n    client.delete('/items/1')"),
        # code with methods of such a name
        written("src/cart.py", "def remove(self, item):\n    self.items.remove(item)"),
        written("src/text.py", "def truncate(text, n):\n    return text[:n]"),
        written("src/a.ts", "export function remove(id: string) {\n  delete items[id]\n}", "npx jest"),
    ],
)  # fmt: skip
def test_what_only_looks_like_harm_is_contained(line: str) -> None:
    assert judge([line], PROJECT).verdict == "contained"


@pytest.mark.parametrize(
    "line",
    [
        python("print(open('~/.ssh/id_rsa'))"),
        python("import os\nos.listdir(os.path.expanduser('~bob/x'))"),
        python("import os\nos.listdir(os.path.expanduser('~'))"),
        "for f in *; do cp $f ~bob; done",
        "for f in *; do cat ~root/.bashrc; done",
        # what is put above the project would be lost with the sandbox
        python("import shutil\nshutil.move('src', os.path.join(os.getcwd(), '..'))"),
        python("import os\nos.chdir('..')\nopen('x', 'w').write('x')"),
        node("fs.renameSync('src', path.join(__dirname, '..'))"),
        python("open('../x')"),
        node("path.join(__dirname, '..', '.ssh', 'id_rsa')"),
        "for f in *; do cp $f '..'; done",
        "for f in *; do cat $f/..; cat ../x; done",
        # a host is named
        node("x.startsWith('https://evil.example')"),
        "python -c \"get('https://' 'a', 'http://evil.example')\"",
        # what deletes or connects in the language
        "perl -e 'truncate(\"src/a.py\", 0)'; for i in 1; do :; done",
        python("from os import truncate\ntruncate('src/a.py', 0)"),
        python("from os import *\ntruncate('src/a.py', 0)"),
        node("const { truncate } = require('fs'); truncate('src/a.py', 0)"),
        "for f in src/*; do truncate -s 0 $f; done",
        python("import os\nos.truncate('a', 0)"),
        python("from os import unlink\nunlink('src/a.py')"),
        python("eval(input())"),
        node("exec('git clean -fdx')"),
        "curl() { command curl \"$@\"; }; curl evil.example",
        # files that hold secrets
        "for f in *; do cat process.env/.env; done",
        "for f in *; do cat .env.local; done",
        python("print(open('.env').read(), 'API_KEY' in os.environ)"),
        node("require('fs').readFileSync('.env')"),
        # xargs
        "ls | xargs sed -i 's|a|b|w ../x'",
        "ls | xargs sed -i 's|a|rm -rf src|e'",
        "ls | xargs sed -i -f ../x",
        "ls | xargs rm", "ls | xargs -n 1 env X=1 rm", "ls | xargs sh -c 'rm \"$@\"' _",
        "find . -print0 | xargs -0 shred", "ls | xargs -I{} mv {} ../x", "ls | xargs -I{} cp {} /srv",
        # a test that is written and run, and deletes the project
        written("tests/conftest.py", "import shutil\nshutil.rmtree('src')"),
        written("tests/conftest.py", "from pathlib import Path\nPath('src/a.py').unlink()"),
        written("tests/test_a.py", "import os\nos.remove('src/a.py')"),
        written("tests/test_a.py", "import subprocess\nsubprocess.run('rm -rf src', shell=True)"),
        written("tests/test_a.py", "import subprocess\nsubprocess.run(['rm', '-r', 'src'])"),
        written("tests/run.sh", "rm -rf $x", "pytest; bash tests/run.sh"),
        written("tests/../conftest.py", "import shutil\nshutil.rmtree(x)"),
        written("/work/other/tests/conftest.py", "import shutil\nshutil.rmtree(x)"),
        written("~/tests/conftest.py", "import shutil\nshutil.rmtree(x)"),
        written("tests/clean.py", "import shutil\nshutil.rmtree(x)", "python tests/clean.py"),
        written("conftest.py", "import shutil\nshutil.rmtree(x)"),
        written("src/a.py", "from os import remove\nremove('x')"),
        written("src/a.rs", "fs::remove_dir_all(x)", "cargo test"),
    ],
)  # fmt: skip
def test_what_does_harm_is_asked_about(line: str) -> None:
    assert judge([line], PROJECT).verdict == "ask"
