-- What the runs of a model cost. A price is a row, and changing one is another row: docs/costs.md.

alter table keyframe.models
  add column billed_when jsonb not null default '{"failed": "unknown", "rejected": "unknown", "canceled": "yes"}'
    constraint billed_when_says_yes_no_or_unknown check (
      coalesce(billed_when ->> 'failed', '') in ('yes', 'no', 'unknown') and coalesce(billed_when ->> 'rejected', '') in ('yes', 'no', 'unknown')
      and coalesce(billed_when ->> 'canceled', '') in ('yes', 'no', 'unknown') and billed_when - array['failed', 'rejected', 'canceled'] = '{}'),
  add column cost_ceiling_micros bigint constraint cost_ceiling_is_at_most_a_million_dollars check (cost_ceiling_micros between 0 and 1000000000000);
comment on column keyframe.models.billed_when is 'Whether the provider bills a run that failed, whose content was rejected, or that was canceled: yes, no or unknown.';
comment on column keyframe.models.cost_ceiling_micros is 'The most that one run can cost, in millionths of a dollar: counts where no price is known.';

create table keyframe_private.model_prices (
  id bigint generated always as identity primary key,
  model text not null,
  applies_to jsonb not null default '{}',
  metric text not null,
  -- With quantities below 10^9, an amount in micro-dollars stays a bigint.
  price_usd numeric not null constraint price_is_between_0_and_1000 check (price_usd between 0 and 1000),
  valid_from timestamptz not null default now(),
  source text not null constraint source_is_not_empty check (btrim(source) <> ''),
  checked_at date not null default current_date constraint checked_at_is_in_a_year_of_four_digits check (checked_at between '1970-01-01' and '9999-12-31'),
  constraint one_price_at_a_time unique (model, metric, applies_to, valid_from)
);
comment on table keyframe_private.model_prices is 'What a model costs per unit of a metric. The metrics of a model add up; one with no row that fits makes the price of a run unknown.';
comment on column keyframe_private.model_prices.id is 'Runs keep the ids of their prices.';
comment on column keyframe_private.model_prices.model is 'A model of keyframe.models.';
comment on column keyframe_private.model_prices.price_usd is 'US dollars for one unit of the metric.';
comment on column keyframe_private.model_prices.applies_to is 'The values of an input for which it holds, for example {"resolution": "1080p", "audio": true}. Of the rows that fit, the one with the most values counts.';
comment on column keyframe_private.model_prices.metric is 'run, image, output_second, input_megapixel, output_megapixel or hardware_second.';
comment on column keyframe_private.model_prices.valid_from is 'From when it holds, until a later row with the same applies_to.';
comment on column keyframe_private.model_prices.source is 'The address of the page that says it.';
comment on column keyframe_private.model_prices.checked_at is 'When the source said it.';
alter table keyframe_private.model_prices enable row level security;

-- Refuses a price that no run would have, with its mistakes, each a sentence with its path.
create function keyframe_private.require_well_formed_price()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
declare
  mistakes text;
begin
  if not exists (select from keyframe.models m where m.model = new.model) then
    mistakes := format('model: there is no model %s. Insert it into keyframe.models first.', new.model);
  elsif not keyframe_private.has_shape(new.applies_to, 'an object') then
    mistakes := 'applies_to must be an object.';
  else
    select string_agg(mistake, ' ' order by mistake collate "C") into mistakes from (
      select 'metric must be run, image, output_second, input_megapixel, output_megapixel or hardware_second.'
      where new.metric not in ('run', 'image', 'output_second', 'input_megapixel', 'output_megapixel', 'hardware_second')
      union all
      select case
        when not exists (
          select from keyframe.models m join keyframe_private.known_controls() k on k.name = a.key and k.kind = 'choice'
          where m.model = new.model and m.controls ? a.key
        ) then format('applies_to.%s is not a control of %s with values.', a.key, new.model)
        when not exists (
          select from keyframe.models m where m.model = new.model and keyframe_private.control_takes(m.controls -> a.key, a.value)
        ) then format('applies_to.%s: %s does not take %s.', a.key, new.model, a.value)
      end
      from jsonb_each(new.applies_to) a
      union all
      select format('applies_to fits some inputs that row %s (%s) fits too, and neither names more values. Name the same controls in both.', o.id, o.applies_to)
      from keyframe_private.model_prices o
      where o.model = new.model and o.metric = new.metric and o.id <> new.id and o.applies_to <> new.applies_to
        and (select count(*) from jsonb_object_keys(o.applies_to)) = (select count(*) from jsonb_object_keys(new.applies_to))
        and o.applies_to || new.applies_to = new.applies_to || o.applies_to
    ) found (mistake);
  end if;
  if mistakes is not null then
    raise exception '%', mistakes using errcode = 'check_violation', constraint = 'price_is_well_formed', hint = 'docs/costs.md has the metrics.';
  end if;
  return new;
end
$$;
create trigger _100_require_well_formed before insert or update on keyframe_private.model_prices
  for each row execute function keyframe_private.require_well_formed_price();
comment on trigger _100_require_well_formed on keyframe_private.model_prices is 'Refuses a row with a mistake, with its path.';

-- A run keeps the price that it was started under.
create function keyframe_private.keep_price()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  raise exception 'This price has been in force, and runs were started under it. Insert a row with the new price: it holds from its valid_from on.'
    using errcode = 'check_violation', constraint = 'price_in_force_stays';
end
$$;
create trigger _200_keep_changed before update on keyframe_private.model_prices
  for each row when (old.valid_from <= now()
    and (old.id, old.applies_to, old.metric, old.price_usd, old.valid_from) is distinct from (new.id, new.applies_to, new.metric, new.price_usd, new.valid_from))
  execute function keyframe_private.keep_price();
comment on trigger _200_keep_changed on keyframe_private.model_prices is 'Refuses to change a price that has been in force.';
create trigger _200_keep_deleted before delete on keyframe_private.model_prices
  for each row when (old.valid_from <= now()) execute function keyframe_private.keep_price();
comment on trigger _200_keep_deleted on keyframe_private.model_prices is 'Refuses to delete a price that has been in force.';

-- A model that gets another name at the provider keeps its prices, also while another step has it under the old name.
create function keyframe_private.rename_prices()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if exists (select from keyframe.models m where m.model = old.model) then
    insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, valid_from, source, checked_at)
    select new.model, p.applies_to, p.metric, p.price_usd, p.valid_from, p.source, p.checked_at
    from keyframe_private.model_prices p where p.model = old.model
    on conflict do nothing;
  else
    update keyframe_private.model_prices p set model = new.model
    where p.model = old.model and not exists (
      select from keyframe_private.model_prices o
      where o.model = new.model and o.metric = p.metric and o.applies_to = p.applies_to and o.valid_from = p.valid_from);
  end if;
  return null;
end
$$;
create trigger _400_rename_prices after update of model on keyframe.models
  for each row when (new.model <> old.model) execute function keyframe_private.rename_prices();
comment on trigger _400_rename_prices on keyframe.models is 'Gives the model''s new name to its prices.';

-- Per second of video and per image, as public copies of Replicate's model pages of these days show them. docs/models.md has the same.
insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, checked_at, valid_from, source)
select model, applies_to::jsonb, metric, price_usd, checked_at::date, checked_at::timestamptz, 'https://replicate.com/' || model
from (values
  ('google/nano-banana-2', '{"resolution": "1K"}', 'image', 0.067, '2026-09-16'),
  ('google/nano-banana-2', '{"resolution": "2K"}', 'image', 0.101, '2026-09-16'),
  ('google/nano-banana-2', '{"resolution": "4K"}', 'image', 0.151, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'run', 0.015, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'input_megapixel', 0.015, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'output_megapixel', 0.015, '2026-09-16'),
  ('bytedance/seedream-4.5', '{}', 'image', 0.04, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "1K"}', 'image', 0.15, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "2K"}', 'image', 0.15, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "4K"}', 'image', 0.30, '2026-09-16'),
  ('bytedance/seedream-4', '{}', 'image', 0.03, '2026-09-16'),
  ('black-forest-labs/flux-kontext-pro', '{}', 'image', 0.04, '2026-09-16'),
  ('google/nano-banana', '{}', 'image', 0.039, '2026-09-16'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "720p", "audio": false}', 'output_second', 0.168, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "720p", "audio": true}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "1080p", "audio": false}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "1080p", "audio": true}', 'output_second', 0.28, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "4k"}', 'output_second', 0.42, '2026-10-05'),
  ('google/veo-3.1-fast', '{"audio": false}', 'output_second', 0.10, '2026-10-05'),
  ('google/veo-3.1-fast', '{"audio": true}', 'output_second', 0.15, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "360p", "audio": false}', 'output_second', 0.05, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "360p", "audio": true}', 'output_second', 0.07, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "540p", "audio": false}', 'output_second', 0.07, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "540p", "audio": true}', 'output_second', 0.09, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "720p", "audio": false}', 'output_second', 0.09, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "720p", "audio": true}', 'output_second', 0.12, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "1080p", "audio": false}', 'output_second', 0.18, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "1080p", "audio": true}', 'output_second', 0.23, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "720p", "audio": false}', 'output_second', 0.168, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "720p", "audio": true}', 'output_second', 0.252, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "1080p", "audio": false}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "1080p", "audio": true}', 'output_second', 0.336, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "4k"}', 'output_second', 0.42, '2026-10-05'),
  ('kwaivgi/kling-v2.6', '{"audio": false}', 'output_second', 0.07, '2026-10-05'),
  ('kwaivgi/kling-v2.6', '{"audio": true}', 'output_second', 0.14, '2026-10-05'),
  ('kwaivgi/kling-v2.5-turbo-pro', '{}', 'output_second', 0.07, '2026-10-01'),
  ('kwaivgi/kling-v2.1', '{"resolution": "720p"}', 'output_second', 0.05, '2026-10-05'),
  ('kwaivgi/kling-v2.1', '{"resolution": "1080p"}', 'output_second', 0.09, '2026-10-05'),
  ('minimax/hailuo-02', '{"resolution": "768p"}', 'output_second', 0.045, '2026-04-28'),
  ('minimax/hailuo-02', '{"resolution": "1080p"}', 'output_second', 0.08, '2026-04-28'),
  ('minimax/hailuo-2.3', '{"resolution": "768p", "durationSeconds": 6}', 'run', 0.28, '2026-04-28'),
  ('minimax/hailuo-2.3', '{"resolution": "1080p", "durationSeconds": 6}', 'run', 0.49, '2026-04-28'),
  ('google/veo-3.1', '{"audio": false}', 'output_second', 0.20, '2026-10-05'),
  ('google/veo-3.1', '{"audio": true}', 'output_second', 0.40, '2026-10-05'),
  ('prunaai/p-video', '{"resolution": "720p"}', 'output_second', 0.02, '2026-10-05'),
  ('prunaai/p-video', '{"resolution": "1080p"}', 'output_second', 0.04, '2026-10-05'),
  ('bytedance/seedance-2.5', '{"resolution": "480p"}', 'output_second', 0.1028, '2026-10-05'),
  ('bytedance/seedance-2.5', '{"resolution": "720p"}', 'output_second', 0.2312, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "480p"}', 'output_second', 0.08, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "720p"}', 'output_second', 0.18, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "1080p"}', 'output_second', 0.45, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "4k"}', 'output_second', 1.00, '2026-10-05'),
  ('bytedance/seedance-2.0-fast', '{"resolution": "480p"}', 'output_second', 0.07, '2026-10-05'),
  ('bytedance/seedance-2.0-fast', '{"resolution": "720p"}', 'output_second', 0.15, '2026-10-05')
) as prices (model, applies_to, metric, price_usd, checked_at);
