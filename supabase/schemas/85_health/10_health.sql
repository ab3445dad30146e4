-- Plain health, and the figures of the service for GET /api/health?deep=1 and GET /api/metrics; shared/contract/service.ts explains them.
-- Counts stop at 10,000 rows, and an oldest row is found by an index. More is read for `costs` (all changes that merge_costs has not merged),
-- `deliveries` (all endpoints), `kicks` (pg_net's queue) and `lastKicks` (the answers of some minutes).

-- Definer, because anyone may call it. Answers even if tables are locked: it waits for all locks together for 300 ms. `writes` is ok,
-- read_only, settings_missing or locked. locked: someone has locked a table that a new project, a start, a result or this function needs.
-- Volatile, because the Data API calls other functions in read-only transactions. read_only: sessions that take the default cannot write, so
-- jobs, kicks, Auth and Storage fail. The Data API begins its own transactions as read write.
create function keyframe.health()
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '300ms' as $$
declare
  began constant timestamptz := clock_timestamp();
  version text;
  writes text;
  needed record;
begin
  begin
    version := (select i.version from keyframe_private.installation i order by string_to_array(i.version, '.')::int[] desc limit 1);
    -- What these writes would lock, without a write. test/db/service/health-locks.test.ts finds tables that are missing here.
    for needed in
      select t.name, l.mode from (values
        ('access share', '{keyframe_private.settings,keyframe.models,keyframe.step_defaults}'::text[]),
        ('row share', '{auth.users}'),
        ('row exclusive', '{keyframe.projects,keyframe.predictions,keyframe_private.prediction_images,keyframe_private.idempotency_keys}'),
        ('row exclusive', '{keyframe_private.rate_buckets,keyframe_private.provider_submits,keyframe_private.cost_changes}'),
        ('row exclusive', '{keyframe_private.work,keyframe_private.kicks,keyframe.webhook_events,keyframe.webhook_deliveries}'),
        ('row exclusive', '{keyframe.webhook_attempts,keyframe.webhook_endpoints,keyframe_private.webhook_hours}')
      ) l (mode, names), unnest(l.names) t (name)
    loop
      perform set_config('lock_timeout', greatest(1, 300 - floor(1000 * extract(epoch from clock_timestamp() - began)))::text, true);
      execute format('lock table %s in %s mode', needed.name, needed.mode);
    end loop;
    writes := case when current_setting('default_transaction_read_only')::boolean then 'read_only'
      when exists (select from keyframe_private.settings) then 'ok' else 'settings_missing' end;
  exception when lock_not_available then
    writes := 'locked';
  end;
  return jsonb_build_object('schema', version, 'writes', writes);
end $$;
comment on function keyframe.health is 'Answers when the database does, with the version of its schema.';

-- A future moment counts as 0.
create function keyframe_private.seconds_since(moment timestamptz)
returns numeric language sql stable set search_path = ''
return case when moment is not null then round(greatest(0, extract(epoch from now() - moment)), 3) end;

-- Reads each part on its own: one that is locked, fails or takes too long is null, and `unread` says why. Together they wait for locks for
-- 300 ms, and then for 10 ms each. Once the time limit has ended a part, nothing limits the next one, so none is read any more. That is why
-- the parts that may read many rows, or tables of extensions, are last. Definer: only the secret key may call it, and it needs no right on
-- the tables.
create function keyframe_worker.service_figures()
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '300ms' as $$
declare
  began constant timestamptz := clock_timestamp();
  figures jsonb := '{}';
  unread jsonb := '[]';
  part record;
  value jsonb;
begin
  for part in
    select * from (values
      ('workers', 'worker_figures'), ('due', 'due_figures'), ('skipped', 'skipped_figures'), ('predictions', 'prediction_figures'),
      ('events', 'event_figures'), ('fileRemovals', 'file_removal_figures'), ('unavailableModels', 'unavailable_models'),
      ('limitedOwners', 'limited_owners'), ('appTriggers', 'app_triggers'), ('calls', 'call_figures'), ('snapshots', 'snapshot_figures'),
      ('blockers', 'blocker_figures'), ('settings', 'setting_figures'), ('costs', 'cost_figures'), ('jobs', 'job_figures'),
      ('clockBackSeconds', 'clock_back_seconds'), ('deliveries', 'delivery_figures'), ('kicks', 'kick_figures'),
      ('lastKicks', 'last_kick_figures')
    ) p (name, function_name)
  loop
    begin
      if keyframe_private.is_out_of_time() then
        raise query_canceled using message = 'no time was left';
      end if;
      perform set_config('lock_timeout', greatest(10, 300 - floor(1000 * extract(epoch from clock_timestamp() - began)))::text, true);
      execute format('select keyframe_private.%I()', part.function_name) into value;
    exception when others or query_canceled then
      value := null;
      unread := unread || jsonb_build_object('part', part.name, 'code', sqlstate, 'reason', left(sqlerrm, 200));
    end;
    figures := figures || jsonb_build_object(part.name, value);
  end loop;
  return figures || jsonb_build_object('unread', unread);
end $$;
comment on function keyframe_worker.service_figures is 'The figures (docs/operate.md) for GET /api/health?deep=1 and GET /api/metrics.';
