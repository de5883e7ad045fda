-- The fleet of version 1, as hosts of that version made it; the tests upgrade it. Nothing here is changed.

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
    kept interval not null default '1 day'            -- how long an acknowledged run can be looked at
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
    version text not null
);
create unique index one_host_of_a_name on fleet.hosts (name) where state <> 'gone';

-- Lanes with a limit over the whole fleet; `used` counts runs that are offered or taken.
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
    policy text not null check (policy in ('lost', 'again')),
    body jsonb not null,
    state text not null default 'queued' check (state in ('queued', 'offered', 'taken', 'ended')),
    attempt integer not null default 0,
    host text,
    epoch bigint,
    job bigint,
    offered timestamptz,
    stop_grace float8,
    followed_until timestamptz not null default '-infinity',
    view jsonb not null default '{}',
    outcome jsonb,
    ended timestamptz,
    acked boolean not null default false,
    goes_on boolean not null default false, -- whether its task does, as its home said when it acknowledged the end
    unique (home, key),
    check ((state = 'taken') <= (host is not null and epoch is not null)),
    check ((state = 'ended') = (outcome is not null))
);
create index queued_runs on fleet.runs (selector, lane, priority, place) where state = 'queued';
create index offered_runs on fleet.runs (selector) where state = 'offered';
create index taken_runs on fleet.runs (host) where state = 'taken';
create index results on fleet.runs (home) where state in ('taken', 'ended') and not acked;
create index kept_runs on fleet.runs (ended) where acked;
create index runs_by_place on fleet.runs (place);
create index runs_by_task on fleet.runs (task collate "C");
create index runs_by_key on fleet.runs (key);

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
    wish text not null check (wish in ('cancel')),
    body jsonb not null,
    author text not null,
    made timestamptz not null default clock_timestamp(),
    reply text
);
create unique index open_requests on fleet.requests (home, task, wish) where reply is null;

-- Admission: which queued runs are offered now, as jobs on the wire.
--
-- Order of locks, so that no two calls wait for each other: the gate, a host, a run, the lanes. Queued runs are
-- only locked if no other call has them.

-- Open the gate: every call that offers, takes or ends runs does this first. Changing the limit of a lane closes
-- it for a moment, so that nothing is under way while its runs are counted.
create or replace function fleet.enter() returns void language sql as $$
    select pg_advisory_xact_lock_shared(7203331, 1)
$$;

-- Return the clock, and note that the server was restarted, or replaced by one that may have lost the last commits.
create or replace function fleet.settle() returns fleet.clock language plpgsql as $$
declare
    c fleet.clock;
    here text := substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
    since timestamptz := pg_postmaster_start_time();
begin
    select * into c from fleet.clock;
    if c.timeline = here and c.started = since then
        return c;
    end if;
    select * into c from fleet.clock for update;
    if c.timeline is distinct from here or c.started is distinct from since then
        update fleet.clock set
            timeline = here,
            started = since,
            quiet_until = case when c.started is null then quiet_until else clock_timestamp() + quiet end,
            settling_until = case
                when c.timeline is distinct from here and c.timeline is not null then clock_timestamp() + quiet
                else settling_until
            end
        returning * into c;
    end if;
    return c;
end
$$;

create or replace function fleet.matches(selector text, h fleet.hosts) returns boolean language sql immutable as $$
    select selector in ('*', h.name) or selector = any (h.labels)
$$;

create or replace function fleet.selectors_of(h fleet.hosts) returns text[] language sql immutable as $$
    select array['*', h.name] || h.labels
$$;

-- The queue of procrastinate for a selector: its channel would be too long for PostgreSQL otherwise.
create or replace function fleet.queue_of(selector text) returns text language sql immutable as $$
    select case when octet_length(selector) <= 32 then selector else md5(selector) end
$$;

create or replace function fleet.wake(home text) returns void language sql as $$
    select pg_notify('fleet#' || md5(home), '')
$$;

-- How many more offers of a selector the wire takes: at most two for every slot that is free.
create or replace function fleet.room(wanted text) returns integer language sql as $$
    select 2 * coalesce((
        select sum(greatest(slots - (
            select count(*) from fleet.runs r where r.host = h.id and r.state = 'taken'
        ), 0)) from fleet.hosts h
        where state = 'up' and lease_until > clock_timestamp() and fleet.matches(wanted, h)
    ), 0)::integer - (select count(*) from fleet.runs where state = 'offered' and selector = wanted)::integer
$$;

-- Count one more run in a lane, if it has room. A lane without a limit is not counted.
create or replace function fleet.enter_lane(its_name text) returns boolean language plpgsql as $$
begin
    perform 1 from fleet.lanes where name = its_name;
    if not found then
        return true;
    end if;
    -- One call at a time, because one that holds a lane may need another.
    perform pg_advisory_xact_lock(7203331, 2);
    update fleet.lanes set used = used + 1 where name = its_name and used < width;
    return found;
end
$$;

create or replace function fleet.leave_lane(its_name text) returns void language plpgsql as $$
begin
    perform 1 from fleet.lanes where name = its_name;
    if found then
        perform pg_advisory_xact_lock(7203331, 2);
        update fleet.lanes set used = used - 1 where name = its_name;
    end if;
end
$$;

create or replace function fleet.defer(r fleet.runs) returns bigint language plpgsql as $$
declare
    jobs bigint[];
begin
    -- The first priority of ours is the lowest number, the first of the wire the highest.
    jobs := procrastinate_defer_jobs_v1(array[
        row(fleet.queue_of(r.selector), 'offer', -r.priority, null, null, jsonb_build_object('number', r.number), null)
    ]::procrastinate_job_to_defer_v1[]);
    return jobs[1];
end
$$;

-- The lanes in which runs wait for one of these selectors.
create or replace function fleet.waiting_lanes(selectors text[]) returns text[] language sql as $$
    with recursive waiting as (
        select s as wanted, (
            select lane from fleet.runs where state = 'queued' and selector = s order by lane limit 1
        ) as lane from unnest(selectors) s
        union all
        select w.wanted, (
            select lane from fleet.runs
            where state = 'queued' and selector = w.wanted and lane > w.lane order by lane limit 1
        ) from waiting w where w.lane is not null
    )
    select array_agg(distinct lane) from waiting where lane is not null
$$;

-- Find the next run that waits for one of these selectors in one of these lanes, lock it, and count it in its lane.
-- The lanes that turn out to be full are left out of those that are returned.
create or replace function fleet.next_queued(
    selectors text[], inout lanes text[], out run fleet.runs
) language plpgsql as $$
declare
    head record;
begin
    while cardinality(lanes) > 0 loop
        select s.selector, l.lane into head
        from unnest(selectors) s (selector) cross join unnest(lanes) l (lane) cross join lateral (
            select priority, place from fleet.runs
            where state = 'queued' and selector = s.selector and lane = l.lane order by priority, place limit 1
        ) first order by first.priority, first.place limit 1;
        exit when not found;
        select * into run from fleet.runs
        where state = 'queued' and selector = head.selector and lane = head.lane
        order by priority, place limit 1 for update skip locked;
        if found and fleet.enter_lane(head.lane) then
            return;
        end if;
        lanes := array_remove(lanes, head.lane);
    end loop;
    run := null;
end
$$;

-- Offer what there is room for: of one selector in one lane, or of all.
create or replace function fleet.admit(one_selector text default null, one_lane text default null)
returns void language plpgsql as $$
declare
    wanted text := one_selector;
    lanes text[];
    room integer;
    next record;
begin
    loop
        if one_selector is null then
            -- The next selector that anything waits for, by the index.
            select selector into wanted from fleet.runs
            where state = 'queued' and selector > coalesce(wanted, '') order by selector limit 1;
            exit when not found;
        end if;
        room := fleet.room(wanted);
        if room > 0 then
            lanes := case when one_lane is null then fleet.waiting_lanes(array[wanted]) else array[one_lane] end;
            while room > 0 loop
                next := fleet.next_queued(array[wanted], lanes);
                exit when (next.run).number is null;
                lanes := next.lanes;
                update fleet.runs set state = 'offered', offered = clock_timestamp(), job = fleet.defer(next.run)
                where number = (next.run).number;
                room := room - 1;
            end loop;
        end if;
        exit when one_selector is not null;
    end loop;
end
$$;

-- Take back offers that nobody took for a while: their job was lost, or their hosts are. Then offer again.
create or replace function fleet.sweep(c fleet.clock) returns void language plpgsql as $$
declare
    r fleet.runs;
begin
    for r in
        select * from fleet.runs where state = 'offered' and offered < clock_timestamp() - c.unclaimed
        for update skip locked
    loop
        perform procrastinate_cancel_job_v1(r.job, false, true);
        update fleet.runs set state = 'queued', job = null where number = r.number;
        perform fleet.leave_lane(r.lane);
    end loop;
    perform fleet.admit();
    if c.cleaned < clock_timestamp() - interval '1 minute' then
        update fleet.clock set cleaned = clock_timestamp();
        delete from fleet.runs where acked and ended < clock_timestamp() - c.kept;
        delete from fleet.requests where reply is not null and made < clock_timestamp() - c.kept;
        delete from procrastinate_jobs j where not exists (
            select from fleet.runs where job = j.id and state = 'offered'
        );
    end if;
end
$$;

-- Limit a lane over the whole fleet, or, with null, no longer.
create or replace function fleet.set_lane(its_name text, new_width integer) returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock(7203331, 1);
    if new_width is null then
        delete from fleet.lanes where name = its_name;
    else
        insert into fleet.lanes (name, width, used)
        select its_name, new_width, count(*) from fleet.runs where lane = its_name and state in ('offered', 'taken')
        on conflict (name) do update set width = new_width;
    end if;
    perform fleet.admit();
end
$$;

-- Hosts: leases and epochs. A host that is given up gets a new epoch; what it says under the old one is refused.

create or replace function fleet.join(
    host text, new_name text, new_labels text[], new_slots integer, new_version text, new_boot text,
    out epoch bigint, out seconds float8, out renewal float8, out taken_by text
) language plpgsql as $$
declare
    c fleet.clock;
    instant timestamptz;
begin
    perform fleet.enter();
    c := fleet.settle();
    seconds := extract(epoch from c.lease);
    renewal := extract(epoch from c.renewal);
    select id into taken_by from fleet.hosts h where h.name = new_name and h.id <> host and h.state <> 'gone';
    if found then
        return;
    end if;
    instant := clock_timestamp();
    insert into fleet.hosts as h
        (id, name, labels, slots, free, state, epoch, lease_until, renewed, steady_since, boot, version)
    values (
        host, new_name, new_labels, new_slots, new_slots, 'up', 1, instant + c.lease, instant, instant,
        new_boot, new_version
    )
    on conflict (id) do update set
        name = new_name, labels = new_labels, slots = new_slots, boot = new_boot, version = new_version,
        -- A host that only restarts keeps its epoch and with it its runs; one that was given up has a new one.
        state = case when h.state = 'gone' then 'up' else h.state end,
        lease_until = instant + c.lease, renewed = instant, steady_since = instant
    returning h.epoch into epoch;
    perform fleet.admit();
end
$$;

-- Extend a lease, and return what the fleet wants of the host; null means that it was given up.
create or replace function fleet.renew(
    host text, its_epoch bigint, new_free integer,
    numbers bigint[], attempts integer[], starts bigint[], contents bytea[]
) returns jsonb language plpgsql as $$
declare
    c fleet.clock;
    h fleet.hosts;
    instant timestamptz;
begin
    perform fleet.enter();
    c := fleet.settle();
    instant := clock_timestamp();
    update fleet.hosts set
        -- A server that lost its last commits may have lost a newer epoch of this host, too.
        epoch = its_epoch,
        lease_until = instant + c.lease,
        steady_since = case when renewed < instant - c.lease / 2 then instant else least(steady_since, instant) end,
        renewed = instant,
        free = new_free
    where id = host and state <> 'gone'
        and (epoch = its_epoch or (epoch < its_epoch and instant < c.settling_until))
    returning * into h;
    if not found then
        return null;
    end if;
    perform fleet.keep_output(host, its_epoch, numbers, attempts, starts, contents, true);
    if instant >= c.settling_until then
        perform fleet.sweep(c);
    end if;
    return jsonb_build_object(
        'draining', h.state = 'draining',
        'settling', instant < c.settling_until,
        'timeline', c.timeline,
        'stops', coalesce((
            select jsonb_agg(jsonb_build_array(number, attempt, stop_grace)) from fleet.runs r
            where r.host = h.id and state = 'taken' and stop_grace is not null
        ), '[]'),
        'followed', coalesce((
            select jsonb_agg(number) from fleet.runs r
            where r.host = h.id and state = 'taken' and followed_until > instant
        ), '[]')
    );
end
$$;

create or replace function fleet.drain(host_name text, wanted boolean) returns boolean language plpgsql as $$
declare
    host text;
begin
    perform fleet.enter();
    update fleet.hosts set state = case when wanted then 'draining' else 'up' end
    where name = host_name and state <> 'gone' returning id into host;
    if not found then
        return false;
    end if;
    perform fleet.wake(host);
    perform fleet.admit();
    return true;
end
$$;

-- Give up a host, whose row is locked: from now on it is refused, and its runs are handled by their policy.
create or replace function fleet.give_up(h fleet.hosts, why text) returns void language plpgsql as $$
declare
    r fleet.runs;
begin
    update fleet.hosts set state = 'gone', epoch = epoch + 1, free = 0 where id = h.id;
    for r in select * from fleet.runs where host = h.id and state = 'taken' order by number for update loop
        if r.stop_grace is not null then
            update fleet.runs set state = 'ended', ended = clock_timestamp(), outcome = '{"stop": "cancel"}'
            where number = r.number;
        elsif fleet.may_run_again(r) then
            update fleet.runs set state = 'queued', job = null, view = '{}' where number = r.number;
        else
            update fleet.runs set state = 'ended', ended = clock_timestamp(), outcome = jsonb_build_object('lost', why)
            where number = r.number;
        end if;
        perform fleet.leave_lane(r.lane);
        perform fleet.wake(r.home);
    end loop;
    perform fleet.wake(h.id);
    perform fleet.admit();
end
$$;

create or replace function fleet.leave(host text, its_epoch bigint) returns void language plpgsql as $$
declare
    h fleet.hosts;
begin
    perform fleet.enter();
    select * into h from fleet.hosts where id = host and epoch = its_epoch and state <> 'gone' for update;
    if found then
        perform fleet.give_up(h, format('the host %s left the fleet', h.name));
    end if;
end
$$;

-- Give up hosts whose lease is long over. The caller must have been in touch all the time, and so must the server
-- have been: after an outage every lease looks over.
create or replace function fleet.reap(caller text, its_epoch bigint) returns integer language plpgsql as $$
declare
    c fleet.clock;
    h fleet.hosts;
    instant timestamptz;
    given_up integer := 0;
begin
    perform fleet.enter();
    c := fleet.settle();
    instant := clock_timestamp();
    -- A clock that was set back would let hosts live for ever, and keep the fleet quiet.
    update fleet.hosts set lease_until = instant + c.lease where lease_until > instant + c.lease;
    update fleet.clock set quiet_until = least(quiet_until, instant + quiet),
        settling_until = least(settling_until, instant + quiet)
    where quiet_until > instant + quiet or settling_until > instant + quiet;
    if instant < c.quiet_until or instant < c.settling_until then
        return 0;
    end if;
    perform 1 from fleet.hosts
    where id = caller and epoch = its_epoch and state <> 'gone' and lease_until > instant
        and steady_since <= instant - c.steady and renewed > instant - c.lease / 2;
    if not found then
        return 0;
    end if;
    for h in
        select * from fleet.hosts where state <> 'gone' and lease_until < instant - c.slack order by id
        for update skip locked
    loop
        perform fleet.give_up(h, format('the host %s was not heard of for %s seconds', h.name,
            round(extract(epoch from instant - h.renewed))));
        given_up := given_up + 1;
    end loop;
    return given_up;
end
$$;

create or replace function fleet.list_hosts() returns table (
    id text, name text, labels text[], state text, slots integer, running integer, seen float8, version text, epoch bigint
) language sql stable as $$
    select id, name, labels, state, slots,
        (select count(*)::integer from fleet.runs r where r.host = h.id and r.state = 'taken'),
        greatest(extract(epoch from clock_timestamp() - renewed), 0)::float8, version, epoch
    from fleet.hosts h order by state = 'gone', name, id
$$;

-- Runs: offered by the home that has the task, taken by one host at a time, and ended once.

-- A run has the same number whenever its home offers it, so that a server that lost the offer gives it again.
create or replace function fleet.number_of(home text, key text) returns bigint language sql immutable as $$
    select ('x' || substr(md5(home || chr(10) || key), 1, 13))::bit(52)::bigint
$$;

create or replace function fleet.offer(
    new_home text, new_key text, new_task text, new_selector text, new_lane text, new_priority integer,
    new_policy text, new_body jsonb, had_host boolean
) returns bigint language plpgsql as $$
declare
    c fleet.clock;
    wanted bigint := fleet.number_of(new_home, new_key);
begin
    perform fleet.enter();
    c := fleet.settle();
    if had_host and new_policy = 'lost' then
        -- If it is unknown here, the server lost that a host took it. While the fleet settles that host can say so;
        -- after that nobody knows how it ended, and it must not run a second time.
        if clock_timestamp() >= c.settling_until then
            insert into fleet.runs
                (number, home, key, task, selector, lane, priority, policy, body, state, ended, outcome)
            values (
                wanted, new_home, new_key, new_task, new_selector, new_lane, new_priority, new_policy, new_body,
                'ended', clock_timestamp(), jsonb_build_object('lost', 'the fleet''s database lost track of it')
            ) on conflict (home, key) do nothing;
        end if;
        return wanted;
    end if;
    insert into fleet.runs (number, home, key, task, selector, lane, priority, policy, body)
    values (wanted, new_home, new_key, new_task, new_selector, new_lane, new_priority, new_policy, new_body)
    on conflict (home, key) do nothing;
    if found then
        -- Whatever else waits was offered as far as there is room.
        perform fleet.admit(new_selector, new_lane);
        -- Hosts that are about to end a run take what is queued; one that ends it this very moment has to look again.
        perform pg_notify('procrastinate_queue_v1#' || fleet.queue_of(new_selector), '');
    end if;
    return wanted;
end
$$;

-- End a run that no host has any more, whose row is locked.
create or replace function fleet.end_run(r fleet.runs, its_outcome jsonb) returns void language plpgsql as $$
begin
    update fleet.runs set state = 'ended', ended = clock_timestamp(), outcome = its_outcome where number = r.number;
    if r.state in ('offered', 'taken') then
        perform fleet.leave_lane(r.lane);
    end if;
    perform fleet.wake(r.home);
end
$$;

create or replace function fleet.cancel(its_home text, its_key text, grace float8) returns void language plpgsql as $$
declare
    r fleet.runs;
begin
    perform fleet.enter();
    select * into r from fleet.runs where home = its_home and key = its_key for update;
    if r.state in ('queued', 'offered') then
        if r.job is not null then
            perform procrastinate_cancel_job_v1(r.job, false, true);
        end if;
        perform fleet.end_run(r, '{"stop": "cancel"}');
        perform fleet.admit();
    elsif r.state = 'taken' then
        update fleet.runs set stop_grace = least(stop_grace, grace) where number = r.number;
        perform fleet.wake(r.host);
    end if;
end
$$;

-- Take a run for a host that is up and whose lease holds; no row means that it may not. It was offered, or it is
-- still queued and counted in its lane.
create or replace function fleet.take(its_number bigint, its_host text, its_epoch bigint, its_state text)
returns setof fleet.runs language plpgsql as $$
declare
    c fleet.clock;
    h fleet.hosts;
    r fleet.runs;
begin
    c := fleet.settle();
    -- It may not be given up meanwhile; that it renews its lease or takes another run disturbs nobody.
    select * into h from fleet.hosts where id = its_host for key share;
    if h.epoch is distinct from its_epoch or h.state = 'gone' or h.lease_until <= clock_timestamp() then
        return;
    end if;
    select * into r from fleet.runs where number = its_number for update;
    if r.state = 'taken' and r.host = its_host and r.epoch = its_epoch then
        return next r;
        return;
    end if;
    if r.state is distinct from its_state or h.state <> 'up' or not fleet.matches(r.selector, h)
        or clock_timestamp() < c.settling_until
    then
        return;
    end if;
    update fleet.runs set state = 'taken', attempt = attempt + 1, host = its_host, epoch = its_epoch, job = null
    where number = its_number returning * into r;
    perform fleet.wake(r.home);
    return next r;
end
$$;

-- Whether a host has this attempt: 'yes', 'no', or 'settling' while the server may have lost that it has.
create or replace function fleet.has(r fleet.runs, its_attempt integer, its_host text, its_epoch bigint)
returns text language plpgsql as $$
begin
    if r.state = 'taken' and r.attempt = its_attempt and r.host = its_host and r.epoch = its_epoch then
        return 'yes';
    end if;
    return case when clock_timestamp() < (fleet.settle()).settling_until then 'settling' else 'no' end;
end
$$;

create or replace function fleet.report(
    its_number bigint, its_attempt integer, its_host text, its_epoch bigint, new_view jsonb
) returns text language plpgsql as $$
declare
    r fleet.runs;
    answer text;
begin
    select * into r from fleet.runs where number = its_number for update;
    answer := fleet.has(r, its_attempt, its_host, its_epoch);
    if answer = 'yes' then
        update fleet.runs set view = new_view where number = its_number;
        perform fleet.wake(r.home);
    end if;
    return answer;
end
$$;

create or replace function fleet.finish(
    its_number bigint, its_attempt integer, its_host text, its_epoch bigint, its_outcome jsonb
) returns text language plpgsql as $$
declare
    r fleet.runs;
    answer text;
begin
    perform 1 from fleet.hosts where id = its_host for key share;
    select * into r from fleet.runs where number = its_number for update;
    if r.state = 'ended' and r.attempt = its_attempt and r.host = its_host and r.epoch = its_epoch
        and r.outcome = its_outcome
    then
        return 'yes'; -- it was said before, and the reply was lost
    end if;
    answer := fleet.has(r, its_attempt, its_host, its_epoch);
    if answer = 'yes' then
        perform fleet.end_run(r, its_outcome);
    end if;
    return answer;
end
$$;

-- List the runs that a host has, as far as the fleet knows.
create or replace function fleet.held(its_host text, its_epoch bigint) returns setof fleet.runs language sql stable as $$
    select * from fleet.runs where host = its_host and epoch = its_epoch and state = 'taken' order by number
$$;

-- Let a host have again what it took, after the server lost its last commits; return the numbers that are refused.
create or replace function fleet.affirm(its_host text, its_epoch bigint, claims jsonb)
returns setof bigint language plpgsql as $$
declare
    c fleet.clock;
    h fleet.hosts;
    r fleet.runs;
    claim jsonb;
    its_number bigint;
    its_attempt integer;
begin
    perform fleet.enter();
    c := fleet.settle();
    select * into h from fleet.hosts where id = its_host and epoch = its_epoch and state <> 'gone' for update;
    for claim in select value from jsonb_array_elements(claims) order by value->>'home', value->>'key' loop
        its_number := fleet.number_of(claim->>'home', claim->>'key');
        its_attempt := (claim->>'attempt')::integer;
        if h.id is not null and clock_timestamp() < c.settling_until then
            insert into fleet.runs (number, home, key, task, selector, lane, priority, policy, body)
            values (
                its_number, claim->>'home', claim->>'key', claim->>'task', claim->>'selector', claim->>'lane',
                (claim->>'priority')::integer, claim->>'policy', claim->'body'
            ) on conflict (home, key) do nothing;
        end if;
        select * into r from fleet.runs where number = its_number for update;
        if h.id is null then
            return next its_number;
        elsif r.state = 'taken' and r.host = its_host and r.attempt = its_attempt then
            update fleet.runs set epoch = its_epoch where number = its_number;
        elsif r.state in ('queued', 'offered') and r.attempt < its_attempt and clock_timestamp() < c.settling_until
        then
            if r.state = 'queued' then
                -- It runs already, whether its lane has room or not.
                perform pg_advisory_xact_lock(7203331, 2);
                update fleet.lanes set used = used + 1 where name = r.lane;
            else
                perform procrastinate_cancel_job_v1(r.job, false, true);
            end if;
            update fleet.runs set state = 'taken', attempt = its_attempt, host = its_host, epoch = its_epoch, job = null
            where number = its_number;
            perform fleet.wake(r.home);
        else
            return next its_number;
        end if;
    end loop;
end
$$;

-- What homes see of runs.
create or replace view fleet.placements as
    select r.number, r.place, r.home, r.key, r.task, r.state, r.attempt, coalesce(h.name, '') as host, r.selector,
        r.lane, r.view, r.outcome, r.acked
    from fleet.runs r
    left join fleet.hosts h on h.id = r.host;

create or replace function fleet.results(its_home text) returns setof fleet.placements language sql stable as $$
    select * from fleet.placements where home = its_home and state in ('taken', 'ended') and not acked order by place
$$;

-- Note that a home has recorded these ends, and which of their tasks go on after them.
create or replace function fleet.acknowledge(its_home text, keys text[], continued text[]) returns void language sql as $$
    update fleet.runs set acked = true, goes_on = key = any (continued)
    where home = its_home and key = any (keys) and state = 'ended'
$$;

create or replace function fleet.placed(most integer) returns setof fleet.placements language sql stable as $$
    select * from fleet.placements order by place desc limit most
$$;

-- A turn of a host: one transaction that records how its runs ended, and takes what there is room for then.

-- Take what is offered on the wire, at most so many. The job of an offer ends here: from now on the run itself counts.
create or replace function fleet.take_offered(h fleet.hosts, most integer) returns setof fleet.runs language plpgsql as $$
declare
    selectors text[] := fleet.selectors_of(h);
    queues text[];
    job procrastinate_jobs;
    taken integer := 0;
begin
    if most <= 0 or not exists (select from fleet.runs where state = 'offered' and selector = any (selectors)) then
        return;
    end if;
    select array_agg(distinct fleet.queue_of(s)) into queues from unnest(selectors) s;
    while taken < most loop
        job := procrastinate_fetch_job_v2(queues, null);
        exit when job.id is null;
        perform procrastinate_finish_job_v1(job.id, 'succeeded', true);
        return query select * from fleet.take((job.args->>'number')::bigint, h.id, h.epoch, 'offered');
        if found then
            taken := taken + 1;
        end if;
    end loop;
end
$$;

-- Take what is queued and has room in its lane, at most so many.
create or replace function fleet.take_queued(h fleet.hosts, most integer) returns setof fleet.runs language plpgsql as $$
declare
    selectors text[] := fleet.selectors_of(h);
    lanes text[];
    next record;
begin
    if most > 0 then
        lanes := fleet.waiting_lanes(selectors);
    end if;
    for _ in 1 .. most loop
        next := fleet.next_queued(selectors, lanes);
        lanes := next.lanes;
        exit when (next.run).number is null;
        return query select * from fleet.take((next.run).number, h.id, h.epoch, 'queued');
        if not found then
            perform fleet.leave_lane((next.run).lane);
            exit;
        end if;
    end loop;
end
$$;

-- Each end is answered as `fleet.finish` has it; the other rows are runs that the host has from now on. What it has
-- without knowing is among them, because a reply can be lost. Of runs that nobody has, what is offered comes first. A
-- host that is never idle takes what is queued without an offer, which saves most of the work.
create or replace function fleet.turn(
    its_host text, its_epoch bigint, numbers bigint[], attempts integer[], outcomes jsonb[],
    is_taking boolean, known bigint[]
) returns table (answer text, run fleet.runs) language plpgsql as $$
declare
    c fleet.clock;
    h fleet.hosts;
    ended record;
    free integer;
begin
    perform fleet.enter();
    c := fleet.settle();
    for ended in
        select e.number, e.attempt, e.outcome from unnest(numbers, attempts, outcomes) as e (number, attempt, outcome)
        order by e.number
    loop
        answer := fleet.finish(ended.number, ended.attempt, its_host, its_epoch, ended.outcome);
        run.number := ended.number;
        return next;
    end loop;
    answer := null;
    if is_taking then
        for run in select * from fleet.held(its_host, its_epoch) t where t.number <> all (known) loop
            return next;
        end loop;
        select * into h from fleet.hosts where id = its_host and epoch = its_epoch and state = 'up';
        if found and clock_timestamp() >= c.settling_until then
            free := h.slots - (select count(*) from fleet.runs r where r.host = its_host and r.state = 'taken');
            for run in select * from fleet.take_offered(h, free) loop
                free := free - 1;
                return next;
            end loop;
            for run in select * from fleet.take_queued(h, free) loop
                return next;
            end loop;
        end if;
    end if;
    -- If this host took what it could, then other hosts only get more from lanes that have a limit, and room now.
    if cardinality(numbers) > 0 and (not is_taking or exists (select from fleet.lanes)) then
        perform fleet.admit();
    end if;
end
$$;

-- Loss: what becomes of a run whose host was given up, or does not know how it ended.

-- Whether another host may begin a run that was lost. A run that was lost three times may be what its hosts die of.
create or replace function fleet.may_run_again(r fleet.runs) returns boolean language sql immutable as $$
    select r.policy = 'again' and r.stop_grace is null and r.attempt < 3
$$;

-- Record that the host of a run lost it, although the host itself is there: what ran was ended by its fuse, or by a
-- reboot.
create or replace function fleet.lose(
    its_number bigint, its_attempt integer, its_host text, its_epoch bigint, why text
) returns text language plpgsql as $$
declare
    r fleet.runs;
    answer text;
begin
    perform fleet.enter();
    perform 1 from fleet.hosts where id = its_host for key share;
    select * into r from fleet.runs where number = its_number for update;
    if not fleet.may_run_again(r) then
        answer := fleet.finish(its_number, its_attempt, its_host, its_epoch, jsonb_build_object('lost', why));
    else
        answer := fleet.has(r, its_attempt, its_host, its_epoch);
        if answer = 'yes' then
            update fleet.runs set state = 'queued', job = null, view = '{}' where number = r.number;
            perform fleet.leave_lane(r.lane);
            perform fleet.wake(r.home);
        end if;
    end if;
    if answer = 'yes' then
        perform fleet.admit();
    end if;
    return answer;
end
$$;

-- Agents on other hosts: what they did so far, and answers to what they ask.

-- What an agent did, in order, for its home to show.
create table if not exists fleet.agent_events (
    number bigint not null references fleet.runs on delete cascade,
    attempt integer not null,
    n integer not null,
    body jsonb not null,
    primary key (number, attempt, n)
);

-- Answers of a person at home to what the agent asks about, by the number of the question on its host.
create table if not exists fleet.agent_answers (
    number bigint not null references fleet.runs on delete cascade,
    attempt integer not null,
    question bigint not null,
    answer jsonb not null,
    primary key (number, attempt, question)
);

-- Store what an agent did in an attempt, from the n-th on; what is known stays as it is.
create or replace function fleet.keep_events(
    its_number bigint, its_attempt integer, its_host text, its_epoch bigint, since integer, bodies jsonb
) returns text language plpgsql as $$
declare
    r fleet.runs;
    answer text;
begin
    select * into r from fleet.runs where number = its_number for update;
    answer := fleet.has(r, its_attempt, its_host, its_epoch);
    if answer = 'yes' then
        insert into fleet.agent_events (number, attempt, n, body)
        select its_number, its_attempt, since + place - 1, value
        from jsonb_array_elements(bodies) with ordinality as b (value, place)
        on conflict do nothing;
        perform fleet.wake(r.home);
    end if;
    return answer;
end
$$;

create or replace function fleet.list_events(its_number bigint, skipped integer) returns setof jsonb
language sql stable as $$
    select body from fleet.agent_events where number = its_number order by attempt, n offset skipped
$$;

-- Answer a question of the host that has a run; the first answer counts.
create or replace function fleet.answer_agent(its_number bigint, its_attempt integer, its_question bigint, its_answer jsonb)
returns void language plpgsql as $$
declare
    r fleet.runs;
begin
    select * into r from fleet.runs where number = its_number and attempt = its_attempt and state = 'taken' for update;
    if found then
        insert into fleet.agent_answers (number, attempt, question, answer)
        values (its_number, its_attempt, its_question, its_answer) on conflict do nothing;
        perform fleet.wake(r.host);
    end if;
end
$$;

-- List the answers to questions about the runs that a host has.
create or replace function fleet.list_answers(its_host text, its_epoch bigint)
returns table (number bigint, attempt integer, question bigint, answer jsonb) language sql stable as $$
    select a.number, a.attempt, a.question, a.answer
    from fleet.runs r join fleet.agent_answers a on a.number = r.number and a.attempt = r.attempt
    where r.host = its_host and r.epoch = its_epoch and r.state = 'taken'
$$;

-- Output of runs: bounded, and written only by the host that has the run.

-- Of each attempt the fleet keeps the first and the last 512 KiB, and the newest tail that came with a renewal.
create or replace function fleet.keep_output(
    its_host text, its_epoch bigint, numbers bigint[], attempts integer[], starts bigint[], contents bytea[],
    are_tails boolean
) returns void language plpgsql as $$
declare
    most constant bigint := 512 * 1024;
    r record;
    ends bigint;
begin
    for r in
        select p.number, p.attempt, p.start, p.content, run.home, run.followed_until > clock_timestamp() as followed
        from unnest(numbers, attempts, starts, contents) as p (number, attempt, start, content)
        join fleet.runs run on run.number = p.number
        where run.state = 'taken' and run.attempt = p.attempt and run.host = its_host and run.epoch = its_epoch
    loop
        if are_tails then
            delete from fleet.chunks where number = r.number and attempt = r.attempt and is_tail;
        end if;
        insert into fleet.chunks (number, attempt, start, content, is_tail)
        values (r.number, r.attempt, r.start, r.content, are_tails)
        on conflict (number, attempt, start) do update set content = excluded.content
        where length(excluded.content) > length(fleet.chunks.content);
        if not are_tails then
            select max(start + length(content)) into ends from fleet.chunks
            where number = r.number and attempt = r.attempt;
            delete from fleet.chunks
            where number = r.number and attempt = r.attempt and start >= most and start + length(content) <= ends - most;
        end if;
        if r.followed then
            perform fleet.wake(r.home);
        end if;
    end loop;
end
$$;

create or replace function fleet.output(its_number bigint, its_attempt integer, since bigint)
returns table (start bigint, content bytea) language sql stable as $$
    select start, content from fleet.chunks
    where number = its_number and attempt = its_attempt and start + length(content) > since order by start
$$;

create or replace function fleet.follow(its_number bigint, seconds float8) returns void language plpgsql as $$
declare
    its_host text;
begin
    update fleet.runs
    set followed_until = greatest(followed_until, clock_timestamp() + make_interval(secs => seconds))
    where number = its_number and state <> 'ended' returning host into its_host;
    if its_host is not null then
        perform fleet.wake(its_host);
    end if;
end
$$;

-- From anywhere: what every home can see of the tasks of others, and ask of the homes that have them.

-- List the runs of the tasks whose ids begin like this, or the run that has this key; newest first.
create or replace function fleet.find(beginning text) returns table (
    number bigint, home text, key text, task text, state text, attempt integer, host text, selector text, lane text,
    view jsonb, outcome jsonb, body jsonb, home_name text, home_is_up boolean, acked boolean, goes_on boolean,
    ended float8
) language sql stable as $$
    select r.number, r.home, r.key, r.task, r.state, r.attempt, coalesce(h.name, ''), r.selector, r.lane,
        r.view, r.outcome, r.body, coalesce(owner.name, r.home),
        coalesce(owner.state <> 'gone' and owner.lease_until > clock_timestamp(), false), r.acked, r.goes_on,
        extract(epoch from clock_timestamp() - r.ended)::float8
    from fleet.runs r
    left join fleet.hosts h on h.id = r.host
    left join fleet.hosts owner on owner.id = r.home
    where (r.task collate "C" >= beginning and r.task collate "C" < beginning || '~') or r.key = beginning
    order by r.place desc limit 100
$$;

-- Ask the home that has a task to do something with it, once until it has answered; return the request's number.
create or replace function fleet.request(its_home text, its_task text, its_wish text, its_body jsonb, its_author text)
returns bigint language plpgsql as $$
declare
    found_number bigint;
begin
    insert into fleet.requests (home, task, wish, body, author)
    values (its_home, its_task, its_wish, its_body, its_author)
    on conflict (home, task, wish) where reply is null do update set body = its_body, author = its_author
    returning number into found_number;
    perform fleet.wake(its_home);
    return found_number;
end
$$;

create or replace function fleet.requests_of(its_home text)
returns table (number bigint, task text, wish text, body jsonb, author text) language sql stable as $$
    select number, task, wish, body, author from fleet.requests where home = its_home and reply is null order by number
$$;

-- Answer a request: with nothing if it was done, else with why not.
create or replace function fleet.reply(its_home text, its_number bigint, its_reply text) returns void language sql as $$
    update fleet.requests set reply = its_reply where home = its_home and number = its_number and reply is null
$$;

create or replace function fleet.reply_to(its_number bigint) returns text language sql stable as $$
    select reply from fleet.requests where number = its_number
$$;

-- List the lanes that have a limit over the whole fleet, or runs that are not over.
create or replace function fleet.list_lanes() returns table (name text, width integer, running integer, waiting integer)
language sql stable as $$
    with live as (
        select lane, count(*) filter (where state in ('offered', 'taken'))::integer as running,
            count(*) filter (where state = 'queued')::integer as waiting
        from fleet.runs where state in ('queued', 'offered', 'taken') group by lane
    )
    select coalesce(l.name, live.lane), l.width, coalesce(live.running, 0), coalesce(live.waiting, 0)
    from fleet.lanes l full join live on live.lane = l.name order by 1
$$;

-- Rights: a role of a host may call the functions of the protocol, and touch nothing else.
--
-- The owner of the database creates the fleet. Then, for each host or for all of them:
--     create role errands_host login password '...';
--     select fleet.grant_host('errands_host');

create or replace function fleet.version() returns integer language sql stable as $$
    select version from fleet.clock
$$;

do $$
declare
    f record;
begin
    for f in
        select p.oid::regprocedure as called, p.proname as name
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('fleet', 'fleet_wire')
    loop
        execute format('revoke all on function %s from public', f.called);
        -- Not those inside: they have the rights of their caller, and it would cost time at each call.
        if f.name = any (array[
            'version', 'join', 'renew', 'drain', 'leave', 'reap', 'list_hosts', 'set_lane', 'offer', 'cancel', 'turn',
            'report', 'lose', 'held', 'affirm', 'results', 'acknowledge', 'find', 'placed', 'keep_output', 'output',
            'follow', 'keep_events', 'list_events', 'answer_agent', 'list_answers',
            'list_lanes', 'request', 'requests_of', 'reply', 'reply_to'
        ]) then
            execute format(
                'alter function %s security definer set search_path = fleet_wire, fleet, pg_temp', f.called
            );
        end if;
    end loop;
end
$$;

create or replace function fleet.grant_host(role_name text) returns void language plpgsql as $$
declare
    f regprocedure;
begin
    execute format('grant usage on schema fleet, fleet_wire to %I', role_name);
    for f in
        select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('fleet', 'fleet_wire') and p.prosecdef
    loop
        execute format('grant execute on function %s to %I', f, role_name);
    end loop;
end
$$;
revoke all on function fleet.grant_host(text) from public;
