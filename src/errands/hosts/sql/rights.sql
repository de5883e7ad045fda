-- Rights: a role of a host may call the functions of the protocol, and touch nothing else.
--
-- The owner of the database creates the fleet. Then, for each host or for all of them:
--     create role errands_host login password '...';
--     select fleet.grant_host('errands_host');

create or replace function fleet.version() returns integer language sql stable as $$
    select version from fleet.clock
$$;

-- Know the worker of a host again, whose row on the wire was lost or pruned while it was out of touch.
create or replace function fleet.affirm_worker(worker bigint) returns void language sql as $$
    insert into procrastinate_workers (id) overriding system value values (worker) on conflict do nothing
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
            'version', 'join', 'renew', 'drain', 'leave', 'reap', 'list_hosts', 'set_lane', 'offer', 'cancel', 'take',
            'report', 'finish', 'lose', 'held', 'affirm', 'affirm_worker', 'results', 'acknowledge', 'find', 'placed',
            'keep_output', 'output', 'follow',
            'procrastinate_fetch_job_v2', 'procrastinate_finish_job_v1', 'procrastinate_register_worker_v1',
            'procrastinate_unregister_worker_v1', 'procrastinate_update_heartbeat_v1',
            'procrastinate_prune_stalled_workers_v1'
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
