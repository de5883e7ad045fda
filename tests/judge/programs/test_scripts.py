"""sed and awk: only scripts that clearly print, select and replace are harmless."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.judge.programs.awk import objection_to_program
from errands.judge.programs.sed import objection_to_script

pytestmark = pytest.mark.spec("A2", "A3")


@pytest.mark.parametrize(
    "script",
    [
        "p",
        "1,20p",
        "$p",
        "$=",
        "5q",
        "10q;p",
        "1~2d",
        "2,+3p",
        "/a/,/b/p",
        "/a/I,/b/!d",
        r"\,a,p",
        "s/a/b/",
        "s/a/b/g;s/c/d/2p",
        "s|/usr|/opt|",
        r"s/\//-/g",
        "s/[^,]*,//",
        "s/[]]/x/",
        "y/abc/xyz/",
        "/a/{=;p}",
        "/a/{s/b/c/;p;}",
        r":a;N;$!ba;s/\n/ /g",
        "1i hello",
        "$a the end",
        "# a comment\np",
        "n;d",
        "1!G;h;$!d",
        "",
    ],
)
def test_a_plain_sed_script_is_harmless(script: str) -> None:
    assert objection_to_script(script) is None


@pytest.mark.parametrize(
    "script",
    [
        "w out",
        "1,1w/tmp/x",
        "p;w out",
        "p\nw out",
        "1!w x",
        "/a/{w x\n}",
        "s/a/b/w x",
        "s/a/b/gw x",
        "s/a/b/e",
        "s/a/b/pe",
        "s,a,b,e",
        "e",
        "e date",
        "1e date",
        "r /etc/shadow",
        "R x",
        "W x",
        "xp",
        "v",
        "s/a/b",
        "s/[/]/x/w f",
        "s/a/b/ w x",
        "a\\\ntext",
        "a",
        "{p",
        "p}",
        "yxaxbx",
        "sxaxbxwx",
        "1,p",
    ],
)
def test_any_other_sed_script_is_not(script: str) -> None:
    assert objection_to_script(script)


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "NR==5",
        "$3 > 100",
        "$3 >= 100 && $2 < 5",
        '/foo|bar/ {print NR": "$0}',
        "!/foo/",
        "$1 ~ /a/ || $2 !~ /b/",
        "{s+=$1} END {print s, s/NR}",
        "{print (a+b)/2}",
        "length($0) > 80",
        "!seen[$0]++",
        'BEGIN{FS=","; OFS="\\t"} {$1=$1; print}',
        "BEGIN{for(i=1;i<=5;i++) print i}",
        '{printf "%s|%d\\n", $1, $2}',
        '{gsub(/a/,"b"); print toupper($0)}',
        "{if ($1 > 5) print $2; else print $3}",
        "{a[$1]++} END {for (k in a) print k, a[k]}",
        '{print substr($0, 1, 10) "|" $2}',
        "/start/,/end/",
        "NR > 1 { print } # > x | y",
        "{x = a / b; print x}",
        "{while (i < 3) i++; if (x) /a|b/ }",
    ],
)
def test_a_plain_awk_program_is_harmless(program: str) -> None:
    assert objection_to_program(program) is None


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN{system("id")}',
        'BEGIN{system ("id")}',
        'BEGIN{"id" | getline}',
        'BEGIN{"id" | getline x; print x}',
        'BEGIN{while ((getline line < "x") > 0) print line}',
        '{print > "f"}',
        '{print $1 > "f"}',
        '{print $1 >> "f"}',
        '{print ($1) > "f"}',
        '{print "a",\n"b" > "f"}',
        '{print "a" \\\n > "f"}',
        '{printf("%s", $1) > "f"}',
        '{print | "sh"}',
        '{print |& "sh"}',
        "{for (k in ENVIRON) print k}",
        "{print PROCINFO[1]}",
        'BEGIN{ARGV[1]="x"; ARGC=2}',
        '@include "x"',
        '@load "x"',
        '{f="system"; @f("id")}',
        "function f() {} {f()}",
        "{f(1)}",
        '{close("x")}',
        '{x = 1 / 2 | "sh" / 1}',
        '{x++ / 2 | "sh" /1}',
        '/[/]/ {print | "sh" /]/}',
        "{print `id`}",
        "{print 'x'}",
        '{print "a}',
        "/a",
    ],
)
def test_any_other_awk_program_is_not(program: str) -> None:
    assert objection_to_program(program)


PIECES = "p w e r s / a b ; \n { } ! 1 , $ x f \\ [ ] g s/ []/] [[:alpha:]/] [^]/] /e /w;f # |".split(" ")
SETS = ['/[]/"]/', '/[[:alpha:]/"]/', '#"']
TOKENS = 'print printf getline system( "touch;f" "f" | > { } ; ( ) / /x/ x 1 , if in [ ] $ ! # ++ ='.split()


@pytest.mark.skipif(shutil.which("sed") is None, reason="no sed here")
@settings(max_examples=300, deadline=None)
@given(script=st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join))
def test_sed_writes_nothing_by_a_script_that_was_called_harmless(
    script: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if objection_to_script(script) is None:
        assert _leaves_nothing(["sed", "--", script], tmp_path_factory.mktemp("sed"))


@pytest.mark.parametrize("awk", ["gawk", "mawk", "awk"])
@settings(max_examples=150, deadline=None)
@given(
    program=st.lists(st.sampled_from([*TOKENS, *SETS, "\n"]), min_size=1, max_size=9)
    .map(" ".join)
    .map(lambda text: text.replace(";f", " f"))
)
def test_awk_writes_nothing_by_a_program_that_was_called_harmless(
    awk: str, program: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which(awk) is not None and objection_to_program(program) is None:
        assert _leaves_nothing([awk, "--", program], tmp_path_factory.mktemp("awk"))


def _leaves_nothing(words: list[str], directory: Path) -> bool:
    try:
        subprocess.run(words, cwd=directory, input=b"a b\nx 1\n", capture_output=True, timeout=2)
    except subprocess.TimeoutExpired:
        pass  # an endless loop is allowed
    return not [*directory.iterdir()]
