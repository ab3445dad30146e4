-- The sums of costs, which budgets, balances and usage read.

-- What has changed since the last merge. Only inserts, so that no transaction waits for a sum.
create table keyframe_private.cost_changes (
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
  held_charge_micros bigint not null default 0,
  settled_charge_micros bigint not null default 0,
  unknown_charge_micros bigint not null default 0
);
comment on table keyframe_private.cost_changes is 'What each change of a submit adds to its costs (negative: subtracts), until merge_costs has added it to cost_sums.';
comment on column keyframe_private.cost_changes.day is 'The day on which the submit was added, in UTC.';
comment on column keyframe_private.cost_changes.predictions is 'How many of the submits were the first of a prediction.';
comment on column keyframe_private.cost_changes.held_micros is 'The most that the provider can bill for submits that have not ended.';
comment on column keyframe_private.cost_changes.settled_micros is 'What the provider bills for ended submits.';
comment on column keyframe_private.cost_changes.unknown_micros is 'The most that the provider can bill for submits whose cost is unknown.';
create index cost_changes_owner_id_idx on keyframe_private.cost_changes (owner_id, id);

create type keyframe_private.cost_sum_kind as enum ('owner_day', 'service_day', 'project_day', 'owner_total');
comment on type keyframe_private.cost_sum_kind is 'owner_day: by owner, day, step and model. service_day: of all owners, by day, step and model. project_day: by owner, day and project. owner_total: by owner, of all days, for balances. The other columns are null in cost_sums; in cost_changes every row has all of them.';

create table keyframe_private.cost_sums (
  kind keyframe_private.cost_sum_kind not null,
  like keyframe_private.cost_changes including identity including defaults including comments,
  primary key (id),
  constraint one_row_for_each_sum unique nulls not distinct (owner_id, kind, day, step, model, project_id)
);
comment on table keyframe_private.cost_sums is 'The sums of cost_changes. Those of a day are kept for 13 months, owner_total for good.';
create index cost_sums_day_idx on keyframe_private.cost_sums (day);
create index cost_sums_service_day_idx on keyframe_private.cost_sums (day) where kind = 'service_day';

create view keyframe_private.costs with (security_invoker = true) as
table keyframe_private.cost_sums
union all
select k.kind, c.* from unnest(enum_range(null::keyframe_private.cost_sum_kind)) k (kind) cross join keyframe_private.cost_changes c;
comment on view keyframe_private.costs is 'What all submits cost, merged or not. Add up the rows of one kind: a sum can have any number of rows, and each kind has all costs.';

-- Deletes these changes, and adds each to its four sums, one of each kind.
create function keyframe_private.merge_cost_changes(rows tid[])
returns void language plpgsql volatile set search_path = '' as $$
begin
  with merged as (
    delete from keyframe_private.cost_changes c where c.ctid = any (rows) returning c.*
  )
  insert into keyframe_private.cost_sums as s (
    kind, owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits,
    held_charge_micros, settled_charge_micros, unknown_charge_micros)
  select k.*, sum(m.predictions), sum(m.held_micros), sum(m.settled_micros), sum(m.unknown_micros), sum(m.unknown_submits),
    sum(m.held_charge_micros), sum(m.settled_charge_micros), sum(m.unknown_charge_micros)
  from merged m
  cross join lateral (values
    ('owner_day'::keyframe_private.cost_sum_kind, m.owner_id, m.day, m.step, m.model, null::uuid),
    ('service_day', null, m.day, m.step, m.model, null),
    ('project_day', m.owner_id, m.day, null, null, m.project_id),
    ('owner_total', m.owner_id, null, null, null, null)) k (kind, owner_id, day, step, model, project_id)
  group by 1, 2, 3, 4, 5, 6
  on conflict on constraint one_row_for_each_sum do update
  set predictions = s.predictions + excluded.predictions, unknown_submits = s.unknown_submits + excluded.unknown_submits,
      held_micros = s.held_micros + excluded.held_micros, held_charge_micros = s.held_charge_micros + excluded.held_charge_micros,
      settled_micros = s.settled_micros + excluded.settled_micros,
      settled_charge_micros = s.settled_charge_micros + excluded.settled_charge_micros,
      unknown_micros = s.unknown_micros + excluded.unknown_micros,
      unknown_charge_micros = s.unknown_charge_micros + excluded.unknown_charge_micros;
end $$;

create function keyframe_private.merge_costs(max_rows integer default 20000)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.run_in_batches('keyframe_private.cost_changes', 'true order by o.owner_id, o.id', max_rows, 'merge',
    'select keyframe_private.merge_cost_changes($1)');
end $$;

-- At most 1,000 groups: of the projects those that cost most. Planned for the arguments of each call: a plan for any days reads many rows
-- one by one.
create function keyframe_private.usage_groups(owner uuid, first_day date, last_day date, group_by text)
returns json language plpgsql stable set search_path = '' set plan_cache_mode = 'force_custom_plan' as $$
begin
  return (
    select json_agg(g order by case group_by when 'project' then g."settledMicros" + g."heldMicros" + g."unknownMicros" end desc, g.key)
    from (
      select
        case group_by when 'day' then c.day::text when 'model' then c.model when 'step' then c.step::text else c.project_id::text end as key,
        sum(c.predictions) as predictions,
        keyframe_private.exact_sum(sum(c.settled_charge_micros)) as "settledMicros",
        keyframe_private.exact_sum(sum(c.held_charge_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_charge_micros)) as "unknownMicros"
      from keyframe_private.costs c
      where c.kind = case group_by when 'project' then 'project_day'::keyframe_private.cost_sum_kind else 'owner_day' end
        and c.owner_id = owner and c.day between first_day and last_day
      group by 1 order by 3 desc, 1 limit 1000) g);
end $$;

-- From one day to another, inclusive. Costs a token for each day by project, otherwise one for each month or part of it.
create function keyframe.read_usage(from_day date default null, to_day date default null, group_by text default 'day')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  today constant date := (now() at time zone 'UTC')::date;
  first_day constant date := coalesce(from_day, date_trunc('month', coalesce(to_day, today))::date);
  last_day constant date := coalesce(to_day, today);
  days constant integer := least(greatest(last_day - first_day + 1, 1), 401);
  rate jsonb := keyframe_private.acquire_token('read', case when group_by = 'project' then days else 1 + days / 32 end);
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(last_day < first_day or last_day - first_day > 400, 'invalid_request',
    'from must not be after to, and they may be at most 400 days apart.');
  perform keyframe_private.raise_if(coalesce(group_by not in ('day', 'model', 'step', 'project'), true), 'invalid_request',
    'groupBy must be day, model, step or project.');
  return json_build_object(
    'from', first_day, 'to', last_day, 'currency', 'USD', 'groupBy', group_by,
    'groups', coalesce(keyframe_private.usage_groups(auth.uid(), first_day, last_day, group_by), '[]'),
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
