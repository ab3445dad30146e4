-- Budgets: a start is refused when the most that it can cost does not fit. An owner's budgets count what the owner pays, the service's what
-- the provider bills.

create table keyframe_private.owner_budgets (
  owner_id uuid primary key,
  day_micros bigint check (day_micros between 0 and 9007199254740991),
  month_micros bigint check (month_micros between 0 and 9007199254740991),
  note text
);
comment on table keyframe_private.owner_budgets is 'Budgets of single owners for a day and a month (UTC), in micro-dollars, instead of those in settings. Null: unlimited.';

-- The budgets that a start of this owner, by this OAuth client or key, must fit into. settled_micros includes the most that runs of unknown
-- cost can have cost. The sums have no clients, so what a client has spent today is read from the ledger.
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
  with limits as (
    select l.scope, l.period, l.limit_micros, l.first_day, l.next_day
    from keyframe_private.settings s
    left join keyframe_private.owner_budgets o on o.owner_id = owner
    cross join lateral (values
      ('owner', 'day', case when o.owner_id is null then s.owner_day_micros else o.day_micros end, today, today + 1),
      ('owner', 'month', case when o.owner_id is null then s.owner_month_micros else o.month_micros end, month, next_month),
      ('service', 'day', s.service_day_micros, today, today + 1),
      ('service', 'month', s.service_month_micros, month, next_month)
    ) l (scope, period, limit_micros, first_day, next_day)
    where l.limit_micros is not null
    union all
    select 'client', 'day', c.owner_day_micros, today, today + 1 from keyframe_private.allowed_clients c
    where c.client_id = client and c.owner_day_micros is not null
  )
  select l.scope, l.period, l.limit_micros, u.settled, u.held, greatest(0, l.limit_micros - u.settled - u.held),
    l.next_day::timestamp at time zone 'UTC'
  from limits l
  cross join lateral (
    select keyframe_private.exact_sum(sum(c.settled)) as settled, keyframe_private.exact_sum(sum(c.held)) as held
    from (
      select c.settled_charge_micros + c.unknown_charge_micros as settled, c.held_charge_micros as held
      from keyframe_private.costs c
      where l.scope = 'owner' and c.kind = 'owner_day' and c.owner_id = owner and c.day >= l.first_day and c.day < l.next_day
      union all
      select c.settled_micros + c.unknown_micros, c.held_micros
      from keyframe_private.costs c where l.scope = 'service' and c.kind = 'service_day' and c.day >= l.first_day and c.day < l.next_day
      union all
      select case s.cost_state when 'settled' then s.charge_micros when 'unknown' then s.most_charge_micros end,
        case s.cost_state when 'held' then s.most_charge_micros end
      from keyframe_private.provider_submits s
      where l.scope = 'client' and s.owner_id = owner and s.client_id = client
        and s.created_at >= l.first_day::timestamp at time zone 'UTC' and s.created_at < l.next_day::timestamp at time zone 'UTC') c
  ) u;
end $$;

-- Raises budget_exceeded, balance_exhausted or price_unknown unless a cost fits, and spending_stopped without settings. A start has locked the
-- owner's slots (acquire_lock), so that no other start changes the sums; a quote has not, because it reserves nothing. Several starts of one
-- transaction add up: each sees the rows of those before it. The service's sums omit what other open transactions reserve, so that no owner
-- waits for another.
create function keyframe_private.require_budget(
  owner uuid, cost keyframe_private.run_cost, at timestamptz, client text default null, is_start boolean default true)
returns void language plpgsql volatile set search_path = '' as $$
declare
  budget record;
begin
  perform keyframe_private.raise_if(not exists (select from keyframe_private.settings), 'spending_stopped',
    'The row of keyframe_private.settings is missing, and with it the budgets. The administrator must insert it, set the budgets, then set spending_stopped to false.');
  for budget in select b.* from keyframe_private.budgets_of(owner, at, client) b order by b.available_micros loop
    if cost.most_micros is null then
      perform keyframe_private.raise_error('price_unknown',
        'No price is known for this model and input, and there is a budget. Choose another model, or ask the administrator for its price.');
    elsif (case budget.scope when 'service' then cost.most_micros else cost.most_charge_micros end) > budget.available_micros then
      perform keyframe_private.raise_error('budget_exceeded',
        format('This generation can cost more than what is left of %s budget for this %s. Wait until it resets, or choose a cheaper model, resolution or length.',
          case when budget.scope = 'owner' then 'your' when budget.scope = 'service' then 'the service''s'
            when client ~ '^kf_' then 'this key''s' else 'this app''s' end, budget.period),
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

create function keyframe_private.require_spending()
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_if((select s.spending_stopped from keyframe_private.settings s), 'spending_stopped',
    'The administrator has stopped new generations for now. Try again later.');
end $$;

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
comment on column keyframe_private.limit_notes.once_for is 'Of a budget, its period and the end of it. Of a balance, how many credits had added something: a count rather than the last credit''s id or time, because of two simultaneous credits the earlier one may be committed later.';

-- Writes an event about a budget or a balance, unless it was written before. Never waits: if two race, one is enough.
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

-- Notes the budgets, or the balance, that have refused a start. `refused`: the hint of the refusal.
create function keyframe_private.note_exhausted(owner uuid, code text, refused text)
returns void language plpgsql volatile set search_path = '' as $$
declare
  figures constant jsonb := case when code in ('budget_exceeded', 'balance_exhausted') then refused end;
  most_micros constant bigint := figures ->> 'estimateMicros';
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
      else (b.scope, b.period) = (figures ->> 'scope', figures ->> 'period') end;
  end if;
end $$;
