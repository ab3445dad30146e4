-- Costs of submits by day. Amounts are in micro-dollars, millionths of a US dollar. Days and months are in UTC. A cost is what the
-- provider bills, a charge what the owner pays.

-- A submit inserts a row when it is added and when it ends, so that no transaction waits for a sum. New rows are merged every five seconds
-- into four sums: by owner, day, step and model; the same for all owners together; by owner, day and project; and by owner.
create table keyframe_private.daily_costs (
  id bigint generated always as identity primary key,
  owner_id uuid,
  day date,
  step keyframe.generation_step,
  model text,
  project_id uuid,
  predictions integer not null default 0,
  held_micros bigint not null default 0,
  settled_micros bigint not null default 0,
  unknown_micros bigint not null default 0,
  unknown_submits integer not null default 0,
  is_merged boolean not null default false,
  held_charge_micros bigint not null default 0,
  settled_charge_micros bigint not null default 0,
  unknown_charge_micros bigint not null default 0
);
comment on table keyframe_private.daily_costs is 'What submits cost: new rows, and their sums. Read the view costs. Sums of a day are kept for 13 months; those of an owner for good, because balances need them.';
comment on column keyframe_private.daily_costs.owner_id is 'The owner; null: all owners together.';
comment on column keyframe_private.daily_costs.day is 'The day, in UTC; null: all days of the owner.';
comment on column keyframe_private.daily_costs.step is 'first-frame, last-frame or video; null in a sum of a project or of all days.';
comment on column keyframe_private.daily_costs.model is 'The model that was submitted; null where the step is.';
comment on column keyframe_private.daily_costs.predictions is 'How many of the submits were the first of a prediction; negative in a correction, as are the amounts.';
comment on column keyframe_private.daily_costs.project_id is 'The project; null in the other sums.';
comment on column keyframe_private.daily_costs.held_micros is 'Upper bound for submits that have not ended.';
comment on column keyframe_private.daily_costs.settled_micros is 'Cost of ended submits.';
comment on column keyframe_private.daily_costs.unknown_micros is 'Upper bound for submits whose cost is unknown.';
comment on column keyframe_private.daily_costs.unknown_submits is 'How many submits have an unknown cost.';
comment on column keyframe_private.daily_costs.is_merged is 'Whether the row is a sum.';
comment on column keyframe_private.daily_costs.held_charge_micros is 'What the owner pays at most for submits that have not ended.';
comment on column keyframe_private.daily_costs.settled_charge_micros is 'What the owner pays for ended submits.';
comment on column keyframe_private.daily_costs.unknown_charge_micros is 'What the owner pays at most for submits whose cost is unknown.';
create index daily_costs_owner_id_day_idx on keyframe_private.daily_costs (owner_id, day, step, model) where step is not null;
create index daily_costs_project_id_idx on keyframe_private.daily_costs (owner_id, day, project_id) where step is null;
create index daily_costs_day_idx on keyframe_private.daily_costs (day);
create index daily_costs_to_merge_idx on keyframe_private.daily_costs (owner_id, id) where not is_merged;

-- The service's sums have only merged rows, so the others are added here.
create view keyframe_private.costs with (security_invoker = true) as
select c.owner_id, c.day, c.step, c.model, c.predictions, c.held_micros, c.settled_micros, c.unknown_micros, c.unknown_submits,
  c.held_charge_micros, c.settled_charge_micros, c.unknown_charge_micros
from keyframe_private.daily_costs c where c.step is not null
union all
select null, c.day, c.step, c.model, c.predictions, c.held_micros, c.settled_micros, c.unknown_micros, c.unknown_submits,
  c.held_charge_micros, c.settled_charge_micros, c.unknown_charge_micros
from keyframe_private.daily_costs c where not c.is_merged;
comment on view keyframe_private.costs is 'What all submits cost, with the columns of daily_costs: any number of rows for an owner, day, step and model, to be added up. Rows without an owner have the service''s costs.';

create function keyframe_private.merge_cost_rows(rows tid[])
returns void language plpgsql volatile set search_path = '' as $$
begin
  with added as (
    delete from keyframe_private.daily_costs c where c.ctid = any (rows) returning c.*
  ), counted as (
    select k.*, a.predictions, a.held_micros, a.settled_micros, a.unknown_micros, a.unknown_submits,
      a.held_charge_micros, a.settled_charge_micros, a.unknown_charge_micros
    from added a
    cross join lateral (values
      (a.owner_id, a.day, a.step, a.model, null::uuid),
      (null, a.day, a.step, a.model, null),
      (a.owner_id, a.day, null, null, a.project_id),
      (a.owner_id, null, null, null, null)) k (owner_id, day, step, model, project_id)
  ), before as (
    delete from keyframe_private.daily_costs c where c.id = any (array(
      select o.id from (select distinct a.owner_id, a.day, a.step, a.model from added a) k
      join keyframe_private.daily_costs o using (owner_id, day, step, model)
      where o.is_merged for update of o skip locked) || array(
      select o.id from (select distinct a.day, a.step, a.model from added a) k
      join keyframe_private.daily_costs o using (day, step, model)
      where o.owner_id is null and o.is_merged for update of o skip locked) || array(
      select o.id from (select distinct a.owner_id, a.day, a.project_id from added a) k
      join keyframe_private.daily_costs o using (owner_id, day, project_id)
      where o.step is null for update of o skip locked) || array(
      select o.id from (select distinct a.owner_id from added a) k
      join keyframe_private.daily_costs o using (owner_id)
      where o.step is null and o.day is null for update of o skip locked))
    returning c.owner_id, c.day, c.step, c.model, c.project_id, c.predictions, c.held_micros, c.settled_micros, c.unknown_micros,
      c.unknown_submits, c.held_charge_micros, c.settled_charge_micros, c.unknown_charge_micros
  )
  insert into keyframe_private.daily_costs (
    owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits, held_charge_micros,
    settled_charge_micros, unknown_charge_micros, is_merged)
  select c.owner_id, c.day, c.step, c.model, c.project_id, sum(c.predictions), sum(c.held_micros), sum(c.settled_micros),
    sum(c.unknown_micros), sum(c.unknown_submits), sum(c.held_charge_micros), sum(c.settled_charge_micros), sum(c.unknown_charge_micros), true
  from (table counted union all table before) c
  group by 1, 2, 3, 4, 5;
end $$;
comment on function keyframe_private.merge_cost_rows is 'Merges new rows into their four sums. Skips sums that others have locked: then there are several for a while.';

-- Maintains the sums whenever a worker or an administrator changes a submit's cost or owner. The previous cost is subtracted.
create function keyframe_private.count_cost()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op = 'UPDATE'
    and (old.owner_id, old.project_id, old.created_at, old.step, old.model, old.is_first, old.most_micros, old.cost_micros, old.cost_state,
      old.markup)
    is not distinct from
    (new.owner_id, new.project_id, new.created_at, new.step, new.model, new.is_first, new.most_micros, new.cost_micros, new.cost_state,
      new.markup) then
    return null;
  end if;
  insert into keyframe_private.daily_costs (
    owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits,
    held_charge_micros, settled_charge_micros, unknown_charge_micros)
  select (c.s).owner_id, ((c.s).created_at at time zone 'UTC')::date, (c.s).step, (c.s).model, (c.s).project_id,
    sum(c.times * (c.s).is_first::integer),
    sum(case when (c.s).cost_state = 'held' then c.times * coalesce((c.s).most_micros, 0) else 0 end),
    sum(c.times * coalesce((c.s).cost_micros, 0)),
    sum(case when (c.s).cost_state = 'unknown' then c.times * coalesce((c.s).most_micros, 0) else 0 end),
    sum(c.times * ((c.s).cost_state = 'unknown')::integer),
    sum(case when (c.s).cost_state = 'held' then c.times * coalesce((c.s).most_charge_micros, 0) else 0 end),
    sum(c.times * coalesce((c.s).charge_micros, 0)),
    sum(case when (c.s).cost_state = 'unknown' then c.times * coalesce((c.s).most_charge_micros, 0) else 0 end)
  from (values (old, -1), (new, 1)) c (s, times)
  where (c.s).id is not null
  group by 1, 2, 3, 4, 5;
  return null;
end $$;

-- state: held while a submit has not ended, then unknown, settled or released. A run that was given back (markup 0) is released, whatever
-- the provider bills. atMostMicros: null when unknown.
create function keyframe_private.cost_json(prediction uuid)
returns json language plpgsql stable set search_path = '' as $$
begin
  return (
    select json_build_object(
      'amountMicros', case when bool_and(c.state in ('settled', 'released')) then keyframe_private.exact_sum(sum(s.charge_micros)) end,
      'atMostMicros', case when bool_and(c.state in ('settled', 'released') or s.most_micros is not null)
        then keyframe_private.exact_sum(sum(case c.state when 'settled' then s.charge_micros when 'released' then 0
          else s.most_charge_micros end)) end,
      'currency', 'USD',
      'state', case when bool_or(c.state = 'held') then 'held' when bool_or(c.state = 'unknown') then 'unknown'
        when bool_or(c.state = 'settled') then 'settled' else 'released' end)
    from keyframe_private.provider_submits s
    cross join lateral (select case when s.markup = 0 then 'released' else s.cost_state end) c (state)
    where s.prediction_id = cost_json.prediction
    having count(*) > 0);
end $$;
comment on function keyframe_private.cost_json is 'The cost of all submits of a prediction for its owner, as in the API.';

create function keyframe_private.merge_costs(max_rows integer default 20000)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.prune_rows(
    'keyframe_private.daily_costs', 'o.id', 'not o.is_merged order by o.owner_id, o.id', max_rows, 'merge',
      'select keyframe_private.merge_cost_rows($1)');
end $$;
comment on function keyframe_private.merge_costs is 'Merges the rows that submits have added since the last time.';

-- A user's usage and costs.

-- Planned for the days of each call: a plan for any days reads many rows one by one.
create function keyframe_private.usage_by_project(owner uuid, first_day date, last_day date)
returns json language plpgsql stable set search_path = '' set plan_cache_mode = 'force_custom_plan' as $$
begin
  return (
    select json_agg(g order by g."settledMicros" + g."heldMicros" + g."unknownMicros" desc, g.key) from (
      select c.project_id as key, sum(c.predictions) as predictions,
        keyframe_private.exact_sum(sum(c.settled_charge_micros)) as "settledMicros",
        keyframe_private.exact_sum(sum(c.held_charge_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_charge_micros)) as "unknownMicros"
      from keyframe_private.daily_costs c
      where c.owner_id = owner and c.day between first_day and last_day and c.project_id is not null and (c.step is null or not c.is_merged)
      group by 1 order by 3 desc, 1 limit 1000) g);
end $$;
comment on function keyframe_private.usage_by_project is 'What the projects of an owner cost: the 1,000 that cost most.';

-- From one day to another, inclusive. Costs a token for each day by project, otherwise one for each month or part of it.
create function keyframe.read_usage(from_day date default null, to_day date default null, group_by text default 'day')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  today constant date := (now() at time zone 'UTC')::date;
  first_day constant date := coalesce(from_day, date_trunc('month', coalesce(to_day, today))::date);
  last_day constant date := coalesce(to_day, today);
  days constant integer := least(greatest(last_day - first_day + 1, 1), 401);
  rate jsonb := keyframe_private.acquire_token('read', case when group_by = 'project' then days else 1 + days / 32 end);
  groups json;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(last_day < first_day or last_day - first_day > 400, 'invalid_request',
    'from must not be after to, and they may be at most 400 days apart.');
  if group_by = 'project' then
    groups := keyframe_private.usage_by_project(auth.uid(), first_day, last_day);
  else
    select json_agg(g order by g.key) into groups from (
      select case group_by when 'day' then c.day::text when 'model' then c.model else c.step::text end as key,
        sum(c.predictions) as predictions,
        keyframe_private.exact_sum(sum(c.settled_charge_micros)) as "settledMicros",
        keyframe_private.exact_sum(sum(c.held_charge_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_charge_micros)) as "unknownMicros"
      from keyframe_private.costs c
      where c.owner_id = auth.uid() and c.day between first_day and last_day
      group by 1) g;
  end if;
  return json_build_object(
    'from', first_day, 'to', last_day, 'currency', 'USD', 'groupBy', group_by, 'groups', coalesce(groups, '[]'),
    'balance', keyframe_private.balance_json(auth.uid()),
    'budgets', (
      select coalesce(json_agg(json_build_object(
        'scope', b.scope, 'period', b.period, 'limitMicros', b.limit_micros, 'settledMicros', b.settled_micros, 'heldMicros', b.held_micros,
        'availableMicros', b.available_micros, 'resetsAt', keyframe_private.wire_time(b.resets_at))), '[]')
      from keyframe_private.budgets_of(auth.uid(), now()) b where b.scope = 'owner'),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_usage is 'The caller''s predictions and costs by day, model, step or project, and the caller''s budgets and balance.';
