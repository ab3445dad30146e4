-- How long a request of a user may take in the database, below the limit of the role (8 s on the hosted platform). A recovery, which may
-- write thousands of rows, has that one.

do $$
declare
  called record;
begin
  for called in
    select p.oid::regprocedure as name, p.proname ~ '^(read|list|estimate)_|_health$' as reads from pg_proc p
    where p.pronamespace = 'keyframe'::regnamespace
      and p.proname not in ('health', 'recover_webhook_endpoint')
  loop
    execute format('alter function %s set statement_timeout = %L', called.name, case when called.reads then '2s' else '5s' end);
    execute format('alter function %s set lock_timeout = ''2s''', called.name); -- what an owner's own open transaction holds
  end loop;
end $$;

-- A scan that is off counts so much that JIT would compile the plan at each call.
do $$
declare
  called regprocedure;
begin
  for called in
    select p.oid from pg_proc p
    where p.pronamespace = any (array['keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace])
      and exists (select from unnest(p.proconfig) setting where setting like 'enable%')
  loop
    execute format('alter function %s set jit = off', called);
  end loop;
end $$;
