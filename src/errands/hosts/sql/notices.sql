-- Notices: each is delivered once, even while the home of its task is asleep.

-- Who reports a run to an address: the home or the host that says so first.
create table if not exists fleet.notices (
    number bigint not null references fleet.runs on delete cascade,
    address text not null,
    host text not null,
    is_queued boolean not null default false, -- in the outbox of that host, which sends it whatever happens
    primary key (number, address)
);

-- Letters to the owners of tasks that another home keeps.
create table if not exists fleet.letters (
    number bigint primary key generated always as identity,
    home text not null,
    sender text not null,
    token text not null,
    body jsonb not null,
    unique (sender, token)
);

-- List the ends of runs for one of these channels whose homes cannot report them, being out of touch: those that no
-- host reports yet, and those that this host said it would.
create or replace function fleet.unreported(its_host text, channels text[]) returns table (
    number bigint, channel text, target text, key text, task text, home_name text, outcome jsonb, body jsonb
) language sql stable as $$
    select r.number, a->>'channel', a->>'target', r.key, r.task, h.name, r.outcome, r.body
    from fleet.hosts h
    join fleet.runs r on r.home = h.id and r.state = 'ended' and not r.acked
    cross join jsonb_array_elements(r.body->'channels') a
    where h.id <> its_host
        and (h.state = 'gone' or h.lease_until < clock_timestamp() - (select slack from fleet.clock))
        and a->>'channel' = any (channels)
        and not exists (
            select from fleet.notices n
            where n.number = r.number and n.address = (a->>'channel') || ':' || (a->>'target')
                and (n.host <> its_host or n.is_queued)
        )
    order by r.ended limit 100
$$;

-- Say that a host reports a run to these addresses; return those that another one reports.
create or replace function fleet.claim_notices(its_number bigint, its_host text, addresses text[])
returns setof text language plpgsql as $$
begin
    insert into fleet.notices (number, address, host)
    select its_number, a, its_host from unnest(addresses) a on conflict do nothing;
    return query select n.address from fleet.notices n
    where n.number = its_number and n.address = any (addresses) and n.host <> its_host;
end
$$;

create or replace function fleet.queued_notice(its_number bigint, its_host text, its_address text)
returns void language sql as $$
    update fleet.notices set is_queued = true
    where number = its_number and address = its_address and host = its_host
$$;

-- Send a letter to the home of this name, once; false if there is none.
create or replace function fleet.post(home_name text, its_sender text, its_token text, its_body jsonb)
returns boolean language plpgsql as $$
declare
    its_home text;
begin
    select id into its_home from fleet.hosts where name = home_name order by state = 'gone', renewed desc limit 1;
    if not found then
        return false;
    end if;
    insert into fleet.letters (home, sender, token, body) values (its_home, its_sender, its_token, its_body)
    on conflict do nothing;
    perform fleet.wake(its_home);
    return true;
end
$$;

create or replace function fleet.letters_of(its_home text) returns table (number bigint, body jsonb)
language sql stable as $$
    select number, body from fleet.letters where home = its_home order by number limit 100
$$;

create or replace function fleet.take_letters(its_home text, numbers bigint[]) returns void language sql as $$
    delete from fleet.letters where home = its_home and number = any (numbers)
$$;
