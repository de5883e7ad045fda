"""No credential is shown, wherever it is and however the text around it is split."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.text.mask import Mask
from errands.model.text.secrets import LABELLED, SHAPES, WORDS, is_credential
from tests.model.text.credentials import PRIVATE_KEY, SHAPED, SPOKEN, letters

pytestmark = [pytest.mark.spec("O12"), pytest.mark.fault("F57")]

NOBODY = Mask({})
AROUND = [
    "{}",
    " {} ",
    "key={}",
    '"{}"',
    "({})",
    "a\n{}\nb",
    "\x1b[32m{}\x1b[0m",
    "\\n{}\\n",
    "x: {},",
    "url/{}?x=1",
]


def in_two(mask: Mask, text: str, cut: int) -> str:
    stream = mask.stream()
    return stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.close()


def test_every_kind_has_an_example() -> None:
    assert set(SHAPED) == {kind for kind, _, _ in (*SHAPES, *WORDS)}
    assert {kind for kind, _, _ in SPOKEN} == {kind for kind, *_ in LABELLED}
    assert len(SHAPED) >= 50


@pytest.mark.parametrize("kind", SHAPED)
def test_a_well_known_shape_is_masked_anywhere(kind: str) -> None:
    for around in AROUND:
        masked = NOBODY.text(around.format(SHAPED[kind]))

        assert "[masked: " in masked
        assert SHAPED[kind][-12:] not in masked


@pytest.mark.parametrize("kind", SHAPED)
def test_a_shape_is_named(kind: str) -> None:
    assert f"[masked: {kind}]" in NOBODY.text(f"see {SHAPED[kind]} there")


@pytest.mark.parametrize(("kind", "text", "secret"), SPOKEN)
def test_what_is_called_a_secret_is_masked(kind: str, text: str, secret: str) -> None:
    masked = NOBODY.text(text.format(secret))

    assert secret not in masked
    assert f"[masked: {kind}]" in masked


@pytest.mark.parametrize("kind", SHAPED)
def test_it_does_not_matter_where_a_shape_is_cut(kind: str) -> None:
    text = f"before {SHAPED[kind]} after"

    assert {in_two(NOBODY, text, cut) for cut in range(len(text))} == {NOBODY.text(text)}


@pytest.mark.parametrize(("kind", "text", "secret"), SPOKEN)
def test_it_does_not_matter_where_a_spoken_secret_is_cut(kind: str, text: str, secret: str) -> None:
    whole = "before\n" + text.format(secret) + "\nafter"

    assert {in_two(NOBODY, whole, cut) for cut in range(len(whole))} == {NOBODY.text(whole)}


def test_a_private_key_is_masked_line_by_line() -> None:
    masked = NOBODY.text(f"here it is:\n{PRIVATE_KEY}\nand more\n").splitlines()

    assert masked[:3] == ["here it is:", PRIVATE_KEY.splitlines()[0], "Proc-Type: 4,ENCRYPTED"]
    assert set(masked[4:-2]) == {"[masked: private key]"}
    assert masked[-2:] == [PRIVATE_KEY.splitlines()[-1], "and more"]


def test_it_does_not_matter_where_a_private_key_is_cut() -> None:
    text = f"here:\n{PRIVATE_KEY} {SHAPED['github token']}\nmore\n"

    assert {in_two(NOBODY, text, cut) for cut in range(len(text))} == {NOBODY.text(text)}
    assert SHAPED["github token"] not in NOBODY.text(text)


def test_a_private_key_in_json_is_masked() -> None:
    masked = NOBODY.text(json.dumps({"private_key": PRIVATE_KEY, "id": 7}))

    assert not any(
        part in masked for part in PRIVATE_KEY.splitlines() if "-----" not in part and len(part) > 30
    )
    assert '"id": 7' in masked


def test_talking_about_private_keys_hides_nothing() -> None:
    text = "looking for -----BEGIN PRIVATE KEY----- in\nall files: /usr/lib/python3/site-packages is clean\n"

    assert NOBODY.text(text).endswith("is clean\n")
    assert NOBODY.text("-----BEGIN PRIVATE KEY-----\nnot a key, just words\n").endswith("just words\n")


ENVIRONMENT = {
    "GITHUB_TOKEN": "correct-horse/battery",
    "DB_PASSWORD": 'p"ss w\\rd\n& more',
    "SIGNING_KEY": PRIVATE_KEY,
    "HOME": "/home/somebody",
    "PATH": "/usr/bin:/usr/local/bin",
}
MASK = Mask(ENVIRONMENT)


def test_the_value_of_a_variable_that_says_so_is_masked() -> None:
    assert MASK.text("token correct-horse/battery.") == "token [masked: GITHUB_TOKEN]."
    assert MASK.text(f"x{ENVIRONMENT['DB_PASSWORD']}y") == "x[masked: DB_PASSWORD]y"


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "DB_PASSWORD"])
def test_a_value_is_masked_in_every_spelling(name: str) -> None:
    value = ENVIRONMENT[name]

    for spelling in (
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        base64.b64encode(value.encode()).decode(),
    ):
        masked = MASK.text(f"<{spelling}>")
        assert spelling.rstrip("=") not in masked
        assert name in masked


def test_the_lines_of_a_long_value_are_masked_one_by_one() -> None:
    assert MASK.text("line: " + PRIVATE_KEY.splitlines()[5]) == "line: [masked: SIGNING_KEY]"


def test_other_variables_stay() -> None:
    assert (
        MASK.text("cd /home/somebody; echo /usr/bin:/usr/local/bin")
        == "cd /home/somebody; echo /usr/bin:/usr/local/bin"
    )


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("OPENAI_API_KEY", "something-long", True),
        ("npm_config__authToken", "something-long", True),
        ("DB_PASS", "something-long", True),
        ("POSTGRES_PASSWORD", "something-long", True),
        ("AWS_SECRET_ACCESS_KEY", "/abc/def+ghi/jkl", True),
        ("SENTRY_DSN", "https://abc@sentry.example/1", True),
        ("GITHUB_PAT", "something-long", True),
        ("DB_PWD", "something-long", True),
        ("PWD", "/home/somebody", False),
        ("OLDPWD", "/home/somebody", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh-x/agent.1", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", False),
        ("KEY_FILE", "/home/me/key.pem", False),
        ("KEYBOARD", "something-long", False),
        ("MAX_TOKENS", "100000", False),
        ("TOKEN_LIMIT", "something-long", False),
        ("PASSWORD", "short", False),
        ("PASSWORD", "********", False),
        ("EDITOR", "something-long", False),
    ],
)
def test_which_variables_hold_credentials(name: str, value: str, secret: bool) -> None:
    assert is_credential(name, value) is secret


@pytest.mark.parametrize(
    "text",
    [
        "89 passed, 2 failed in 3.21s",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "sha256:" + "0123456789abcdef" * 4,
        "task-implement-the-second-part-of-the-long-plan-2026",
        "https://example.com:8080/path?x=1",
        "git@github.com:me/project.git",
        "SyntaxError: unexpected token: SEMICOLON",
        "client = Client(token=self.token, password=getpass())",
        "export PASSWORD=$OTHER_PASSWORD",
        "--password <password>",
        "password: required",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "/usr/lib/python3.11/site-packages/keyring/backends/token_store.py",
        "def test_a_bearer_token_is_refused(): ...",
    ],
)
def test_ordinary_output_stays_as_it_is(text: str) -> None:
    assert NOBODY.text(text) == text


PIECES = st.sampled_from(
    [*SHAPED.values()][::9]
    + [text.format(secret) for _, text, secret in SPOKEN]
    + [
        ENVIRONMENT["GITHUB_TOKEN"],
        ENVIRONMENT["DB_PASSWORD"],
        'p"ss w',
        "correct-horse/",
        PRIVATE_KEY,
        PRIVATE_KEY[:99],
    ]
    + [" ", "\n", "\t", "\r\n", "word", "é", "\xa0", "password: ", "Bearer ", "-----BEGIN ", "=", "\x1b[32m"]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS, st.data())
def test_it_never_matters_where_text_is_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    stream = MASK.stream()

    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert "".join(map(stream.feed, pieces)) + stream.close() == MASK.text(text)


@given(TEXTS, st.data())
def test_a_part_is_masked_like_the_whole_if_what_is_around_it_is_known(
    text: str, data: st.DataObject
) -> None:
    """Every character of a part is shown exactly if it is shown in the whole text."""
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    parts = [
        MASK.text(text[:start], after=text[start:]),
        MASK.text(text[start:end], before=text[:start], after=text[end:]),
        MASK.text(text[end:], before=text[:end]),
    ]
    whole = MASK.text(text)

    assert unlabelled("".join(parts)) == unlabelled(whole)
    assert sum(map(labels, parts)) <= labels(whole) + 2  # one that is cut stands on both sides


@given(st.sampled_from([*SHAPED.values(), PRIVATE_KEY, *ENVIRONMENT.values()]), st.data())
def test_a_read_that_begins_or_ends_inside_a_secret_shows_nothing_of_it(
    secret: str, data: st.DataObject
) -> None:
    whole = f"it is {secret} indeed\n"
    cut = data.draw(st.integers(7, 5 + len(secret)))
    for mask in (MASK, NOBODY):
        first, last = mask.text(whole[:cut], after=whole[cut:]), mask.text(whole[cut:], before=whole[:cut])

        assert unlabelled(first) + unlabelled(last) == unlabelled(mask.text(whole))


def unlabelled(text: str) -> str:
    return re.sub(r"\[masked: [^]]*\]", "", text)


def labels(text: str) -> int:
    return text.count("[masked: ")


@given(st.lists(PIECES, max_size=12))
def test_nothing_secret_is_ever_left(pieces: list[str]) -> None:
    masked = MASK.text(" ".join(pieces))

    assert ENVIRONMENT["GITHUB_TOKEN"] not in masked
    assert not any(secret in masked for secret in SHAPED.values())


@given(st.text())
def test_other_text_is_kept_to_the_letter(text: str) -> None:
    assert NOBODY.text(text) == text or "[masked: " in NOBODY.text(text)


def test_text_is_shown_as_soon_as_its_last_word_is_over() -> None:
    stream = NOBODY.stream()

    assert stream.feed("Continue? [y/N] ") == "Continue? [y/N] "
    assert stream.feed("hal") == ""
    assert stream.feed("f ") == "half "


@pytest.mark.parametrize("prompt", ["Password:", "Continue? (y/n)", ">>>", "(gdb)", "Sure?"])
def test_a_prompt_is_shown_while_it_waits(prompt: str) -> None:
    stream = MASK.stream()

    assert stream.feed(prompt) + stream.pause() == prompt
    assert stream.feed(" hunter2") + stream.close() == " hunter2"


@pytest.mark.parametrize("text", [*SHAPED.values(), "correct-horse/battery", "postgresql://me:hunter22@db"])
def test_a_secret_that_is_written_slowly_is_masked_all_the_same(text: str) -> None:
    stream = MASK.stream()

    shown = "".join(stream.feed(letter) + stream.pause() for letter in f"{text} ") + stream.close()

    assert text not in shown
    assert "[masked: " in shown


@pytest.mark.parametrize("offset", [65_530, 65_536, 57_340, 57_344, 131_000])
def test_a_secret_in_an_endless_word_is_masked(offset: int) -> None:
    secret = SHAPED["github token"]
    text = "." * offset + secret + "." * 100_000

    for size in (1000, 65_536, len(text)):
        stream = NOBODY.stream()
        masked = "".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size)) + stream.close()
        assert masked == "." * offset + "[masked: github token]" + "." * 100_000


def test_an_endless_secret_is_swallowed_to_its_end() -> None:
    text = f"Bearer {letters(1000) * 200} and more"

    for size in (1000, len(text)):
        stream = NOBODY.stream()
        masked = "".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size)) + stream.close()
        assert masked == "Bearer [masked: bearer token] and more"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["a", "eyJ", "password=", "://a:", "-----BEGIN PRIVATE KEY-----\n", "sk-", "0meyJaaaaaaaa.", " "]
)
def test_no_text_makes_masking_slow(piece: str) -> None:
    # Work that grows with the square of the length would take minutes.
    MASK.text(piece * (400_000 // len(piece)))
