-- Input and pauses of runs: what the home of a run wants of the host that has it, besides its end.

-- Input in numbered pieces. It may be secret, so it is kept only until the run has taken it, or as long as the run if
-- another host may start that over and need all of it again.
create table if not exists fleet.inputs (
    number bigint not null references fleet.runs on delete cascade,
    piece integer not null,
    content bytea not null,
    is_last boolean not null,
    reply text, -- empty if the run took it, else why not
    primary key (number, piece)
);

-- Runs that are or were paused, so that their hosts are told. A paused run that no host has yet gets a selector that
-- matches no host.
create table if not exists fleet.pauses (
    number bigint primary key references fleet.runs on delete cascade,
    selector text -- its real selector while it is kept back
);

-- Keep a paused run from all hosts until it continues.
create or replace function fleet.keep_back(r fleet.runs) returns void language plpgsql as $$
begin
    update fleet.pauses set selector = r.selector where number = r.number and selector is null;
    update fleet.runs set selector = '(paused)' where number = r.number;
end
$$;

create or replace function fleet.send(
    its_home text, its_key text, its_piece integer, its_content bytea, is_its_last boolean
) returns void language plpgsql as $$
declare
    r fleet.runs;
begin
    select * into r from fleet.runs where home = its_home and key = its_key and state <> 'ended' for update;
    if found then
        insert into fleet.inputs (number, piece, content, is_last)
        values (r.number, its_piece, its_content, is_its_last) on conflict do nothing;
        if r.host is not null then
            perform fleet.wake(r.host);
        end if;
    end if;
end
$$;

-- List what was sent to a run after a piece, for the host that has it.
create or replace function fleet.list_inputs(its_number bigint, since integer)
returns table (piece integer, content bytea, is_last boolean) language sql stable as $$
    select piece, content, is_last from fleet.inputs where number = its_number and piece > since order by piece
$$;

-- Say what became of a piece; the first answer counts.
create or replace function fleet.answer_input(
    its_number bigint, its_attempt integer, its_host text, its_epoch bigint, its_piece integer, its_reply text
) returns text language plpgsql as $$
declare
    r fleet.runs;
    answer text;
begin
    select * into r from fleet.runs where number = its_number for update;
    answer := fleet.has(r, its_attempt, its_host, its_epoch);
    if answer = 'yes' then
        update fleet.inputs set reply = its_reply, content = case when r.policy = 'again' then content else '' end
        where number = its_number and piece = its_piece and reply is null;
        perform fleet.wake(r.home);
    end if;
    return answer;
end
$$;

create or replace function fleet.input_replies(its_number bigint, since integer)
returns table (piece integer, reply text) language sql stable as $$
    select piece, reply from fleet.inputs where number = its_number and piece > since and reply is not null order by piece
$$;

-- Pause or continue a run: through its host, or, if none has it, by keeping it from all hosts.
create or replace function fleet.pause(its_home text, its_key text, is_wanted boolean) returns void language plpgsql as $$
declare
    r fleet.runs;
    kept text; -- its real selector
begin
    perform fleet.enter();
    select * into r from fleet.runs where home = its_home and key = its_key and state <> 'ended' for update;
    if not found then
        return;
    end if;
    insert into fleet.pauses (number) values (r.number) on conflict do nothing;
    update fleet.runs set paused = is_wanted where number = r.number;
    if is_wanted and not r.paused then
        if r.state = 'offered' then
            perform procrastinate_cancel_job_v1(r.job, false, true);
            update fleet.runs set state = 'queued', job = null where number = r.number;
        end if;
        if r.state <> 'taken' then
            perform fleet.keep_back(r);
        end if;
        if r.state in ('offered', 'taken') then
            perform fleet.leave_lane(r.lane);
            perform fleet.admit();
        end if;
    elsif r.paused and not is_wanted then
        select coalesce(selector, r.selector) into kept from fleet.pauses where number = r.number;
        update fleet.runs set selector = kept where number = r.number;
        update fleet.pauses set selector = null where number = r.number;
        if r.state = 'taken' then
            perform fleet.count_in_lane(r.lane);
        else
            perform fleet.admit(kept, r.lane);
            perform pg_notify('procrastinate_queue_v1#' || fleet.queue_of(kept), '');
        end if;
    end if;
    if r.state = 'taken' then
        perform fleet.wake(r.host);
    end if;
end
$$;
