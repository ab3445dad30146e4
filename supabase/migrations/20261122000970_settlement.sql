-- What a submit has cost once it has ended, and the sums of it.

-- What a submit adds to the sums of its day.
create function keyframe_private.sums_of(
  s keyframe_private.provider_submits, out held bigint, out settled bigint, out unknown bigint, out unknowns integer
)
language plpgsql
immutable
set search_path = ''
as $$
begin
  held := case when s.cost_state = 'held' then coalesce(s.most_micros, 0) else 0 end;
  settled := coalesce(s.cost_micros, 0);
  unknown := case when s.cost_state = 'unknown' then coalesce(s.most_micros, 0) else 0 end;
  unknowns := (s.cost_state = 'unknown')::integer;
end
$$;

-- Adds to the sums of an owner's day and to everybody's.
create function keyframe_private.add_to_sums(
  owner uuid, at timestamptz, wanted_step keyframe.generation_step, wanted_model text, started bigint, held bigint, settled bigint, unknown bigint,
  unknowns bigint
)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  today constant date := (at at time zone 'UTC')::date;
  whose uuid;
begin
  foreach whose in array array[owner, keyframe_private.everybody()] loop
    update keyframe_private.daily_costs c
    set predictions = c.predictions + started, held_micros = c.held_micros + held, settled_micros = c.settled_micros + settled,
        unknown_micros = c.unknown_micros + unknown, unknown_submits = c.unknown_submits + unknowns
    where c.id = (
      select o.id from keyframe_private.daily_costs o
      where o.owner_id = whose and o.day = today and o.step = wanted_step and o.model = wanted_model
      limit 1 for update skip locked);
    if not found then
      insert into keyframe_private.daily_costs (owner_id, day, step, model, predictions, held_micros, settled_micros, unknown_micros, unknown_submits)
      values (whose, today, wanted_step, wanted_model, started, held, settled, unknown, unknowns);
    end if;
  end loop;
end
$$;

-- Keeps the sums: whatever changes what submits hold or have cost, a worker or an administrator. Once for each statement: each further
-- update of one row within a transaction takes longer.
create function keyframe_private.count_costs()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    perform keyframe_private.add_to_sums(c.owner_id, c.at, c.step, c.model, c.started, c.held, c.settled, c.unknown, c.unknowns) from (
      select n.owner_id, min(n.created_at) as at, n.step, n.model,
        count(*) filter (where n.attempt = 1 and n.provider_prediction_id is null) as started, -- a second run of a submit is no second prediction
        sum(m.held)::bigint as held, sum(m.settled)::bigint as settled, sum(m.unknown)::bigint as unknown, sum(m.unknowns) as unknowns
      from changed_to n cross join lateral keyframe_private.sums_of(n::keyframe_private.provider_submits) m
      group by n.owner_id, (n.created_at at time zone 'UTC')::date, n.step, n.model) c;
  else
    perform keyframe_private.add_to_sums(c.owner_id, c.at, c.step, c.model, 0, c.held, c.settled, c.unknown, c.unknowns) from (
      select n.owner_id, min(n.created_at) as at, n.step, n.model,
        sum(m.held - w.held)::bigint as held, sum(m.settled - w.settled)::bigint as settled, sum(m.unknown - w.unknown)::bigint as unknown,
        sum(m.unknowns - w.unknowns) as unknowns
      from changed_to n join changed_from o using (id)
      cross join lateral keyframe_private.sums_of(n::keyframe_private.provider_submits) m
      cross join lateral keyframe_private.sums_of(o::keyframe_private.provider_submits) w
      where (n.cost_state, n.cost_micros, n.most_micros) is distinct from (o.cost_state, o.cost_micros, o.most_micros)
      group by n.owner_id, (n.created_at at time zone 'UTC')::date, n.step, n.model) c;
  end if;
  return null;
end
$$;
create trigger _300_count_added after insert on keyframe_private.provider_submits
  referencing new table as changed_to
  for each statement execute function keyframe_private.count_costs();
create trigger _300_count_changed after update on keyframe_private.provider_submits
  referencing old table as changed_from new table as changed_to
  for each statement execute function keyframe_private.count_costs();

-- The end of a submit releases what it holds: it is settled by what the provider counted, released where the provider does not bill it,
-- or unknown. A success without figures of the provider holds until its prediction ends, because the file may tell them.
create function keyframe_private.settle_ended()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  billed constant text := case
    when new.outcome in ('no_run', 'aborted') then 'no'
    when new.outcome = 'succeeded' then 'yes'
    when new.outcome = 'lost' then 'unknown'
    else ( -- the model may have got another name, which its prediction follows
      select m.billed_when ->> new.outcome from keyframe.models m
      where m.step = new.step and m.model in (new.model, (select p.model from keyframe.predictions p where p.id = new.prediction_id))
      order by m.model <> new.model limit 1) end;
  waits_for_file constant boolean := new.outcome = 'succeeded' and exists (
    select from keyframe.predictions p where p.id = new.prediction_id and p.is_active);
begin
  new.cost_micros := case when billed = 'yes' then keyframe_private.settled_cost(new.price_ids, new.metrics, null) end;
  new.cost_state := case
    when billed = 'no' then 'released'
    when new.cost_micros is not null then 'settled'
    when new.outcome is null or waits_for_file then 'held' -- null: the run of a lost submit was found
    else 'unknown' end;
  return new;
end
$$;
create trigger _200_settle before update of outcome on keyframe_private.provider_submits
  for each row when (old.outcome is distinct from new.outcome) execute function keyframe_private.settle_ended();

-- A prediction ends, with its file or without one, or is deleted.
create function keyframe_private.settle_by_file()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  file constant jsonb := case when tg_op = 'UPDATE' then jsonb_build_object(
    'durationSeconds', new.output_duration_seconds, 'width', new.output_width, 'height', new.output_height) end;
begin
  update keyframe_private.provider_submits s
  set cost_micros = c.micros, cost_state = case when c.micros is null then 'unknown' else 'settled' end
  from keyframe_private.provider_submits o
  cross join lateral (select keyframe_private.settled_cost(o.price_ids, o.metrics, file) as micros) c
  where o.prediction_id = old.id and o.outcome = 'succeeded' and o.cost_state = 'held' and s.id = o.id;
  return null;
end
$$;
create trigger _380_settle_by_file after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null) execute function keyframe_private.settle_by_file();
create trigger _380_settle_deleted after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.settle_by_file();

-- What a prediction costs, all its submits together, as in the API. state: held while one has not ended, then unknown if one is, then
-- settled if one was billed, otherwise released. atMostMicros is null when nobody knows it. Null for another user's.
create function keyframe_private.cost_json(prediction uuid)
returns json
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  return (
    select json_build_object(
      'amountMicros', case when bool_and(s.cost_state in ('settled', 'released')) then coalesce(sum(s.cost_micros), 0) end,
      'atMostMicros', case when bool_and(s.cost_state in ('settled', 'released') or s.most_micros is not null)
        then sum(case s.cost_state when 'settled' then s.cost_micros when 'released' then 0 else s.most_micros end) end,
      'currency', 'USD',
      'state', case when bool_or(s.cost_state = 'held') then 'held' when bool_or(s.cost_state = 'unknown') then 'unknown'
        when bool_or(s.cost_state = 'settled') then 'settled' else 'released' end)
    from keyframe_private.provider_submits s
    where s.prediction_id = cost_json.prediction and s.owner_id = coalesce((select auth.uid()), s.owner_id)
    having count(*) > 0);
end
$$;
grant execute on function keyframe_private.cost_json(uuid) to authenticated, service_role;
