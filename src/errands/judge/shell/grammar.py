"""The grammar: a shell line as the commands it runs, read by two parsers that must agree.

One is the strict tokenizer, the other tree-sitter's grammar of bash. Unless both see the same words at the
same offsets, the line carries a doubt; its steps are then only good for naming a danger, never for trusting
the line.
"""

from __future__ import annotations

from errands.judge.shell.tokens import HOMES, OPERATORS, REDIRECTIONS, STATUS, Doubt, Token, tokens, unquoted
from errands.model.record import record
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

    Span = tuple[int, int]

LONGEST = 10_000
MOST_STEPS = 50
WIDEST_GAP = 60
# How doubts begin after which not even the commands of a line are known.
UNREADABLE = ("is longer than", "has more than", "is not valid", "runs nothing")


@record
class Word:
    """One word of a command; `text` is what the program gets, unless it is a pattern or not `literal`."""

    text: str
    literal: bool = True
    plain: bool = True
    pattern: bool = False
    home: bool = False


@record
class Redirection:
    """A redirection: `2>&1` has descriptor 2, operator `>&`, target 1."""

    operator: str
    target: Word
    descriptor: str = ""


@record
class Step:
    """One simple command; `before` is the operator in front of it, empty for the first."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    before: str = ""


@record
class Line:
    """The steps of a line, and what in it is not analysed."""

    steps: tuple[Step, ...]
    doubts: tuple[str, ...] = ()


def parse(source: str, *, knows_home: bool = False) -> Line:
    """Parse a line; with a doubt, the steps are whatever commands could be found.

    `knows_home` says that `$HOME` is surely the home directory, and one word.
    """
    if len(source) > LONGEST:
        return Line(steps=(), doubts=(f"is longer than {LONGEST:,} characters",))
    try:
        read = tuple(tokens(source, knows_home=knows_home))
        steps = tuple(_steps(read))
        if len(steps) > MOST_STEPS:
            raise Doubt(f"has more than {MOST_STEPS} commands")
        if not _PLAIN.fullmatch(source):
            _agree(source, read, _tree(source))
    except Doubt as doubt:
        return Line(steps=tuple(_found(_tree(source), _bytes(source))), doubts=(str(doubt),))
    return Line(steps=steps)


# Words and single blanks can only be read in one way, so the grammar need not be loaded.
_PLAIN = regex(r"(?a)[\w./:+@%,=-]+(?: [\w./:+@%,=-]+)*")

# The strict parser


_RESERVED = frozenset(
    "if then else elif fi for while until do done case esac select function in { } [[ ]] coproc".split()
)


# To these an exit code is a text or a number; to others it may be a part of the name of a file.
_SAYING = frozenset("echo printf test [ exit".split())


def _steps(read: tuple[Token, ...]) -> Iterator[Step]:
    """Split the tokens into commands; an operator separates two of them, and a `;` may end the last."""
    part: list[Token] = []
    before = ""
    for token in read:
        if token.kind != "operator":
            part.append(token)
        elif part:
            yield _step(part, before)
            part, before = [], token.text
        elif token.text != "\n":
            raise Doubt(f"is not valid shell syntax: nothing before {token.text}")
        # A line may end after `&&`, and empty lines mean nothing.
    if part:
        yield _step(part, before)
    elif before in ("&&", "||", "|"):
        raise Doubt(f"is not valid shell syntax: nothing after {before}")
    elif not before:
        raise Doubt("runs nothing")


def _step(part: list[Token], before: str) -> Step:
    words: list[Word] = []
    assignments: list[tuple[str, Word]] = []
    redirections: list[Redirection] = []
    rest = iter(part)
    for token in rest:
        if token.kind == "redirection":
            redirections.append(_redirection(token, rest))
        elif not words and (name := _assigned(token)):
            value = Word(text=token.text[len(name) + 1 :], plain=token.plain, pattern=token.pattern)
            assignments.append((name, value))
        else:
            words.append(_word(token))
    if words and words[0].plain and words[0].text in _RESERVED:
        raise Doubt(f"has control flow ({words[0].text}), which is not analysed")
    if any(token.status for token in part) and not (
        words and words[0].plain and words[0].text in _SAYING and not assignments
    ):
        raise Doubt("uses the exit code of a command as more than a text or a number")
    if any(word.plain and word.text == "}" for word in words):
        raise Doubt("has a closing brace")
    return Step(
        words=tuple(words),
        assignments=tuple(assignments),
        redirections=tuple(redirections),
        before=before,
    )


def _redirection(first: Token, rest: Iterator[Token]) -> Redirection:
    descriptor = first.text if first.text.isdigit() else ""
    operator = next(rest, None) if descriptor else first
    target = next(rest, None)
    if operator is None or target is None or operator.kind != "redirection" or target.kind != "word":
        raise Doubt("is not valid shell syntax: a redirection without a target")
    if target.status:
        raise Doubt("redirects to a file that is named after an exit code")
    return Redirection(operator=operator.text, target=_word(target), descriptor=descriptor)


def _word(token: Token) -> Word:
    return Word(text=token.text, plain=token.plain, pattern=token.pattern, home=token.home)


def _assigned(token: Token) -> str:
    """Return the variable that a word in front of a command sets; empty if it sets none."""
    name, equals, _ = token.bare.partition("=")
    if not equals:
        return ""
    if name.isidentifier() and name.isascii():
        return name
    if (name[:1].isalpha() or name[:1] == "_") and (name.endswith("+") or "[" in name):
        raise Doubt("sets a variable in a way that is not analysed")
    return ""


# The grammar of bash


# Nodes that only group others; the strict parser has already refused `[[`.
_GROUPS = frozenset(
    """program list pipeline command command_name redirected_statement file_redirect negated_command
    test_command unary_expression binary_expression""".split()
)
_WHOLE = frozenset(
    "word string raw_string concatenation number file_descriptor variable_assignment test_operator".split()
)
_SIGNS = frozenset(("!", *OPERATORS, *REDIRECTIONS, "[", "]", "=", "!="))
# What a word may consist of; anything else in it is an expansion of some kind.
_LETTERS = frozenset(
    'word string raw_string concatenation number string_content variable_name = " $ test_operator'.split()
)


def _agree(source: str, read: tuple[Token, ...], tree: Node) -> None:
    """Raise Doubt unless the grammar sees exactly the words and operators that the strict parser saw."""
    if tree.has_error:
        raise Doubt("is not valid shell syntax, at least not in bash")
    seen = list(_spans(tree))
    expected = [(token.start, token.end) for token in read if token.text != "\n" or token.kind == "word"]
    if not source.isascii():
        size = [0]
        for letter in source:
            size.append(size[-1] + len(letter.encode("utf-8", "surrogatepass")))
        expected = [(size[start], size[end]) for start, end in expected]
    if seen != expected:
        raise Doubt("is ambiguous: two parsers read it differently")


def _spans(node: Node) -> Iterator[Span]:
    for child in node.children:
        kind = child.type
        if kind in _WHOLE or _is_known(child):
            _check_letters(child)
            yield child.start_byte, child.end_byte
        elif kind in _GROUPS:
            yield from _spans(child)
        elif kind in _SIGNS:
            if kind != "\n":
                yield child.start_byte, child.end_byte
        elif kind != "comment":
            raise Doubt(f"has something that is not analysed ({kind.replace('_', ' ')})")


def _is_known(node: Node) -> bool:
    """Return whether a node is `$?` or `$HOME`, the only expansions that the strict parser knows."""
    return node.type in ("simple_expansion", "expansion") and (node.text or b"").decode(
        "utf-8", "replace"
    ) in (STATUS, *HOMES)


def _check_letters(node: Node) -> None:
    for child in () if _is_known(node) else node.children:
        if _is_known(child):
            continue
        if child.type not in _LETTERS:
            raise Doubt(f"has something that is not analysed ({child.type.replace('_', ' ')})")
        _check_letters(child)


# What can be found in a line that is not analysed


_SAID = (_WHOLE | {"command_name"}) - {"variable_assignment", "file_descriptor"}


def _found(tree: Node, source: bytes) -> Iterator[Step]:
    """Find every simple command, at any depth; its words are literal where possible."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        children = node.children
        if node.type == "command":
            words = []
            for child in children:
                kind = child.type
                if kind in _SAID:
                    words.append(_guess(child, source))
                elif kind.endswith(("expansion", "substitution")):
                    words.append(Word(text=_text(child, source), literal=False))
            if words:
                yield Step(words=tuple(words), before=";")
        waiting += [child for child in reversed(children) if child.child_count]


def _guess(node: Node, source: bytes) -> Word:
    text = _text(node, source)
    token = unquoted(text)
    if token is None:
        return Word(text=text, literal=False)
    return _word(token)


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _bytes(source: str) -> bytes:
    return source.encode("utf-8", "surrogatepass")


_parsers: list[Parser] = []
# The grammar looks letters up in a table of 256, and crashes with high ones. Instead it gets others, which
# take as many bytes.
_HIGH = regex("[\u0800-\U0010ffff]")


def _tree(source: str) -> Node:
    if not _parsers:
        import tree_sitter
        import tree_sitter_bash

        _parsers.append(tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())))
    if not source.isascii():
        source = _HIGH.sub(lambda found: "\xe9x" if found[0] < "\U00010000" else "\xe9\xe9", source)
    return _parsers[0].parse(_bytes(source)).root_node
