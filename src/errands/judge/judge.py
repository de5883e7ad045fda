"""The judge: whether a task's commands may run at once, need a person, or are forbidden.

One function for every caller. It proves, it does not guess: only what it fully understands is `auto`, and
what it finds in everything else explains why a person is asked.
"""

from __future__ import annotations

import posixpath

from errands.judge.coverage import Coverage
from errands.judge.findings import Findings
from errands.judge.moves import distinct, entered, goes_nowhere, leaves_project, staying, without_returns
from errands.judge.private import spared
from errands.judge.programs import is_secret, reasons_for, reasons_for_pipe, reasons_for_reading
from errands.judge.programs.testing import is_tester, runs_tests
from errands.judge.rules import NO_RULES
from errands.judge.scale import TOO_HEAVY, Scale
from errands.judge.shell.grammar import LONGEST, UNREADABLE, WIDEST_GAP, Redirection, Step, Word, parse
from errands.judge.shell.payload import without_chosen, without_pattern
from errands.judge.shell.scripts import BUILTINS, SHELLS
from errands.judge.shell.tokens import STREAMS, hidden_character
from errands.judge.shell.variables import is_harmless, prints_variables, shows_variables
from errands.judge.shell.wrappers import follow
from errands.judge.words import expanded, is_anchored, is_too_nested, is_word, program_in, texts_of
from errands.judge.workspace import is_within
from errands.model.action import written
from errands.model.text.regex import regex
from errands.model.verdict import Judgement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from errands.judge.rules import Rules
    from errands.judge.workspace import Workspace
    from errands.model.action import Command
    from errands.model.verdict import Verdict

_DEEPEST, _MOST_PLACES, _MOST_LOOKS = 4, 4, 500
_TOO_NESTED = "nests commands too deeply to be analysed"
_GAP = regex(rf"[ \t]{{{WIDEST_GAP},}}|(?:\\?\n[ \t]*){{20,}}")
# Patterns in zsh, if a person's start-up file enables them.
_EXTENDED = regex(r"[\^~#]")


def judge(
    commands: Sequence[Command],
    workspace: Workspace,
    *,
    rules: Rules = NO_RULES,
    env: Mapping[str, str] | None = None,
    hooks: Iterable[Command] = (),
) -> Judgement:
    """Judge everything a task would run: its commands in order, its hooks, the variables it adds."""

    def judged(commands: Sequence[Command]) -> Judgement:
        case = _Case(workspace, rules)
        for name, value in (env or {}).items():
            case.judge_variable(name, value, printed=any(map(prints_variables, commands)))
        for command in commands:
            case.judge_command(command)
        return case.judgement()

    project = workspace.project
    return spared((*(commands or ("",)), *hooks), judged, project, workspace.real(project))


class _Case:
    """What has been found so far about one task."""

    def __init__(self, workspace: Workspace, rules: Rules) -> None:
        self._start = workspace
        self._rules = rules
        self._found = Findings()
        self._ask = self._found.ask
        self._programs: dict[str, str] = {}
        self._coverage = Coverage()
        self._denied = False
        self._does_more = False
        self._is_outward = False  # changes something outside of the project
        self._judged: list[tuple[tuple[str, ...], Workspace]] = []
        self._looks = _MOST_LOOKS
        self._scale = Scale()

    def judgement(self) -> Judgement:
        verdict: Verdict = "auto"
        if self._found.are_any and not self._found.need_more:
            from errands.judge.containment import excess_of_harmless

            self._found.need(excess_of_harmless(self._judged))  # a harmless part may read what is not inside
        if self._found.are_any:
            verdict = "deny" if self._denied else "ask" if self._found.are_beyond_walls else "contained"
        if self._found.are_any and not self._is_outward:
            from errands.judge.programs.outward import changes_outside

            self._is_outward = any(changes_outside(texts, place) for texts, place in self._judged)
        return Judgement(
            verdict=verdict,
            reasons=self._found.reasons(),
            programs=tuple(self._programs.items()),
            scripts=tuple(self._coverage.scripts),
            does_more=self._does_more,
            uncovered=tuple(self._coverage.uncovered),
            is_outward=self._found.are_any and self._is_outward,
        )

    def judge_variable(self, name: str, value: str, *, printed: bool = False) -> None:
        if not is_harmless(name, value):
            said = f"sets the variable {name}, which is not on the list of harmless ones"
            self._ask(said, "variable", contained=True)
            self._look_at(value, self._start)
            if printed:
                self._ask(f"may print {name}, which the task adds, so that a sandbox has it", "secret")

    def judge_command(self, command: Command) -> None:
        hidden = hidden_character(command if isinstance(command, str) else "\n".join(command))
        if hidden:
            self._ask(f"has an invisible or misleading character: {hidden}", "hidden")
        if isinstance(command, str):
            if doubt := self._start.shell_doubt():
                self._ask(f"is a line for {self._start.shell}, which cannot be trusted: {doubt}", "program")
            self._judge_line(command, self._start, shell=posixpath.basename(self._start.shell))
        elif not command:
            self._ask("runs nothing", "shell")
        elif len(written(command)) > LONGEST:
            self._ask(f"is longer than {LONGEST:,} characters", "size")
        else:
            step = Step(words=tuple(Word(text=word) for word in command))
            self._judge_step(step, self._start, shell="")

    # Lines

    def _judge_line(self, source: str, workspace: Workspace, *, shell: str, depth: int = 0) -> None:
        if shell not in SHELLS:
            self._ask(f"is a line for {shell or 'a shell'}, which is not analysed", "shell")
        if shell == "zsh" and _EXTENDED.search(source):
            self._ask("has characters that zsh may read as a pattern", "glob", contained=True)
        if _GAP.search(source):
            self._ask("has a wide gap, which may hide what comes after it", "hidden")
        # An inner line may be run by a program that was told to change its variables.
        line = parse(source, knows_home=workspace.is_home_plain and not depth)
        for doubt in line.doubts:
            contained = bool(line.steps) and not doubt.startswith(UNREADABLE)
            self._ask(f"the line {doubt}", "shell", contained=contained)
        if line.doubts:
            from errands.judge.containment import redirected
            from errands.judge.functions import without_runners

            self._coverage.add_line(line.steps, workspace)
            if (plain := without_returns(without_runners(source))) != source:
                source, line = plain, parse(plain)
            workspace = entered(source, workspace)
            self._look_at(source, workspace)
            for step in line.steps:
                self._name_harm(step.words, workspace)
            self._note_written(redirected(source), workspace)
            return
        places = [workspace]
        others: list[Workspace] = []
        feeding: list[Step] = []  # what comes before a step in its pipe
        for at, step in enumerate(line.steps):
            if step.before in (";", "||", "\n"):
                places, others = distinct(places + others), []
            piped = step.before == "|" or (at + 1 < len(line.steps) and line.steps[at + 1].before == "|")
            feeding = [*feeding, line.steps[at - 1]] if step.before == "|" else []
            piping = feeding[-1] if feeding else None
            if is_word(step.words[:1], "cd"):
                if at + 1 == len(line.steps) and not piped and goes_nowhere(step):
                    continue
                likely = staying(step, places)
                if len(likely) < len(places):
                    self._ask("leaves the project if a cd fails", "directory", contained=True)
                    self._coverage.add_unknown_directory()
                    places = likely
                moved = [self._moved(step, each, shell=shell, piped=piped) for each in places]
                others = distinct(others + places)
                places = distinct(moved + (places if step.before == "||" else []))
            else:
                for each in places:
                    self._judge_step(step, each, shell=shell, source=piping, depth=depth)
                    for fed in feeding:
                        texts = texts_of(step.words, each), texts_of(fed.words, each)
                        self._found.add(reasons_for_pipe(*texts, each), contained=True)
            if len(places) + len(others) > _MOST_PLACES:
                self._ask("changes the directory too often to be analysed", "directory", contained=True)
                self._coverage.add_line(line.steps, workspace)
                for rest in line.steps[at + 1 :]:
                    self._name_harm(rest.words, workspace)
                return

    def _moved(self, step: Step, workspace: Workspace, *, shell: str, piped: bool) -> Workspace:
        """Return the workspace that a `cd` leads to."""
        self._judge_around(step, workspace, shell=shell)
        words = step.words[1:]
        if len(words) != 1 or piped or words[0].pattern or words[0].text.startswith("-") or not words[0].text:
            self._ask("changes the directory in a way that is not analysed", "directory", contained=True)
            self._coverage.add_unknown_directory()
            return workspace
        place = posixpath.normpath(posixpath.join(workspace.cwd, expanded(words[0], workspace)))
        if leaves_project(step, workspace):
            closed = is_secret(place, workspace)
            self._ask(f"leaves the project: cd {words[0].text}", "directory", alone=closed)
        return workspace.at(place)

    # Steps

    def _judge_step(
        self, step: Step, workspace: Workspace, *, shell: str, source: Step | None = None, depth: int = 0
    ) -> None:
        self._judge_around(step, workspace, shell=shell)
        self._coverage.add_input(step, source, workspace)
        words = step.words[1:] if shell and source is None and is_word(step.words[:1], "!") else step.words
        if any(each.operator[0] == "<" or each.descriptor == "0" for each in step.redirections):
            source = None  # it reads that instead of the pipe
        if words:
            self._judge_words(words, workspace, shell=shell, source=source, depth=depth)
        elif step.assignments:
            self._ask("sets a variable for what follows", "variable", contained=True)
        else:
            self._ask("names no program", "shell", contained=bool(step.redirections))

    def _judge_around(self, step: Step, workspace: Workspace, *, shell: str) -> None:
        for name, value in step.assignments:
            if value.pattern or not value.literal:
                self._ask(
                    f"sets the variable {name} in a way that is not analysed", "variable", contained=True
                )
            self.judge_variable(name, value.text)
        for redirection in step.redirections:
            self._judge_redirection(redirection, workspace, shell=shell)

    def _judge_redirection(self, redirection: Redirection, workspace: Workspace, *, shell: str) -> None:
        sign, target, descriptor = redirection.operator, redirection.target, redirection.descriptor
        text = expanded(target, workspace)
        if target.pattern:
            self._ask(f"redirects to a pattern: {target.text}", "redirection", contained=True)
        elif sign in (">&", "<&"):
            if sign == "<&" or text not in ("1", "2") or descriptor not in ("", "1", "2"):
                said = f"uses the redirection {sign}{text}, which is not analysed"
                self._ask(said, "redirection", contained=text.isdigit() or text == "-")
        elif sign == "<":
            if descriptor not in ("", "0") or (text.startswith("/dev/") and text != "/dev/null"):
                self._ask(f"opens {text} in a way that is not analysed", "redirection")
            elif text != "/dev/null" and (reasons := reasons_for_reading(text, workspace)):
                for each in reasons:
                    self._found.add((each,), contained=each.kind == "settings")
                self._judged.append((("cat", text), workspace))
        elif text != "/dev/null" or descriptor not in ("", "1", "2"):
            from errands.judge.reach import writes_inside

            is_ours = text in STREAMS or writes_inside(text, workspace)
            self._ask(f"writes to {text}", "redirection", contained=is_ours and descriptor in ("", "1", "2"))
            self._note_written((text,), workspace)
        elif sign.startswith("&") and shell not in ("bash", "zsh"):
            self._ask(f"uses {sign}, which {shell} may read differently", "redirection", contained=True)

    def _note_written(self, paths: Iterable[str], workspace: Workspace) -> None:
        from errands.judge.programs.outward import is_outside

        self._is_outward |= any(is_outside(path, workspace) for path in paths)

    def _judge_words(
        self, words: tuple[Word, ...], workspace: Workspace, *, shell: str, source: Step | None, depth: int
    ) -> None:
        name = words[0]
        if not name.plain or name.pattern or name.home or not name.literal:
            text = f"disguises the name of the program: {name.text}"
            is_hidden = name.pattern or bool(self._rules.deny or self._rules.ask)
            self._ask(text, "hidden", contained=not is_hidden)
            self._name_harm(words, workspace)
            return
        if depth > _DEEPEST or is_too_nested(words):
            self._ask(_TOO_NESTED, "program", contained=True)
            self._name_harm(words, workspace)
            return
        self._obey(words)
        followed = follow(words, source)
        if followed is None:
            self._judge_program(words, workspace, shell=shell)
            return
        self._trust(name.text, workspace, shell=shell)
        if followed.doubt:
            self._ask(followed.doubt, followed.kind, contained=followed.kind != "input")
            for each in () if shows_variables(words) else (words, *(step.words for step in followed.steps)):
                self._name_harm(each, workspace)
        for step in () if followed.doubt else followed.steps:
            self._judge_step(step, workspace, shell="", depth=depth + 1)
        for line in () if followed.doubt else followed.lines:
            self._judge_line(line, workspace, shell=name.text, depth=depth + 1)
        if followed.itself:
            self._judge_program(followed.itself, workspace, shell=shell)

    def _judge_program(self, words: tuple[Word, ...], workspace: Workspace, *, shell: str) -> None:
        texts = texts_of(words, workspace)
        name = texts[0]
        self._trust(name, workspace, shell=shell, is_test=runs_tests(texts))
        self._coverage.add_command(texts, workspace.cwd)
        moved = workspace.cwd != self._start.cwd
        outside = not is_within(workspace.real(workspace.cwd), workspace.real(workspace.project))
        if name == "git" and (outside or (moved and not workspace.is_same_repository(self._start.cwd))):
            self._ask(
                "runs git in another directory, whose repository may run programs",
                "git",
                contained=not outside,
            )
        elif outside and is_tester(name):
            self._ask("runs code outside the project", "script")
        allowed = None if outside else self._rules.allowing(words)  # which is meant for the project
        self._does_more |= bool(allowed) or runs_tests(texts)
        if allowed and ("/" not in name or not moved):
            if name == "git":
                for danger in workspace.git_dangers(workspace.cwd):
                    self._ask(danger, "git", contained=True)
            return
        if not allowed and (more := self._rules.exceeding(words)):
            self._ask(more, "rule")
        reasons = reasons_for(texts, workspace) if self._scale.takes(texts) else TOO_HEAVY
        self._found.add(reasons, contained=True)
        self._judged.append((texts, workspace))
        if reasons or is_tester(name):
            from errands.judge.containment import excess_of

            if not reasons and runs_tests(texts):
                self._ask("runs tests of the project, which are code", "test", contained=True)
            self._found.need(None if shows_variables(words) else excess_of(texts, reasons, workspace))
        for word in () if reasons else words[1:]:
            if word.pattern and not is_anchored(word.text):
                self._ask(f"has a pattern that may become an option: {word.text}", "glob", contained=True)

    def _trust(self, name: str, workspace: Workspace, *, shell: str, is_test: bool = False) -> None:
        if "/" in name or (shell and name in BUILTINS):
            return
        program = workspace.program(name)
        if program.path:
            self._programs[name] = program.path
        if program.doubt and not (program.own and is_test):
            self._ask(f"`{name}` cannot be trusted: {program.doubt}", "program", contained=True)

    def _obey(self, words: tuple[Word, ...]) -> None:
        """Apply the rules that forbid or ask; the ones that allow come last."""
        if denied := self._rules.denying(words):
            self._denied = True
            self._ask(f"a rule forbids it: {denied.text}", "rule")
        elif asked := self._rules.asking(words):
            self._ask(f"a rule requires approval: {asked.text}", "rule")

    # What is not analysed

    def _look_at(self, text: str, workspace: Workspace) -> None:
        """Note what a text that is not followed needs more than walls allow."""
        if not self._found.need_more:
            from errands.judge.containment import excess_of_text

            self._found.need(excess_of_text(text, workspace))

    def _name_harm(self, words: tuple[Word, ...], workspace: Workspace) -> None:
        """Look at what a command might be: a rule may forbid it, or it may not be undone."""
        if not words:
            return
        if not self._looks or is_too_nested(words):
            self._ask(_TOO_NESTED, "program")
            return
        if not self._found.need_more:
            said = " ".join(without_chosen(without_pattern(tuple([word.text for word in words]))))
            self._look_at(said, workspace)
        if not words[0].literal:
            program = program_in(words[0].text)
            if program is None:
                self._ask(f"puts the name of a program together: {words[0].text}", "hidden")
            elif self._rules.deny or self._rules.ask:
                self._ask(f"may run what a rule is about: {words[0].text}", "program")
            if not program:
                return
            words = (Word(text=program), *words[1:])
        self._looks -= 1
        self._obey(words)
        texts = texts_of(words, workspace)
        self._coverage.add_command(texts, workspace.cwd)
        if not self._found.need_more:
            from errands.judge.containment import excess_of_unknown

            self._found.need(excess_of_unknown(texts, workspace))
        from errands.judge.programs.outward import changes_outside

        is_outward = changes_outside(texts, workspace)
        self._is_outward |= is_outward
        followed = follow(words)
        if followed is None or followed.itself:
            about = reasons_for(texts, workspace) if self._scale.takes(texts) else TOO_HEAVY
            self._found.add(each for each in about if each.kind == "secret")
            self._found.add((each for each in about if each.undo == "no" or is_outward), contained=True)
        if followed:
            for step in followed.steps:
                self._name_harm(step.words, workspace)
            for line in followed.lines:
                self._looks = max(0, self._looks - len(line) // 50)
                for step in parse(line).steps:
                    self._name_harm(step.words, workspace)
