-- What submits cost by day, and budgets. Amounts are in micro-dollars, millionths of a US dollar. Days and months are those of UTC.

-- A submit adds a row when it is added and two when it ends, so nobody waits for a sum. Every five seconds the new rows become one for
-- each day, step and model, and one for each day and project in project_costs.
create table keyframe_private.daily_costs (
  id bigint generated always as identity primary key,
  owner_id uuid,
  day date not null,
  step keyframe.generation_step not null,
  model text not null,
  project_id uuid,
  predictions integer not null default 0,
  held_micros bigint not null default 0,
  settled_micros bigint not null default 0,
  unknown_micros bigint not null default 0,
  unknown_submits integer not null default 0,
  is_merged boolean not null default false
);
comment on table keyframe_private.daily_costs is 'What submits cost, by owner, day, step and model. Read the view costs. Kept for 13 months.';
comment on column keyframe_private.daily_costs.owner_id is 'The owner; null: everybody together.';
comment on column keyframe_private.daily_costs.id is 'Names the row alone.';
comment on column keyframe_private.daily_costs.day is 'The day, in UTC.';
comment on column keyframe_private.daily_costs.step is 'first-frame, last-frame or video.';
comment on column keyframe_private.daily_costs.model is 'The model that was submitted.';
comment on column keyframe_private.daily_costs.predictions is 'How many of the submits were the first of a prediction; negative in a correction, as are the amounts.';
comment on column keyframe_private.daily_costs.project_id is 'The project; null in a sum.';
comment on column keyframe_private.daily_costs.held_micros is 'Upper bound for submits that have not ended.';
comment on column keyframe_private.daily_costs.settled_micros is 'What they have cost.';
comment on column keyframe_private.daily_costs.unknown_micros is 'Upper bound for submits whose cost is unknown.';
comment on column keyframe_private.daily_costs.unknown_submits is 'How many submits have an unknown cost.';
comment on column keyframe_private.daily_costs.is_merged is 'Whether the row is a sum, and added to everybody''s.';
create index daily_costs_owner_id_day_idx on keyframe_private.daily_costs (owner_id, day, step, model);
create index daily_costs_day_idx on keyframe_private.daily_costs (day);
create index daily_costs_to_merge_idx on keyframe_private.daily_costs (id) where not is_merged;
alter table keyframe_private.daily_costs enable row level security;

create table keyframe_private.project_costs (
  id bigint generated always as identity primary key,
  owner_id uuid not null,
  day date not null,
  project_id uuid not null,
  predictions bigint not null,
  held_micros bigint not null,
  settled_micros bigint not null,
  unknown_micros bigint not null
);
comment on table keyframe_private.project_costs is 'What submits cost, by owner, day and project, without those that daily_costs has not merged yet. Kept for 13 months.';
comment on column keyframe_private.project_costs.id is 'Names the row alone.';
comment on column keyframe_private.project_costs.owner_id is 'The owner.';
comment on column keyframe_private.project_costs.day is 'The day, in UTC.';
comment on column keyframe_private.project_costs.project_id is 'The project.';
comment on column keyframe_private.project_costs.predictions is 'How many of the submits were the first of a prediction.';
comment on column keyframe_private.project_costs.held_micros is 'Upper bound for submits that have not ended.';
comment on column keyframe_private.project_costs.settled_micros is 'What they have cost.';
comment on column keyframe_private.project_costs.unknown_micros is 'Upper bound for submits whose cost is unknown.';
create index project_costs_owner_id_day_idx on keyframe_private.project_costs (owner_id, day, project_id);
create index project_costs_day_idx on keyframe_private.project_costs (day);
alter table keyframe_private.project_costs enable row level security;

-- JSON numbers are exact to 2^53, and a read never fails for the size of a sum.
create function keyframe_private.exact_sum(amount numeric)
returns bigint
language plpgsql
immutable
set search_path = ''
as $$
begin
  return least(coalesce(amount, 0), 9007199254740991);
end
$$;
comment on function keyframe_private.exact_sum is 'A sum as the API returns it.';

-- Everybody's sums have only merged rows, so the others are added here.
create view keyframe_private.costs with (security_invoker = true) as
select c.owner_id, c.day, c.step, c.model, c.predictions, c.held_micros, c.settled_micros, c.unknown_micros, c.unknown_submits
from keyframe_private.daily_costs c
union all
select null, c.day, c.step, c.model, c.predictions, c.held_micros, c.settled_micros, c.unknown_micros, c.unknown_submits
from keyframe_private.daily_costs c where not c.is_merged;
comment on view keyframe_private.costs is 'What all submits cost, by owner, day, step and model: any number of rows, to be added up. Those without an owner have what everybody''s cost.';
comment on column keyframe_private.costs.owner_id is 'The owner; null: everybody together.';
comment on column keyframe_private.costs.day is 'The day (UTC) on which they were added.';
comment on column keyframe_private.costs.step is 'What they make.';
comment on column keyframe_private.costs.model is 'Which model makes it.';
comment on column keyframe_private.costs.predictions is 'How many of them were the first of a prediction.';
comment on column keyframe_private.costs.held_micros is 'Upper bound for submits that have not ended.';
comment on column keyframe_private.costs.settled_micros is 'What the others have cost.';
comment on column keyframe_private.costs.unknown_micros is 'Upper bound for submits whose cost is unknown.';
comment on column keyframe_private.costs.unknown_submits is 'How many submits have an unknown cost.';

-- Leaves out merged rows that others have locked: then there are several for a while.
create function keyframe_private.merge_cost_rows(rows tid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  with added as (
    delete from keyframe_private.daily_costs c where c.ctid = any (rows) returning c.*
  ), counted as (
    select a.owner_id, a.day, a.step, a.model, a.predictions, a.held_micros, a.settled_micros, a.unknown_micros, a.unknown_submits from added a
    union all
    select null, a.day, a.step, a.model, a.predictions, a.held_micros, a.settled_micros, a.unknown_micros, a.unknown_submits
    from added a
  ), before as (
    delete from keyframe_private.daily_costs c where c.id = any (array(
      select o.id from (select distinct c.owner_id, c.day, c.step, c.model from added c) k
      join keyframe_private.daily_costs o using (owner_id, day, step, model)
      where o.is_merged for update of o skip locked) || array(
      select o.id from (select distinct c.day, c.step, c.model from added c) k
      join keyframe_private.daily_costs o using (day, step, model)
      where o.owner_id is null and o.is_merged for update of o skip locked))
    returning c.owner_id, c.day, c.step, c.model, c.predictions, c.held_micros, c.settled_micros, c.unknown_micros, c.unknown_submits
  ), projects_before as (
    delete from keyframe_private.project_costs c where c.id = any (array(
      select o.id from (select distinct a.owner_id, a.day, a.project_id from added a) k
      join keyframe_private.project_costs o using (owner_id, day, project_id)
      for update of o skip locked))
    returning c.owner_id, c.day, c.project_id, c.predictions, c.held_micros, c.settled_micros, c.unknown_micros
  ), merged as (
    insert into keyframe_private.daily_costs (
      owner_id, day, step, model, predictions, held_micros, settled_micros, unknown_micros, unknown_submits, is_merged)
    select c.owner_id, c.day, c.step, c.model, sum(c.predictions), sum(c.held_micros), sum(c.settled_micros), sum(c.unknown_micros),
      sum(c.unknown_submits), true
    from (table counted union all table before) c
    group by c.owner_id, c.day, c.step, c.model
  )
  insert into keyframe_private.project_costs (owner_id, day, project_id, predictions, held_micros, settled_micros, unknown_micros)
  select c.owner_id, c.day, c.project_id, sum(c.predictions), sum(c.held_micros), sum(c.settled_micros), sum(c.unknown_micros)
  from (
    select a.owner_id, a.day, a.project_id, a.predictions, a.held_micros, a.settled_micros, a.unknown_micros from added a
    where a.project_id is not null
    union all
    table projects_before
  ) c
  group by c.owner_id, c.day, c.project_id;
end
$$;
comment on function keyframe_private.merge_cost_rows is 'Merges the new rows of an owner''s day, step and model into one, and adds them to everybody''s and to their projects''.';

-- Budgets. Null is unlimited. The API returns them as JSON numbers, which are exact to 2^53.
alter table keyframe_private.settings
  add column owner_day_micros bigint constraint owner_day_is_exact_in_json check (owner_day_micros between 0 and 9007199254740991),
  add column owner_month_micros bigint constraint owner_month_is_exact_in_json check (owner_month_micros between 0 and 9007199254740991),
  add column service_day_micros bigint constraint service_day_is_exact_in_json check (service_day_micros between 0 and 9007199254740991),
  add column service_month_micros bigint constraint service_month_is_exact_in_json check (service_month_micros between 0 and 9007199254740991),
  add column spending_stopped boolean not null default false;
-- A row that takes the place of a lost one lacks the budgets, so it begins stopped.
alter table keyframe_private.settings alter column spending_stopped set default true;
comment on column keyframe_private.settings.owner_day_micros is 'The budget of each owner for a day, in micro-dollars; null: none. A row in owner_budgets takes its place.';
comment on column keyframe_private.settings.owner_month_micros is 'The budget of each owner for a month; null: none.';
comment on column keyframe_private.settings.service_day_micros is 'The budget of all owners together for a day; null: none.';
comment on column keyframe_private.settings.service_month_micros is 'The budget of all owners together for a month; null: none.';
comment on column keyframe_private.settings.spending_stopped is 'While true, starts are refused and those that wait for a slot go on waiting. What runs goes on to its end.';

create table keyframe_private.owner_budgets (
  owner_id uuid primary key,
  day_micros bigint check (day_micros between 0 and 9007199254740991),
  month_micros bigint check (month_micros between 0 and 9007199254740991),
  note text
);
comment on table keyframe_private.owner_budgets is 'Budgets of single owners, instead of those in settings. Null: unlimited.';
comment on column keyframe_private.owner_budgets.owner_id is 'The user, by the id in auth.users.';
comment on column keyframe_private.owner_budgets.day_micros is 'For a day (UTC), in millionths of a dollar; null: unlimited.';
comment on column keyframe_private.owner_budgets.month_micros is 'For a calendar month (UTC), in millionths of a dollar; null: unlimited.';
comment on column keyframe_private.owner_budgets.note is 'For administrators.';
alter table keyframe_private.owner_budgets enable row level security;

create function keyframe_private.budgets_of(owner uuid, at timestamptz)
returns table (scope text, period text, limit_micros bigint, settled_micros bigint, held_micros bigint, available_micros bigint, resets_at timestamptz)
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  today constant date := (budgets_of.at at time zone 'UTC')::date;
  month constant date := date_trunc('month', today)::date;
  next_month constant date := (month + interval '1 month')::date;
begin
  return query
  select w.scope, b.period, b.limit_micros, b.settled, b.held, greatest(0, b.limit_micros - b.settled - b.held), b.ends::timestamp at time zone 'UTC'
  from keyframe_private.settings s
  left join keyframe_private.owner_budgets o on o.owner_id = owner
  cross join lateral (values
    ('owner', owner, case when o.owner_id is null then s.owner_day_micros else o.day_micros end,
      case when o.owner_id is null then s.owner_month_micros else o.month_micros end),
    ('service', null, s.service_day_micros, s.service_month_micros)
  ) w (scope, owner_id, day_micros, month_micros)
  cross join lateral ( -- one reading for both
    select keyframe_private.exact_sum(sum(c.settled_micros + c.unknown_micros)) as month_settled,
      keyframe_private.exact_sum(sum(c.held_micros)) as month_held,
      keyframe_private.exact_sum(sum(c.settled_micros + c.unknown_micros) filter (where c.day = today)) as day_settled,
      keyframe_private.exact_sum(sum(c.held_micros) filter (where c.day = today)) as day_held
    from (
      select o.* from keyframe_private.costs o where o.owner_id = w.owner_id
      union all
      select e.* from keyframe_private.costs e where e.owner_id is null and w.scope = 'service') c
    where c.day >= month and c.day < next_month and coalesce(w.day_micros, w.month_micros) is not null) u
  cross join lateral (values
    ('day', w.day_micros, u.day_settled, u.day_held, today + 1),
    ('month', w.month_micros, u.month_settled, u.month_held, next_month)
  ) b (period, limit_micros, settled, held, ends)
  where b.limit_micros is not null;
end
$$;
comment on function keyframe_private.budgets_of is 'The budgets that a start of this owner must fit into, with what is used of each.';

-- Valid while the owner's slots are locked: the owner's budget is exact. The sums of everybody lack what open transactions hold, so that
-- nobody waits for another owner.
create function keyframe_private.require_budget(owner uuid, most_micros bigint, at timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  budget record;
begin
  if not exists (select from keyframe_private.settings) then
    perform keyframe_private.raise_error('spending_stopped', 'The row of keyframe_private.settings is missing, and with it the budgets. The administrator inserts it again, sets the budgets and sets spending_stopped to false.');
  end if;
  for budget in select b.* from keyframe_private.budgets_of(owner, at) b order by b.available_micros loop
    if most_micros is null then
      perform keyframe_private.raise_error('price_unknown', 'No price is known for this model and input, and there is a budget. Choose another model, or ask the administrator for its price.');
    elsif most_micros > budget.available_micros then
      perform keyframe_private.raise_error('budget_exceeded',
        format('This generation can cost more than is left of %s budget for this %s. Wait until it resets, or choose a cheaper model, resolution or length.',
          case budget.scope when 'owner' then 'your' else 'the service''s' end, budget.period),
        -- What others have spent is not the caller's to know.
        (jsonb_build_object('scope', budget.scope, 'period', budget.period, 'estimateMicros', most_micros, 'resetsAt', keyframe_private.wire_time(budget.resets_at))
          || case when budget.scope = 'owner' then jsonb_build_object(
            'limitMicros', budget.limit_micros, 'settledMicros', budget.settled_micros, 'heldMicros', budget.held_micros,
            'availableMicros', budget.available_micros) else '{}' end)::text);
    end if;
  end loop;
end
$$;
comment on function keyframe_private.require_budget is 'Admits the cost of one submit, or raises budget_exceeded or price_unknown.';

create table keyframe_private.exhausted_budgets (
  id bigint generated always as identity primary key,
  owner_id uuid,
  period text not null,
  resets_at timestamptz not null,
  limit_micros bigint not null,
  refused_at timestamptz not null default now(),
  constraint once_in_a_period unique nulls not distinct (owner_id, period, resets_at)
);
comment on table keyframe_private.exhausted_budgets is 'The budgets that have refused a start in their present period, each once. Without an owner: that of all owners together.';
comment on column keyframe_private.exhausted_budgets.id is 'Names the row alone.';
comment on column keyframe_private.exhausted_budgets.owner_id is 'Whose budget it is.';
comment on column keyframe_private.exhausted_budgets.period is 'day or month.';
comment on column keyframe_private.exhausted_budgets.resets_at is 'When its period ends.';
comment on column keyframe_private.exhausted_budgets.limit_micros is 'The budget then, in millionths of a dollar.';
comment on column keyframe_private.exhausted_budgets.refused_at is 'When it first refused a start.';
alter table keyframe_private.exhausted_budgets enable row level security;

-- Waits for nobody: if two race, one insert is enough.
create function keyframe_private.note_exhausted(owner uuid, most_micros bigint)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  budget record;
begin
  for budget in
    select b.*, case b.scope when 'owner' then owner end as owner_id
    from keyframe_private.budgets_of(owner, now()) b where b.available_micros < most_micros
  loop
    if keyframe_private.take_lock('exhausted ' || budget.period, budget.owner_id, waits => false) then
      insert into keyframe_private.exhausted_budgets (owner_id, period, resets_at, limit_micros)
      values (budget.owner_id, budget.period, budget.resets_at, budget.limit_micros)
      on conflict do nothing;
    end if;
  end loop;
end
$$;
comment on function keyframe_private.note_exhausted is 'Notes that these budgets have refused a start.';

-- A submit in the place of another that was released counts on the day of that one, and needs budget only if it can cost more. Where a
-- price counts the megapixels of the input, they are kept: its images may be deleted before it ends.
create function keyframe_private.add_submit(
  p keyframe.predictions, next_attempt integer, released keyframe_private.provider_submits default null
)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  added_at constant timestamptz := coalesce(released.created_at, clock_timestamp());
  cost record := keyframe_private.most_cost(p.model, p.input, clock_timestamp());
begin
  if (cost.most_micros <= released.most_micros) is not true then
    perform keyframe_private.require_budget(p.owner_id, cost.most_micros, added_at);
  end if;
  insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, is_first, step, model, created_at, price_ids, most_micros, metrics)
  values (p.owner_id, p.project_id, p.id, next_attempt, next_attempt = 1, p.step, p.model, added_at, cost.price_ids, cost.most_micros,
    (select jsonb_build_object('image_input_megapixel_count', keyframe_private.input_megapixels(p.input))
     where exists (select from keyframe_private.model_prices r where r.id = any (cost.price_ids) and r.metric = 'input_megapixel')));
end
$$;
comment on function keyframe_private.add_submit is 'Adds the next submit of a prediction, which holds the most that it can cost at the prices of now.';

-- The first submit of a new prediction. The lock of _400_admit makes the budget exact.
create function keyframe_private.add_first_submit()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if (select s.spending_stopped from keyframe_private.settings s) then
    perform keyframe_private.raise_error('spending_stopped', 'The administrator has stopped new generations for now. Try again later.');
  end if;
  perform keyframe_private.add_submit(new, new.attempt + 1);
  return null;
end
$$;
create trigger _350_add_first_submit after insert on keyframe.predictions
  for each row execute function keyframe_private.add_first_submit();
comment on trigger _350_add_first_submit on keyframe.predictions is 'Adds its first submit to the ledger; refuses it over a budget.';
