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
