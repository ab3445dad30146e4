import type { Promised } from "./promises.ts";

/** pg_net's and pg_cron's workers of the local stack hold one lock each as long as they live (local/extensions). */
const OWN_LOCKS = "(classid = 0 and objsubid = 1 and objid between 5470000 and 5470999)";

export const leftoverPromises = {
  no_lease_is_left: {
    sentence: "nobody holds a lease (one of a delivery that ran out stays in its slot until the slot is used again)",
    broken: `
      select format('prediction %s', id) as broken from keyframe.predictions where lease_token is not null
      union all
      select format('delivery %s until %s', delivery_id, leased_until) from keyframe_private.delivery_leases
      where delivery_id is not null and leased_until > now()
      union all select format('removal of %s/%s', bucket, name) from keyframe_private.file_removals where lease_token is not null`,
  },
  no_removal_is_left: {
    sentence: "every file that had to go is gone",
    broken: `select format('%s/%s, failed %s times', bucket, name, failures) as broken from keyframe_private.file_removals`,
  },
  no_kick_is_left: {
    sentence: "no kick waits, nobody says to be looking",
    broken: `
      select format('request %s to %s', id, url) as broken from net.http_request_queue
      union all select format('%s looks until %s', function_name, alive_until) from keyframe_private.worker_heartbeats where alive_until > now()`,
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
  no_connection_is_left: {
    sentence: "when all is at rest nobody holds a connection more than a stack that has just started",
    broken: `select format('%s: %s', who, what) as broken from chaos.connections`,
  },
  places_are_kept: {
    sentence: "looked at all the while, nobody had more places than the limit",
    broken: `
      select format('%s places at once', places) as broken from chaos.places
      where places > (select max_active_per_owner from keyframe_private.settings)`,
  },
  service_stays_polite: {
    sentence:
      "asked all the while, the API answered within 20 s, and where it could not serve, users too, with 503 and Retry-After",
    broken: `
      select format('%s after %s ms%s', status, ms, case when retry_after then '' else ' without Retry-After' end) as broken
      from chaos.probes where ms > 20000 or (status >= 500 and not (status = 503 and retry_after))
      union all
      select format('a user was answered %s%s', status, case when retry_after then '' else ' without Retry-After' end)
      from chaos.refusals where not (status = 503 and retry_after)`,
  },
} satisfies Record<string, Promised>;
