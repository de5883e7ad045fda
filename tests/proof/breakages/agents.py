"""Breakages of proposals, discovery and running agents (D, R)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "D1",
        "a proposed task starts at once if it seems harmless",
        file="engine/submit/submission.py",
        old="way = None if draft.propose else self._way(judgement, draft.consent)",
        new="way = self._way(judgement, draft.consent)",
        test="engine/approval/test_approval.py",
    ),
    Breakage(
        "D2",
        "a reaction of any user answers a question",
        file="frontends/discord/bot.py",
        old="        if not self.is_allowed(payload.user_id):\n",
        new="        if False:\n",
        test="channels/test_bot.py",
    ),
    Breakage(
        "D3",
        "discovery looks while the person is typing",
        file="engine/agents/discovery.py",
        old="if now - present < settings.idle:",
        new="if False:",
        test="engine/agents/test_discovery.py",
    ),
    Breakage(
        "D3",
        "discovery looks although no person was here for days",
        file="engine/agents/discovery.py",
        old="if present is None or now - present > settings.present:",
        new="if present is None:",
        test="engine/agents/test_discovery.py",
    ),
    Breakage(
        "D4",
        "discovery makes one proposal too many",
        file="engine/agents/discovery.py",
        old="elif made >= self._settings.most:",
        new="elif made > self._settings.most:",
        test="engine/agents/test_discovery.py",
    ),
    Breakage(
        "D4",
        "what was rejected is proposed again in other words",
        file="model/agent/suggestion.py",
        old='return is_similar(f"{self.name} {self.reason}", f"{name} {description}") or (',
        new="return self.name == name or (",
        test="model/agent/test_suggestion.py",
    ),
    Breakage(
        "R1",
        "a triggered run goes on in the conversation of the one before",
        file="engine/agents/agent_context.py",
        old="is_mine = current is not None and (self._is_resume or current.run == self._number)",
        new="is_mine = current is not None",
        test="engine/agents/test_sessions.py",
    ),
    Breakage(
        "R2",
        "a background run does not wait while a person uses the model",
        file="engine/agents/agent_context.py",
        old="if self._task.lane != LANE or not self._gate.is_closed():",
        new="if True:",
        test="engine/agents/test_sessions_waiting.py",
    ),
    Breakage(
        "R3",
        "no other model takes over when the local one fails",
        file="agents/builtin/backend.py",
        old='failed or "escalate" not in self._settings:',
        new="True:",
        test="agents/test_builtin_limits.py",
        fails_with="AgentUnavailable",
    ),
    Breakage(
        "R4",
        "an agent reads files outside of its project",
        file="agents/builtin/project.py",
        old='if place != self.root and not place.startswith(self.root.rstrip("/") + "/"):',
        new='if not place.startswith(self.root.rstrip("/")):',
        test="agents/test_builtin_project.py",
    ),
    Breakage(
        "R5",
        "the offline agent does not say that it is no language model",
        file="agents/offline.py",
        old="This is the offline agent. It is not a language model: it carries",
        new="This is the offline agent. It carries",
        test="agents/test_offline.py",
    ),
]
