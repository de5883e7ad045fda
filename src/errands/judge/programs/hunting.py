"""Hunting: whether a pattern was written to find secrets: well-known keys, or what secrets are called.

A pattern is tried on samples. It counts if it matches one of them because of what is special about it, and
so neither an ordinary line nor the same sample with other letters at its beginning. `.` and `key` find
secrets as well, but are not written for that.
"""

from __future__ import annotations

import codecs
import re

from errands.judge.programs.entry import ask_each
from errands.judge.programs.patterns import matches
from errands.model.text.secrets import SHAPES, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.judge.programs.entry import Reasons
    from errands.judge.programs.patterns import Dialect

# What secrets are called, and how they begin: a search for that through everything finds them.
_SOUGHT = re.compile(
    r"passw|passphrase|secr(?!etar)|token|\btoke\b|\bcreds?\b|credential"
    r"|(api|access|private|signing)[\W_]{0,3}key|_key\b|\bkey="
    r"|db_pass|_pass\b|database_url|connection[\W_]?string"
    r"|begin .*key|akia|gh[pousr]_|xox[abp]|glpat|(?<![a-z])sk[-_]|hooks\.slack"
    r"|bearer|_auth",
    re.IGNORECASE,
)
# Any word of letters and digits, and the unfinished beginning of one: what is sought is a value, not a text.
_ANY_VALUE = re.compile(
    r"\[(?=[^]]*a-z)(?=[^]]*0-9)[^]]*\](?:[+*]|\\?\{)|\[\[:alnum:\][^]]*\](?:[+*]|\\?\{)|\\w\\?\{\d\d"
    r"|^\\?b?\w{3,}[_-]$"
)
# What people write into code in upper case, and look for.
_MARKS = frozenset(
    """TODO FIXME XXX HACK NOTE NB BUG WIP TBD DEPRECATED ERROR ERR WARN WARNING FAIL FAILED FAILURE FATAL
    INFO DEBUG OK SKIP SELECT INSERT UPDATE DELETE CREATE TABLE FROM WHERE GET POST PUT PATCH HTTP JSON YAML
    HTML SQL UTC MIT README LICENSE IMPORTANT REVIEW OPTIMIZE REFACTOR CHANGED BREAKING""".split()
)
# What settings with secrets are about, as a word of its own.
_ABOUT = frozenset(
    """auth authorization jwt key keys login logins pass pwd pw vault aws azure gcp stripe twilio sendgrid
    mailgun webhook webhooks smtp dsn salt otp mfa seed encryption account accounts username
    connectionstring conn ssh wallet license cookie session amqp discord
    telegram slack mailchimp openai anthropic""".split()
)
_PART = re.compile(r"(?<!http)(?<!https)://|=[\"']?$|^_|(?i:user(?:name)?)[:=]|^\^?export[ =]?$")
# What is sought, and words like it. A pattern that matches one of the first and none of the others was
# written for it, however it is spelled: `p.ssword`, `[t]oken`, `ecret`.
_TARGETS = "password passphrase secret token credential api_key".split()
_NEIGHBOURS = """
word sword broken taken tokyo create decree second section insect bypass passage compass phrase sacred crew
accredit dental rapid apiary key monkey stoke stake keynote pa55 abcdef abcdefgh abcdefghij ab_cde x_y
""".split()
# Values like those of secrets: a pattern that matches one of them looks for such values.
_VALUES = (
    "AKIA7Q2ZVX4K9WJ3QZ5B",
    "ghp_q7Zx2Vb9Kw4Jt8Qz6Xv3Bn5Mq1Wz7Kx2Vb9",
    "sk-q7Zx2Vb9Kw4Jt8Qz6Xv3Bn5Mq1Wz7",
    "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7q7Zx2Vb9Kw4Jt8Qz6Xv3Bn5Mq1Wz7Kx2Vb9K",
    "9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015",
)
# Lines of settings with secrets.
_NAMED = (
    """
password: q7|password=q7|password = q7|passwd=q7|pwd=q7|secret=q7|token: q7|api_key=q7|client_secret=q7
authorization: Basic q7|x-api-key: q7|_authToken=q7|AWS_SECRET_ACCESS_KEY=q7|AWS_ACCESS_KEY_ID=q7
OPENAI_API_KEY=q7|ANTHROPIC_API_KEY=q7|DB_PASSWORD=q7|DATABASE_URL=q7|SECRET_KEY_BASE=q7|SharedAccessKey=q7
postgres://u7:Zx2Vb9Kw4@q7z.zz:1/q|postgresql://u7:Zx2Vb9Kw4@q7z.zz:1/q|mysql://u7:Zx2Vb9Kw4@q7z.zz:1/q
mongodb+srv://u7:Zx2Vb9Kw4@q7z.zz/q|mongodb://u7:Zx2Vb9Kw4@q7z.zz/q|redis://:Zx2Vb9Kw4@q7z.zz:1/q
amqp://u7:Zx2Vb9Kw4@q7z.zz/q|jdbc:postgresql://q7z.zz/q?user=u7
ssh-rsa AAAAB3NzaC1yc2E
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
# How keys of well-known services begin.
_BEGINNINGS = (
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "-----BEGIN EC PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----",
    *"""AKIA ghp_ gho_ ghs_ ghu_ github_pat_ glpat- glrt- xoxb- xoxp- xoxa- xapp-1- sk-ant-api03- sk-proj-
    sk-or-v1- sk_live_ pk_live_ rk_live_ sk_test_ AIzaSy ya29.a0 GOCSPX- AccountKey= npm_ hf_ dop_v1_
    pypi-AgEIcHlwaS5vcmc SG. whsec_ shpat_ r8_ gsk_ AGE-SECRET-KEY-1 dckr_pat_ lin_api_ ntn_
    eyJhbGciOiJIUzI1NiIs MIIEpAIBAAKCAQEA hvs. tskey- ATATT3 dapi
    """.split(),
)
# And those by which credentials are masked; the short ones also begin ordinary words.
_BEGINNINGS += tuple(
    anchor
    for _, anchor, _ in (*SHAPES, *WORDS)
    if len(anchor) > 4 and anchor[0].isalnum() and anchor not in (*_BEGINNINGS, "secret_")
)
_BODY = "Q7ZX2VB9KW4JT8QZ6XV3BN5MQ1WZ7KX2VB9QZ6XV3BN5MQ1WZ7KX2VB9"
_KEYS = tuple(f"{beginning}{_BODY}" for beginning in _BEGINNINGS)
_OTHERS = tuple(f"{codecs.encode(beginning, 'rot13')}{_BODY}" for beginning in _BEGINNINGS)
# Of those, what the eye sees at once; also where the rest of a pattern is not understood.
_KEY = re.compile(
    r"AKIA|ASIA\[|^ASIA$|hooks\\?\.slack|gh(\w|\[\w+\]|\(.*\))_[\[\\.]|gh[pousr]_|github_pat_|glpat-|xox[\[baprs]|sk-ant|sk_live|AIza"
    r"|PRIVATE (KEY|\.)|^SG\\?\.|sq0|EAA[AC]|:AA\["
)
# The words with which keys begin, except for those that stand for something else as well.
_WORD = re.compile(r"[A-Za-z\d]+")
_FIRST = frozenset(
    found[0]
    for beginning in (*_BEGINNINGS, *(anchor for _, anchor, _ in SHAPES))
    if (found := _WORD.match(beginning)) and len(found[0]) > 2
) - frozenset("github hooks npm pypi rubygems lin sig access AccountKey AGE ops rnd pul shp".split())
# Words, or a choice of words, with anything around them.
_AROUND = r"(?:\\[bB<>]|[\^$]|\.\*)*"
_ONLY_WORDS = re.compile(rf"{_AROUND}\\?\(?({_WORD.pattern}(?:\\?\|{_WORD.pattern})*)\\?\)?{_AROUND}")
_ORDINARY = (
    """
name: value|name = value|NAME=value|export NAME=value|x=1|https://example.com:8080/x|begin end public
the private key of an rsa, ec or openssh key pair|a live test of access to an account|author pass auth
user_id base_url api_base is_live_x x_test_y a_path_b task_id apk_path work_dir npm_config_x|base secret url
task-list disk-usage project api msg.x high through the shelf_x hf_home postgres mysql mongodb redis|parsec_x
github_x|app-x|x.app_x|hooks.x hooks_x|scale_x|ops_x|x_token access_token
pypi-x db aws client key value pairs token password authorization accountKey sharedAccessKey dapi
v1.2.3|v20.11.0|v0.1
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


def about_keys(patterns: Sequence[str], dialects: Sequence[Dialect]) -> Reasons:
    """Object to patterns that were written to find keys."""
    return ask_each(
        (f"searches for keys: {each}" for each in patterns if _finds_keys(each, dialects)), "secret"
    )


def seeks_secrets(pattern: str, dialects: Sequence[Dialect]) -> bool:
    """Return whether a pattern was written to find what secrets are called, or what they look like."""
    if _SOUGHT.search(pattern) or _ANY_VALUE.search(pattern):
        return True
    if len(pattern) > 3 and any(matches(pattern, each, _VALUES) for each in dialects):
        return True
    if any(matches(pattern, each, _TARGETS) and not matches(pattern, each, _NEIGHBOURS) for each in dialects):
        return True
    # Of `API_|DB_` either may be what it is about.
    parts = [pattern] if "(" in pattern else re.split(r"\\?\|", pattern)
    return any(
        matches(part, each, _NAMED) and not matches(part, each, _ORDINARY)
        for part in filter(None, parts)
        for each in dialects
    )


def may_find_secrets(pattern: str) -> bool:
    """Return whether a pattern finds lines of `.env` files: variables, services, parts of addresses."""
    if _PART.search(pattern):
        return True
    words = re.findall(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+", pattern)
    if not _ABOUT.isdisjoint(word.casefold() for word in words):
        return True
    names = [word for word in words if len(word) > 2]
    return bool(names) and all(word.isupper() for word in names) and not _MARKS.issuperset(names)


def _begins_key(word: str) -> bool:
    """Return whether a word is from how keys begin: all of that, or so much that it means nothing else."""
    # Three letters do if they are not written like a word: `AKI`, `eyJ`.
    if len(word) == 3 and not word.islower() and any(each.startswith(word) for each in _FIRST):
        return True
    folded = word.casefold()
    return any(folded == each.casefold() or (len(word) > 3 and folded in each.casefold()) for each in _FIRST)


def _finds_keys(pattern: str, dialects: Sequence[Dialect]) -> bool:
    words = _ONLY_WORDS.fullmatch(pattern)
    if words and not _KEY.search(pattern):
        return any(_begins_key(word) and _matches_keys(word, dialects) for word in _WORD.findall(words[1]))
    parts = [pattern] if "(" in pattern else [*re.split(r"\\?\|", pattern), pattern]
    return any(_matches_keys(part, dialects) for part in parts if part)


def _matches_keys(pattern: str, dialects: Sequence[Dialect]) -> bool:
    letters = pattern.replace("\\", "")
    is_named = any(each in letters for each in _BEGINNINGS if len(each) > 3)
    # What is not understood counts as a match of everything, and so even of nothing.
    if _KEY.search(pattern) or (is_named and any(matches(pattern, each, ()) for each in dialects)):
        return True
    return any(
        matches(pattern, each, _KEYS)
        and not matches(pattern, each, (*_ORDINARY, *_NAMED))
        and any(
            matches(pattern, each, (key,)) and not matches(pattern, each, (other,))
            for key, other in zip(_KEYS, _OTHERS, strict=True)
        )
        for each in dialects
    )
