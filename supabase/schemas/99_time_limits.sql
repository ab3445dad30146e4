-- Time limits of a user's requests in the database, below the limit of the role (8 s on the hosted platform). A recovery, which may
-- write thousands of rows, has only the role's limit; health has its own. PostgREST applies a function's statement_timeout before it calls it;
-- Postgres alone would not.

do $$
declare
  without_limit constant regproc[] := array['keyframe.health', 'keyframe.recover_webhook_endpoint']::regproc[];
  called record;
begin
  for called in
    select p.oid::regprocedure as name, p.proname ~ '^(estimate|list|read)_|^webhook_health$' as is_read from pg_proc p
    where p.pronamespace = 'keyframe'::regnamespace and p.oid <> all (without_limit)
  loop
    execute format('alter function %s set statement_timeout = %L', called.name, case when called.is_read then '2s' else '5s' end);
    execute format('alter function %s set lock_timeout = ''2s''', called.name); -- what an owner's own open transaction holds
  end loop;
end $$;
