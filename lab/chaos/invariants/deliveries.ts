import { MISCOUNTED } from "../database-faults.ts";
import type { Invariant } from "./ledger-tables.ts";

/** An endpoint's hook at the receivers. */
const HOOK = "substring(e.url from '/hooks/([^?]+)')";

export const deliveryInvariants = {
  endpoints_get_their_events: {
    sentence:
      "each event has a delivery for every subscribed endpoint (of those created before the load whose subscription never changed)",
    broken: `
      select format('event %s (%s) has no delivery for endpoint %s', v.id, v.type, e.id) as broken
      from keyframe.webhook_endpoints e
      join keyframe.webhook_events v on (v.owner_id = e.owner_id or e.owner_id is null) and v.type <> 'webhook.test'
        and v.created_at > e.created_at
      left join keyframe.webhook_deliveries d on d.event_id = v.id and d.endpoint_id = e.id
      where (e.url like '%/hooks/steady-%' or e.url like '%/hooks/changing-%' and e.updated_at = e.created_at)
        and (e.event_types = '{}' or v.type = any (e.event_types)) and d.id is null`,
  },
  events_reach_their_own: {
    sentence: "no endpoint got another owner's event, or a type it did not subscribe to",
    broken: `
      select format('endpoint %s of %s: event %s (%s) of %s', e.id, e.owner_id, v.id, v.type, v.owner_id) as broken
      from (
        select endpoint_id, event_id from keyframe.webhook_deliveries
        union select e.id, a.event_id from chaos.arrivals a join keyframe.webhook_endpoints e on ${HOOK} = a.hook
      ) s
      join keyframe.webhook_endpoints e on e.id = s.endpoint_id
      join keyframe.webhook_events v on v.id = s.event_id
      where (e.owner_id is not null and e.owner_id is distinct from v.owner_id)
        or (v.type = 'webhook.test' and v.endpoint_id <> e.id)
        or (e.event_types <> '{}' and v.type <> 'webhook.test' and v.type <> all (e.event_types)
          and ${HOOK} not in (select hook from chaos.resubscribed))`,
  },
  deliveries_have_ended: {
    sentence: "each delivery to an enabled endpoint has ended",
    broken: `
      select format('delivery %s of event %s to %s waits for attempt %s', d.id, d.event_id, ${HOOK}, d.attempts + 1) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
      where d.status = 'pending' and e.enabled`,
  },
  delivered_was_received: {
    sentence: "each delivered event reached its endpoint at least once, with a valid signature, and was answered 2xx",
    broken: `
      select format('delivery %s of event %s to %s', d.id, d.event_id, ${HOOK}) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
      left join chaos.arrivals a on a.event_id = d.event_id and a.hook = ${HOOK}
      where d.status = 'delivered' and coalesce(a.taken, 0) = 0`,
  },
  only_receivers_exhaust: {
    sentence:
      "each exhausted delivery used all its attempts, and each failed by the receiver's own fault or a wrong clock",
    broken: `
      select format('delivery %s to %s is exhausted after %s of %s attempts, %s of them not the receiver''s fault', d.id, ${HOOK},
        d.attempts - d.retries_from, cardinality(s.webhook_retry_schedule) + 1,
        d.attempts - d.retries_from - coalesce(a.misbehaved + a.stale, 0)) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id cross join keyframe_private.settings s
      left join chaos.arrivals a on a.event_id = d.event_id and a.hook = ${HOOK}
      where d.status = 'exhausted'
        and (d.attempts - d.retries_from <= cardinality(s.webhook_retry_schedule) or coalesce(a.misbehaved + a.stale, 0) < d.attempts - d.retries_from)`,
  },
  signatures_hold: {
    sentence: "every request at a receiver has a valid signature",
    broken: `select format('%s got event %s with a signature that no secret of it makes', hook, event_id) as broken from chaos.forged`,
  },
  bodies_are_the_events: {
    sentence: "every request has exactly the body of an existing event",
    broken: `
      select format('%s got event %s, which is %s', a.hook, a.event_id,
        case when v.id is null then 'not there' else 'another one' end) as broken
      from chaos.arrivals a left join keyframe.webhook_events v on v.id = a.event_id
      where (v.id is null and a.type <> 'webhook.test') or md5(v.payload::text) <> a.body_md5`,
  },
  attempts_tell_the_outcome: {
    sentence: "the last attempt of a delivered event was answered 2xx, that of an exhausted one was not",
    broken: `
      select format('delivery %s is %s, and attempt %s was answered %s', d.id, d.status, a.attempt, coalesce(a.status_code::text, a.error)) as broken
      from keyframe.webhook_deliveries d
      cross join lateral (
        select t.attempt, t.status_code, t.error from keyframe.webhook_attempts t where t.delivery_id = d.id order by t.attempt desc limit 1
      ) a
      where d.status <> 'pending' and (d.status = 'delivered') <> coalesce(a.status_code between 200 and 299 and a.error is null, false)`,
  },
  hours_say_what_deliveries_say: {
    sentence: "each endpoint's counts by the hour equal its deliveries, now and before each jump of the clock",
    broken: `${MISCOUNTED} union all select broken from chaos.miscounted where broken like 'endpoint %'`,
  },
  deliveries_of_deleted_endpoints_are_noted: {
    sentence: "each delivery belongs to an existing endpoint, or to a deleted one whose deliveries are to be pruned",
    broken: `
      select format('delivery %s is of endpoint %s, which does not exist', d.id, d.endpoint_id) as broken
      from keyframe.webhook_deliveries d
      where not exists (select from keyframe.webhook_endpoints e where e.id = d.endpoint_id)
        and not exists (select from keyframe_private.deleted_endpoints g where g.endpoint_id = d.endpoint_id)`,
  },
  attempts_are_on_record: {
    sentence: "attempts are numbered without a gap",
    broken: `
      select format('delivery %s made %s attempts and has %s on record', d.id, d.attempts, count(a.id)) as broken
      from keyframe.webhook_deliveries d left join keyframe.webhook_attempts a on a.delivery_id = d.id
      group by d.id having count(a.id) <> d.attempts or coalesce(max(a.attempt), 0) <> d.attempts`,
  },
} satisfies Record<string, Invariant>;
