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

# Totals only ever grow, whatever is removed: `run_totals` counts the ends of runs, a row for each set of
# labels and each bucket of the histogram of durations (`le` is its upper bound, 0 for a run that never
# started); `totals` counts the rest. What there is already is counted once, now.
_TOOK = "coalesce(elapsed, max(0, completed_at - started_at) / 1e6)"
_LE = """
    CASE WHEN took IS NULL THEN 0 WHEN took <= 0.1 THEN 0.1 WHEN took <= 0.5 THEN 0.5 WHEN took <= 1 THEN 1
         WHEN took <= 5 THEN 5 WHEN took <= 15 THEN 15 WHEN took <= 60 THEN 60 WHEN took <= 300 THEN 300
         WHEN took <= 900 THEN 900 WHEN took <= 3600 THEN 3600 WHEN took <= 14400 THEN 14400 ELSE 9e999 END
"""
_USED = ("input_tokens", "output_tokens", "requests", "tool_calls", "cost_microdollars")
_TOTALS = f"""
CREATE TABLE run_totals (
    kind    TEXT NOT NULL,
    lane    TEXT NOT NULL,
    state   TEXT NOT NULL,
    failure TEXT NOT NULL,
    le      REAL NOT NULL,
    n       INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (kind, lane, state, failure, le)
) WITHOUT ROWID;
INSERT INTO run_totals
SELECT kind, lane, state, failure, {_LE} AS bound, count(*), total(took) FROM (
    SELECT tasks.kind, runs.lane, runs.state, coalesce(failure, '') AS failure, {_TOOK} AS took
    FROM runs JOIN tasks ON tasks.seq = runs.task WHERE completed_at IS NOT NULL
) GROUP BY kind, lane, state, failure, bound;
CREATE TRIGGER total_runs AFTER UPDATE OF completed_at ON runs WHEN old.completed_at IS NULL BEGIN
    INSERT INTO run_totals
    SELECT kind, new.lane, new.state, coalesce(new.failure, ''), {_LE}, 1, coalesce(took, 0) FROM (
        SELECT kind, coalesce(new.elapsed, max(0, new.completed_at - new.started_at) / 1e6) AS took
        FROM tasks WHERE seq = new.task
    ) WHERE true
    ON CONFLICT DO UPDATE SET n = n + 1, seconds = seconds + excluded.seconds;
END;
CREATE TABLE totals (
    name  TEXT NOT NULL,
    kind  TEXT NOT NULL,
    state TEXT NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (name, kind, state)
) WITHOUT ROWID;
INSERT INTO totals SELECT 'notices', channel, state, count(*) FROM outbox WHERE state <> 'waiting'
    GROUP BY channel, state;
CREATE TRIGGER total_notices AFTER UPDATE OF state ON outbox
WHEN new.state <> old.state AND new.state <> 'waiting' BEGIN
    INSERT INTO totals VALUES ('notices', new.channel, new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
INSERT INTO totals SELECT 'answers', '', state, count(*) FROM (
    SELECT state FROM approvals WHERE at <> asked_at  -- who consents in advance is not asked
    UNION ALL SELECT state FROM past_approvals WHERE at <> asked_at
) GROUP BY state;
CREATE TRIGGER total_answers AFTER UPDATE OF state ON approvals
WHEN old.state = 'waiting' AND new.state <> 'waiting' BEGIN
    INSERT INTO totals VALUES ('answers', '', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
""" + "".join(
    f"""
INSERT INTO totals SELECT '{name}', '', '', n FROM (SELECT sum({name}) AS n FROM exchanges) WHERE n > 0;
CREATE TRIGGER total_{name} AFTER UPDATE OF {name} ON exchanges WHEN new.{name} > old.{name} BEGIN
    INSERT INTO totals VALUES ('{name}', '', '', new.{name} - old.{name})
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
"""
    for name in _USED
)

# Many hosts: where a task is to run, if not here.
_HOSTS = """
ALTER TABLE tasks ADD COLUMN host TEXT NOT NULL DEFAULT '';
"""

MIGRATIONS: tuple[str, ...] = (FIRST, _CHANNELS, _PARENTS, _SCOPES, _CONTAINED, _QUEUE, _TOTALS, _HOSTS)
