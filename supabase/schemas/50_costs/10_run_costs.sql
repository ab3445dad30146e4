-- The upper bound of a run's cost before it starts, and its cost when it has ended.

create function keyframe_private.input_megapixels(input jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return (
    select case when count(*) = count(s.pixels) and (
      not input_megapixels.input ? 'continuesPreviousShot'
      or coalesce(input_megapixels.input ->> 'firstFramePredictionId', input_megapixels.input ->> 'firstFrameImagePath') is not null) then coalesce(sum(ceil(s.pixels / 1048576)), 0) end
    from keyframe_private.images_of(input) i
    left join keyframe.predictions p on p.id = i.source_prediction_id
    cross join lateral keyframe_private.upload_size(i.path) u
    cross join lateral (select coalesce(u.width::numeric * u.height, p.output_width::numeric * p.output_height)) s (pixels));
end $$;
comment on function keyframe_private.input_megapixels is 'The megapixels of an input''s images, each rounded up as providers do (1 MP is 1024 × 1024 pixels); null when the size of one, or the end of the previous shot, is unknown.';

create function keyframe_private.most_quantity(metric text, input jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return case metric
    when 'run' then 1
    when 'image' then 1
    when 'output_second' then keyframe_private.read_figure(input, 'durationSeconds')
    when 'input_megapixel' then keyframe_private.input_megapixels(input)
    when 'output_megapixel' then ceil(substring(input ->> 'resolution' from '^(\d{1,3}(\.\d{1,3})?) MP$')::numeric)
  end; -- hardware_second: only the run shows it
end $$;
comment on function keyframe_private.most_quantity is 'How many units of a metric a run with a resolved input has at most; null: unknown. A run makes one file.';

create function keyframe_private.settled_quantity(metric text, metrics jsonb, output jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return case metric
    when 'run' then 1
    when 'image' then coalesce(keyframe_private.read_figure(metrics, 'image_output_count'), 1)
    when 'output_second' then coalesce(
      keyframe_private.read_figure(metrics, 'video_output_duration_seconds'), keyframe_private.read_figure(output, 'durationSeconds'))
    when 'input_megapixel' then keyframe_private.read_figure(metrics, 'image_input_megapixel_count')
    when 'output_megapixel' then coalesce(
      keyframe_private.read_figure(metrics, 'image_output_megapixel_count'),
      ceil(keyframe_private.read_figure(output, 'width') * keyframe_private.read_figure(output, 'height') / 1048576))
    when 'hardware_second' then keyframe_private.read_figure(metrics, 'predict_time')
  end;
end $$;
comment on function keyframe_private.settled_quantity is 'How many units of a metric a finished run had: by the provider''s metrics, otherwise by its file; null when neither says it.';

-- estimate: null when unknown. most: the model's ceiling then. price_ids: null when one is missing. A price of 0 is known whatever the
-- quantity. The cost of a run is capped at a million dollars, so that a mistyped price does not fail.
create function keyframe_private.most_cost(model text, input jsonb, at timestamptz)
returns keyframe_private.run_cost language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  cost keyframe_private.run_cost;
begin
  select
    case when bool_and(p.id is not null) then array_agg(p.id order by p.id) end,
    case when bool_and(p.amount is not null) then least(ceil(sum(p.amount) * 1000000), 1000000000000) end
  into cost.price_ids, cost.estimate_micros
  from (
    select distinct o.metric from keyframe_private.model_prices o where o.model = most_cost.model and o.valid_from <= most_cost.at
  ) billed
  left join lateral (
    select o.id, case when o.price_usd = 0 then 0 else o.price_usd * keyframe_private.most_quantity(o.metric, most_cost.input) end as amount
    from keyframe_private.model_prices o
    where o.model = most_cost.model and o.metric = billed.metric and o.valid_from <= most_cost.at and o.applies_to <@ most_cost.input
    order by (select count(*) from jsonb_object_keys(o.applies_to)) desc, o.valid_from desc
    limit 1
  ) p on true;
  cost.most_micros := coalesce(cost.estimate_micros,
    (select max(m.cost_ceiling_micros) from keyframe.models m where m.model = most_cost.model));
  cost.markup := keyframe_private.markup_of(most_cost.model);
  cost.estimate_charge_micros := ceil(cost.estimate_micros * cost.markup);
  cost.most_charge_micros := ceil(cost.most_micros * cost.markup);
  return cost;
end $$;
comment on function keyframe_private.most_cost is 'What a run with a resolved input costs.';

-- Without a generic plan it is planned at each end.
create function keyframe_private.settled_cost(price_ids bigint[], metrics jsonb, output jsonb)
returns bigint language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
begin
  return (
    select case when count(p.amount) = nullif(cardinality(price_ids), 0) then least(ceil(sum(p.amount) * 1000000), 1000000000000) end
    from (
      select case when o.price_usd = 0 then 0 else o.price_usd * keyframe_private.settled_quantity(o.metric, metrics, output) end
      from keyframe_private.model_prices o
      where o.id = any (price_ids)
    ) p (amount));
end $$;
comment on function keyframe_private.settled_cost is 'What a finished run costs by the prices that it was started under, in micro-dollars rounded up; null when it is unknown.';

-- Budgets: a start is refused when the most that it can cost does not fit. An owner's budgets count what the owner pays, the service's what
-- the provider bills.

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

-- The limit of an OAuth client or key counts its starts for this owner. It is read from the ledger, under the lock of a start.
create function keyframe_private.budgets_of(owner uuid, at timestamptz, client text default null)
returns table (
  scope text, period text, limit_micros bigint, settled_micros bigint, held_micros bigint, available_micros bigint, resets_at timestamptz)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  today constant date := (budgets_of.at at time zone 'UTC')::date;
  month constant date := date_trunc('month', today)::date;
  next_month constant date := (month + interval '1 month')::date;
begin
  return query
  select w.scope, b.period, b.limit_micros, b.settled, b.held, greatest(0, b.limit_micros - b.settled - b.held),
    b.ends::timestamp at time zone 'UTC'
  from keyframe_private.settings s
  left join keyframe_private.owner_budgets o on o.owner_id = owner
  cross join lateral (values
    ('owner', owner, case when o.owner_id is null then s.owner_day_micros else o.day_micros end,
      case when o.owner_id is null then s.owner_month_micros else o.month_micros end),
    ('service', null, s.service_day_micros, s.service_month_micros)
  ) w (scope, owner_id, day_micros, month_micros)
  cross join lateral ( -- one reading for both
    select keyframe_private.exact_sum(sum(c.settled)) as month_settled, keyframe_private.exact_sum(sum(c.held)) as month_held,
      keyframe_private.exact_sum(sum(c.settled) filter (where c.day = today)) as day_settled,
      keyframe_private.exact_sum(sum(c.held) filter (where c.day = today)) as day_held
    from (
      select o.day, o.settled_charge_micros + o.unknown_charge_micros as settled, o.held_charge_micros as held
      from keyframe_private.costs o where o.owner_id = w.owner_id
      union all
      select e.day, e.settled_micros + e.unknown_micros, e.held_micros
      from keyframe_private.costs e where e.owner_id is null and w.scope = 'service') c
    where c.day >= month and c.day < next_month and coalesce(w.day_micros, w.month_micros) is not null) u
  cross join lateral (values
    ('day', w.day_micros, u.day_settled, u.day_held, today + 1),
    ('month', w.month_micros, u.month_settled, u.month_held, next_month)
  ) b (period, limit_micros, settled, held, ends)
  where b.limit_micros is not null
  union all
  select 'client', 'day', c.owner_day_micros, u.settled, u.held, greatest(0, c.owner_day_micros - u.settled - u.held),
    (today + 1)::timestamp at time zone 'UTC'
  from keyframe_private.allowed_clients c
  cross join lateral (
    select keyframe_private.exact_sum(sum(case s.cost_state when 'settled' then s.charge_micros when 'unknown' then s.most_charge_micros end)) as settled,
      keyframe_private.exact_sum(sum(s.most_charge_micros) filter (where s.cost_state = 'held')) as held
    from keyframe_private.provider_submits s
    where s.owner_id = owner and s.client_id = c.client_id
      and s.created_at >= today::timestamp at time zone 'UTC' and s.created_at < (today + 1)::timestamp at time zone 'UTC') u
  where c.client_id = client and c.owner_day_micros is not null;
end $$;
comment on function keyframe_private.budgets_of is 'The budgets that a start of this owner (and OAuth client or key) must fit into, with what is used of each.';

-- Valid while the owner's slots are locked. The service's sums omit what open transactions reserve, so that no owner waits for another.
create function keyframe_private.require_budget(
  owner uuid, cost keyframe_private.run_cost, at timestamptz, client text default null, is_start boolean default true)
returns void language plpgsql volatile set search_path = '' as $$
declare
  budget record;
begin
  -- Several starts of one transaction add up, because each sees the rows of those before it.
  perform keyframe_private.raise_if(not exists (select from keyframe_private.settings), 'spending_stopped',
    'The row of keyframe_private.settings is missing, and with it the budgets. The administrator must insert it, set the budgets, then set spending_stopped to false.');
  for budget in select b.* from keyframe_private.budgets_of(owner, at, client) b order by b.available_micros loop
    if cost.most_micros is null then
      perform keyframe_private.raise_error('price_unknown',
        'No price is known for this model and input, and there is a budget. Choose another model, or ask the administrator for its price.');
    elsif (case budget.scope when 'service' then cost.most_micros else cost.most_charge_micros end) > budget.available_micros then
      perform keyframe_private.raise_error('budget_exceeded',
        format('This generation can cost more than what is left of %s budget for this %s. Wait until it resets, or choose a cheaper model, resolution or length.',
          case budget.scope when 'owner' then 'your' when 'client' then case when client ~ '^kf_' then 'this key''s' else 'this app''s' end else 'the service''s' end, budget.period),
        -- The caller must not learn what others have spent.
        (jsonb_build_object('scope', budget.scope, 'period', budget.period, 'estimateMicros', cost.most_charge_micros,
          'resetsAt', keyframe_private.wire_time(budget.resets_at))
          || case when budget.scope <> 'service' then jsonb_build_object(
            'limitMicros', budget.limit_micros, 'settledMicros', budget.settled_micros, 'heldMicros', budget.held_micros,
            'availableMicros', budget.available_micros) else '{}' end)::text);
    end if;
  end loop;
  perform keyframe_private.require_balance(owner, cost.most_charge_micros, is_start);
end $$;
comment on function keyframe_private.require_budget is 'Allows a cost, or raises budget_exceeded, balance_exhausted or price_unknown.';

create table keyframe_private.limit_notes (
  id bigint generated always as identity primary key,
  owner_id uuid,
  type text not null,
  once_for text not null,
  noted_at timestamptz not null default now(),
  constraint once_for_each unique nulls not distinct (owner_id, type, once_for)
);
comment on table keyframe_private.limit_notes is 'The events budget.exhausted, balance.low and balance.exhausted that were sent: for a budget once in its period, for a balance once after a credit.';
comment on column keyframe_private.limit_notes.owner_id is 'Whose budget or balance it is; null: the service''s budget.';
comment on column keyframe_private.limit_notes.type is 'budget.exhausted, balance.low or balance.exhausted.';
comment on column keyframe_private.limit_notes.once_for is 'The budget''s period and its end, or how many rows of credits had added something. A count, because of two simultaneous credits the earlier one may be committed later.';
comment on column keyframe_private.limit_notes.noted_at is 'When it was written.';

create function keyframe_private.note_once(owner uuid, type text, once_for text, data jsonb)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if not keyframe_private.acquire_lock(concat_ws(' ', note_once.type, note_once.once_for), owner, waits => false) then
    return;
  end if;
  insert into keyframe_private.limit_notes (owner_id, type, once_for) values (owner, note_once.type, note_once.once_for) on conflict do nothing;
  if found then
    perform keyframe_private.emit_event(note_once.type, owner, null, null, now(), data);
  end if;
end $$;
comment on function keyframe_private.note_once is 'Writes an event about a budget or a balance, unless it was written before. Never waits: if two race, one is enough.';

create function keyframe_private.note_exhausted(owner uuid, code text, hint text)
returns void language plpgsql volatile set search_path = '' as $$
declare
  refused constant jsonb := case when code in ('budget_exceeded', 'balance_exhausted') then hint end;
  most_micros constant bigint := refused ->> 'estimateMicros';
begin
  if code = 'balance_exhausted' then
    perform keyframe_private.note_once(owner, 'balance.exhausted', b.credits::text,
      jsonb_build_object('ownerId', owner, 'availableMicros', b.available_micros, 'estimateMicros', most_micros))
    from keyframe_private.balance_of(owner) b
    where b.available_micros < most_micros; -- credit may have come since
  elsif code = 'budget_exceeded' then
    perform keyframe_private.note_once(b.whose, 'budget.exhausted', concat_ws(' ', b.period, keyframe_private.wire_time(b.resets_at)),
      jsonb_strip_nulls(jsonb_build_object('ownerId', b.whose, 'scope', b.scope, 'period', b.period,
        'limitMicros', case when b.scope = 'owner' then b.limit_micros end, 'resetsAt', keyframe_private.wire_time(b.resets_at))))
    from (select o.*, case o.scope when 'owner' then owner end as whose from keyframe_private.budgets_of(owner, now()) o) b
    where case b.scope when 'owner' then b.available_micros < most_micros
      else (b.scope, b.period) = (refused ->> 'scope', refused ->> 'period') end;
  end if;
end $$;
comment on function keyframe_private.note_exhausted is 'Notes the budgets, or the balance, that have refused a start.';

-- A submit that replaces a released one counts on its day, and needs budget only if it can cost more. The megapixels of the input are
-- kept where a price counts them: its images may be deleted before it ends.
create function keyframe_private.add_submits(
  predictions keyframe.predictions[], released keyframe_private.provider_submits default null,
  due_at timestamptz default clock_timestamp(), failures integer default 0, reason text default null)
returns void language plpgsql volatile set search_path = '' as $$
declare
  p keyframe.predictions;
  cost keyframe_private.run_cost;
  total keyframe_private.run_cost; -- one unknown price makes it null, and the start is refused
  submit keyframe_private.provider_submits;
  submits keyframe_private.provider_submits[] := '{}';
begin
  total.most_micros := 0;
  total.most_charge_micros := 0;
  submit.created_at := coalesce(released.created_at, clock_timestamp());
  foreach p in array predictions loop
    cost := keyframe_private.most_cost(p.model, p.input, clock_timestamp());
    submit.metrics := (
      select jsonb_build_object('image_input_megapixel_count', keyframe_private.input_megapixels(p.input))
      where exists (select from keyframe_private.model_prices r where r.id = any (cost.price_ids) and r.metric = 'input_megapixel'));
    submit.prediction_id := p.id;
    submit.project_id := p.project_id;
    submit.attempt := p.attempt + 1;
    submit.step := p.step;
    submit.model := p.model;
    submit.price_ids := cost.price_ids;
    submit.most_micros := cost.most_micros;
    submit.markup := cost.markup;
    submits := submits || submit;
    total.most_micros := total.most_micros + cost.most_micros;
    total.most_charge_micros := total.most_charge_micros + cost.most_charge_micros;
  end loop;
  if (total.most_micros <= released.most_micros and total.most_charge_micros <= released.most_charge_micros) is not true then
    perform keyframe_private.require_budget(p.owner_id, total, submit.created_at, p.client_id);
  end if;
  insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, is_first, step, model, created_at, price_ids,
    most_micros, markup, client_id, metrics)
  select p.owner_id, s.project_id, s.prediction_id, s.attempt, s.attempt = 1, s.step, s.model, s.created_at, s.price_ids,
    s.most_micros, s.markup, p.client_id, s.metrics
  from unnest(submits) s;
  foreach p in array predictions loop
    if p.admitted_at is not null then
      perform keyframe_private.add_submit_work(p, add_submits.due_at, add_submits.failures, reason);
    end if;
  end loop;
end $$;
comment on function keyframe_private.add_submits is 'Adds the next submit of predictions of one owner and client, which hold their upper bound at current prices. They must fit the budget together. Adds the work to send the admitted ones.';

create function keyframe_private.require_spending()
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_if((select s.spending_stopped from keyframe_private.settings s), 'spending_stopped',
    'The administrator has stopped new generations for now. Try again later.');
end $$;
comment on function keyframe_private.require_spending is 'Raises spending_stopped while the administrator has stopped new generations.';

-- The cost of an ended submit.

-- A success without the provider's figures stays held until its prediction ends, because the file may supply them.
create function keyframe_private.settle_ended()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  billed text := case new.outcome when 'no_run' then 'no' when 'aborted' then 'no' when 'succeeded' then 'yes' when 'lost' then 'unknown' end;
begin
  if billed is null then
    select m.billed_when ->> new.outcome into billed from keyframe.models m
    -- The model may have been renamed, and the prediction with it.
    where m.step = new.step and m.model in (new.model, (select p.model from keyframe.predictions p where p.id = new.prediction_id))
    order by m.model <> new.model limit 1;
  end if;
  new.cost_micros := case when billed in ('yes', 'unknown') then keyframe_private.settled_cost(new.price_ids, new.metrics, null) end;
  if billed = 'unknown' and new.cost_micros > 0 then
    new.cost_micros := null; -- but what the provider counted as nothing costs nothing
  end if;
  if billed = 'no' then
    new.cost_state := 'released';
  elsif new.cost_micros is not null then
    new.cost_state := 'settled';
  elsif new.outcome is null or new.outcome = 'succeeded' -- null: the run of a lost submit was found
    and exists (select from keyframe.predictions p where p.id = new.prediction_id and p.completed_at is null) then
    new.cost_state := 'held';
  else
    new.cost_state := 'unknown';
  end if;
  return new;
end $$;

-- A markup of 0: what the provider bills stays a cost of the service, because the owner did not end the run.
create function keyframe_private.give_back_run()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe_private.provider_submits s set markup = 0 where s.prediction_id = new.id;
  return null;
end $$;

-- Called when a prediction ends or is deleted. By its file, a run never costs more than was held, because a file may state any length.
create function keyframe_private.settle_by_file()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
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
end $$;
