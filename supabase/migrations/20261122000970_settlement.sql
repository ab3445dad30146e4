-- What a submit has cost once it has ended, and the sums of it.

-- Keeps the sums: adds what has changed of what a submit costs or whose it is, by a worker or an administrator.
create function keyframe_private.count_cost()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  was keyframe_private.provider_submits := case when tg_op <> 'INSERT' then old end;
  is_now keyframe_private.provider_submits := case when tg_op <> 'DELETE' then new end;
begin
  insert into keyframe_private.daily_costs (
    owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits)
  select c.* from (
    select s.owner_id, (s.created_at at time zone 'UTC')::date, s.step, s.model, s.project_id,
      sum(v.times * s.is_first::integer) as predictions,
      sum(v.times * case when s.cost_state = 'held' then coalesce(s.most_micros, 0) else 0 end) as held,
      sum(v.times * coalesce(s.cost_micros, 0)) as settled,
      sum(v.times * case when s.cost_state = 'unknown' then coalesce(s.most_micros, 0) else 0 end) as unknown,
      sum(v.times * (s.cost_state = 'unknown')::integer) as submits
    from (values (-1, was), (1, is_now)) v (times, submit)
    cross join lateral (select (v.submit).*) s
    where s.id is not null
    group by 1, 2, 3, 4, 5
  ) c
  where (c.predictions, c.held, c.settled, c.unknown, c.submits) <> (0, 0, 0, 0, 0);
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

-- What predictions cost, all submits of one together, as in the API. state: held while one has not ended, then unknown if one is, then
-- settled if one was billed, otherwise released. atMostMicros is null when nobody knows it. None of another user's.
create function keyframe_private.costs_json(predictions uuid[])
returns table (prediction_id uuid, cost json)
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  caller constant uuid := auth.uid();
begin
  return query
    select s.prediction_id, json_build_object(
      'amountMicros', case when bool_and(s.cost_state in ('settled', 'released')) then keyframe_private.exact_sum(sum(s.cost_micros)) end,
      'atMostMicros', case when bool_and(s.cost_state in ('settled', 'released') or s.most_micros is not null)
        then keyframe_private.exact_sum(sum(case s.cost_state when 'settled' then s.cost_micros when 'released' then 0 else s.most_micros end)) end,
      'currency', 'USD',
      'state', case when bool_or(s.cost_state = 'held') then 'held' when bool_or(s.cost_state = 'unknown') then 'unknown'
        when bool_or(s.cost_state = 'settled') then 'settled' else 'released' end)
    from keyframe_private.provider_submits s
    where s.prediction_id = any (predictions) and (caller is null or s.owner_id = caller)
    group by s.prediction_id;
end
$$;

create function keyframe_private.cost_json(prediction uuid)
returns json
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  return (select c.cost from keyframe_private.costs_json(array[prediction]) c);
end
$$;
grant execute on function keyframe_private.cost_json(uuid) to authenticated, service_role;
