-- The tables of a fleet. Hosts never touch them: they call the functions in the other files.

create table fleet.clock (
    one boolean primary key default true check (one),
    version integer not null,
    -- Which server this is: another timeline after a failover, another start after a restart.
    timeline text,
    started timestamptz,
    -- Nobody is given up before the first; nobody takes a run before the second.
    quiet_until timestamptz not null default '-infinity',
    settling_until timestamptz not null default '-infinity',
    cleaned timestamptz not null default '-infinity',
    -- The durations of the protocol. A host ends its own runs before its lease is over, whatever these say.
    lease interval not null default '30 seconds',     -- how long a renewal holds
    renewal interval not null default '5 seconds',    -- how often hosts renew
    slack interval not null default '10 seconds',     -- how long after its lease a host is given up
    quiet interval not null default '40 seconds',     -- how long nobody is given up after a restart
    steady interval not null default '30 seconds',    -- how long a host renews before it gives up others
    unclaimed interval not null default '10 seconds', -- how long an offer may lie on the wire
    kept interval not null default '1 day',           -- how long an acknowledged run can be looked at
    remembered interval not null default '7 days'     -- how long a host that was given up is listed
);

create table fleet.hosts (
    id text primary key,
    name text not null,
    labels text[] not null,
    slots integer not null check (slots >= 0),
    free integer not null default 0,
    state text not null check (state in ('up', 'draining', 'gone')),
    epoch bigint not null,
    lease_until timestamptz not null,
    renewed timestamptz not null,
    steady_since timestamptz not null,
    boot text not null,
    version text not null,
    has_left boolean not null default false -- by itself, so it is not expected back
);
create unique index one_host_of_a_name on fleet.hosts (name) where state <> 'gone';

-- Lanes with a limit over the whole fleet; `used` counts runs that are offered, or taken and not paused.
create table fleet.lanes (
    name text primary key,
    width integer not null check (width >= 0),
    used integer not null check (used >= 0)
);

create table fleet.runs (
    number bigint primary key,
    place bigint not null generated always as identity, -- the order among runs of one priority
    home text not null,
    key text not null,
    task text not null,
    selector text not null,
    lane text not null,
    priority integer not null,
    policy text not null check (policy in ('lost', 'again', 'steps')),
    body jsonb not null,
    state text not null default 'queued' check (state in ('queued', 'offered', 'taken', 'ended', 'doubted')),
    attempt integer not null default 0,
    host text,
    epoch bigint,
    job bigint,
    offered timestamptz,
    stop_grace float8,
    paused boolean not null default false, -- a paused run takes no slot of its host, and no room in its lane
    ahead boolean not null default false, -- taken before a slot was free, and not known to have begun
    returned integer not null default 0, -- attempts that were given back before they began
    followed_until timestamptz not null default '-infinity',
    view jsonb not null default '{}',
    outcome jsonb,
    ended timestamptz,
    acked boolean not null default false,
    goes_on boolean not null default false, -- whether its task does, as its home said when it acknowledged the end
    unique (key, home),
    check ((state = 'taken') <= (host is not null and epoch is not null)),
    check ((state = 'ended') = (outcome is not null))
);
create index queued_runs on fleet.runs (selector, lane, priority, place) where state = 'queued';
create index offered_runs on fleet.runs (selector) where state = 'offered';
create index taken_runs on fleet.runs (host) where state = 'taken';
create index results on fleet.runs (home) where state in ('taken', 'ended', 'doubted') and not acked;
create index kept_runs on fleet.runs (ended) where acked;
create index runs_by_place on fleet.runs (place);
create index runs_by_task on fleet.runs (task collate "C");

-- A run as its home offers it. Of one that had a host, its home knows that a host took it.
create type fleet.offering as (
    home text, key text, task text, selector text, lane text, priority integer, policy text, body jsonb,
    had_host boolean
);

-- Output: a tail is replaced by the next one, the rest stays within bounds (see output.sql).
create table fleet.chunks (
    number bigint not null references fleet.runs on delete cascade,
    attempt integer not null,
    start bigint not null,
    content bytea not null,
    is_tail boolean not null,
    primary key (number, attempt, start)
);

-- What other homes want done with a task; its own home does it, and answers.
create table fleet.requests (
    number bigint primary key generated always as identity,
    home text not null,
    task text not null,
    wish text not null check (wish in ('cancel', 'approve', 'reject', 'resume', 'keep', 'send', 'pause', 'unpause')),
    token text not null, -- what makes it the same wish when it is said again
    body jsonb not null,
    author text not null,
    made timestamptz not null default clock_timestamp(),
    reply text, -- empty if it was done, else why not
    result text not null default ''
);
create unique index requests_by_token on fleet.requests (home, task, wish, token) where reply is null;
