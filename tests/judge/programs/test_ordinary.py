"""Ordinary files: what is shown without walls, by its name; any other file needs a sandbox or a yes."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]


def verdict(line: str, **place: object) -> str:
    return judge((line,), FakeWorkspace(**place)).verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "src/app.py", "src/config/token.ts", "vite.config.ts", "README", "docs/api.md", "Makefile",
        "package.json", "tsconfig.build.json", "data.json", "test_results.txt", "2024-01.csv",
        "logs/app.log", "a.txt", "build/lib.so", ".gitignore", "app/User.php", "requirements-dev.txt",
        "node_modules/x/weird.dat", "docs/weird.dat", "/tmp/weird", "/proc/cpuinfo", "~/x.py",
        "~/.cargo/registry/x.dat", "../README.md", "version.h.in", "notes.txt~", "package.json.orig",
    ],
)  # fmt: skip
def test_an_ordinary_file_is_shown_at_once(name: str) -> None:
    assert verdict(f"cat {name}") == "auto"


@pytest.mark.parametrize(
    "name",
    [
        "vortex", "vortex.dat", "settings.py", "recovery-codes.md", "passwords.log", "config/keys.ts",
        "deploy.sh", "license.xml", "vortex.json", "config.yml", "docker-compose.yml", "deploy/vortex.ini",
        ".vortexrc", ".config/vortex", "vortex.txt", "db_vortex.php", "includes/connection.php",
        "data/*.json", "./*.txt", "src/*", "密码.txt", "vortex.example.txt", "backup.2024",
        "fixtures.json/vortex", "/etc/nginx/nginx.conf", "vortex.log.gz", "firebaseConfig.ts",
        "LocalConfiguration.php", "/usr/local/etc/vortex", "/usr/local/nagios/etc/a.cfg", "/etc/cron.d/job",
        "/etc/profile.d/proxy.sh", ".vscode/tasks.json", ".serverless/data.json", "/etc/fstab",
    ],
)  # fmt: skip
@pytest.mark.parametrize("reader", ["cat", "head -5", "sed -n 1,5p", "cut -c1-9", "sort <", "base64"])
def test_a_file_whose_name_says_nothing_is_shown_in_a_sandbox(reader: str, name: str) -> None:
    assert verdict(f"{reader} {name}") == "contained"


@pytest.mark.parametrize("reader", ["cat", "head", "sort <", "grep ''"])
@pytest.mark.parametrize(
    "name",
    [
        "~/vortex.dat", "/srv/vortex.ini", "../vortex.dat", "/home/other/vortex", "/tmp/jwt",
        "/tmp/passwords/a.txt", "~/wallets/notes.md", "../confidential/notes.md", "~/.vim/undo/a",
        "/var/spool/cups/d00001-001", "/var/log/cloud-init.log", "user-data",
    ],
)  # fmt: skip
def test_outside_of_the_project_it_is_asked_about(reader: str, name: str) -> None:
    assert verdict(f"{reader} {name}") == "ask"


def test_a_link_counts_as_what_it_leads_to_and_a_directory_shows_nothing() -> None:
    assert verdict("cat a.txt", links={"/project/a.txt": "/project/vortex.dat"}) == "contained"
    assert verdict("cat vortex.dat", links={"/project/vortex.dat": "/project/a.txt"}) == "contained"
    assert verdict("diff -rq vortex src", directories=frozenset(["/project/vortex"])) == "auto"


@pytest.mark.parametrize(
    "line",
    [
        "grep '' vortex.ini", "grep -v q vortex.ini", "grep -A3 q vortex.ini", "rg -C 2 q vortex.ini",
        "grep -n password config.yml", "rg password config.yml", "git grep -i password",
        "git grep -e token -- config", "rg token", "git log --all -p | grep -i password",
        "git --no-pager show | rg secret", "git stash show -p | egrep 'api_key'", "grep -rn STRIPE .",
        "git log -p | cat | grep password",
        "true | git log -p | grep password", "git log -p | awk '/password/'", "git diff | sed -n '/token/p'",
        "grep -rn 'user:' .", "grep -rn '^export' .", "grep -rn connectionString .", "cat alembic.ini",
        "grep -rni jwt .", "grep -rn AccountKey .", "grep -rn 'amqps://' .", "grep -rn 'host=' .",
        "grep -rn KEY .", "rg -uu 'DB_|CACHE_'", "grep -rn xkeysib- .",
        "grep -rE 'eyJ[A-Za-z0-9_-]+[.]eyJ' .", "rg '[[:alnum:]]{40}'", "grep -r 'x\\w\\{32\\}' .",
    ],
)  # fmt: skip
def test_a_search_that_shows_everything_or_secrets_is_run_in_a_sandbox(line: str) -> None:
    assert verdict(line) == "contained"


@pytest.mark.parametrize(
    "line",
    [
        "grep port config.yml", "grep -A3 q app.py", "grep -c . vortex.ini", "grep -n password src/auth.py",
        "git grep -i password -- src", "git grep -l password", "rg -l token", "rg token src", "rg MAX_SIZE",
        "grep -rn MAX_SIZE src", "grep -rnE 'TODO|FIXME' .", "git log --oneline | grep fix",
        "ls | grep -i token", "git status | grep secret", "cat README.md | grep -i token",
        "grep -rnE 'v[a-z0-9]+' src",
        "find app -name '*.rb' -exec grep -l has_many {} +", "grep PATH ~/.bashrc",
    ],
)  # fmt: skip
def test_any_other_search_starts_at_once(line: str) -> None:
    assert verdict(line) == "auto"


def test_a_project_behind_a_link_or_in_a_temporary_directory_is_one_like_any_other() -> None:
    linked = {"/project": "/data/p", "/project/src/token.ts": "/data/p/src/token.ts"}
    assert verdict("cat src/token.ts", links=linked) == "auto"
    assert verdict("cat config.yml", cwd="/tmp/x", project="/tmp/x") == "contained"
    assert verdict("cat a.txt", cwd="/tmp/x", project="/tmp/x") == "auto"


@pytest.mark.parametrize(
    "line",
    ["grep -i token ~/.bashrc", "grep -E 'KEY|SECRET' ~/.zshrc", "ls -R /home/other", "tree /home/other"],
)
def test_secrets_in_startup_files_and_the_homes_of_others_are_asked_about(line: str) -> None:
    assert verdict(line) == "ask"


def test_a_project_may_be_a_home_directory_of_another() -> None:
    assert verdict("tree", cwd="/home/app", project="/home/app", home="/root") == "auto"


def test_git_may_not_be_told_to_write_its_index() -> None:
    assert verdict("GIT_OPTIONAL_LOCKS=0 git status") == "auto"
    assert verdict("GIT_OPTIONAL_LOCKS=1 git status") == "contained"
