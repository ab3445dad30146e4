-- What a submit has cost once it has ended, and the sums of it.

create function keyframe_private.add_cost(s keyframe_private.provider_submits, times integer)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into keyframe_private.daily_costs (
    owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits)
  values (
    s.owner_id, (s.created_at at time zone 'UTC')::date, s.step, s.model, s.project_id, times * s.is_first::integer,
    case when s.cost_state = 'held' then times * coalesce(s.most_micros, 0) else 0 end, times * coalesce(s.cost_micros, 0),
    case when s.cost_state = 'unknown' then times * coalesce(s.most_micros, 0) else 0 end, times * (s.cost_state = 'unknown')::integer);
end
$$;
comment on function keyframe_private.add_cost is 'Adds what a submit costs to the sums of its day, or takes it back with -1.';

-- Keeps the sums: whatever changes what a submit costs or whose it is, a worker or an administrator.
create function keyframe_private.count_cost()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if tg_op = 'UPDATE'
    and (old.owner_id, old.project_id, old.created_at, old.step, old.model, old.is_first, old.most_micros, old.cost_micros, old.cost_state)
    is not distinct from
    (new.owner_id, new.project_id, new.created_at, new.step, new.model, new.is_first, new.most_micros, new.cost_micros, new.cost_state) then
    return null;
  end if;
  if tg_op <> 'INSERT' then
    perform keyframe_private.add_cost(old, -1);
  end if;
  if tg_op <> 'DELETE' then
    perform keyframe_private.add_cost(new, 1);
  end if;
  return null;
end
$$;
create trigger _300_count_added after insert on keyframe_private.provider_submits
  for each row execute function keyframe_private.count_cost();
-- outcome: _200_settle writes the cost of an end.
create trigger _300_count_changed
  after update of owner_id, project_id, created_at, step, model, is_first, outcome, most_micros, cost_micros, cost_state
  on keyframe_private.provider_submits
  for each row execute function keyframe_private.count_cost();
-- Its sums are deleted with it when both are 13 months old.
create trigger _300_count_removed after delete on keyframe_private.provider_submits
  for each row when (old.created_at >= now() - interval '13 months') execute function keyframe_private.count_cost();
comment on trigger _300_count_added on keyframe_private.provider_submits is 'Adds its cost to the sums of its day.';
comment on trigger _300_count_changed on keyframe_private.provider_submits is 'Corrects the sums of its day.';
comment on trigger _300_count_removed on keyframe_private.provider_submits is 'Takes its cost from the sums of its day.';

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
    select from keyframe.predictions p where p.id = new.prediction_id and p.completed_at is null);
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
comment on trigger _200_settle on keyframe_private.provider_submits is 'Settles, releases or leaves unknown what the ended submit costs.';

-- A prediction ends, with its file or without one, or is deleted. By a file alone nothing costs more than was held: it may say any length.
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
  set cost_micros = case when c.micros > o.most_micros then o.most_micros else c.micros end,
      cost_state = case when c.micros is null then 'unknown' else 'settled' end
  from keyframe_private.provider_submits o
  cross join lateral (select keyframe_private.settled_cost(o.price_ids, o.metrics, file) as micros) c
  where o.prediction_id = old.id and o.outcome = 'succeeded' and o.cost_state = 'held' and s.id = o.id;
  return null;
end
$$;
create trigger _380_settle_by_file after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null) execute function keyframe_private.settle_by_file();
comment on trigger _380_settle_by_file on keyframe.predictions is 'Settles a run without figures of the provider by its file.';
create trigger _380_settle_deleted after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.settle_by_file();
comment on trigger _380_settle_deleted on keyframe.predictions is 'Settles a run without figures of the provider.';

-- state: held while one has not ended, then unknown if one is, then settled if one was billed, otherwise released. atMostMicros is null
-- when it is unknown. Null for another user's.
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
      'amountMicros', case when bool_and(s.cost_state in ('settled', 'released')) then keyframe_private.exact_sum(sum(s.cost_micros)) end,
      'atMostMicros', case when bool_and(s.cost_state in ('settled', 'released') or s.most_micros is not null)
        then keyframe_private.exact_sum(sum(case s.cost_state when 'settled' then s.cost_micros when 'released' then 0 else s.most_micros end)) end,
      'currency', 'USD',
      'state', case when bool_or(s.cost_state = 'held') then 'held' when bool_or(s.cost_state = 'unknown') then 'unknown'
        when bool_or(s.cost_state = 'settled') then 'settled' else 'released' end)
    from keyframe_private.provider_submits s
    where s.prediction_id = cost_json.prediction and s.owner_id = coalesce((select auth.uid()), s.owner_id)
    having count(*) > 0);
end
$$;
comment on function keyframe_private.cost_json is 'What a prediction costs, all its submits together, as in the API.';
grant execute on function keyframe_private.cost_json(uuid) to authenticated, service_role;
