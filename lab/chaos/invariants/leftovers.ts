import type { Invariant } from "./ledger-tables.ts";

/** Nothing is left to do. A run waits for these before it checks the other invariants. */
export const workInvariants = {
  starts_have_ended: {
    sentence: "each start has reached its end",
    broken: `select format('prediction %s is %s', id, status) as broken from keyframe.predictions where completed_at is null`,
  },
  submits_have_ended: {
    sentence: "each submit has ended, and no hold is left",
    broken: `
      select format('submit %s of prediction %s (%s, added %s) is %s', attempt, prediction_id, outcome, created_at, cost_state) as broken
      from keyframe_private.provider_submits where cost_state = 'held' or ended_at is null`,
  },
  deliveries_have_ended: {
    sentence: "each delivery to an enabled endpoint has ended",
    broken: `
      select format('delivery %s of event %s to %s waits for attempt %s', d.id, d.event_id, e.url, d.attempts + 1) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
      where d.status = 'pending' and e.enabled`,
  },
  no_removal_is_left: {
    sentence: "every file to remove is removed, with the images of deleted accounts",
    broken: `
      select format('%s/%s, failed %s times', bucket, name, failures) as broken from keyframe_private.file_removals
      union all
      select format('image %s of the account %s, which is deleted', name, user_metadata ->> 'ownerId') from storage.objects o
      where bucket_id = 'projects' and not exists (select from auth.users u where u.id::text = o.user_metadata ->> 'ownerId')`,
  },
  no_work_is_due: {
    sentence: "no work is leased or due",
    lasting: true, // a search for a run may become due between the wait for idle workers and this
    broken: `
      select format('%s of %s: %s', kind, subject, last_error) as broken
      from keyframe_private.work where state <> 'scheduled' or due_at <= now()`,
  },
  no_kick_is_left: {
    sentence: "no kick waits, and no heartbeat of a function is current; those of processes never end",
    lasting: true,
    broken: `
      select format('request %s to %s', id, url) as broken from net.http_request_queue
      union all select format('%s is alive until %s', function_name, alive_until) from keyframe_private.heartbeats
        where alive_until > now() and report ->> 'isProcess' is distinct from 'true'`,
  },
} satisfies Record<string, Invariant>;

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
  images_are_there: {
    sentence:
      "each reference image that a prediction uses is in Storage, and each that no start has used, unless its account was deleted",
    broken: `
      select format('image %s of prediction %s', w.path, w.prediction_id) as broken
      from (
        select path, prediction_id from keyframe_private.prediction_images where path is not null
        union all
        select distinct a.id, null::uuid from chaos.answers a join auth.users u on u.id = a.owner_id
        where a.what = 'reference' and not exists (select from chaos.starts s where s.prediction_id is not null and s.reference = a.id)
      ) w
      left join storage.objects o on o.bucket_id = 'projects' and 'projects/' || o.name = w.path
      left join chaos.files f on f.bucket = 'projects' and f.name = o.name
      where f.name is null`,
  },
  objects_have_a_row: {
    sentence: "no object in Storage is without a row: deletions remove outputs and images",
    broken: `
      select format('%s/%s', o.bucket_id, o.name) as broken
      from storage.objects o
      where case o.bucket_id
        when 'keyframe-outputs' then not exists (select from keyframe.predictions p where p.output_path = o.name)
        when 'projects' then not exists (select from keyframe_private.prediction_images i where i.path = 'projects/' || o.name)
          and not exists (select from keyframe.projects p where p.reference_image_path = 'projects/' || o.name)
          and not exists (select from keyframe.elements e where 'projects/' || o.name = any (e.image_paths))
          and (
            -- Without a prediction stays only what an upload made and no start has used.
            not exists (select from keyframe_private.idempotency_keys k where k.resource_id::text = split_part(o.name, '.', 1))
            or exists (select from chaos.starts s where s.prediction_id is not null and s.reference = 'projects/' || o.name))
        else true end`,
  },
} satisfies Record<string, Invariant>;

/** The local stack's pg_net and pg_cron workers hold one lock each while they run (local/extensions). */
const OWN_LOCKS = "(classid = 0 and objsubid = 1 and objid between 5470000 and 5470999)";

export const leftoverInvariants = {
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
  refusals_say_when_to_retry: {
    sentence: "every 5xx that a user got is a 503 with Retry-After",
    broken: `
      select format('a user was answered %s%s', status, case when retry_after then '' else ' without Retry-After' end) as broken
      from chaos.refusals where not (status = 503 and retry_after)`,
  },
} satisfies Record<string, Invariant>;
