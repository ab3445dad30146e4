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
  delivered_was_received: {
    sentence: "each delivered event reached its endpoint at least once, with a valid signature, and was answered 2xx",
    broken: `
      select format('delivery %s of event %s to %s', d.id, d.event_id, ${HOOK}) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
      left join chaos.arrivals a on a.event_id = d.event_id and a.hook = ${HOOK}
      where d.status = 'delivered' and coalesce(a.taken, 0) = 0`,
  },
  only_receivers_exhaust: {
    sentence: "each exhausted delivery used all its attempts, and each failed by the receiver's own fault",
    broken: `
      select format('delivery %s to %s is exhausted after %s of %s attempts, %s of them not the receiver''s fault', d.id, ${HOOK},
        d.attempts - d.retries_from, cardinality(s.webhook_retry_schedule) + 1,
        d.attempts - d.retries_from - coalesce(a.misbehaved, 0)) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id cross join keyframe_private.settings s
      left join chaos.arrivals a on a.event_id = d.event_id and a.hook = ${HOOK}
      where d.status = 'exhausted'
        and (d.attempts - d.retries_from <= cardinality(s.webhook_retry_schedule) or coalesce(a.misbehaved, 0) < d.attempts - d.retries_from)`,
  },
  signatures_hold: {
    sentence: "every request at a receiver has a valid signature",
    broken: `select format('%s got event %s with a signature that no secret of it makes', hook, id) as broken from chaos.forged`,
  },
  bodies_are_the_events: {
    sentence: "every request has exactly the body of an existing event",
    broken: `
      select format('%s got event %s, which is %s', a.hook, a.event_id,
        case when v.id is null then 'not there' else 'another one' end) as broken
      from chaos.arrivals a left join keyframe.webhook_events v on v.id = a.event_id
      -- A test of an endpoint is deleted with it.
      where (v.id is null and a.type <> 'webhook.test') or md5(v.payload::text) <> a.body_md5`,
  },
  attempts_tell_the_outcome: {
    sentence: "attempts are numbered without a gap, and the last one of a delivered event alone was answered 2xx",
    broken: `
      select format('delivery %s is %s after %s attempts, and %s are on record: %s', d.id, d.status, d.attempts, count(a.id),
        string_agg(coalesce(a.error, a.status_code::text), ', ' order by a.attempt)) as broken
      from keyframe.webhook_deliveries d left join keyframe.webhook_attempts a on a.delivery_id = d.id
      group by d.id
      having count(a.id) <> d.attempts or coalesce(max(a.attempt), 0) <> d.attempts or d.status <> 'pending'
        and (d.status = 'delivered') <> coalesce(bool_or(a.attempt = d.attempts and a.error is null and a.status_code between 200 and 299), false)`,
  },
} satisfies Record<string, Invariant>;
