"""The first schema: what an empty file begins with, before the migrations. It is never edited.

What is written often is checked by chains of OR: for `IN` with more than two values SQLite makes a table of
them at every insert and update, which takes as long as all the rest of it.
"""

from __future__ import annotations

FIRST = """
CREATE TABLE tasks (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL CHECK (kind IN ('shell', 'agent')),
    state       TEXT NOT NULL CHECK
                (state = 'active' OR state = 'done' OR state = 'failed' OR state = 'cancelled'
                 OR state = 'proposed' OR state = 'rejected' OR state = 'paused'),
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    command     TEXT NOT NULL,
    action      TEXT NOT NULL,
    due_at      INTEGER,
    standing    TEXT,
    limits      TEXT NOT NULL,
    cwd         TEXT NOT NULL,
    environment TEXT NOT NULL,
    lane        TEXT NOT NULL,
    priority    INTEGER NOT NULL CHECK (priority = 0 OR priority = 1 OR priority = 2),
    notify      TEXT NOT NULL,
    owner       TEXT NOT NULL,
    parent      TEXT,
    message     TEXT,
    batch       TEXT,
    key         TEXT,
    template    TEXT,
    after       TEXT NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    created_by  TEXT NOT NULL,
    updated_at  INTEGER NOT NULL,
    run         INTEGER,
    approved_by TEXT,
    approved_at INTEGER,
    door        TEXT NOT NULL DEFAULT '',
    verdict     TEXT NOT NULL DEFAULT 'auto' CHECK (verdict IN ('auto', 'ask')),
    digest      TEXT NOT NULL DEFAULT '',
    evidence    TEXT,
    removed     TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX tasks_by_key ON tasks (key) WHERE key IS NOT NULL;
CREATE INDEX tasks_by_batch ON tasks (batch, seq) WHERE batch IS NOT NULL;
CREATE INDEX tasks_by_owner ON tasks (owner, seq);
CREATE INDEX tasks_by_parent ON tasks (parent, seq) WHERE parent IS NOT NULL;
CREATE INDEX tasks_standing ON tasks (state, seq) WHERE standing IS NOT NULL;
CREATE INDEX tasks_by_run ON tasks (created_by, seq) WHERE created_by >= 'run ' AND created_by < 'run!';

CREATE TABLE runs (
    seq               INTEGER PRIMARY KEY,
    task              INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    number            INTEGER NOT NULL,
    cause             TEXT NOT NULL,
    state             TEXT NOT NULL CHECK
                      (state = 'pending' OR state = 'running' OR state = 'completed' OR state = 'failed'
                       OR state = 'cancelled' OR state = 'skipped'),
    attempt           INTEGER NOT NULL DEFAULT 0,
    lane              TEXT NOT NULL,
    priority          INTEGER NOT NULL,
    waits             INTEGER NOT NULL DEFAULT 0,
    held              INTEGER NOT NULL DEFAULT 0,
    not_before        INTEGER,
    created_at        INTEGER NOT NULL,
    started_at        INTEGER,
    completed_at      INTEGER,
    stop_requested_at INTEGER,
    stop_by           TEXT,
    pid               INTEGER,
    exit_code         INTEGER,
    signal            INTEGER,
    failure           TEXT,
    error             TEXT,
    elapsed           REAL,
    cpu               REAL,
    rss               INTEGER,
    bytes             INTEGER NOT NULL DEFAULT 0,
    lines             INTEGER NOT NULL DEFAULT 0,
    truncated         INTEGER NOT NULL DEFAULT 0,
    leftovers         INTEGER NOT NULL DEFAULT 0,
    hooks             TEXT,
    output_failed     TEXT,
    summary           TEXT,
    idle_told         INTEGER NOT NULL DEFAULT 0,
    retrieved_at      INTEGER,
    UNIQUE (task, number),
    CHECK ((completed_at IS NULL) = (state IN ('pending', 'running')))
);
CREATE UNIQUE INDEX one_live_run ON runs (task) WHERE state IN ('pending', 'running');
CREATE INDEX runs_ready ON runs (lane, priority, seq)
    WHERE state = 'pending' AND waits = 0 AND held = 0 AND not_before IS NULL;
CREATE INDEX runs_due ON runs (not_before) WHERE state = 'pending' AND not_before IS NOT NULL;
CREATE INDEX runs_stopping ON runs (seq) WHERE state = 'running' AND stop_requested_at IS NOT NULL;
CREATE INDEX runs_ended ON runs (completed_at) WHERE completed_at IS NOT NULL;

CREATE TABLE waits (
    run     INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    on_task INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    PRIMARY KEY (run, on_task)
) WITHOUT ROWID;
CREATE INDEX waits_by_task ON waits (on_task);

-- Every question that was asked about a task, with its answer.
CREATE TABLE approvals (
    id         INTEGER PRIMARY KEY,
    task       INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    run        INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    reasons    TEXT NOT NULL,
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    state      TEXT NOT NULL DEFAULT 'waiting'
               CHECK (state IN ('waiting', 'granted', 'refused', 'expired', 'void')),
    by         TEXT,
    at         INTEGER,
    door       TEXT,
    note       TEXT NOT NULL DEFAULT '',
    CHECK ((at IS NULL) = (state = 'waiting'))
);
CREATE INDEX approvals_by_task ON approvals (task, id);
CREATE UNIQUE INDEX one_question ON approvals (task) WHERE state = 'waiting';
CREATE INDEX approvals_waiting ON approvals (expires_at) WHERE state = 'waiting';

-- The same of tasks that are gone since, with what became of the run: an answer outlives what it was about.
CREATE TABLE past_approvals (
    seq        INTEGER PRIMARY KEY,
    id         INTEGER NOT NULL,
    task       TEXT NOT NULL,
    run        INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    reasons    TEXT NOT NULL,
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('granted', 'refused', 'expired', 'void')),
    by         TEXT,
    at         INTEGER NOT NULL,
    door       TEXT,
    note       TEXT NOT NULL,
    name       TEXT NOT NULL,
    command    TEXT NOT NULL,
    cwd        TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    created_by TEXT NOT NULL,
    outcome    TEXT,
    exit_code  INTEGER,
    error      TEXT,
    summary    TEXT,
    removed_at INTEGER NOT NULL
);

-- What a person approved once for all times, to the letter.
CREATE TABLE always (
    digest  TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    cwd     TEXT NOT NULL,
    by      TEXT NOT NULL,
    at      INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE environments (
    digest TEXT PRIMARY KEY,
    vars   TEXT NOT NULL
) WITHOUT ROWID;

-- What the rows of runs cannot tell; that a run was queued, started, stopped and ended, they can.
CREATE TABLE events (
    seq    INTEGER PRIMARY KEY,
    task   INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    run    INTEGER,
    name   TEXT NOT NULL,
    at     INTEGER NOT NULL,
    detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX events_by_task ON events (task, seq);

CREATE TABLE outbox (
    id           INTEGER PRIMARY KEY,
    run_id       TEXT NOT NULL,
    event        TEXT NOT NULL,
    channel      TEXT NOT NULL,
    target       TEXT NOT NULL,
    body         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    state        TEXT NOT NULL DEFAULT 'waiting'
                 CHECK (state = 'waiting' OR state = 'delivered' OR state = 'unknown' OR state = 'dead'),
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_at      INTEGER NOT NULL,
    delivered_at INTEGER,
    reader       TEXT,
    error        TEXT,
    UNIQUE (run_id, event, channel, target)
);
CREATE INDEX outbox_waiting ON outbox (channel, next_at) WHERE state = 'waiting' AND channel <> 'inbox';
-- The inbox: what waits until its owner asks.
CREATE INDEX outbox_unread ON outbox (target, id) WHERE state = 'waiting' AND channel = 'inbox';

CREATE TABLE templates (
    name       TEXT PRIMARY KEY,
    draft      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The conversations of agent tasks, for as long as the task is there. `run` is the number of the run that
-- opened it; a restarted task may use a name again: the latest row counts.
CREATE TABLE sessions (
    seq         INTEGER PRIMARY KEY,
    task        INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    run         INTEGER NOT NULL,
    agent       TEXT NOT NULL,
    name        TEXT NOT NULL,
    forked_from TEXT,
    created_at  INTEGER NOT NULL,
    gone_at     INTEGER,
    UNIQUE (task, run)
);
CREATE INDEX sessions_by_name ON sessions (name, seq);

CREATE TABLE messages (
    seq     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (seq) ON DELETE CASCADE,
    run     INTEGER NOT NULL,
    body    TEXT NOT NULL,
    at      INTEGER NOT NULL
);
CREATE INDEX messages_by_session ON messages (session, seq);

-- What a run of an agent was asked, what it answered, and what it does meanwhile.
CREATE TABLE exchanges (
    run               INTEGER PRIMARY KEY REFERENCES runs (seq) ON DELETE CASCADE,
    text              TEXT NOT NULL,
    answer            TEXT,
    failure           TEXT,
    error             TEXT,
    input_tokens      INTEGER NOT NULL DEFAULT 0,
    output_tokens     INTEGER NOT NULL DEFAULT 0,
    requests          INTEGER NOT NULL DEFAULT 0,
    tool_calls        INTEGER NOT NULL DEFAULT 0,
    cost_microdollars INTEGER NOT NULL DEFAULT 0,
    tools             TEXT NOT NULL DEFAULT '',
    active_at         INTEGER,
    waiting           TEXT CHECK (waiting IN ('approval', 'task', 'turn', 'slot')),
    awaited           INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX exchanges_waiting ON exchanges (run) WHERE waiting IS NOT NULL;

-- Parent sessions of which a door or a backend said that they are over; all others live.
CREATE TABLE ended_sessions (
    name TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) WITHOUT ROWID;

-- The schedule cursor of a recurring task, and the results of its runs. `next_at` is null while the task is
-- paused.
CREATE TABLE hearings (
    task     INTEGER PRIMARY KEY REFERENCES tasks (seq) ON DELETE CASCADE,
    heard    INTEGER NOT NULL,
    next_at  INTEGER,
    runs     INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    result   TEXT
);
CREATE INDEX hearings_next ON hearings (next_at) WHERE next_at IS NOT NULL;

-- What became of every slot of a schedule, alone or with its neighbours; none has two records.
CREATE TABLE slots (
    task    INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    slot    INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('waiting', 'ran', 'late', 'coalesced', 'skipped', 'missed')),
    reason  TEXT NOT NULL DEFAULT '',
    run     INTEGER,
    at      INTEGER NOT NULL,
    PRIMARY KEY (task, slot),
    CHECK (until >= slot AND count >= 1)
) WITHOUT ROWID;
CREATE INDEX slots_waiting ON slots (task, slot) WHERE outcome = 'waiting';

-- What a task that waits for events has seen of its source; `broken_until` is the breaker.
CREATE TABLE watches (
    task         INTEGER PRIMARY KEY REFERENCES tasks (seq) ON DELETE CASCADE,
    baseline     TEXT,
    checked_at   INTEGER,
    health       TEXT NOT NULL DEFAULT 'new' CHECK (health IN ('new', 'well', 'failing', 'broken')),
    failures     INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    broken_until INTEGER
);

-- What happened outside, until a run has come of it and after; a source may tell the same thing twice.
CREATE TABLE signals (
    seq  INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    key  TEXT,
    at   INTEGER NOT NULL,
    body TEXT NOT NULL,
    run  INTEGER,
    UNIQUE (task, key)
);
CREATE INDEX signals_unheard ON signals (task, seq) WHERE run IS NULL;

-- Sessions that live on at their backends, although their tasks are gone; each is dropped there in time.
CREATE TABLE remnants (
    seq     INTEGER PRIMARY KEY,
    agent   TEXT NOT NULL,
    name    TEXT NOT NULL,
    cwd     TEXT NOT NULL,
    tries   INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0
);

-- The span ids of runs, filled when a span is looked up.
CREATE TABLE spans (
    id  TEXT PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX spans_by_run ON spans (run);

-- Counting a million rows takes half a second, reading a counter takes a microsecond. Live runs have no
-- counter: they are few, and their index counts them.
CREATE TABLE counts (
    state TEXT PRIMARY KEY,
    n     INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counts VALUES ('completed', 0), ('failed', 0), ('cancelled', 0), ('skipped', 0);
CREATE TRIGGER count_saved AFTER INSERT ON runs WHEN new.completed_at IS NOT NULL BEGIN
    UPDATE counts SET n = n + 1 WHERE state = new.state;
END;
CREATE TRIGGER count_ended AFTER UPDATE OF completed_at ON runs WHEN old.completed_at IS NULL BEGIN
    UPDATE counts SET n = n + 1 WHERE state = new.state;
END;
CREATE TRIGGER count_removed AFTER DELETE ON runs WHEN old.completed_at IS NOT NULL BEGIN
    UPDATE counts SET n = n - 1 WHERE state = old.state;
END;
"""
