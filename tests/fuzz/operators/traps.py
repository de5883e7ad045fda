"""Harmless lines with a command beside them that looks just as harmless, and is not.

Each operator is the family of a cause that once let lines pass.
"""

from __future__ import annotations

from random import Random

_JOINS = (" | ", "; ", " && ", " || ")
_NAMES = """
.env .env.local .netrc .npmrc .pgpass .dev.vars .mcp.json id_rsa id_ed25519 server.pem tls.key database.yml
appsettings.json credentials.json .git-credentials .vault-token terraform.tfvars kubeconfig .htpasswd
""".split()
_EVERYTHING = ("x*", "[[:alnum:]]", "=", "Q|", "[^x]", ".*y*", "\\w")
_ENVIRONMENTS = (
    "-e -aux",
    "-aux -ef",
    "-eT --forest",
    "-eH -T",
    "-eww -aux",
    "-ef f",
    "-ef u",
    "-eL --forest",
)


def spoil_by_set(text: str, random: Random) -> str | None:
    """Hide a command of sed or awk behind a character set that contains the delimiter."""
    if random.random() < 0.4:
        action = random.choice(
            ('system("x")', 'print > "x"', 'print | "sh"', 'while (("x" | getline) > 0) y')
        )
        inside = random.choice(("]", "^]", "[:digit:]", "a[:space:]", "[.x.]", "[=a=]"))
        return f"{text} | awk '/[{inside}/\"]/{{{action}}} #\"'"
    mark = random.choice("/|,:@")
    inside = random.choice(
        ("]", "^]", "[:digit:]", "[:alpha:]b", "a[:space:]", "[.x.]", "[=a=]", "^[:upper:]")
    )
    after = random.choice((f";#{mark}e", f";#{mark}w x", f"&;p;#{mark}ge", f"g;#{mark}W x", f" ;#{mark}pw x"))
    return f"{text} | sed 's{mark}[{inside}{mark}]{mark}{after}'"


def spoil_by_number(text: str, random: Random) -> str | None:
    """Let a shell compute a number that runs a command."""
    number = random.choice(("'a[$(x)]'", "'x[`y`]'", "'1+a[$(x)]'", "'a[$(x)0]'"))
    return text + random.choice(_JOINS[1:]) + random.choice(
        (
            f"printf %d {number}",
            f"printf '%s %x' a {number}",
            f"printf '%*s' {number} b",
            f"printf '%.*f' 1 {number}",
            f"test -t {number}",
            f"test {number} -eq 1",
            f"[ 1 -ge {number} ]",
        )
    )  # fmt: skip


def spoil_by_pattern(text: str, random: Random) -> str | None:
    """Read a secret by a pattern that matches its name."""
    pattern = _disguised(random.choice(_NAMES), random)
    reading = random.choice(
        (
            f"cat {pattern}",
            f"head -n 3 src/{pattern}",
            f"grep -r --include='{pattern}' x .",
            f"find . -name '{pattern}' -exec cat {{}} +",
            f"find src -name '{pattern}' -print0 | xargs -0 cat",
            f"git grep x -- '{pattern}'",
            f"git log -p -- '{pattern}'",
            f"rg -g '{pattern}' x",
            f"rg -g '{{{pattern},y}}' x",
        )
    )
    return text + random.choice(_JOINS[1:]) + reading


def _disguised(name: str, random: Random) -> str:
    """Return a pattern that matches a name, with its first letter where that makes a difference."""
    places = [place for place, letter in enumerate(name) if letter.isalpha() and place > 1]
    found = list(name)
    for place in random.sample(places, k=min(len(places), random.choice((1, 1, 2)))):
        letter = name[place]
        found[place] = random.choice(
            ("?", f"[{letter}]", f"[!{'q' if letter != 'q' else 'z'}]", "[[:alpha:]]")
        )
    return "".join(found)


def spoil_by_whole_tree(text: str, random: Random) -> str | None:
    """Show every line of every file."""
    reading = random.choice(
        (
            f"grep -r{random.choice('vz')} zz .",
            f"grep -rn{random.choice('EPi')} '{random.choice(_EVERYTHING)}' .",
            f"grep -r -{random.choice('ABC')} {random.choice(('99', '1000'))} foo .",
            "grep -R --invert-match zz src",
            "diff -N empty .",
            "diff -ruN empty src",
            "rg --hidden -v zz",
            "rg -uu --passthru zz",
            "git grep --untracked -v zz",
            "git grep --untracked --no-exclude-standard foo",
        )
    )
    return text + random.choice(_JOINS[1:]) + reading


def spoil_by_environment(text: str, random: Random) -> str | None:
    """Show variables, or connect, by a detour of a program that usually does neither."""
    blank = random.choice((" ", "\t", "\n", " # x\n", "  "))
    showing = random.choice(
        (
            f"jq -n '${blank}ENV'",
            f"jq -r '.a, ${blank}ENV.X'",
            f"jq '[${blank}__prog_args]'",
            f"ps {random.choice(_ENVIRONMENTS)}",
            f"gawk 1 /inet{random.choice(('', '4', '6'))}/{random.choice(('tcp', 'udp'))}/0/h/9",
        )
    )
    return text + random.choice(_JOINS[1:]) + showing


TRAPS = (spoil_by_set, spoil_by_number, spoil_by_pattern, spoil_by_whole_tree, spoil_by_environment)
