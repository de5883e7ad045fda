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

-- The messages of an agent's session, with which another host can continue its run.
create table if not exists fleet.agent_steps (
    number bigint not null references fleet.runs on delete cascade,
    n integer not null,
    run text not null, -- the run on the host that stored it, which messages name
    body text not null,
    primary key (number, n)
);

-- Store messages of an agent, from the n-th on; what is known stays as it is.
create or replace function fleet.keep_steps(
    its_number bigint, its_attempt integer, its_host text, its_epoch bigint, since integer, its_run text, bodies text[]
) returns text language plpgsql as $$
declare
    r fleet.runs;
    answer text;
begin
    select * into r from fleet.runs where number = its_number for update;
    answer := fleet.has(r, its_attempt, its_host, its_epoch);
    if answer = 'yes' then
        insert into fleet.agent_steps (number, n, run, body)
        select its_number, since + place - 1, its_run, body from unnest(bodies) with ordinality as b (body, place)
        on conflict do nothing;
    end if;
    return answer;
end
$$;

create or replace function fleet.list_steps(its_number bigint) returns table (run text, body text)
language sql stable as $$
    select run, body from fleet.agent_steps where number = its_number order by n
$$;

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
