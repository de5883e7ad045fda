-- Admission: which queued runs are offered now, as jobs on the wire.
--
-- Order of locks, so that no two calls wait for each other: the gate, a host, a run, the lanes. Queued runs are
-- only locked if no other call has them. A call about several runs takes them one after the other, so two of these may
-- meet in a lane with a limit; PostgreSQL then ends one of them, and it is made again.

-- Open the gate: every call that offers, takes or ends runs does this first. Changing the limit of a lane closes
-- it for a moment, so that nothing is under way while its runs are counted.
create or replace function fleet.enter() returns void language sql as $$
    select pg_advisory_xact_lock_shared(7203331, 1)
$$;

-- Withdraw what no host has, because the server may have lost that it was taken, and even that it ended: no host takes
-- it before its home has said that it still wants it. What was taken ahead may have been given back since, and be on
-- another host, so whoever has it has to say so.
create or replace function fleet.doubt() returns void language plpgsql as $$
begin
    perform procrastinate_cancel_job_v1(job, false, true) from fleet.runs where state = 'offered' and job is not null;
    update fleet.lanes l set used = used - (
        select count(*) from fleet.runs r
        where r.lane = l.name and (r.state = 'offered' or (r.state = 'taken' and r.ahead and not r.paused))
    );
    update fleet.runs set state = 'doubted', job = null where state in ('queued', 'offered');
    perform fleet.keep_back(r) from fleet.runs r where r.state = 'taken' and r.ahead and r.paused;
    update fleet.runs set state = 'doubted' where state = 'taken' and ahead;
end
$$;

-- Return the clock, and note that the server was restarted, or replaced by one that may have lost the last commits.
create or replace function fleet.settle() returns fleet.clock language plpgsql as $$
declare
    c fleet.clock;
    d fleet.clock;
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
        returning * into d;
        if d.settling_until is distinct from c.settling_until then
            perform fleet.doubt();
        end if;
        return d;
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
            select count(*) from fleet.runs r where r.host = h.id and r.state = 'taken' and not r.paused
        ), 0)) from fleet.hosts h
        where state = 'up' and lease_until > clock_timestamp() and fleet.matches(wanted, h)
    ), 0)::integer - (select count(*) from fleet.runs where state = 'offered' and selector = wanted)::integer
$$;

-- How many more runs a lane has room for, until this transaction is over; null for a lane without a limit.
create or replace function fleet.room_in_lane(its_name text) returns integer language plpgsql as $$
declare
    room integer;
begin
    perform 1 from fleet.lanes where name = its_name;
    if found then
        -- One call at a time, because one that holds a lane may need another.
        perform pg_advisory_xact_lock(7203331, 2);
        select greatest(width - used, 0) into room from fleet.lanes where name = its_name;
    end if;
    return room;
end
$$;

-- Count so many more runs in a lane that has room for them. A lane without a limit is not counted.
create or replace function fleet.enter_lane(its_name text, several integer) returns void language sql as $$
    update fleet.lanes set used = used + several where name = its_name
$$;

-- Count one more run in a lane, whether it has room or not: it runs already.
create or replace function fleet.count_in_lane(its_name text) returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock(7203331, 2);
    update fleet.lanes set used = used + 1 where name = its_name;
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
        if found and coalesce(fleet.room_in_lane(head.lane), 1) > 0 then
            perform fleet.enter_lane(head.lane, 1);
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

-- Withdraw offers that no host took for a while: their job was lost, or their hosts are. Then offer again.
create or replace function fleet.sweep(c fleet.clock) returns void language plpgsql as $$
declare
    r fleet.runs;
begin
    for r in
        -- A clock that was set back would leave them where they are for as long.
        select * from fleet.runs
        where state = 'offered' and (offered < clock_timestamp() - c.unclaimed or offered > clock_timestamp())
        for update skip locked
    loop
        perform procrastinate_cancel_job_v1(r.job, false, true);
        update fleet.runs set state = 'queued', job = null where number = r.number;
        perform fleet.leave_lane(r.lane);
    end loop;
    perform fleet.admit();
    if c.cleaned < clock_timestamp() - interval '1 minute' or c.cleaned > clock_timestamp() then
        update fleet.clock set cleaned = clock_timestamp();
        delete from fleet.runs where acked and ended < clock_timestamp() - c.kept;
        delete from fleet.requests where reply is not null and made < clock_timestamp() - c.kept;
        perform fleet.forget_hosts();
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
        select its_name, new_width, count(*) from fleet.runs
        where lane = its_name and state in ('offered', 'taken') and not paused
        on conflict (name) do update set width = new_width;
    end if;
    perform fleet.admit();
end
$$;
