-- A store of schema 8, in which tasks can be meant for other hosts; never edited.
BEGIN TRANSACTION;
CREATE TABLE always (
    digest  TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    cwd     TEXT NOT NULL,
    by      TEXT NOT NULL,
    at      INTEGER NOT NULL
) WITHOUT ROWID;
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
    note       TEXT NOT NULL DEFAULT '', scope TEXT NOT NULL DEFAULT 'once'
    CHECK (scope IN ('once', 'task', 'always')),
    CHECK ((at IS NULL) = (state = 'waiting'))
);
INSERT INTO "approvals" VALUES(1,1,1,'414f81130ab11f651c78d825301b6b8d','[["is not known to be harmless", "unknown", "program"]]',1794724667990757,1795329467990757,'granted','ada (--yes)',1794724667990757,'cli','','once');
INSERT INTO "approvals" VALUES(2,3,1,'5652e2dd312b66e30d3cfb367758f46b','[["is not known to be harmless", "unknown", "program"]]',1794724668101371,1795329468101371,'granted','ada (--yes)',1794724668101371,'cli','','once');
INSERT INTO "approvals" VALUES(3,7,1,'a289bad961bcaf89c6cf0d6558780d37','[["deletes /tmp/cache recursively; cannot be undone", "no", "delete"]]',1794724668311112,4102444800000000,'waiting',NULL,NULL,NULL,'','once');
CREATE TABLE counts (
    state TEXT PRIMARY KEY,
    n     INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "counts" VALUES('cancelled',1);
INSERT INTO "counts" VALUES('completed',1);
INSERT INTO "counts" VALUES('failed',2);
INSERT INTO "counts" VALUES('skipped',1);
CREATE TABLE environments (
    digest TEXT PRIMARY KEY,
    vars   TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "environments" VALUES('084ab0b3b50db9cd1230430b987975a8','{"HOME": "/home/ada", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "USER": "ada"}');
CREATE TABLE events (
    seq    INTEGER PRIMARY KEY,
    task   INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    run    INTEGER,
    name   TEXT NOT NULL,
    at     INTEGER NOT NULL,
    detail TEXT NOT NULL DEFAULT ''
);
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
CREATE TABLE hearings (
    task     INTEGER PRIMARY KEY REFERENCES tasks (seq) ON DELETE CASCADE,
    heard    INTEGER NOT NULL,
    next_at  INTEGER,
    runs     INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    result   TEXT
);
CREATE TABLE lanes (
    name  TEXT PRIMARY KEY,
    width INTEGER NOT NULL CHECK (width >= 0),
    by    TEXT NOT NULL,
    at    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE messages (
    seq     INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (seq) ON DELETE CASCADE,
    run     INTEGER NOT NULL,
    body    TEXT NOT NULL,
    at      INTEGER NOT NULL
);
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
    error        TEXT, letter INTEGER,
    UNIQUE (run_id, event, channel, target)
);
INSERT INTO "outbox" VALUES(1,'failing-gcgwpe.1','failed','inbox','user','{"task": "failing-gcgwpe", "run": "failing-gcgwpe.1", "state": "failed", "description": "says hello", "command": "echo hello; exit 3", "exit_code": 3, "signal": null, "error": "exit code 3", "summary": null, "elapsed": 0.014955}',1794724668060191,'waiting',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(2,'fine-9dsbdx.1','completed','inbox','chat-1','{"task": "fine-9dsbdx", "run": "fine-9dsbdx.1", "state": "completed", "description": "fine", "command": "true && true", "exit_code": 0, "signal": null, "error": null, "summary": null, "elapsed": 0.011032}',1794724668086985,'waiting',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(3,'failing-gcgwpe.2','failed','inbox','user','{"task": "failing-gcgwpe", "run": "failing-gcgwpe.2", "state": "failed", "description": "says hello", "command": "echo hello; exit 3", "exit_code": 3, "signal": null, "error": "exit code 3", "summary": null, "elapsed": 0.004731}',1794724668100203,'waiting',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(4,'stopped-mpvq5t.1','cancelled','inbox','user','{"task": "stopped-mpvq5t", "run": "stopped-mpvq5t.1", "state": "cancelled", "description": "stopped", "command": "sleep 1000", "exit_code": null, "signal": 15, "error": "stopped by ada", "summary": null, "elapsed": 0.205361}',1794724668309255,'waiting',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES(5,'skipped-737ecv.1','skipped','inbox','user','{"task": "skipped-737ecv", "run": "skipped-737ecv.1", "state": "skipped", "description": "skipped", "command": "true", "exit_code": null, "signal": null, "error": "it waits for failing-gcgwpe, which is failed", "summary": null, "elapsed": null}',1794724668310231,'waiting',0,0,NULL,NULL,NULL,NULL);
CREATE TABLE parent_sessions (
    name     TEXT PRIMARY KEY,
    seen_at  INTEGER NOT NULL,
    ended_at INTEGER
) WITHOUT ROWID;
INSERT INTO "parent_sessions" VALUES('chat-1',1794724668086985,NULL);
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
, scope TEXT NOT NULL DEFAULT 'once');
CREATE TABLE refusals (
    seq  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE remnants (
    seq     INTEGER PRIMARY KEY,
    agent   TEXT NOT NULL,
    name    TEXT NOT NULL,
    cwd     TEXT NOT NULL,
    tries   INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0
);
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
INSERT INTO "run_totals" VALUES('shell','shell','cancelled','',0.5,1,0.205361);
INSERT INTO "run_totals" VALUES('shell','shell','completed','',0.1,1,0.011032);
INSERT INTO "run_totals" VALUES('shell','shell','failed','exit',0.1,2,0.019686);
INSERT INTO "run_totals" VALUES('shell','shell','skipped','dependency',0.0,1,0.0);
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
    retrieved_at      INTEGER, paused_at INTEGER, paused_by TEXT, paused_for REAL NOT NULL DEFAULT 0, place INTEGER,
    UNIQUE (task, number),
    CHECK ((completed_at IS NULL) = (state IN ('pending', 'running')))
);
INSERT INTO "runs" VALUES(1,1,1,'submit','failed',1,'shell',0,0,0,NULL,1794724667990757,1794724668044616,1794724668059568,NULL,NULL,8263,3,NULL,'exit','exit code 3',0.014955,0.001268,7568,6,1,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "runs" VALUES(2,2,1,'submit','completed',1,'shell',1,0,0,NULL,1794724668070560,1794724668075690,1794724668086718,NULL,NULL,8275,0,NULL,NULL,NULL,0.011032,0.004089,8256,28,4,0,0,'before:0,finally:0',NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "runs" VALUES(3,1,2,'restart','failed',1,'shell',0,0,0,NULL,1794724668092689,1794724668094204,1794724668098931,NULL,NULL,8281,3,NULL,'exit','exit code 3',0.004731,0.001223,8256,6,1,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "runs" VALUES(4,3,1,'submit','cancelled',1,'shell',1,0,0,NULL,1794724668101371,1794724668103312,1794724668308668,1794724668303609,'ada',8285,NULL,15,NULL,'stopped by ada',0.205361,0.002047,8256,0,0,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "runs" VALUES(5,4,1,'submit','skipped',0,'shell',1,0,0,NULL,1794724668310231,NULL,1794724668310231,NULL,NULL,NULL,NULL,NULL,'dependency','it waits for failing-gcgwpe, which is failed',NULL,NULL,NULL,0,0,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "runs" VALUES(6,5,1,'submit','pending',0,'shell',1,0,0,4102444800000000,1794724668311112,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "runs" VALUES(7,6,1,'submit','pending',0,'shell',1,1,0,NULL,1794724668311472,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "runs" VALUES(8,7,1,'submit','pending',0,'shell',1,0,1,NULL,1794724668311112,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,0.0,NULL);
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
CREATE TABLE signals (
    seq  INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    key  TEXT,
    at   INTEGER NOT NULL,
    body TEXT NOT NULL,
    run  INTEGER,
    UNIQUE (task, key)
);
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
CREATE TABLE spans (
    id  TEXT PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE
) WITHOUT ROWID;
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
    digest      TEXT NOT NULL DEFAULT '',
    evidence    TEXT,
    removed     TEXT NOT NULL DEFAULT ''
, channels TEXT NOT NULL DEFAULT '', verdict TEXT NOT NULL DEFAULT 'auto'
    CHECK (verdict = 'auto' OR verdict = 'ask' OR verdict = 'contained'), host TEXT NOT NULL DEFAULT '');
INSERT INTO "tasks" VALUES(1,'failing-gcgwpe','shell','failed','failing','says hello','echo hello; exit 3','{"commands": ["echo hello; exit 3"], "cwd": "/tmp", "env": {"COLOUR": "blue"}}',NULL,NULL,'{"timeout": 60.0, "grace": 5.0}','/tmp','084ab0b3b50db9cd1230430b987975a8','shell',0,'always','user',NULL,NULL,'release','once',NULL,'',1794724667990757,'ada',1794724668100203,3,'ada (--yes)',1794724667990757,'cli','414f81130ab11f651c78d825301b6b8d',NULL,'','','ask','');
INSERT INTO "tasks" VALUES(2,'fine-9dsbdx','shell','done','fine','fine','true && true','{"commands": [["true"], "true"], "cwd": "/", "before": ["true"], "lastly": ["true"]}',NULL,NULL,'{"grace": 5.0}','/','084ab0b3b50db9cd1230430b987975a8','shell',1,'always','chat-1','chat-1','m-1',NULL,NULL,NULL,'',1794724668070560,'ada',1794724668086985,2,'judge',1794724668070560,'python','ec4e633a21f2cf42dabb1f987f709cff',NULL,'','','contained','');
INSERT INTO "tasks" VALUES(3,'stopped-mpvq5t','shell','cancelled','stopped','stopped','sleep 1000','{"commands": ["sleep 1000"], "cwd": "/"}',NULL,NULL,'{"grace": 5.0}','/','084ab0b3b50db9cd1230430b987975a8','shell',1,'always','user',NULL,NULL,NULL,NULL,NULL,'',1794724668101371,'ada',1794724668309255,4,'ada (--yes)',1794724668101371,'cli','5652e2dd312b66e30d3cfb367758f46b',NULL,'','','ask','');
INSERT INTO "tasks" VALUES(4,'skipped-737ecv','shell','failed','skipped','skipped','true','{"commands": ["true"], "cwd": "/"}',NULL,NULL,'{"grace": 5.0}','/','084ab0b3b50db9cd1230430b987975a8','shell',1,'always','user',NULL,NULL,NULL,NULL,NULL,'failing-gcgwpe',1794724668310231,'ada',1794724668310231,5,'judge',1794724668310231,'python','4d08ca3522bcf95f42536a8ea5b8685c',NULL,'','','auto','');
INSERT INTO "tasks" VALUES(5,'delayed-k9yf5b','shell','active','delayed','delayed','true','{"commands": ["true"], "cwd": "/"}',4102444800000000,NULL,'{"grace": 5.0}','/','084ab0b3b50db9cd1230430b987975a8','shell',1,'always','user',NULL,NULL,NULL,NULL,NULL,'',1794724668311112,'ada',1794724668311112,6,'judge',1794724668311112,'python','4d08ca3522bcf95f42536a8ea5b8685c',NULL,'','','auto','');
INSERT INTO "tasks" VALUES(6,'waiting-kckd3a','shell','active','waiting','waiting','true','{"commands": ["true"], "cwd": "/"}',NULL,NULL,'{"grace": 5.0}','/','084ab0b3b50db9cd1230430b987975a8','shell',1,'always','user',NULL,NULL,NULL,NULL,NULL,'delayed-k9yf5b fine-9dsbdx',1794724668311472,'ada',1794724668311472,7,'judge',1794724668311472,'python','4d08ca3522bcf95f42536a8ea5b8685c',NULL,'','','auto','');
INSERT INTO "tasks" VALUES(7,'proposed-4w8k2n','shell','proposed','proposed','proposed','rm -r /tmp/cache','{"commands": [["rm", "-r", "/tmp/cache"]], "cwd": "/"}',NULL,NULL,'{"grace": 5.0}','/','084ab0b3b50db9cd1230430b987975a8','shell',1,'always','user',NULL,NULL,NULL,NULL,NULL,'',1794724668311112,'ada',1794724668311112,8,NULL,NULL,'cli','a289bad961bcaf89c6cf0d6558780d37',NULL,'','','ask','');
CREATE TABLE templates (
    name       TEXT PRIMARY KEY,
    draft      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "templates" VALUES('greet','{"command": "echo hello {{who=world}}"}',1794724668320956);
CREATE TABLE totals (
    name  TEXT NOT NULL,
    kind  TEXT NOT NULL,
    state TEXT NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (name, kind, state)
) WITHOUT ROWID;
CREATE TABLE waits (
    run     INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    on_task INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    PRIMARY KEY (run, on_task)
) WITHOUT ROWID;
INSERT INTO "waits" VALUES(7,5);
CREATE TABLE watches (
    task         INTEGER PRIMARY KEY REFERENCES tasks (seq) ON DELETE CASCADE,
    baseline     TEXT,
    checked_at   INTEGER,
    health       TEXT NOT NULL DEFAULT 'new' CHECK (health IN ('new', 'well', 'failing', 'broken')),
    failures     INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    broken_until INTEGER
);
CREATE UNIQUE INDEX tasks_by_key ON tasks (key) WHERE key IS NOT NULL;
CREATE INDEX tasks_by_batch ON tasks (batch, seq) WHERE batch IS NOT NULL;
CREATE INDEX tasks_by_owner ON tasks (owner, seq);
CREATE UNIQUE INDEX one_live_run ON runs (task) WHERE state IN ('pending', 'running');
CREATE INDEX runs_due ON runs (not_before) WHERE state = 'pending' AND not_before IS NOT NULL;
CREATE INDEX runs_stopping ON runs (seq) WHERE state = 'running' AND stop_requested_at IS NOT NULL;
CREATE INDEX runs_ended ON runs (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX waits_by_task ON waits (on_task);
CREATE INDEX approvals_by_task ON approvals (task, id);
CREATE UNIQUE INDEX one_question ON approvals (task) WHERE state = 'waiting';
CREATE INDEX approvals_waiting ON approvals (expires_at) WHERE state = 'waiting';
CREATE INDEX events_by_task ON events (task, seq);
CREATE INDEX outbox_waiting ON outbox (channel, next_at) WHERE state = 'waiting' AND channel <> 'inbox';
CREATE INDEX outbox_unread ON outbox (target, id) WHERE state = 'waiting' AND channel = 'inbox';
CREATE TRIGGER count_saved AFTER INSERT ON runs WHEN new.completed_at IS NOT NULL BEGIN
    UPDATE counts SET n = n + 1 WHERE state = new.state;
END;
CREATE TRIGGER count_ended AFTER UPDATE OF completed_at ON runs WHEN old.completed_at IS NULL BEGIN
    UPDATE counts SET n = n + 1 WHERE state = new.state;
END;
CREATE TRIGGER count_removed AFTER DELETE ON runs WHEN old.completed_at IS NOT NULL BEGIN
    UPDATE counts SET n = n - 1 WHERE state = old.state;
END;
CREATE INDEX tasks_by_parent ON tasks (parent, seq) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_name ON sessions (name, seq);
CREATE INDEX messages_by_session ON messages (session, seq);
CREATE INDEX exchanges_waiting ON exchanges (run) WHERE waiting IS NOT NULL;
CREATE INDEX outbox_queues ON outbox (channel, target, id) WHERE state = 'waiting' AND channel <> 'inbox';
CREATE INDEX outbox_given_up ON outbox (id) WHERE state IN ('unknown', 'dead');
CREATE INDEX hearings_next ON hearings (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX slots_waiting ON slots (task, slot) WHERE outcome = 'waiting';
CREATE INDEX signals_unheard ON signals (task, seq) WHERE run IS NULL;
CREATE INDEX signals_by_time ON signals (task, at);
CREATE INDEX tasks_standing ON tasks (state, seq) WHERE standing IS NOT NULL;
CREATE INDEX refusals_by_time ON refusals (at);
CREATE INDEX spans_by_run ON spans (run);
CREATE INDEX tasks_by_run ON tasks (created_by, seq) WHERE created_by >= 'run ' AND created_by < 'run!';
CREATE INDEX approvals_for_tasks ON approvals (task) WHERE scope = 'task';
CREATE INDEX runs_ready ON runs (lane, priority, coalesce(place, seq))
    WHERE state = 'pending' AND waits = 0 AND held = 0 AND not_before IS NULL AND paused_at IS NULL;
CREATE INDEX runs_paused ON runs (seq) WHERE state = 'running' AND paused_at IS NOT NULL;
CREATE TRIGGER total_runs AFTER UPDATE OF completed_at ON runs WHEN old.completed_at IS NULL BEGIN
    INSERT INTO run_totals
    SELECT kind, new.lane, new.state, coalesce(new.failure, ''), 
    CASE WHEN took IS NULL THEN 0 WHEN took <= 0.1 THEN 0.1 WHEN took <= 0.5 THEN 0.5 WHEN took <= 1 THEN 1
         WHEN took <= 5 THEN 5 WHEN took <= 15 THEN 15 WHEN took <= 60 THEN 60 WHEN took <= 300 THEN 300
         WHEN took <= 900 THEN 900 WHEN took <= 3600 THEN 3600 WHEN took <= 14400 THEN 14400 ELSE 9e999 END
, 1, coalesce(took, 0) FROM (
        SELECT kind, coalesce(new.elapsed, max(0, new.completed_at - new.started_at) / 1e6) AS took
        FROM tasks WHERE seq = new.task
    ) WHERE true
    ON CONFLICT DO UPDATE SET n = n + 1, seconds = seconds + excluded.seconds;
END;
CREATE TRIGGER total_notices AFTER UPDATE OF state ON outbox
WHEN new.state <> old.state AND new.state <> 'waiting' BEGIN
    INSERT INTO totals VALUES ('notices', new.channel, new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER total_answers AFTER UPDATE OF state ON approvals
WHEN old.state = 'waiting' AND new.state <> 'waiting' BEGIN
    INSERT INTO totals VALUES ('answers', '', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER total_input_tokens AFTER UPDATE OF input_tokens ON exchanges WHEN new.input_tokens > old.input_tokens BEGIN
    INSERT INTO totals VALUES ('input_tokens', '', '', new.input_tokens - old.input_tokens)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER total_output_tokens AFTER UPDATE OF output_tokens ON exchanges WHEN new.output_tokens > old.output_tokens BEGIN
    INSERT INTO totals VALUES ('output_tokens', '', '', new.output_tokens - old.output_tokens)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER total_requests AFTER UPDATE OF requests ON exchanges WHEN new.requests > old.requests BEGIN
    INSERT INTO totals VALUES ('requests', '', '', new.requests - old.requests)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER total_tool_calls AFTER UPDATE OF tool_calls ON exchanges WHEN new.tool_calls > old.tool_calls BEGIN
    INSERT INTO totals VALUES ('tool_calls', '', '', new.tool_calls - old.tool_calls)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER total_cost_microdollars AFTER UPDATE OF cost_microdollars ON exchanges WHEN new.cost_microdollars > old.cost_microdollars BEGIN
    INSERT INTO totals VALUES ('cost_microdollars', '', '', new.cost_microdollars - old.cost_microdollars)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
COMMIT;
PRAGMA user_version = 8;
