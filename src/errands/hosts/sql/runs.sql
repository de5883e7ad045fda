-- Runs: offered by the home that has the task, taken by one host at a time, and ended once.

-- A run has the same number whenever its home offers it, so that a server that lost the offer gives it again.
create or replace function fleet.number_of(home text, key text) returns bigint language sql immutable as $$
    select ('x' || substr(md5(home || chr(10) || key), 1, 13))::bit(52)::bigint
$$;

-- Offer runs, each an object; return their numbers in the same order.
create or replace function fleet.offer_all(several jsonb) returns setof bigint language plpgsql as $$
declare
    c fleet.clock;
    o fleet.offering[];
    untraced jsonb := jsonb_build_object('lost', 'the fleet''s database lost track of it');
    is_new boolean;
    wanted record;
begin
    perform fleet.enter();
    c := fleet.settle();
    o := array(select jsonb_populate_recordset(null::fleet.offering, several));
    -- If one that had a host is unknown or doubted here, the server lost that a host took it, or, if it was taken ahead,
    -- may have lost that it began. While the fleet settles that host can say so; after that nobody knows how it ended,
    -- and it must not run a second time.
    if clock_timestamp() >= c.settling_until then
        insert into fleet.runs (number, home, key, task, selector, lane, priority, policy, body, state, ended, outcome)
        select fleet.number_of(home, key), home, key, task, selector, lane, priority, policy, body,
            'ended', clock_timestamp(), untraced
        from unnest(o) where had_host and policy <> 'again' on conflict do nothing;
        update fleet.runs r set state = 'ended', ended = clock_timestamp(), outcome = untraced
        from unnest(o) n
        where r.number = fleet.number_of(n.home, n.key) and r.state = 'doubted'
            and (n.had_host or r.ahead) and n.policy <> 'again';
    end if;
    insert into fleet.runs (number, home, key, task, selector, lane, priority, policy, body)
    select fleet.number_of(home, key), home, key, task, selector, lane, priority, policy, body
    from unnest(o) with ordinality where not (had_host and policy <> 'again') order by ordinality
    on conflict do nothing; -- whichever of the two unique keys another offer of the same run has reached by now
    is_new := found;
    update fleet.runs r set state = 'queued', ahead = false from unnest(o) n
    where r.number = fleet.number_of(n.home, n.key) and r.state = 'doubted'
        and not ((n.had_host or r.ahead) and n.policy <> 'again');
    if is_new or found then
        for wanted in select distinct selector, lane from unnest(o) loop
            -- Whatever else waits was offered as far as there is room.
            perform fleet.admit(wanted.selector, wanted.lane);
            -- Hosts that are about to end a run take what is queued; one that ends it this moment has to look again.
            perform pg_notify('procrastinate_queue_v1#' || fleet.queue_of(wanted.selector), '');
        end loop;
    end if;
    return query select fleet.number_of(home, key) from unnest(o) with ordinality order by ordinality;
end
$$;

-- Hosts of an older version offer this way.
create or replace function fleet.offer(
    new_home text, new_key text, new_task text, new_selector text, new_lane text, new_priority integer,
    new_policy text, new_body jsonb, had_host boolean
) returns bigint language sql as $$
    select fleet.offer_all(jsonb_build_array(jsonb_build_object(
        'home', new_home, 'key', new_key, 'task', new_task, 'selector', new_selector, 'lane', new_lane,
        'priority', new_priority, 'policy', new_policy, 'body', new_body, 'had_host', had_host
    )))
$$;

-- End a run that no host has any more, whose row is locked.
create or replace function fleet.end_run(r fleet.runs, its_outcome jsonb) returns void language plpgsql as $$
begin
    update fleet.runs set state = 'ended', ended = clock_timestamp(), outcome = its_outcome where number = r.number;
    if r.state in ('offered', 'taken') and not r.paused then
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
    if r.state in ('queued', 'offered', 'doubted') then
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

-- Take a run that was offered for a host that is up and whose lease holds; no row means that it may not.
create or replace function fleet.take(its_number bigint, its_host text, its_epoch bigint) returns setof fleet.runs language plpgsql as $$
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
    if r.state is distinct from 'offered' or h.state <> 'up' or not fleet.matches(r.selector, h)
        or clock_timestamp() < c.settling_until
    then
        return;
    end if;
    update fleet.runs set
        state = 'taken', attempt = attempt + 1, host = its_host, epoch = its_epoch, job = null, ahead = false
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
        update fleet.runs set view = new_view, ahead = false where number = its_number;
        perform fleet.wake(r.home);
    end if;
    return answer;
end
$$;

-- Record how runs of a host ended, and answer for each: 'yes', 'no', or 'settling' while the server may have lost that
-- the host has it. What was said before, and whose reply was lost, is answered as it was then.
create or replace function fleet.finish_all(
    numbers bigint[], attempts integer[], its_host text, its_epoch bigint, outcomes jsonb[], is_settling boolean
) returns table (answer text, number bigint) language plpgsql as $$
declare
    homes text[];
    lanes text[];
begin
    perform 1 from fleet.hosts where id = its_host for key share;
    perform 1 from fleet.runs r where r.number = any (numbers) order by r.number for update;
    with over as (
        update fleet.runs r set state = 'ended', ended = clock_timestamp(), outcome = e.outcome
        from unnest(numbers, attempts, outcomes) e (number, attempt, outcome)
        where r.number = e.number and r.state = 'taken' and r.attempt = e.attempt
            and r.host = its_host and r.epoch = its_epoch
        returning r.home, r.lane, r.paused
    ) select array_agg(distinct o.home), array_agg(o.lane) filter (where not o.paused) into homes, lanes from over o;
    if exists (select from fleet.lanes) then
        perform fleet.leave_lane(lane) from unnest(lanes) lane;
    end if;
    perform fleet.wake(home) from unnest(homes) home;
    return query select
        case
            when r.state = 'ended' and r.attempt = e.attempt and r.host = its_host and r.epoch = its_epoch
                and r.outcome = e.outcome then 'yes'
            when is_settling then 'settling'
            else 'no'
        end, e.number
    from unnest(numbers, attempts, outcomes) with ordinality e (number, attempt, outcome, place)
    left join fleet.runs r on r.number = e.number order by e.place;
end
$$;

-- List the runs that a host has, as far as the fleet knows; of what it took ahead, also what is doubted.
create or replace function fleet.held(its_host text, its_epoch bigint) returns setof fleet.runs language sql stable as $$
    select * from fleet.runs
    where host = its_host and epoch = its_epoch and (state = 'taken' or (state = 'doubted' and ahead)) order by number
$$;

-- Give a host back what it took, after the server lost its last commits; return the numbers that are refused.
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
            ) on conflict do nothing;
        end if;
        select * into r from fleet.runs where number = its_number for update;
        if h.id is null then
            return next its_number;
        elsif r.state = 'taken' and r.host = its_host and r.attempt = its_attempt then
            update fleet.runs set epoch = its_epoch where number = its_number;
        elsif clock_timestamp() < c.settling_until and (
            (r.state in ('queued', 'offered', 'doubted') and r.attempt < its_attempt)
            or (r.state = 'doubted' and r.ahead and r.host = its_host and r.attempt = its_attempt)
        ) then
            if r.state = 'offered' then
                perform procrastinate_cancel_job_v1(r.job, false, true);
            elsif not r.paused then
                perform fleet.count_in_lane(r.lane);
            end if;
            update fleet.runs set
                state = 'taken', attempt = its_attempt, host = its_host, epoch = its_epoch, job = null, ahead = false
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
        r.lane, r.view, r.outcome, r.acked, r.ahead
    from fleet.runs r
    left join fleet.hosts h on h.id = r.host;

create or replace function fleet.results(its_home text) returns setof fleet.placements language sql stable as $$
    select * from fleet.placements where home = its_home and state in ('taken', 'ended', 'doubted') and not acked
        and not (state = 'taken' and ahead) -- it will soon begin, or be given back
    order by place
$$;

-- Note that a home has recorded these ends, and which of their tasks continue after them.
create or replace function fleet.acknowledge(its_home text, keys text[], continued text[]) returns void language sql as $$
    update fleet.runs set acked = true, goes_on = key = any (continued)
    where home = its_home and key = any (keys) and state = 'ended'
$$;

create or replace function fleet.placed(most integer) returns setof fleet.placements language sql stable as $$
    select * from fleet.placements order by place desc limit most
$$;
