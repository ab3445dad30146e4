-- Time limits of a user's requests in the database, below the limit of the role (8 s on the hosted platform). A recovery, which may
-- write thousands of rows, has only the role's limit; health has its own.

do $$
declare
  reads constant regproc[] := array[
    'keyframe.estimate_film', 'keyframe.estimate_prediction', 'keyframe.list_elements', 'keyframe.list_film_shares', 'keyframe.list_films',
    'keyframe.list_keys',
    'keyframe.list_models', 'keyframe.list_predictions', 'keyframe.list_projects', 'keyframe.list_webhook_deliveries',
    'keyframe.list_webhook_endpoints', 'keyframe.read_element', 'keyframe.read_film', 'keyframe.read_prediction', 'keyframe.read_project',
    'keyframe.read_usage', 'keyframe.read_webhook_delivery', 'keyframe.read_webhook_endpoint', 'keyframe.webhook_health']::regproc[];
  without_limit constant regproc[] := array['keyframe.health', 'keyframe.recover_webhook_endpoint']::regproc[];
  called record;
begin
  for called in
    select p.oid::regprocedure as name, p.oid = any (reads) as is_read from pg_proc p
    where p.pronamespace = 'keyframe'::regnamespace and p.oid <> all (without_limit)
  loop
    execute format('alter function %s set statement_timeout = %L', called.name, case when called.is_read then '2s' else '5s' end);
    execute format('alter function %s set lock_timeout = ''2s''', called.name); -- what an owner's own open transaction holds
  end loop;
end $$;
