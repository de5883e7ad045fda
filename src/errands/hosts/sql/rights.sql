-- Rights: a role of a host may call the functions of the protocol, and touch nothing else.
--
-- The owner of the database creates the fleet. Then, for each host or for all of them:
--     create role errands_host login password '...';
--     select fleet.grant_host('errands_host');

create or replace function fleet.version() returns integer language sql stable as $$
    select version from fleet.clock
$$;

do $$
declare
    f record;
begin
    for f in
        select p.oid::regprocedure as called, p.proname as name
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('fleet', 'fleet_wire')
    loop
        execute format('revoke all on function %s from public', f.called);
        -- Not those inside: they have the rights of their caller, and it would cost time at each call.
        if f.name = any (array[
            'version', 'join', 'renew', 'drain', 'leave', 'reap', 'list_hosts', 'set_lane', 'offer', 'offer_all', 'cancel', 'turn',
            'report', 'lose', 'give_back', 'held', 'affirm', 'results', 'acknowledge', 'find', 'placed', 'keep_output', 'output',
            'outputs', 'follow', 'keep_events', 'list_events', 'answer_agent', 'list_answers', 'keep_steps', 'list_steps',
            'list_lanes', 'request', 'requests_of', 'reply', 'reply_to', 'unreported', 'claim_notices', 'queued_notice',
            'post', 'letters_of', 'take_letters', 'send', 'list_inputs', 'answer_input', 'input_replies', 'pause',
            'outlook'
        ]) then
            execute format(
                'alter function %s security definer set search_path = fleet_wire, fleet, pg_temp', f.called
            );
        end if;
    end loop;
end
$$;

create or replace function fleet.grant_host(role_name text) returns void language plpgsql as $$
declare
    f regprocedure;
begin
    execute format('grant usage on schema fleet, fleet_wire to %I', role_name);
    for f in
        select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('fleet', 'fleet_wire') and p.prosecdef
    loop
        execute format('grant execute on function %s to %I', f, role_name);
    end loop;
end
$$;
revoke all on function fleet.grant_host(text) from public;

-- After an upgrade the roles of hosts may call what is new, too.
do $$
declare
    r record;
begin
    for r in
        select distinct role.rolname as name
        from pg_namespace n cross join aclexplode(n.nspacl) a join pg_roles role on role.oid = a.grantee
        where n.nspname = 'fleet' and a.privilege_type = 'USAGE' and a.grantee <> n.nspowner
    loop
        perform fleet.grant_host(r.name);
    end loop;
end
$$;
