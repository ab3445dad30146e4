-- What a user has used and spent.

-- Planned for the days of each call: a plan for any days reads many rows one by one.
create function keyframe_private.usage_by_project(owner uuid, first_day date, last_day date)
returns json language plpgsql stable set search_path = '' set plan_cache_mode = 'force_custom_plan' as $$
begin
  return (
    select json_agg(g order by g."settledMicros" + g."heldMicros" + g."unknownMicros" desc, g.key) from (
      select c.project_id as key, sum(c.predictions) as predictions, keyframe_private.exact_sum(sum(c.settled_micros)) as "settledMicros",
        keyframe_private.exact_sum(sum(c.held_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_micros)) as "unknownMicros"
      from (
        select p.project_id, p.predictions, p.settled_micros, p.held_micros, p.unknown_micros
        from keyframe_private.project_costs p where p.owner_id = owner and p.day between first_day and last_day
        union all
        select d.project_id, d.predictions, d.settled_micros, d.held_micros, d.unknown_micros
        from keyframe_private.daily_costs d
        where d.owner_id = owner and d.day between first_day and last_day and not d.is_merged and d.project_id is not null
      ) c
      group by 1 order by 3 desc, 1 limit 1000) g);
end $$;
comment on function keyframe_private.usage_by_project is 'What the projects of an owner cost: the 1,000 that cost most.';

-- From one day to another, both included. Costs a token for each day by project, otherwise one for each month begun.
create function keyframe.read_usage(from_day date default null, to_day date default null, group_by text default 'day')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  today constant date := (now() at time zone 'UTC')::date;
  first_day constant date := coalesce(from_day, date_trunc('month', coalesce(to_day, today))::date);
  last_day constant date := coalesce(to_day, today);
  days constant integer := least(greatest(last_day - first_day + 1, 1), 401);
  rate jsonb := keyframe_private.take_token('read', case when group_by = 'project' then days else 1 + days / 32 end);
  groups json;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  if last_day < first_day or last_day - first_day > 400 then
    perform keyframe_private.raise_error('invalid_request', 'from must not be after to, and they may be at most 400 days apart.');
  end if;
  if group_by = 'project' then
    groups := keyframe_private.usage_by_project(auth.uid(), first_day, last_day);
  else
    select json_agg(g order by g.key) into groups from (
      select case group_by when 'day' then c.day::text when 'model' then c.model else c.step::text end as key, sum(c.predictions) as predictions,
        keyframe_private.exact_sum(sum(c.settled_micros)) as "settledMicros", keyframe_private.exact_sum(sum(c.held_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_micros)) as "unknownMicros"
      from keyframe_private.costs c
      where c.owner_id = auth.uid() and c.day between first_day and last_day
      group by 1) g;
  end if;
  return json_build_object(
    'from', first_day, 'to', last_day, 'currency', 'USD', 'groupBy', group_by, 'groups', coalesce(groups, '[]'),
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
comment on function keyframe.read_usage is 'The caller''s predictions and costs by day, model, step or project, and the caller''s budgets.';
