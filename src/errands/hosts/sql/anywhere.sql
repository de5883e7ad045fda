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
create or replace function fleet.request(
    its_home text, its_task text, its_wish text, its_token text, its_body jsonb, its_author text
) returns bigint language plpgsql as $$
declare
    found_number bigint;
begin
    insert into fleet.requests (home, task, wish, token, body, author)
    values (its_home, its_task, its_wish, its_token, its_body, its_author)
    on conflict (home, task, wish, token) where reply is null do update set body = its_body, author = its_author
    returning number into found_number;
    perform fleet.wake(its_home);
    return found_number;
end
$$;

create or replace function fleet.requests_of(its_home text)
returns table (number bigint, task text, wish text, token text, body jsonb, author text) language sql stable as $$
    select number, task, wish, token, body, author from fleet.requests where home = its_home and reply is null order by number
$$;

-- Answer a request: with nothing if it was done, else with why not; and with what came of it.
create or replace function fleet.reply(its_home text, its_number bigint, its_reply text, its_result text)
returns void language sql as $$
    update fleet.requests set reply = its_reply, result = its_result,
        body = case when wish = 'send' then '{}' else body end -- input may be secret
    where home = its_home and number = its_number and reply is null
$$;

create or replace function fleet.reply_to(its_number bigint, out reply text, out result text)
language sql stable as $$
    select reply, result from fleet.requests where number = its_number
$$;

-- List the lanes that have a limit over the whole fleet, or runs that are not over.
create or replace function fleet.list_lanes() returns table (name text, width integer, running integer, waiting integer)
language sql stable as $$
    with live as (
        select lane, count(*) filter (where state <> 'queued')::integer as running,
            count(*) filter (where state = 'queued')::integer as waiting
        from fleet.runs where state in ('queued', 'offered', 'taken') and not paused group by lane
    )
    select coalesce(l.name, live.lane), l.width, coalesce(live.running, 0), coalesce(live.waiting, 0)
    from fleet.lanes l full join live on live.lane = l.name order by 1
$$;
