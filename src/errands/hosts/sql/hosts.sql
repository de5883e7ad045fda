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
        state = case when h.state = 'gone' then 'up' else h.state end, has_left = false,
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
        ), '[]'),
        'pauses', coalesce((
            select jsonb_agg(jsonb_build_array(r.number, r.paused))
            from fleet.runs r join fleet.pauses p on p.number = r.number where r.host = h.id and r.state = 'taken'
        ), '[]'),
        'inputs', coalesce((
            select jsonb_agg(jsonb_build_array(r.number, last.piece)) from fleet.runs r cross join lateral (
                select piece from fleet.inputs i where i.number = r.number order by piece desc limit 1
            ) last where r.host = h.id and r.state = 'taken'
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
            perform fleet.queue_again(r);
        else
            update fleet.runs set state = 'ended', ended = clock_timestamp(), outcome = jsonb_build_object('lost', why)
            where number = r.number;
        end if;
        if not r.paused then
            perform fleet.leave_lane(r.lane);
        end if;
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
        update fleet.hosts set has_left = true where id = host;
    end if;
end
$$;

-- Give up hosts whose lease expired long ago. The caller must have been in touch all the time, and so must the server
-- have been: after an outage every lease looks expired.
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

-- The hosts that are listed: not one that left, was given up long ago, or was replaced under its name.
create or replace function fleet.known_hosts() returns setof fleet.hosts language sql stable as $$
    select * from fleet.hosts h where state <> 'gone' or not (
        has_left or renewed < clock_timestamp() - (select remembered from fleet.clock)
        or exists (select from fleet.hosts other where other.name = h.name and other.state <> 'gone')
    )
$$;

-- Forget hosts that are no longer listed and that no run names. One that comes back joins like a new one.
create or replace function fleet.forget_hosts() returns void language sql as $$
    delete from fleet.hosts where id in (
        select id from fleet.hosts h
        where state = 'gone' and not exists (select from fleet.known_hosts() known where known.id = h.id)
            and not exists (select from fleet.runs r where r.host = h.id)
            and not exists (select from fleet.runs r where r.home = h.id)
        for update skip locked
    )
$$;

create or replace function fleet.list_hosts() returns table (
    id text, name text, labels text[], state text, slots integer, running integer, seen float8, version text, epoch bigint
) language sql stable as $$
    select id, name, labels, state, slots,
        (
            -- Of what it took ahead, only as much as fits into its slots can be running.
            select greatest(count(*) filter (where not r.ahead), least(count(*), h.slots))::integer
            from fleet.runs r where r.host = h.id and r.state = 'taken' and not r.paused
        ),
        greatest(extract(epoch from clock_timestamp() - renewed), 0)::float8, version, epoch
    from fleet.known_hosts() h order by state = 'gone', name, id
$$;

-- What keeps runs for these hosts or labels, each in a lane, from starting.
create or replace function fleet.outlook(selectors text[], its_lanes text[]) returns table (
    selector text, lane text, is_name boolean, ready integer, others jsonb, width integer, used integer, settling boolean
) language sql stable as $$
    with seen as (
        select s.selector, h.name, case
            when h.state = 'gone' then 'gone'
            when h.lease_until <= clock_timestamp() then 'silent'
            when h.state = 'draining' then 'draining'
            when h.slots = 0 then 'no slots'
            else 'ready'
        end as word
        from (select distinct unnest(selectors) as selector) s
        left join fleet.known_hosts() h on fleet.matches(s.selector, h)
    ),
    fitting as (
        select selector, coalesce(bool_or(name = selector), false) as is_name,
            (count(name) filter (where word = 'ready'))::integer as ready,
            coalesce(jsonb_object_agg(name, word) filter (where name is not null and word <> 'ready'), '{}') as others
        from seen group by selector
    )
    select w.selector, w.lane, is_name, ready, others, l.width, coalesce(l.used, 0),
        clock_timestamp() < (select settling_until from fleet.clock)
    from unnest(selectors, its_lanes) w (selector, lane)
    join fitting using (selector) left join fleet.lanes l on l.name = w.lane
$$;
