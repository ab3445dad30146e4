-- A quote holds the price of one start, or of a film's missing shots, for one user and OAuth client. It can be started once, within ten
-- minutes: the quote's id is the key of that start.

-- Each quote uses a token of `create`, has at most 64 kB, and is deleted within two minutes of its end unless it was started (prune). So by
-- default an owner has at most 780 unused quotes: 60 at once, and one more each second. A quote that was started is kept for a day, so
-- that a late repetition finds its prediction.
create table keyframe_private.quotes (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null references auth.users on delete cascade,
  client_id text,
  film_id uuid,
  project_ids uuid[] not null,
  with_outdated boolean not null default false,
  step keyframe.generation_step not null,
  requested_input jsonb not null,
  requested_model text,
  requested_count integer,
  digest text not null,
  most_charge_micros bigint not null,
  expires_at timestamptz not null default now() + interval '10 minutes',
  constraint project_ids_are_a_list check (array_ndims(project_ids) = 1)
);
comment on table keyframe_private.quotes is 'Prices that hold for ten minutes, each for one start.';
comment on column keyframe_private.quotes.client_id is 'The OAuth client or key that may start it; null: the owner''s session, or a server.';
comment on column keyframe_private.quotes.film_id is 'The film whose shots it is for; null: one project.';
comment on column keyframe_private.quotes.with_outdated is 'Whether shots whose shown take is outdated count as without it.';
comment on column keyframe_private.quotes.requested_input is 'The input of the request. The start sends it again, with requested_model and requested_count.';
comment on column keyframe_private.quotes.digest is 'The SHA-256 of the models and complete inputs that were priced: of the first take, or of each shot.';
comment on column keyframe_private.quotes.most_charge_micros is 'The price: the most that a start reserves of what its user pays, in micro-dollars. A second run after an interruption reserves its own.';
comment on column keyframe_private.quotes.expires_at is 'Until when it can be started or, once it was, until when a repetition finds its prediction.';
create index quotes_owner_id_idx on keyframe_private.quotes (owner_id);
create index quotes_expires_at_idx on keyframe_private.quotes (expires_at);

-- Identifies the models and inputs of starts, in order. The digest omits which video a shot continues: in a film, that video has no id until
-- it is started.
create function keyframe_private.digest_of(starts keyframe.predictions[])
returns text language plpgsql stable set search_path = '' as $$
begin
  return (select encode(sha256(convert_to(string_agg(s.model || (s.input - 'continuesPredictionId')::text, e'\n' order by s.ordinality), 'UTF8')), 'hex')
    from unnest(starts) with ordinality s);
end $$;

-- Stores a quote for priced starts. The function raises every error that the start itself would raise.
create function keyframe_private.add_quote(
  priced keyframe.predictions[], film uuid, requested_input jsonb, requested_model text, requested_count integer, cost keyframe_private.run_cost,
  with_outdated boolean default false)
returns keyframe_private.quotes language plpgsql volatile set search_path = '' as $$
declare
  client constant text := auth.jwt() ->> 'client_id';
  made keyframe_private.quotes;
begin
  perform keyframe_private.require_spending();
  -- The API's limit of a body. The Data API has none, and `requested_input` is stored as the caller sent it.
  perform keyframe_private.raise_if(octet_length(requested_input::text) > 65536, 'invalid_request', 'input must have at most 64 kB.');
  perform keyframe_private.raise_if(cost.most_micros is null, 'price_unknown',
    'No price is known for this model and input, so there can be no quote. Choose another model, or ask the administrator for its price.');
  perform keyframe_private.require_budget(priced[1].owner_id, cost, now(), client, is_start => false);
  insert into keyframe_private.quotes (
    owner_id, client_id, film_id, project_ids, with_outdated, step, requested_input, requested_model, requested_count, digest, most_charge_micros)
  values (priced[1].owner_id, client, film, array(select p.project_id from unnest(priced) with ordinality p order by p.ordinality),
    add_quote.with_outdated, priced[1].step, add_quote.requested_input, add_quote.requested_model, add_quote.requested_count,
    keyframe_private.digest_of(priced), cost.most_charge_micros)
  returning * into made;
  return made;
end $$;

-- Raises unless the started predictions are those of the quote, and together reserve no more than its price. Of several takes of one step
-- only the first was priced.
create function keyframe_private.require_as_quoted(started keyframe.predictions[], quote keyframe_private.quotes)
returns void language plpgsql stable set search_path = '' as $$
declare
  priced constant keyframe.predictions[] := case when quote.film_id is null then started[1:1] else started end;
  reserved constant numeric := (
    select case when count(*) = count(s.most_charge_micros) then sum(s.most_charge_micros) end
    from keyframe_private.provider_submits s where s.prediction_id = any (array(select t.id from unnest(started) t)));
begin
  perform keyframe_private.raise_if(
    keyframe_private.digest_of(priced) is distinct from quote.digest or (reserved <= quote.most_charge_micros) is not true, 'precondition_failed',
    'What this quote is for has changed since: the price, the model, the prompt, the elements, the frames, or which shots lack the step. Nothing was started. Ask for an estimate with a new quote.');
end $$;

-- The start resolves its input again. If the result is not that of the quote, nothing is started.
create function keyframe.start_quote(quote_id uuid, at_most_micros bigint)
returns json language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  start_key constant text := 'quote:' || quote_id;
  quote keyframe_private.quotes;
  request record;
  shots uuid[] := '{}';
  started keyframe.predictions[];
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('generate');
  perform keyframe_private.require_user();
  select q.* into quote from keyframe_private.quotes q
  where q.id = quote_id and q.owner_id = auth.uid() and q.client_id is not distinct from auth.jwt() ->> 'client_id'
    and q.expires_at > now();
  perform keyframe_private.raise_if(not found, 'not_found',
    'You have no quote with this quoteId, or it has expired: a quote holds for ten minutes, for the user and the app that requested it. Request a new estimate.');
  perform keyframe_private.raise_if(quote.most_charge_micros is distinct from at_most_micros, 'invalid_request',
    format('atMostMicros must be the price of this quote, %s. Nothing was started.', quote.most_charge_micros));
  -- The hash refuses a key that a caller sent with another request.
  request := keyframe_private.reserve_idempotency_key(start_key, encode(sha256(start_key::bytea), 'hex'));
  if request.replayed then
    started := keyframe_private.started_before(request.answer, request.resource_id, of_film => quote.film_id is not null);
    request.rate := keyframe_private.acquire_more_tokens(request.rate, cardinality(started), keyframe_private.projects_per_token());
  else
    shots := case when quote.film_id is null then array_fill(quote.project_ids[1], array[coalesce(quote.requested_count, 1)])
      else keyframe_private.shots_without(quote.film_id, quote.step, quote.project_ids, quote.with_outdated, for_start => true) end;
    started := keyframe_private.start_all(request.resource_id, shots, quote.step, quote.requested_input, quote.requested_model);
    shots := '{}'; -- they have started: what follows does not refuse one of them
  end if;
  perform keyframe_private.raise_if(started = '{}', 'precondition_failed',
    'No shot of this quote is missing the step any more, or what it started was deleted. Read the film.');
  if not request.replayed then
    perform keyframe_private.require_as_quoted(started, quote);
    -- Its Idempotency-Key is kept longer: without that, a repetition would start another.
    update keyframe_private.quotes q set expires_at = q.expires_at + interval '23 hours' where q.id = quote.id;
  end if;
  return keyframe_private.start_json(
    started, quote.film_id is not null or quote.requested_count is not null, request.replayed, request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(auth.uid(), refused.code, refused.hint);
  return keyframe_private.refuse_shots(refused, quote.film_id, shots, quote.step, quote.requested_input, quote.requested_model);
end $$;
comment on function keyframe.start_quote is 'Starts what the caller''s quote is for, at its price. A repetition returns the same prediction.';
