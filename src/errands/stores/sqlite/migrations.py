"""Migrations: the numbered steps from an empty file to today's schema.

A step is never edited once released. The number of the last one is the file's `user_version`.
"""

from __future__ import annotations

from errands.stores.sqlite.first_schema import FIRST

# Channels: where a task reports, a line each. A letter is what goes to one target in one message; it is named
# after the first notice in it, and stays the same when it is sent again.
_CHANNELS = """
ALTER TABLE tasks ADD COLUMN channels TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN letter INTEGER;
CREATE INDEX outbox_queues ON outbox (channel, target, id) WHERE state = 'waiting' AND channel <> 'inbox';
CREATE INDEX outbox_given_up ON outbox (id) WHERE state IN ('unknown', 'dead');
-- What a person said no to: it is known for a while, although the task may be gone.
CREATE TABLE refusals (
    seq  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX refusals_by_time ON refusals (at);
CREATE INDEX signals_by_time ON signals (task, at);
"""

# Parent sessions: when each was last seen, and when its frontend said that it is over.
_PARENTS = """
CREATE TABLE parent_sessions (
    name     TEXT PRIMARY KEY,
    seen_at  INTEGER NOT NULL,
    ended_at INTEGER
) WITHOUT ROWID;
INSERT INTO parent_sessions
SELECT parent, max(updated_at), (SELECT at FROM ended_sessions WHERE name = parent)
FROM tasks WHERE parent IS NOT NULL GROUP BY parent;
DROP TABLE ended_sessions;
"""

# What a yes covers.
_SCOPES = """
ALTER TABLE approvals ADD COLUMN scope TEXT NOT NULL DEFAULT 'once'
    CHECK (scope IN ('once', 'task', 'always'));
ALTER TABLE past_approvals ADD COLUMN scope TEXT NOT NULL DEFAULT 'once';
CREATE INDEX approvals_for_tasks ON approvals (task) WHERE scope = 'task';
"""

# A third verdict; a CHECK cannot be changed, only its column replaced.
_CONTAINED = """
ALTER TABLE tasks ADD COLUMN judged TEXT NOT NULL DEFAULT 'auto'
    CHECK (judged = 'auto' OR judged = 'ask' OR judged = 'contained');
UPDATE tasks SET judged = verdict;
ALTER TABLE tasks DROP COLUMN verdict;
ALTER TABLE tasks RENAME COLUMN judged TO verdict;
"""

# Queue control. A pending run that is paused is held, a running one stands still. `place` replaces a run's
# own number in the order of its lane, once it was moved. A lane's width here overrides the configuration's.
_QUEUE = """
ALTER TABLE runs ADD COLUMN paused_at INTEGER;
ALTER TABLE runs ADD COLUMN paused_by TEXT;
ALTER TABLE runs ADD COLUMN paused_for REAL NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN place INTEGER;
DROP INDEX runs_ready;
CREATE INDEX runs_ready ON runs (lane, priority, coalesce(place, seq))
    WHERE state = 'pending' AND waits = 0 AND held = 0 AND not_before IS NULL AND paused_at IS NULL;
CREATE INDEX runs_paused ON runs (seq) WHERE state = 'running' AND paused_at IS NOT NULL;
CREATE TABLE lanes (
    name  TEXT PRIMARY KEY,
    width INTEGER NOT NULL CHECK (width >= 0),
    by    TEXT NOT NULL,
    at    INTEGER NOT NULL
) WITHOUT ROWID;
"""

MIGRATIONS: tuple[str, ...] = (FIRST, _CHANNELS, _PARENTS, _SCOPES, _CONTAINED, _QUEUE)
