import { NEVER_RECORDED, type Invariant } from "./ledger-tables.ts";

export const storageInvariants = {
  outputs_are_there: {
    sentence: "each output is in Storage, byte for byte",
    broken: `
      select format('prediction %s: %s is %s', p.id, p.output_path,
        case when o.id is null then 'no object' when f.name is null then 'an object without a file'
          else format('%s bytes, %s, not %s, %s', f.bytes, f.sha256, p.output_bytes, p.output_sha256) end) as broken
      from keyframe.predictions p
      left join storage.objects o on o.bucket_id = 'keyframe-outputs' and o.name = p.output_path
      left join chaos.files f on f.bucket = 'keyframe-outputs' and f.name = p.output_path
      where p.status = 'succeeded'
        and (o.id is null or f.name is null or f.sha256 <> p.output_sha256 or f.bytes <> p.output_bytes)`,
  },
  references_are_there: {
    sentence: "each reference image that a prediction uses is in Storage",
    broken: `
      select format('prediction %s: %s', i.prediction_id, i.path) as broken
      from keyframe_private.prediction_images i
      left join storage.objects o on o.bucket_id = 'projects' and 'projects/' || o.name = i.path
      left join chaos.files f on f.bucket = 'projects' and f.name = o.name
      where i.path is not null and f.name is null`,
  },
  uploads_are_there: {
    sentence: "each uploaded image that no start has used is in Storage, unless its account was deleted",
    broken: `
      select format('upload %s', a.id) as broken from (select distinct id from chaos.answers where what = 'reference') a
      left join chaos.files f on f.bucket = 'projects' and 'projects/' || f.name = a.id
      left join storage.objects o on o.bucket_id = 'projects' and 'projects/' || o.name = a.id
      where (f.name is null or o.id is null)
        and not exists (select from chaos.starts s where s.prediction_id is not null and s.reference = a.id)
        and not exists (select from chaos.left_uploads l where l.path = a.id)`,
  },
  objects_have_a_row: {
    sentence: "no object in Storage is without a row: deletions remove outputs and images, also from the disk",
    broken: `
      select format('%s/%s', o.bucket_id, o.name) as broken
      from storage.objects o
      where not exists (select from keyframe_private.file_removals r where r.bucket = o.bucket_id and r.name = o.name)
        and case o.bucket_id
          when 'keyframe-outputs' then not exists (select from keyframe.predictions p where p.output_path = o.name)
          when 'projects' then not exists (select from keyframe_private.prediction_images i where i.path = 'projects/' || o.name)
            and not exists (select from keyframe.projects p where p.reference_image_path = 'projects/' || o.name)
            and (
              -- Without a prediction stays only what an upload made and no start has used.
              not exists (select from keyframe_private.idempotency_keys k where k.resource_id::text = split_part(o.name, '.', 1))
              or exists (select from chaos.starts s where s.prediction_id is not null and s.reference = 'projects/' || o.name))
          else true end
      union all
      select format('%s/%s is on the disk without a row', f.bucket, f.name) from chaos.files f
      where not exists (select from storage.objects o where o.bucket_id = f.bucket and o.name = f.name)
        and not (${NEVER_RECORDED})`,
  },
  urls_last_as_stated: {
    sentence: "no signed URL was stated to work for longer than it does",
    broken: `select format('stated to work until %s, works until %s', stated, ends) as broken from chaos.addresses where stated > ends`,
  },
} satisfies Record<string, Invariant>;

/** The local stack's pg_net and pg_cron workers hold one lock each while they run (local/extensions). */
const OWN_LOCKS = "(classid = 0 and objsubid = 1 and objid between 5470000 and 5470999)";

export const leftoverInvariants = {
  no_lease_is_left: {
    sentence: "no lease is held (the expired lease of a lane stays until another replaces it)",
    broken: `
      select format('prediction %s', id) as broken from keyframe.predictions where lease_token is not null
      union all
      select format('lane %s until %s', id, due_at) from keyframe_private.lanes where token is not null and due_at > now()
      union all select format('removal of %s/%s', bucket, name) from keyframe_private.file_removals where lease_token is not null`,
  },
  no_removal_is_left: {
    sentence: "every file to remove is removed",
    broken: `select format('%s/%s, failed %s times', bucket, name, failures) as broken from keyframe_private.file_removals`,
  },
  no_kick_is_left: {
    sentence: "no kick waits, and no worker's heartbeat is current",
    broken: `
      select format('request %s to %s', id, url) as broken from net.http_request_queue
      union all select format('%s is alive until %s', function_name, alive_until) from keyframe_private.worker_heartbeats where alive_until > now()`,
  },
  no_lock_is_left: {
    lasting: true, // a sweep takes locks too
    sentence: "no advisory lock, no transaction left open",
    broken: `
      select format('process %s holds %s/%s', pid, classid, objid) as broken from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()) and not ${OWN_LOCKS}
      union all
      select format('process %s (%s) is %s since %s', pid, application_name, state, xact_start) from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%' and xact_start < now() - interval '5 seconds'`,
  },
  no_owner_exceeds_its_slots: {
    sentence: "at no moment did an owner use more slots than the limit",
    broken: `
      select format('%s slots at once', slots) as broken from chaos.slot_counts
      where slots > (select max_active_per_owner from keyframe_private.settings)`,
  },
  api_answers_or_says_when_to_retry: {
    sentence: "the API answers health requests within 20 s, and every 5xx is a 503 with Retry-After, also for users",
    broken: `
      select format('%s after %s ms%s', status, ms, case when retry_after then '' else ' without Retry-After' end) as broken
      from chaos.probes where ms > 20000 or (status >= 500 and not (status = 503 and retry_after))
      union all
      select format('a user was answered %s%s', status, case when retry_after then '' else ' without Retry-After' end)
      from chaos.refusals where not (status = 503 and retry_after)`,
  },
} satisfies Record<string, Invariant>;
