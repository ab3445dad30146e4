-- What a submit has cost once it has ended.

-- Settled by what the provider counted, released where it does not bill, or unknown. A success without figures of the provider holds until
-- its prediction ends, because the file may tell them.
create function keyframe_private.settle_ended()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
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
end $$;

-- A prediction ends, with its file or without one, or is deleted. By a file alone nothing costs more than was held: it may say any length.
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
