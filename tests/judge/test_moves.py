"""Moves: reading after a `cd` needs no more than reading the same file by its path; everything else asks."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from errands.judge.rules import read_rules
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]

PROJECT = FakeWorkspace(
    cwd="/work/shop",
    project="/work/shop",
    links={
        "/work/shop/etc": "/etc",
        "/work/shop/keys": "/home/person/.ssh",
        "/work/shop/out": "/srv/out",
        "/work/shop/etc/shadow": "/etc/shadow",
        "/work/shop/keys/id_rsa": "/home/person/.ssh/id_rsa",
        "/work/shop/out/x": "/srv/out/x",
    },
)
PLACES = """~ / /home /etc ~/.ssh ~/.aws /proc/1 /proc/self /dev /root /var/lib /run ~/.config
/etc/ssl .. /srv/x /usr/lib etc keys out /home/other /tmp/x ../.git /work/other/.git""".split()
READING = """ls {}|ls -R {}|tree {}|find {}|find {} -name '*.py'|grep -rn foo {}|rg foo {}|rg -uu foo {}
fd x {}
du {}|cat {}/config|cat {}/id_rsa|cat {}/environ|head -5 {}/shadow|cat {}/a.py|stat {}/x
tail -5 {}/x.log|cat {}/*|cat {}/*.md|wc -l {}/*|echo {}/*|strings {}/core|sort {}/credentials
jq . {}/x.json|sed -n 1p {}/x.py|cat {}/.env|cat {}/x.ini|diff {}/a {}/b|tar tf {}/x.tar
cat {}/passwd|cat {}/.ssh/id_rsa|cat {}/.bash_history|cat < {}/shadow|cat < {}/a.py
grep x {}/.git/config|cat {}/../.env|bash -n {}/x.sh|nl {}/settings.py|cat {}/token.txt|ls {}/.ssh"""


def verdict(line: str) -> str:
    return judge([line], PROJECT).verdict


@pytest.mark.parametrize("place", PLACES)
def test_reading_behind_a_cd_is_no_freer_than_reading_the_place_by_its_name(place: str) -> None:
    freer = []
    for command in READING.replace("\n", "|").split("|"):
        behind = {
            command.replace("{}/", "").replace("{}", "."),
            command.removesuffix(" {}").replace("{}/", ""),
        }
        named = verdict(command.replace("{}", place))
        lines = [f"cd {place} {sign} {each}" for each in behind for sign in ("&&", ";") if "{}" not in each]
        freer += [line for line in lines if verdict(line) == "auto" != named]

    assert freer == []


@pytest.mark.parametrize(
    "line",
    [
        "cd /srv/x && cat README.md", "cd .. && ls", "cd ../other && grep -rn foo src | head",
        "cd /tmp/x; ls; wc -l a.py",
        "cd /usr/lib/python3 && ls", "cd ~/other && find . -name '*.py'", "cd out && ls",
        "cd /srv && cd x && cat a.py",
        "cd /srv/x && ls missing 2>/dev/null || echo none", "sh -c 'cd /srv/x && ls'", "cd ..; cd other; ls",
        "cd src && cd ../.. && ls",
    ],
)  # fmt: skip
def test_reading_behind_a_cd_starts_at_once(line: str) -> None:
    assert verdict(line) == "auto"


@pytest.mark.parametrize(
    "line",
    [
        # anything but reading
        "cd /srv/x && make", "cd .. && npm test", "cd /srv/x; pytest -q", "cd /srv/x && ./ls",
        "cd /srv/x && python a.py",
        "cd /srv/x && git status", "cd ../other && git log -3", "cd .. && git -C . status",
        "cd /srv/x && ls > out",
        "cd /srv/x && touch a", "cd /srv/x && sed -i s/a/b/ f", "cd .. && cp a b", "cd /srv/x && rm a",
        "cd /srv/x && cat a.py | tee b", "cd /srv/x && for f in *; do cat $f; done",
        "cd /srv/x && echo $(ls)",
        "cd /srv/x && npx tsc", "cd /srv/x && unknown-tool", "cd .. && . ./env.sh",
        "cd /srv/x && bash run.sh",
        "cd /srv/x && find . -exec sh -c 'x' +", "cd /srv/x && xargs cat < list", "cd /srv/x && env",
        # around it
        "make; cd .. && ls", "cd .. && ls; make", "cd .. && ls && cd - && make", "make && (cd .. && ls)",
        "X=1 make; cd /srv/x; cat a.py", "cat config.yml; cd .. && ls",
        # ways to a secret
        "cd ~/.ssh && ls", "cd ~/.ssh && cat id_rsa", "cd ~ && cat .ssh/id_rsa", "cd ~ && cat .netrc",
        "cd ~/.aws; head *",
        "cd /etc && cat shadow", "cd / && cat etc/shadow", "cd /proc/self && cat environ",
        "cd /proc && cat 1/environ",
        "cd / && grep -rn password", "cd ~ && rg token", "cd ~ && grep -r x", "cd .. && cat shop/.env",
        "cd .. && cat */.env",
        "cd keys && cat id_rsa", "cd etc && cat shadow", "cd keys/.. && cat .env",
        "cd out/../.. && cat shop/.env",
        "cd /srv/x && cat ../../home/person/.ssh/id_rsa", "cd /home && cat person/.ssh/id_rsa",
        "cd ~ && cat .*",
        "cd /dev && head -c 9 sda", "cd /srv/x && cat app.ini", "cd /srv/x && cat dump.sql",
        "cd /root && cat .bash_history",
        "cd /srv/x && cat .env", "cd /srv/x && cat < .env", "cd /srv/x && cat .git/config",
        "cd ~/.config && cat gh/hosts.yml",
        "cd ~ && find . -type f -exec cat {} +", "cd ~ && find . -name 'id_*' -print0 | xargs -0 cat",
        "cd ~ && tar cf - .ssh",
    ],
)  # fmt: skip
def test_anything_but_reading_behind_a_cd_asks(line: str) -> None:
    assert verdict(line) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "cd && ls", "cd - && ls", "cd -P .. && ls", "cd -- .. && ls", "cd .. x && ls", "cd $HOME$X && ls",
        "cd $OLDPWD && ls",
        "CDPATH=/etc cd ssl && ls", "CDPATH=/etc; cd ssl && ls", "export CDPATH=/etc; cd ssl && cat x",
        "cd ../* && ls",
        "cd ~+ && ls", "cd ~- && ls", "cd ~bob && ls", "cd .. | ls", "pushd .. && ls", "cd .. & ls",
        "HOME=/etc cd ~ && ls",
        "cd() { ls; }; cd ..; ls", "alias cd=rm; cd ..; ls", "command cd .. && ls", "builtin cd .. && ls",
        "cd '' && ls",
        "cd ..;ls;cd ..;ls;cd x;ls;cd y;ls;cd z;ls;cd w;ls;make", "eval cd ..; ls",
        "cd \"$(echo ..)\" && ls",
    ],
)  # fmt: skip
def test_a_cd_that_is_not_plain_is_not_followed(line: str) -> None:
    assert verdict(line) != "auto"


def test_a_rule_allows_nothing_behind_a_cd_out_of_the_project() -> None:
    rules = read_rules(allow=("make *",))

    assert judge(["make test"], PROJECT, rules=rules).verdict == "auto"
    assert judge(["cd /srv/x && make test"], PROJECT, rules=rules).verdict == "ask"


def test_the_question_says_that_the_line_leaves_the_project() -> None:
    found = judge(["cd /srv/x && make"], PROJECT)

    assert found.reasons[0].text == "leaves the project: cd /srv/x"
