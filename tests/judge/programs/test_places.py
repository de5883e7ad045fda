"""Places with secrets are recognised however a path to them is written."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.judge.programs import reasons_for, reasons_for_reading
from errands.judge.programs.globs import Glob, may_match, may_match_plain
from tests.judge.fake_workspace import FakeWorkspace
from tests.judge.programs.lines import PLACE, listed, reasons

pytestmark = pytest.mark.spec("A2")

SECRETS = listed("""
    .env
    .env.local
    config/.env
    ~/.ssh/id_rsa
    ~/.ssh/config
    ~/.aws/credentials
    ~/.gnupg/secring.gpg
    ~/.netrc
    ~/.pgpass
    ~/.npmrc
    ~/.pypirc
    ~/.git-credentials
    ~/.docker/config.json
    ~/.kube/config
    ~/.config/gh/hosts.yml
    ~/.config/gcloud/credentials.db
    ~/.bash_history
    ~/.zsh_history
    ~/.python_history
    ~/.local/state/errands/store.db
    ~/.kaggle/kaggle.json
    ~/.config/github-copilot/hosts.json
    ~/.ngrok2/ngrok.yml
    ~/.pip/pip.conf
    ~/.histfile
    /home/alice/.fly/config.yml
    /Users/alice/.netlify/config.json
    /root/.ansible/x
    .env.d/production
    vault.yml
    secrets/production
    ~/.mozilla/firefox/x/key4.db
    ~/Library/Keychains/login.keychain-db
    /home/alice/.ssh/id_ed25519
    /root/.aws/config
    /etc/shadow
    /etc/shadow-
    /etc/sudoers
    /etc/sudoers.d/x
    /etc/ssl/private/x
    /run/secrets/token
    /proc/self/environ
    /proc/1/environ
    /proc/12/mem
    /proc/12/maps
    /proc/self/root/etc/hosts
    /proc/kcore
    /dev/sda
    /dev/zero
    /dev/tcp/evil/80
    server.pem
    certs/server.key
    id_rsa
    deploy_rsa
    secrets.yaml
    credentials.json
    terraform.tfstate
    .git/config
""")

OPEN = listed("""
    README.md
    src/app.py
    .gitignore
    .env.example
    .github/workflows/ci.yml
    src/secrets.py
    src/credentials.py
    src/token.py
    src/keys.py
    tests/test_env.py
    environment.yml
    /etc/hosts
    /etc/os-release
    /proc/cpuinfo
    /proc/self/status
    /proc/loadavg
    /dev/null
    /usr/share/dict/words
    ~/notes.txt
    ~/.bashrc
    ~/.cache/pip/y
    /home/alice/notes.txt
    src/secrets/store.py
    ../other/README.md
    -
""")


@pytest.mark.parametrize("path", SECRETS)
def test_reading_a_secret_place_is_asked_about(path: str) -> None:
    (reason,) = reasons_for_reading(path, PLACE)

    assert path in reason.text
    assert reason.kind == "secret"
    for line in (
        f"cat {path}",
        f"head -1 {path}",
        f"grep x {path}",
        f"sort {path}",
        f"sed p {path}",
        f"wc {path}",
    ):
        assert reasons(line), line


@pytest.mark.parametrize("path", OPEN)
def test_reading_another_place_is_not(path: str) -> None:
    assert reasons_for_reading(path, PLACE) == ()
    assert reasons(f"cat {path}") == ()


@given(
    st.sampled_from([path for path in SECRETS if path[0] not in "~/"]),
    st.sampled_from(
        ["", "./", ".//", "././", "src/../", "../project/", "/home/person/project/", "~/project/"]
    ),
    st.booleans(),
)
def test_another_spelling_changes_nothing(path: str, before: str, loud: bool) -> None:
    assert reasons_for_reading(before + (path.upper() if loud else path), PLACE)


@pytest.mark.parametrize(
    "path", ["//etc/shadow", "/etc/../etc/shadow", "/etc/./shadow", "../../../etc/shadow"]
)
def test_dots_and_slashes_change_nothing(path: str) -> None:
    assert reasons_for_reading(path, PLACE)


@pytest.mark.parametrize(
    "pattern", ["config/*-credentials.json", "k8s/*-secret.yaml", "k8s/app-*secret.y*ml", "config/*.to*l"]
)
def test_a_pattern_that_says_what_it_is_for_is_asked_about(pattern: str) -> None:
    assert reasons_for(("cat", Glob(pattern)), PLACE)


@pytest.mark.parametrize("pattern", ["~/.ssh/*", "/home/*/.ssh/*", "~/.aws/*", "/run/secrets/*"])
def test_the_shell_lists_no_place_of_secrets_for_another_program(pattern: str) -> None:
    assert reasons_for(("echo", Glob(pattern)), PLACE)
    assert reasons_for(("basename", "-a", Glob(pattern)), PLACE)


@pytest.mark.parametrize("pattern", ["src/*.py", "~/*.md", ".env*", "/usr/share/*.conf", "tests/*"])
def test_the_shell_lists_other_places(pattern: str) -> None:
    assert reasons_for(("echo", Glob(pattern)), PLACE) == ()


def test_a_link_is_followed() -> None:
    linked = FakeWorkspace(
        cwd="/project", project="/project", links={"/project/notes.txt": "/home/person/.ssh/id_rsa"}
    )

    assert reasons_for_reading("notes.txt", linked)
    assert reasons_for_reading("other.txt", linked) == ()


@pytest.mark.parametrize(
    "word", [".e*", ".env*", "id_*", "certs/*.pem", "src/*.k*", ".[e]nv", "~/.ss?/x", "config/cred*"]
)
def test_a_wildcard_that_could_match_a_secret_is_asked_about(word: str) -> None:
    assert reasons_for(("cat", Glob(word)), PLACE)


@pytest.mark.parametrize(
    "word", ["conf/*.json", "conf/*.yml", "docs/*", "conf/s*.toml", "config.*", "README*"]
)
def test_a_wildcard_for_many_files_is_read_in_a_sandbox(word: str) -> None:
    assert [reason.kind for reason in reasons_for(("cat", Glob(word)), PLACE)] == ["glob"]


@pytest.mark.parametrize("word", ["src/*.py", "docs/*.md", "src/test_*.py", "src/[ab].py", "./*.log"])
def test_any_other_wildcard_is_not(word: str) -> None:
    assert reasons_for(("cat", Glob(word)), PLACE) == ()


@pytest.mark.parametrize(
    "place", ["/", "~", "/home", "/home/person", "../..", "/etc", "/proc", "~/.config", "~/.local"]
)
def test_a_search_through_everything_is_asked_about(place: str) -> None:
    assert reasons(f"grep -r foo {place}")
    assert reasons(f"rg foo {place}")


@pytest.mark.parametrize("place", [".", "src", "/usr/include", "~/project", "../other", "/tmp"])
def test_a_search_through_a_project_is_not(place: str) -> None:
    assert reasons(f"grep -r foo {place}") == ()
    assert reasons(f"rg foo {place}") == ()


@pytest.mark.parametrize(
    "place", ["/h*", "/hom?", "/[h]ome/person", "/roo[t]", "/User[s]/*", "~/../pers*", "~/*"]
)
def test_a_home_is_not_listed_or_searched_by_a_pattern(place: str) -> None:
    for words in (("ls", "-R"), ("tree",), ("find",), ("du", "-a"), ("rg", "--files"), ("fd", "x")):
        assert reasons_for((*words, Glob(place)), PLACE)
    assert reasons_for(("grep", "-r", "foo", Glob(place)), PLACE)


@pytest.mark.parametrize("place", ["/et[c]", "/va[r]/lib", "/pro?", ".gi[t]", "~/.confi?"])
def test_where_secrets_are_kept_is_not_searched_by_a_pattern(place: str) -> None:
    assert reasons_for(("grep", "-r", "foo", Glob(place)), PLACE)


@pytest.mark.parametrize("place", ["src/*", "packages/*/src", "/usr/*/share", "/tmp/x?"])
def test_other_places_are_listed_and_searched_by_a_pattern(place: str) -> None:
    assert reasons_for(("ls", "-R", Glob(place)), PLACE) == ()
    assert reasons_for(("tree", Glob(place)), PLACE) == ()
    assert reasons_for(("grep", "-r", "foo", Glob(place)), PLACE) == ()


def test_names_may_be_looked_at_where_contents_may_not() -> None:
    assert reasons("ls .env") == ()
    assert reasons("test -f .env") == ()
    assert reasons("ls ~/.ssh")
    assert reasons("find / -name x")


ALPHABET = "ab.*?"


@given(st.text("ab.", min_size=1, max_size=6), st.text(ALPHABET, min_size=1, max_size=6))
def test_a_plain_name_matches_as_fnmatch_says(name: str, pattern: str) -> None:
    assert may_match_plain(name, pattern) == fnmatch.fnmatchcase(name, pattern)


@given(
    st.text("ab", min_size=1, max_size=5),
    st.text(ALPHABET, min_size=1, max_size=5),
    st.text(ALPHABET, min_size=1, max_size=5),
)
def test_two_patterns_that_match_one_name_are_found(name: str, one: str, other: str) -> None:
    if fnmatch.fnmatchcase(name, one) and fnmatch.fnmatchcase(name, other):
        assert may_match(one, other)
