"""Rulings: the judge's verdict about a draft, before there is a task.

Judging reads files, so it happens outside of every transaction. What it read is kept as evidence, so that the
daemon can check before the start whether it still holds.
"""

from __future__ import annotations

import os

from errands.engine.approval.tool_grants import reasons_for_grants
from errands.judge.evidence.evidence import DEFAULT_PATH
from errands.judge.evidence.local_workspace import TEMPORARY, LocalWorkspace
from errands.judge.judge import judge
from errands.judge.rules import read_rules
from errands.judge.workspace import is_within
from errands.model.action import Prompt, Sandbox, Shell
from errands.model.approval import Evidence, digest, evidence_text, read_evidence
from errands.model.errors import Denied
from errands.model.record import evolve, record
from errands.model.verdict import Judgement, Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from errands.config import Config
    from errands.judge.evidence.repositories import Repositories
    from errands.judge.workspace import FoundProgram
    from errands.model.action import Action, Walls
    from errands.model.options.draft import Draft
    from errands.model.verdict import Verdict
    from errands.ports.home import Home

    # Workspaces by directory and by the variables that decide what is found there.
    Seen = dict[tuple[str | None, ...], LocalWorkspace]

_MOST = 256  # search paths remembered


@record
class Ruling:
    """A judgement about an action, its evidence, and the digest of all that would run."""

    judgement: Judgement
    action: Action
    project: str
    digest: str
    evidence: str | None = None
    granted_by: str | None = None  # who approved it for the whole task of the agent that starts it


class Judge:
    def __init__(self, config: Config, home: Home | None = None, *, allow: Sequence[str] = ()) -> None:
        """Judge by the rules of the configuration, and by those that `allow` more."""
        self._config = config
        self._home = "" if home is None else home.path
        self._walls = "" if home is None else home.walls
        rules = config.approval
        self._rules = read_rules(allow=(*rules.allow, *allow), ask=rules.ask, deny=rules.deny)
        # Which entries of a search path are exposed. Looking at all of them for every task would make a
        # submit 60 % slower: 510 instead of 319 us of processor time.
        self._open: dict[tuple[str, str], frozenset[str]] = {}

    def judge(self, draft: Draft) -> Judgement:
        return self._ruling(draft, {}).judgement

    def rule(self, draft: Draft, seen: Seen | None = None) -> Ruling:
        """Judge a draft; refuse what a rule forbids. Drafts of one call share what they have `seen`."""
        ruling = self._ruling(draft, {} if seen is None else seen)
        if ruling.judgement.verdict == "deny":
            raise denied(ruling.judgement)
        return ruling

    def _ruling(self, draft: Draft, seen: Seen) -> Ruling:
        environ = os.environ if draft.environ is None else draft.environ
        cwd = os.path.abspath(draft.cwd or os.getcwd())
        watch = ""
        if draft.on is not None:
            from errands.model.schedule.event_trigger import watched_line

            watch = watched_line(draft.on)
        if draft.prompt is not None:
            prompt = Prompt(
                text=draft.prompt,
                agent=draft.agent or "",
                cwd=cwd,
                environment="",
                allow=draft.allow,
                allow_tools=draft.allow_tools,
                host=draft.host or "",
                cwd_is_named=draft.host is not None and draft.cwd is not None,
            )
            if watch:
                prompt = evolve(prompt, env=draft.env, watch=watch)
            return self.rule_again(prompt, environ)
        action = Shell(
            commands=(draft.command, *draft.then),
            cwd=cwd,
            environment="",
            env=draft.env,
            before=draft.before,
            lastly=draft.lastly,
            input=draft.input,
            watch=watch,
            host=draft.host or "",
            cwd_is_named=draft.host is not None and draft.cwd is not None,
        )
        return self._judged(action, environ, seen, draft.sandbox, draft.within)

    def rule_again(self, action: Action, environ: Mapping[str, str]) -> Ruling:
        """Judge what a task would run now, in the environment it was submitted with."""
        if not isinstance(action, Prompt):
            return self._judged(action, environ, {})
        if action.host:  # it is judged there
            from errands.engine.fleet.placed_run import check_joined

            check_joined(self._home)
            if action.watch:
                return self._watching(action, environ)
            judgement = Judgement(verdict="auto")
            return Ruling(judgement=judgement, action=action, project=action.cwd, digest=digest(action))
        # A prompt does nothing by itself, and every call of its agent is judged; but a person decides about
        # what the agent is allowed from the start, and the command that watches for its event is run.
        grants = reasons_for_grants(action)
        if not action.watch:
            judgement = Judgement(verdict="ask" if grants else "auto", reasons=grants)
            return Ruling(judgement=judgement, action=action, project=action.cwd, digest=digest(action))
        ruling = self._watching(action, environ)
        if grants:
            judged = ruling.judgement
            verdict: Verdict = "ask" if judged.verdict == "auto" else judged.verdict
            judged = evolve(judged, verdict=verdict, reasons=(*grants, *judged.reasons))
            ruling = evolve(ruling, judgement=judged)
        return ruling

    def _judged(
        self,
        action: Shell,
        environ: Mapping[str, str],
        seen: Seen,
        walls: Walls = "none",
        within: str | None = None,
    ) -> Ruling:
        variables = {**environ, **action.env} if action.env else environ
        place = (action.cwd, *(variables.get(name) for name in LocalWorkspace.VARIABLES))
        if place not in seen:
            seen[place] = LocalWorkspace(action.cwd, variables, shell=self._config.runs.shell)
        witness = _Witness(seen[place])
        if action.host:
            return self._placed(action, environ, witness, walls)
        if walls != "none":
            from errands.engine.walls.bubblewrap import bubblewrap
            from errands.engine.walls.projects import check_project

            bubblewrap()
            check_project(witness.project, home=self._home, path=variables.get("PATH", DEFAULT_PATH))
            action = evolve(action, sandbox=Sandbox(writable=(witness.project,), network=walls != "network"))
        judgement = self._verdict(action, witness)
        if judgement.verdict == "auto" and not judgement.does_more:
            action = evolve(action, read_only=True)
        # A place that is named again finds nothing; shells within shells repeat some.
        path = ":".join(dict.fromkeys(variables.get("PATH", DEFAULT_PATH).split(":")))
        if judgement.verdict == "contained":
            judgement = self._walled(judgement, action, witness.project, path)
        if judgement.verdict == "contained" and within is not None:
            judgement = _kept_within(judgement, witness.project, LocalWorkspace(within, variables))
        if judgement.verdict == "ask" and judgement.uncovered:
            more = tuple(Reason(text=text, kind="script") for text in judgement.uncovered)
            judgement = evolve(judgement, reasons=(*judgement.reasons, *more))
        evidence = self._evidence(judgement, witness, path)
        return Ruling(
            judgement=judgement,
            action=action,
            project=witness.project,
            digest=digest(action, evidence),
            evidence=None if evidence is None else evidence_text(evidence),
        )

    def _verdict(self, action: Shell, witness: _Witness) -> Judgement:
        hooks = (*action.before, *action.lastly, *([action.watch] if action.watch else ()))
        return judge(action.commands, witness, rules=self._rules, env=action.env, hooks=hooks)

    def _placed(self, action: Shell, environ: Mapping[str, str], witness: _Witness, walls: Walls) -> Ruling:
        """Judge what another host carries out: that host decides, but what is forbidden here stays so."""
        from errands.engine.fleet.placed_run import check_joined  # commands for this host do not pay for it

        check_joined(self._home)
        if walls != "none":
            action = evolve(action, sandbox=Sandbox(writable=(), network=walls != "network"))
        judgement = self._verdict(action, witness)
        if judgement.verdict != "deny" and action.watch:
            return self._watching(action, environ)
        if judgement.verdict != "deny":
            judgement = Judgement(verdict="auto")
        return Ruling(judgement=judgement, action=action, project=witness.project, digest=digest(action))

    def _watching(self, action: Action, environ: Mapping[str, str]) -> Ruling:
        """Judge the command that watches for a placed task's event: it runs on this host."""
        watched = Shell(commands=(action.watch,), cwd=action.cwd, environment="", env=action.env)
        ruling = self._judged(evolve(watched, watch=action.watch), environ, {})
        evidence = None if ruling.evidence is None else read_evidence(ruling.evidence)
        action = evolve(action, read_only=ruling.action.read_only)
        return evolve(ruling, action=action, digest=digest(action, evidence))

    def _walled(self, judgement: Judgement, action: Shell, project: str, path: str) -> Judgement:
        """Return a judgement whose verdict is `contained` only if there can be walls around the action."""
        mode = self._config.approval.mode
        has_network = action.sandbox is not None and action.sandbox.network
        if action.watch or has_network:  # a watched command runs outside of all walls
            return evolve(judgement, verdict="ask")
        from errands.engine.walls.sandbox import obstacle_to

        if mode == "careful":
            why = "waits because approval.mode is careful; approved, it runs without a sandbox"
        else:
            why = "" if mode == "trusting" else obstacle_to(project, self._home, self._walls, path=path)
        if not why:
            return judgement
        return evolve(
            judgement, verdict="ask", reasons=(*judgement.reasons, Reason(text=why, kind="sandbox"))
        )

    def _evidence(self, judgement: Judgement, witness: _Witness, path: str) -> Evidence | None:
        names = [*judgement.scripts]
        indexes: dict[str, None] = {}
        links = witness.links
        is_auto = judgement.verdict == "auto"
        if not is_auto and "git" in witness.programs:
            witness.git_dangers(witness.cwd)
        for repositories in witness.repositories:
            names += [*repositories.files, *(() if is_auto else repositories.hooks)]
            indexes.update(repositories.indexes)
            links = links | repositories.links
        programs = {name: witness.program(name).path for name in witness.programs}
        if is_auto:
            # A program in a directory that only trusted ones can be in needs no evidence.
            programs = {
                name: found
                for name, found in programs.items()
                if self._is_exposed(found, path, witness.project)
            }
        else:
            links = {}  # a person consents to the words
            names += [found for name, found in programs.items() if witness.program(name).doubt]
        if not names and not programs and not links:
            return None
        return Evidence(
            files={name: witness.here.fingerprint(name) for name in dict.fromkeys(names)},
            programs=programs,
            links=links,
            indexes={name: witness.here.index_print(name) for name in indexes},
            path=path if programs else "",
        )

    def _is_exposed(self, found: str, path: str, project: str) -> bool:
        """Return whether an untrusted program could take the place of this one."""
        exposed = self._open.get((path, project))
        if exposed is None:
            if len(self._open) >= _MOST:
                self._open.clear()
            exposed = self._open[path, project] = frozenset(
                entry for entry in path.split(":") if not _is_safe(entry, project)
            )
        if not exposed:
            return False
        directory = os.path.dirname(found)
        for entry in path.split(":"):
            if entry in exposed:
                return True
            if entry == directory:
                return False
        return True


class _Witness:
    """A workspace that remembers what it was asked."""

    def __init__(self, here: LocalWorkspace, other: _Witness | None = None) -> None:
        self.here = here
        self.cwd, self.project, self.home, self.shell = here.cwd, here.project, here.home, here.shell
        self.programs: dict[str, None] = {} if other is None else other.programs
        self.links: dict[str, str] = {} if other is None else other.links
        self.repositories: list[Repositories] = [] if other is None else other.repositories
        self.known: dict[tuple[object, ...], Reason | None] = {} if other is None else other.known

    def at(self, directory: str) -> _Witness:
        return _Witness(self.here.at(directory), self)

    def real(self, path: str) -> str:
        written = os.path.join(self.cwd, path)
        found = self.here.real(path)
        # Paths below /proc and /dev mean something else for every process.
        if not written.startswith(("/proc/", "/dev/")) and (
            found != written or written not in (self.cwd, self.project)
        ):
            self.links[written] = found
        return found

    def program(self, name: str) -> FoundProgram:
        self.programs[name] = None
        return self.here.program(name)

    @property
    def is_own_home(self) -> bool:
        return self.here.is_own_home

    @property
    def is_home_plain(self) -> bool:
        return self.here.is_home_plain

    def is_same_repository(self, directory: str) -> bool:
        return self.here.is_same_repository(directory)

    def shell_doubt(self) -> str:
        return self.here.shell_doubt()

    def linked(self, place: str, *, below: bool) -> tuple[str, ...] | None:
        return self.here.linked(place, below=below)

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        return self.here.matching(pattern)

    def is_directory(self, path: str) -> bool:
        return self.here.is_directory(path)

    def stranger(self, path: str) -> str:
        return self.here.stranger(path)

    def git_dangers(self, directory: str) -> tuple[str, ...]:
        self.repositories.append(self.here.repositories(directory))
        return self.here.git_dangers(directory)

    def git_has_passwords(self, directory: str) -> bool:
        return self.here.git_has_passwords(directory)


def denied(judgement: Judgement) -> Denied:
    forbidden = [reason.text for reason in judgement.reasons if reason.kind == "rule"]
    return Denied(
        f"not allowed: {'; '.join(forbidden)}; the rules are approval.deny in `errands config show`"
    )


def _kept_within(judgement: Judgement, project: str, caller: LocalWorkspace) -> Judgement:
    """Ask about work in a project that is not the caller's: it could change everything there."""
    if is_within(os.path.realpath(project), caller.real(caller.project)):
        return judgement
    reason = Reason(text=f"works in {project}, outside of the project {caller.project}", kind="write")
    return evolve(judgement, verdict="ask", reasons=(*judgement.reasons, reason))


def _is_safe(entry: str, project: str) -> bool:
    """Return whether only trusted programs can be in an entry of the search path."""
    if not entry.startswith("/"):
        return False
    for each in dict.fromkeys((entry, os.path.realpath(entry))):
        if is_within(each, project) or any(is_within(each, directory) for directory in TEMPORARY):
            return False
    try:
        found = os.stat(entry)
    except OSError:
        return True  # only its owner can make it
    return not found.st_mode & 0o002 and found.st_uid in (0, os.geteuid())
