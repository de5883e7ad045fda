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
-- without knowing is among them, because a reply can be lost. Of runs that no host has, what is offered comes first. A
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
            free := h.slots - (
                select count(*) from fleet.runs r where r.host = its_host and r.state = 'taken' and not r.paused
            );
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
