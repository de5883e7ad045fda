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

-- The same for several attempts, as many pieces as fit into one answer.
create or replace function fleet.outputs(numbers bigint[], attempts integer[], positions bigint[])
returns table (number bigint, attempt integer, start bigint, content bytea) language sql stable as $$
    select number, attempt, start, content from (
        select w.number, w.attempt, c.start, c.content, w.place,
            sum(length(c.content)) over (order by w.place, c.start) - length(c.content) as before
        from unnest(numbers, attempts, positions) with ordinality as w (number, attempt, since, place)
        cross join lateral fleet.output(w.number, w.attempt, w.since) c
    ) found where before < 2 * 1024 * 1024 order by place, start
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
