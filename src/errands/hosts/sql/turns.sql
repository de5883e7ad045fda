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
        return query select * from fleet.take((job.args->>'number')::bigint, h.id, h.epoch);
        if found then
            taken := taken + 1;
        end if;
    end loop;
end
$$;

-- Take what is queued and has room in its lane, at most so many, for a host that may take runs. What is taken ahead waits
-- there for a slot. So none is taken from a lane with a limit, whose room it would occupy, nor past an offer, the first
-- run of such a lane, or an agent, which would begin at once, in another lane of its host.
create or replace function fleet.take_queued(h fleet.hosts, most integer, is_ahead boolean)
returns setof fleet.runs language plpgsql as $$
declare
    selectors text[] := array(select distinct unnest(fleet.selectors_of(h)));
    lanes text[];
    head record;
    room integer;
    picked bigint[];
    taken bigint[] := '{}';
begin
    if most > 0 and not (is_ahead and exists (
        select from fleet.runs where state = 'offered' and selector = any (selectors)
    )) then
        lanes := fleet.waiting_lanes(selectors);
    end if;
    while cardinality(lanes) > 0 and cardinality(taken) < most loop
        -- The lane whose next run comes first; if nothing waits elsewhere, several are taken at once.
        select s.selector, l.lane, case count(*) over () when 1 then most - cardinality(taken) else 1 end as most into head
        from unnest(selectors) s (selector) cross join unnest(lanes) l (lane) cross join lateral (
            select priority, place from fleet.runs
            where state = 'queued' and selector = s.selector and lane = l.lane and number <> all (taken)
            order by priority, place limit 1
        ) first order by first.priority, first.place limit 1;
        exit when not found;
        room := fleet.room_in_lane(head.lane);
        picked := array(
            select number from fleet.runs
            where state = 'queued' and selector = head.selector and lane = head.lane and number <> all (taken)
            order by priority, place limit least(head.most, room) for update skip locked
        );
        if is_ahead and cardinality(picked) > 0 then
            exit when room is not null;
            picked := array(
                select number from (
                    select number, n, bool_and(r.body ? 'commands') over (order by n) as may_wait
                    from unnest(picked) with ordinality p (number, n) join fleet.runs r using (number)
                ) each where may_wait order by n
            );
            exit when cardinality(picked) = 0;
        end if;
        if cardinality(picked) = 0 then
            lanes := array_remove(lanes, head.lane); -- it is full, or others are about to take what waits
        else
            perform fleet.enter_lane(head.lane, cardinality(picked));
            taken := taken || picked;
        end if;
    end loop;
    if cardinality(taken) > 0 then
        perform fleet.wake(home) from (select distinct home from fleet.runs where number = any (taken)) r;
        return query with now_taken as (
            update fleet.runs set
                state = 'taken', attempt = attempt + 1, host = h.id, epoch = h.epoch, job = null, ahead = is_ahead
            where number = any (taken) returning *
        ) select * from now_taken order by priority, place;
    end if;
end
$$;

-- Each end is answered as `fleet.finish_all` has it; the other rows are runs that the host has from now on. What it has
-- without knowing is among them, because a reply can be lost. Of runs that no host has, what is offered comes first. A
-- host that is never idle takes what is queued without an offer, which saves most of the work; `most_ahead` is how many
-- more it wants than it has slots.
create or replace function fleet.turn(
    its_host text, its_epoch bigint, numbers bigint[], attempts integer[], outcomes jsonb[],
    is_taking boolean, known bigint[], most_ahead integer default 0
) returns table (answer text, run fleet.runs) language plpgsql
    -- Its statements are planned once for a connection, and not for each call, which took a quarter of the time. A table
    -- may be small by then, so a plan must not count on that.
    set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
declare
    c fleet.clock;
    h fleet.hosts;
    is_settling boolean;
    ended record;
    has_unknown boolean;
    used integer;
    taken integer;
begin
    perform fleet.enter();
    c := fleet.settle();
    is_settling := clock_timestamp() < c.settling_until;
    if cardinality(numbers) > 0 then
        for ended in
            select * from fleet.finish_all(numbers, attempts, its_host, its_epoch, outcomes, is_settling)
        loop
            answer := ended.answer;
            run.number := ended.number;
            return next;
        end loop;
    end if;
    if is_taking then
        select count(*) filter (where not r.paused), bool_or(r.epoch = its_epoch and r.number <> all (known))
        into used, has_unknown
        from fleet.runs r where r.host = its_host and r.state = 'taken';
        if has_unknown then
            return query select null::text, t from fleet.held(its_host, its_epoch) t
            where t.state = 'taken' and t.number <> all (known);
        end if;
        -- It may not be given up meanwhile; that it renews its lease disturbs nobody.
        select * into h from fleet.hosts where id = its_host for key share;
        if h.epoch = its_epoch and h.state = 'up' and h.lease_until > clock_timestamp() and not is_settling then
            return query select null::text, t from fleet.take_offered(h, h.slots - used) t;
            get diagnostics taken = row_count;
            used := used + taken;
            return query select null::text, t from fleet.take_queued(h, h.slots - used, false) t;
            get diagnostics taken = row_count;
            used := used + taken;
            return query select null::text, t from fleet.take_queued(h, h.slots + most_ahead - used, true) t;
        end if;
    end if;
    -- If this host took what it could, then other hosts only get more from lanes that have a limit, and room now.
    if cardinality(numbers) > 0 and (not is_taking or exists (select from fleet.lanes)) then
        perform fleet.admit();
    end if;
end
$$;
