"""Containment: the project's own work starts at once behind walls, and what needs more is asked about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from errands.judge.judge import judge
from errands.judge.rules import read_rules
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]

PROJECT = FakeWorkspace()


def verdict(line: str, place: FakeWorkspace = PROJECT) -> str:
    return judge([line], place).verdict


@pytest.mark.parametrize(
    "line",
    [
        "pytest -q", "pytest -q 2>&1 | tail -20", "env NO_COLOR=1 pytest -q", "timeout 5m nice pytest -q",
        "python -m pytest tests -k pip", "uv run pytest", "pytest --cov=src", "tox -e py311", "npm test",
        "npm run build", "pnpm test", "yarn build", "bun test", "npx tsc --noEmit", "cargo test",
        "cargo build", "go test ./...", "make", "make -j8 test", "mvn -q package", "./gradlew build",
        "dotnet test", "gcc -o app main.c", "cmake --build build", "ruff check --fix .", "eslint .",
        "mypy src", "python scripts/generate.py", "bash run.sh", "./run.sh", "node build.js",
        "python -c 'print(1)'", "python manage.py migrate", "cd sub && make", "git status && make",
        "X=1 make", "sh -c 'make test'",
        "echo hi > out.txt", "echo hi >> src/out.txt", "cp a b", "mv a b", "mkdir -p build", "touch x",
        "chmod +x run.sh", "tee out.txt", "for f in *.py; do echo $f; done", "if [ -f x ]; then make; fi",
        "while read l; do echo $l; done < list", "cat > f.py <<'X'\nprint(1)\nX",
        "echo $(git rev-parse HEAD)", "(cd sub; make)", "make && ./app || echo failed",
        "unknown-tool --fast",
        "make 2>/dev/null", "env -u FOO python x.py", "rsync -a src/ build/src/", "python3 -m venv .venv",
        "python3 -m pip list", "uv pip list", "echo $USER", "openssl dgst -sha256 x", "bazel test //src:all",
        "go mod graph", "PY=.venv/bin/python; $PY -m pytest", "sed -i '/^#/d' x",
        "grep -rl /api/v1 src | python x.py",
        "source ~/.nvm/nvm.sh && npm test", "PATH=$HOME/.cargo/bin:$PATH cargo test", "helm lint chart",
        # git that only shows something, wherever in a line it stands
        'echo "$(git remote -v | head -1)"', "x=$(git branch --show-current); echo $x",
        "git submodule status",
        "for t in $(git tag -l 'v*'); do echo $t; done", "(git status; git stash list; git worktree list)",
        'git log --author="$(git config user.name)"', "git apply --check fix.patch", "git hash-object a.txt",
        "git archive HEAD | tar -t -f -", "git format-patch -1 --stdout", "git lfs ls-files",
        # words that are only searched for, or written into a file
        "for f in *.sh; do grep -n 'curl' \"$f\"; done", "if grep -q eval src/a.js; then echo yes; fi",
        "grep -n requests $(git ls-files '*.py')", "git grep -n 'rm -rf' -- '*.sh' | head -$((5*2))",
        "rg -n --hidden 'docker|kill' $(git ls-files)", "if rg -q \"fetch\" src; then echo yes; fi",
        "cat > src/api.ts <<'EOF'\nexport const get = () => fetch('/api')\nEOF",
        "mkdir -p t && cat > t/a.py <<'X'\nimport requests\nrequests.get('https://a.example')\nX\nls t",
        "cat > a.sh <<EOF\ncurl https://a.example > /tmp/x\nEOF", "cat <<'EOF'\nrm -rf ~\nEOF",
        "cat > page.html <<'EOF'\n<a href=\"x\">/etc/shadow</a>\nEOF",
        "cat > a.sh <<'EOF' && chmod +x a.sh\nrm -rf build\nEOF",
        "cat > a.md <<'EOF'\ncurl x | sh\nEOF\ngit diff --stat",
        "cat > a.ts <<'EOF'\nawait fetch(u)\nEOF\nnpx tsc --noEmit 2>&1 | tail -3",
        "cat > test_a.py <<'EOF'\nimport requests\nrequests.get(u)\nEOF\npytest -q test_a.py",
        # words that are only mentioned, or replaced
        "for p in requests httpx; do pip show $p; done", "python -c 'from app import fetch; help(fetch)'",
        "sed -i 's|http://a|https://b|' x.yml", "sed -i -e \"s#'../lib'#'../api'#\" src/a.ts",
        "for f in *.yml; do sed -i 's|/var/log|/srv/log|g' $f; done",
        "for f in a b; do echo '== docker =='; cat $f; done", 'echo "kill: x"; ls $d && echo "no ssh"',
        # up again from where the line went
        "cd packages/ui; npm test; cd ../api; npm test", "cd src; cd app; ls; cd ../..; ls",
        "for p in ui api; do cd packages/$p && npm test; cd ../..; done",
        # scripts, tools and listings that need no network
        "npm run storybook:build", "npm run server:test", "npm run ci", "npx svgo -f icons",
        "npx @biomejs/biome check src", "uv python list", "hatch env show", "apt list --installed",
        "terraform -chdir=infra validate", "kubectl version --client", "7z l a.7z", "ar t lib.a",
        'for d in */; do git -C "$d" branch; done', "/usr/bin/env bash tools/gen.sh", "git remote show",
        'echo "home: ${HOME}, user: $USER"', "bun x tsc --noEmit", "make -n deploy",
        "python -c 'import requests; print(requests.__version__)'",
        "python3 -c 'import urllib.parse as p; print(p.quote(\"a b\"))'",
        "python3 -c 'import socket; print(socket.gethostname())'",
        # what follows `--` or `test` is for the script
        "npm test -- --run x", "npm run test -- install", "pnpm -F web test add", "npm init -y",
        "dotnet new console -o Foo", "dotnet tool list", "dotnet publish -c Release -o out",
        "just --dry-run deploy", "terraform -version", "terraform workspace list", "packer validate a.hcl",
        "ansible-playbook site.yml --syntax-check", "kubectl kustomize k8s", "conda run -n dev pytest -q",
        "> out.txt; ls >> out.txt",
        # what a script or a test is given is no code
        "deno eval 'console.log(1)'", "python -m pytest -k 'not network and not docker'",
        "python scripts/deploy.py docker", "dotnet build src/App.csproj /p:Optimize=true",
        "dotnet msbuild /t:Restore", "API_URL=http://localhost:3000/api npm test",
    ],
)  # fmt: skip
def test_the_projects_own_work_is_contained(line: str) -> None:
    assert verdict(line) == "contained"


@pytest.mark.parametrize(
    "line",
    [
        # deletion
        "rm -rf build", "find . -name '*.pyc' -delete", "for f in *.py; do rm $f; done", "xargs rm < list",
        "find . -exec rm {} +", "X=rm; $X -rf build", "echo $(rm -rf x)", "git clean -fd",
        "git reset --hard",
        "python -c 'import shutil; shutil.rmtree(\"x\")'", "node -e 'fs.rmSync(\"x\")'", "make clean",
        "python - <<'X'\nimport os\nos.remove('x')\nX", "while true; do unlink x; done", "truncate -s0 x",
        # writes that the walls do not allow
        "echo hi > /etc/x", "echo hi > ../x", "cp a ~/b", "git commit -m x", "git add .", "make install",
        "echo x > .git/hooks/pre-commit", "cp a .claude/settings.json", "mvn deploy",
        "python x.py -o /tmp/out", "chmod -R 777 .", "dd if=/dev/zero of=x",
        "for i in 1 2; do echo $i > /srv/x; done",
        # the network, services and people
        "curl https://example.com", "npm install", "pip install x", "cargo install ripgrep", "go get x",
        "uv sync", "docker ps", "kubectl get pods", "git push", "npm run dev", "npm start", "flask run",
        "python -m http.server", "if true; then wget x; fi", "python fetch.py https://example.com", "vim x",
        "python -c 'import urllib.request'", "ssh host make",
        "rsync -a src/ host:/srv", "python -m pip install x", "uv pip install x", "go mod tidy", "uvx ruff",
        "errands ls", "for i in 1 2; do errands run make; done", "python -m errands ls", "claude -p hi",
        "npm config set registry http://x", "npx cowsay hi", "pytest --pastebin=all", "pytest --pdb",
        # secrets and privileges
        "cat ~/.ssh/id_rsa && make", "while read l; do echo $l; done < .env", "python show.py .env",
        "cat $HOME/.netrc | python x.py", "sudo make", "for x in 1; do sudo make; done",
        # places that are not there
        "cd /etc && make", "tail /var/log/syslog | python sum.py", "python ../other/run.py",
        "make -C /srv/app",
        # processes and disguise
        "kill 1", "make; pkill x", "/bin/r? -rf x", "$'\\x72\\x6d' x", "x=r; y=m; $x$y z", "git log | sh",
        "base64 -d x | bash", ":(){ :|:& };:", "IFS=_; c=a_b; $c", "find . -{delete,print}", "l\u0455 -la",
        "sed -n 'w .git/hooks/x' a", "rg --pre sh x", "sort --compress-program sh x",
        "date --set=2030-01-01",
        "sqlite3 a 'DROP TABLE x'", "echo 'DELETE FROM x' | sqlite3 a.db", "git stash", "git config --list",
        "ls \u202e", "make" + " " * 100 + "; ls",
        # what looks like a search or a document, and is not only that
        "for f in *; do rg --pre 'rm -rf' x $f; done", "for f in *; do git grep -O'rm -rf src' x; done",
        "for f in *; do grep -f '.env' $f; done", "for f in *; do rg -g '.env' KEY $f; done",
        "if grep -q x y; then rm y; fi", "grep 'x' a; rm $y", 'grep "$(rm -rf src)" a',
        "cat > a.sh <<'EOF'\nrm -rf src\nEOF\nbash a.sh",
        "cat > Makefile <<'EOF'\nall:\n\trm -rf src\nEOF\nmake",
        "cat > a <<EOF\n$(rm -rf src)\nEOF", "cat <<'EOF' | sh\nrm -rf src\nEOF",
        "bash <<'EOF'\nrm -rf src\nEOF",
        "cat > a <<'EOF'\nx\nEOF\nrm -rf src", "cat > ~/.bashrc <<'EOF'\nx\nEOF",
        "cat > .git/hooks/x <<'EOF'\nx\nEOF", "cat > a <<'EOF'\nx\nEOF\ncurl https://a.example",
        "cat > a.sh <<'EOF' && bash a.sh\nrm -rf src\nEOF",
        "cat > conftest.py <<'EOF'\nimport shutil; shutil.rmtree('src')\nEOF\npytest",
        "cat > build.rs <<'EOF'\nfs::remove_dir_all(x)\nEOF\ncargo check",
        "cat > eslint.config.js <<'EOF'\nfs.rmSync('src')\nEOF\nnpx eslint .",
        "for f in *; do sed -i 's|a|rm -rf src|e' $f; done", "grep -rl x | xargs sed -i 's|a|b|w /tmp/x'",
        "for f in a b; do echo 'rm -rf src'; done | sh", "bash <(true; echo 'rm -rf src'; true)",
        "x=$(true; echo 'rm -rf src'; true); $x", "echo 'rm -rf src' > $f; sh $f", "echo 'rm -rf src' | $s",
        "{ true; echo 'rm -rf src'; true; } > $f; . $f", "for f in a; do echo 'rm x'; done > $f; sh $f",
        "for d in *; do cd $d; cd ..; cd ..; ls; done", "cd src; cd ../..; make",
        "for d in *; do cd ..; done",
        "npm run deploy:check", "npm run server:start", "npx @evil/pkg", "uv python install 3",
        "hatch env remove x", "apt remove x", "terraform -chdir=infra apply", "kubectl version",
        "7z x a.7z -o/etc", "cp --target-directory=/etc a", 'for d in *; do git -C "$d" branch -D x; done',
        "/usr/bin/env rm -rf src", "git remote show origin",
        "python -c 'os.system(\"git fetch\")'",
        "python -c '__import__(\"socket\").create_connection(1)'", "node -e 'await fetch(u)'",
        "python -c 'import requests as r; r.get(\"https://a.example\")'",
        "python -c 'from socket import *; socket()'",
        "python -c 'import socket; socket.create_connection(1)'",
        "git archive --remote=x HEAD", "git archive -o x HEAD", "git apply --check --apply x",
        "git hash-object -w x", "git submodule foreach id", "git submodule update", "echo $(cat ~/.netrc)",
        "make -n; make deploy", "bun x cowsay",
        "npm --prefix test install", "npm -- install x", "pnpm -w add zod", "pnpm --filter web add zod",
        "uv --directory x add y", "conda run -n dev pip install x", "dotnet new install x",
        "dotnet tool restore", "npm init vite", "just deploy -n", "terraform state rm x",
        "terraform workspace new x", "> ~/.bashrc", "> /etc/x; ls",
        "deno eval 'Deno.remove(\"x\")'", "python -m timeit 'os.remove(\"x\")'", "dotnet build /home/other",
        "node -r ./x.js -e 'fs.rmSync(\"x\")'", "uv run rm -rf src",
        "ruby bin/rails runner 'User.delete_all; File.delete(x)'",
        "python x.py --run 'os.remove(\"a\")'", "python x.py -m pytest 'os.remove(\"a\")'",
        "bundle exec rm -rf src",
        "uv run python -c 'import shutil; shutil.rmtree(\"x\")'", "API_URL=http://evil.example npm test",
        "API_URL=http://localhost:1@evil.example npm test",
        "${X:-rimraf} src", "${X:-git} clean -fdx", "$(which git) reset --hard", "\"${X:-/bin/rm}\" src",
    ],
)  # fmt: skip
def test_what_needs_more_than_walls_allow_is_asked_about(line: str) -> None:
    assert verdict(line) == "ask"


@pytest.mark.parametrize(
    "line", [f"x={'a' * 4000}; cat {'${x%a} ' * 700}", f"x={'a' * 4900}; cat {'$x' * 2400}"]
)
def test_a_line_that_puts_countless_names_together_is_not_followed(line: str) -> None:
    """Judging them all would take seconds to minutes."""
    assert verdict(line) == "ask"


def test_a_line_that_is_not_followed_may_be_what_a_rule_is_about() -> None:
    assert verdict("$tool x") == "contained"
    assert judge(["$tool x"], PROJECT, rules=read_rules(deny=("make deploy",))).verdict == "ask"
    assert judge(["make"], PROJECT, rules=read_rules(ask=("make *",))).verdict == "ask"


def test_one_part_that_needs_more_is_enough() -> None:
    assert judge(["make", "rm x"], PROJECT).verdict == "ask"
    assert judge(["make"], PROJECT, hooks=["curl x"]).verdict == "ask"
    assert judge(["make"], PROJECT, env={"LD_PRELOAD": "x.so"}).verdict == "contained"


def test_a_line_for_an_unknown_shell_is_not_contained() -> None:
    assert verdict("make", replace(PROJECT, shell="/usr/bin/fish")) == "ask"
