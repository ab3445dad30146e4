-- Prepaid balances. Balance = credits - settled - held - unknown, without a counter.

create table keyframe_private.credits (
  id bigint generated always as identity primary key,
  owner_id uuid not null,
  micros bigint not null,
  kind text not null,
  key text not null default gen_random_uuid()::text,
  note text,
  created_at timestamptz not null default now(),
  constraint one_credit_for_each_key unique (owner_id, key),
  constraint kind_is_known check (kind in ('grant', 'purchase', 'refund', 'adjustment', 'expiry')),
  constraint sign_is_that_of_the_kind check (
    case when kind in ('grant', 'purchase') then micros > 0 when kind in ('refund', 'expiry') then micros < 0 else micros <> 0 end),
  constraint amount_is_exact_in_json check (micros between -9007199254740991 and 9007199254740991),
  constraint key_has_1_to_255_visible_characters check (key ~ '^[\x21-\x7e]{1,255}$'),
  constraint key_opening_is_that_of_the_first_adjustment check (key <> 'opening' or kind = 'adjustment' and micros > 0),
  constraint note_has_at_most_500_characters check (char_length(note) <= 500)
);
comment on table keyframe_private.credits is 'What was added to balances and taken from them, kept for good. An owner with a row is prepaid. Rows are only inserted: an adjustment corrects one. Only the note may be removed.';
comment on column keyframe_private.credits.owner_id is 'The user, also when the account is deleted.';
comment on column keyframe_private.credits.micros is 'In micro-dollars; negative for a refund or an expiry.';
comment on column keyframe_private.credits.key is 'A repetition with the same key adds nothing: for example the id of the payment.';
create index credits_owner_id_idx on keyframe_private.credits (owner_id, id) include (micros);

-- What is left of an owner's credits (null: not prepaid), what is held, how many credits added something, and the threshold of balance.low.
-- One snapshot for all: a merge moves rows meanwhile. Without a generic plan it is planned at each start.
create function keyframe_private.balance_of(
  owner uuid, out available_micros bigint, out held_micros bigint, out credits bigint, out low_micros bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  most constant bigint := 9007199254740991; -- what JSON holds exactly
  credited numeric;
begin
  select sum(c.micros), count(*) filter (where c.micros > 0) into credited, credits
  from keyframe_private.credits c where c.owner_id = owner;
  if credited is null then
    select 0, 0, 0, s.balance_low_micros into available_micros, held_micros, credits, low_micros
    from keyframe_private.settings s where s.prepaid_by_default;
    return;
  end if;
  select
    greatest(-most, least(most,
      credited - coalesce(sum(c.held_charge_micros + c.settled_charge_micros + c.unknown_charge_micros), 0))),
    keyframe_private.exact_sum(sum(c.held_charge_micros)),
    (select s.balance_low_micros from keyframe_private.settings s)
  into available_micros, held_micros, low_micros
  from keyframe_private.costs c where c.kind = 'owner_total' and c.owner_id = owner;
end $$;

create function keyframe_private.balance_json(owner uuid)
returns json language plpgsql stable set search_path = '' as $$
begin
  return (
    select json_build_object('availableMicros', b.available_micros, 'heldMicros', b.held_micros)
    from keyframe_private.balance_of(owner) b where b.available_micros is not null);
end $$;

-- Raises balance_exhausted or price_unknown unless the most that a submit can cost its owner fits. Valid while the owner's slots are
-- locked, as for budgets. Credits need no lock: one that is not committed yet counts later.
create function keyframe_private.require_balance(owner uuid, most_micros bigint, is_start boolean)
returns void language plpgsql volatile set search_path = '' as $$
declare
  balance constant record := keyframe_private.balance_of(owner);
begin
  if balance.available_micros is null then
    return;
  elsif most_micros is null then
    perform keyframe_private.raise_error('price_unknown',
      'No price is known for this model and input, and you have a prepaid balance. Choose another model, or ask the administrator for its price.');
  elsif most_micros > balance.available_micros then
    perform keyframe_private.raise_error('balance_exhausted',
      'This generation can cost more than your balance. Add credit, or choose a cheaper model, resolution or length.',
      jsonb_build_object('availableMicros', balance.available_micros, 'estimateMicros', most_micros)::text);
  elsif is_start and balance.available_micros - most_micros < balance.low_micros then
    perform keyframe_private.note_once(owner, 'balance.low', balance.credits::text, jsonb_build_object(
      'ownerId', owner, 'availableMicros', balance.available_micros - most_micros, 'thresholdMicros', balance.low_micros));
  end if;
end $$;

-- Offsets what was settled before an owner's first credit. Held and unknown costs stay: if they were offset too, their release would be a
-- gift. Of two first credits at once, the key decides.
create function keyframe_private.open_balance()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.require_not_moved(new.owner_id);
  if new.key <> 'opening' and not exists (select from keyframe_private.credits c where c.owner_id = new.owner_id) then
    insert into keyframe_private.credits (owner_id, micros, kind, key, note)
    select new.owner_id, keyframe_private.exact_sum(sum(c.settled_charge_micros)), 'adjustment', 'opening', 'Settled before the first credit.'
    from keyframe_private.costs c where c.kind = 'owner_total' and c.owner_id = new.owner_id
    having sum(c.settled_charge_micros) > 0
    on conflict do nothing;
  end if;
  return new;
end $$;

create function keyframe_private.note_low_after_credit()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.note_once(new.owner_id, 'balance.low', b.credits::text, jsonb_build_object(
    'ownerId', new.owner_id, 'availableMicros', b.available_micros, 'thresholdMicros', b.low_micros))
  from keyframe_private.balance_of(new.owner_id) b where b.available_micros < b.low_micros;
  return null;
end $$;

-- For administrators: adds credit to an owner's balance, or subtracts it, once for each key.
create function keyframe_private.add_credit(
  owner uuid, micros bigint, kind text, key text default gen_random_uuid()::text, note text default null)
returns keyframe_private.credits language plpgsql volatile set search_path = '' as $$
declare
  credit keyframe_private.credits;
begin
  perform keyframe_private.raise_if(
    not exists (select from auth.users u where u.id = owner)
      and not exists (select from keyframe_private.credits c where c.owner_id = owner),
    'user_not_found', 'There is no user with this id, and no deleted one who has credits.');
  insert into keyframe_private.credits (owner_id, micros, kind, key, note)
  values (owner, add_credit.micros, add_credit.kind, add_credit.key, add_credit.note)
  on conflict on constraint one_credit_for_each_key do nothing
  returning * into credit;
  if not found then
    select c.* into credit from keyframe_private.credits c where c.owner_id = owner and c.key = add_credit.key;
    perform keyframe_private.raise_if((credit.micros, credit.kind) <> (add_credit.micros, add_credit.kind), 'idempotency_mismatch',
      'This key was used for another credit of this user. Send a new key with a new credit.');
  end if;
  return credit;
end $$;

-- lock_timeout: an equal credit may be open in another transaction.
create function keyframe_worker.add_credit(user_id uuid, amount_micros bigint, kind text, key text, note text default null)
returns json language plpgsql volatile security definer set search_path = '' set lock_timeout = '2s' as $$
declare
  credit constant keyframe_private.credits := keyframe_private.add_credit(user_id, amount_micros, kind, key, note);
begin
  return json_build_object('rate', null, 'replayed', credit.created_at <> now(), 'credit', json_build_object(
    'key', credit.key, 'kind', credit.kind, 'amountMicros', credit.micros, 'note', credit.note,
    'createdAt', keyframe_private.wire_time(credit.created_at), 'balance', keyframe_private.balance_json(user_id)));
end $$;
comment on function keyframe_worker.add_credit is 'Adds credit for a server that sends the secret key and Keyframe-User.';
