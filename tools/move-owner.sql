-- Moves an owner from another cell into this one (docs/scale.md). Both cells run the same version. Replace what is in <angle brackets>.
--
-- 1. Stop. Set moving, and in the old cell insert into keyframe_private.moved_owners (owner_id) values ('<owner_id>');. It waits for
--    started changes and credits. From then on the old cell refuses all others with 409 user_moved, even payments, refunds and disputes.
-- 2. Wait until none of the owner's predictions lacks completed_at, no row of provider_submits lacks ended_at, no delivery to an enabled
--    endpoint is pending, and cost_changes has no row.
-- 3. Rows. Run this file in the new cell. It moves everything or nothing, and nothing before step 2 has ended.
-- 4. Files. Then copy, with the secret key, to the same names and with their metadata: in keyframe-outputs what is below <owner_id>/, in
--    projects what has user_metadata ->> 'ownerId' = '<owner_id>' in storage.objects. Compare outputs with predictions.output_sha256.
-- 5. Switch. Set the cell, then moving to false, and ban the account in the old cell. The user signs in again and enrols second factors
--    (MFA) again. Ids, paths, signing secrets and links stay the same; signed URLs of the old cell expire within an hour.
-- 6. Payments. Send each credit to the user's cell, even those that the old cell refused, with their keys. Compare the payment provider's
--    list since step 1 with select key, micros from keyframe_private.credits where owner_id = '<owner_id>'; in the new cell, and add what
--    is missing.
-- 7. Clean up after some days: delete the user (docs/administer.md) in the old cell.

create extension if not exists postgres_fdw with schema extensions;
drop server if exists old_cell cascade; -- left by a failed run
drop schema if exists old_cell cascade;
create server old_cell foreign data wrapper postgres_fdw options (host '<old_host>', port '<old_port>', dbname '<old_database>');
create user mapping for current_user server old_cell options (user '<old_user>', password '<old_password>');
create schema old_cell;
import foreign schema auth limit to (users, identities) from server old_cell into old_cell;
import foreign schema keyframe except (models, step_defaults) from server old_cell into old_cell;
import foreign schema keyframe_private limit to (
  allowed_clients, cost_changes, cost_sums, credits, film_shares, idempotency_keys, limit_notes, moved_owners, owner_budgets, prediction_images,
  provider_submits, quotes, webhook_secrets) from server old_cell into old_cell;
import foreign schema vault limit to (decrypted_secrets) from server old_cell into old_cell;
do $$
declare
  owned record;
  columns text;
begin
  -- This block reads the old cell in one snapshot.
  if not exists (select from old_cell.moved_owners m where m.owner_id = '<owner_id>') then
    raise exception 'The old cell still accepts changes and credits of this owner, which would be lost (1. Stop). Nothing was moved.';
  elsif exists (
    select from old_cell.predictions p where p.owner_id = '<owner_id>' and p.completed_at is null
    union all select from old_cell.provider_submits s where s.owner_id = '<owner_id>' and s.ended_at is null
    union all select from old_cell.webhook_deliveries d join old_cell.webhook_endpoints e on e.id = d.endpoint_id
    where d.owner_id = '<owner_id>' and d.status = 'pending' and e.enabled -- others stay pending, here and there
    union all select from old_cell.cost_changes c where c.owner_id = '<owner_id>')
  then
    raise exception 'This owner still has open work in the old cell, and both cells would continue it (2. Wait). Nothing was moved.';
  end if;
  perform set_config('session_replication_role', 'replica', true); -- no trigger admits, charges or announces anything again
  for owned in
    select t.name::regclass as name, t.condition from (values
      ('auth.users', 'id = %L'), ('auth.identities', 'user_id = %L'), ('keyframe_private.allowed_clients', 'owner_id = %L'),
      ('keyframe.elements', 'owner_id = %L'), ('keyframe.films', 'owner_id = %L'),
      ('keyframe_private.film_shares', 'film_id in (select f.id from old_cell.films f where f.owner_id = %L)'),
      ('keyframe.projects', 'owner_id = %L'), ('keyframe.predictions', 'owner_id = %L'),
      ('keyframe_private.prediction_images', 'prediction_id in (select p.id from old_cell.predictions p where p.owner_id = %L)'),
      ('keyframe_private.provider_submits', 'owner_id = %L'), ('keyframe_private.cost_sums', 'owner_id = %L'),
      ('keyframe_private.owner_budgets', 'owner_id = %L'),
      ('keyframe_private.credits', 'owner_id = %L'), ('keyframe_private.limit_notes', 'owner_id = %L'),
      ('keyframe_private.idempotency_keys', 'owner_id = %L'), ('keyframe_private.quotes', 'owner_id = %L'),
      ('keyframe.webhook_endpoints', 'owner_id = %L'), ('keyframe.webhook_events', 'owner_id = %L'),
      ('keyframe.webhook_deliveries', 'owner_id = %L'), ('keyframe.webhook_attempts', 'owner_id = %L')) t (name, condition)
  loop
    -- Numeric ids get new values here; the prices have other ids.
    select string_agg(quote_ident(a.attname), ', ') into columns from pg_attribute a
    where a.attrelid = owned.name and a.attnum > 0 and not a.attisdropped and a.attidentity = '' and a.attgenerated = ''
      and a.attname <> 'price_ids';
    execute format('insert into %s (%s) select %s from old_cell.%I where %s', owned.name, columns, columns,
      (select c.relname from pg_class c where c.oid = owned.name), format(owned.condition, '<owner_id>'));
  end loop;
  perform set_config('session_replication_role', 'origin', true);
  insert into keyframe_private.webhook_secrets (id, endpoint_id, vault_secret_id, created_at, expires_at)
  select s.id, s.endpoint_id, vault.create_secret(v.decrypted_secret, v.name, v.description), s.created_at, s.expires_at
  from old_cell.webhook_secrets s
  join old_cell.webhook_endpoints e on e.id = s.endpoint_id and e.owner_id = '<owner_id>'
  join old_cell.decrypted_secrets v on v.id = s.vault_secret_id;
end $$;
drop server old_cell cascade;
drop schema old_cell cascade;
