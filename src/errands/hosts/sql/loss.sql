-- Loss: what becomes of a run whose host was given up, or does not know how it ended.

-- Whether another host may begin a run that was lost. A run that was lost three times may be what kills its hosts.
-- An agent continues from its last step that the fleet has, if there is another host for it.
create or replace function fleet.may_run_again(r fleet.runs) returns boolean language sql stable as $$
    select r.stop_grace is null and r.attempt - r.returned < 3 and (
        r.policy = 'again'
        or (
            r.policy = 'steps' and exists (select from fleet.agent_steps s where s.number = r.number)
            and exists (
                select from fleet.hosts h
                where h.id <> r.host and h.state = 'up' and h.slots > 0 and h.lease_until > clock_timestamp()
                    and fleet.matches(r.selector, h)
            )
        )
    )
$$;

-- Give a run to another host; if it is paused, not before it continues.
create or replace function fleet.queue_again(r fleet.runs) returns void language plpgsql as $$
begin
    update fleet.runs set state = 'queued', job = null, view = '{}', ahead = false where number = r.number;
    if r.paused then
        perform fleet.keep_back(r);
    end if;
end
$$;

-- Do this with a run that its host says it does not have; the room that it took in its lane is free.
create or replace function fleet.requeue(r fleet.runs) returns void language plpgsql as $$
begin
    perform fleet.queue_again(r);
    if not r.paused then
        perform fleet.leave_lane(r.lane);
    end if;
end
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
        select f.answer into answer from fleet.finish_all(
            array[its_number], array[its_attempt], its_host, its_epoch, array[jsonb_build_object('lost', why)],
            clock_timestamp() < (fleet.settle()).settling_until
        ) f;
    else
        answer := fleet.has(r, its_attempt, its_host, its_epoch);
        if answer = 'yes' then
            perform fleet.requeue(r);
            perform fleet.wake(r.home);
        end if;
    end if;
    if answer = 'yes' then
        perform fleet.admit();
    end if;
    return answer;
end
$$;

-- Take back a run that a host took ahead and will not begin under this attempt.
create or replace function fleet.give_back(its_number bigint, its_attempt integer, its_host text, its_epoch bigint)
returns text language plpgsql as $$
declare
    r fleet.runs;
    answer text;
begin
    perform fleet.enter();
    perform 1 from fleet.hosts where id = its_host for key share;
    select * into r from fleet.runs where number = its_number for update;
    answer := fleet.has(r, its_attempt, its_host, its_epoch);
    if answer = 'yes' then
        if r.stop_grace is not null then
            perform fleet.end_run(r, '{"stop": "cancel"}');
        else
            update fleet.runs set returned = returned + 1 where number = r.number;
            perform fleet.requeue(r);
            -- Busy hosts take what is queued without an offer, so have them look.
            perform pg_notify('procrastinate_queue_v1#' || fleet.queue_of(r.selector), '');
        end if;
        perform fleet.admit();
    end if;
    return answer;
end
$$;
