import type { Promised } from "./promises.ts";

/** An endpoint's slot at the receivers. */
const SLOT = "substring(e.url from '/hooks/([^?]+)')";

export const deliveryPromises = {
  steady_endpoints_are_owed_everything: {
    sentence: "each event is on its way to every endpoint that was subscribed to it",
    broken: `
      select format('event %s (%s) was never meant for endpoint %s', v.id, v.type, e.id) as broken
      from public.webhook_endpoints e
      join public.webhook_events v on (v.owner_id = e.owner_id or e.owner_id is null) and v.type <> 'webhook.test'
        and v.created_at > e.created_at
      left join public.webhook_deliveries d on d.event_id = v.id and d.endpoint_id = e.id
      where e.url like '%/hooks/steady-%' and d.id is null`,
  },
  deliveries_have_ended: {
    sentence: "each delivery to an enabled endpoint has ended",
    broken: `
      select format('delivery %s of event %s to %s waits for attempt %s', d.id, d.event_id, ${SLOT}, d.attempts + 1) as broken
      from public.webhook_deliveries d join public.webhook_endpoints e on e.id = d.endpoint_id
      where d.status = 'pending' and e.enabled`,
  },
  delivered_was_received: {
    sentence: "each delivered event reached its endpoint at least once, with a valid signature, and was taken",
    broken: `
      select format('delivery %s of event %s to %s', d.id, d.event_id, ${SLOT}) as broken
      from public.webhook_deliveries d join public.webhook_endpoints e on e.id = d.endpoint_id
      left join chaos.arrivals a on a.event_id = d.event_id and a.slot = ${SLOT}
      where d.status = 'delivered' and coalesce(a.taken, 0) = 0`,
  },
  only_receivers_exhaust: {
    sentence:
      "what was given up was tried as often as promised, and failed by the receiver's own fault (or a wrong clock) each time",
    broken: `
      select format('delivery %s to %s was given up after %s of %s attempts, %s of them not the receiver''s fault', d.id, ${SLOT},
        d.attempts - d.retries_from, cardinality(s.webhook_retry_schedule) + 1,
        d.attempts - d.retries_from - coalesce(a.misbehaved + a.stale, 0)) as broken
      from public.webhook_deliveries d join public.webhook_endpoints e on e.id = d.endpoint_id cross join private.settings s
      left join chaos.arrivals a on a.event_id = d.event_id and a.slot = ${SLOT}
      where d.status = 'exhausted'
        and (d.attempts - d.retries_from <= cardinality(s.webhook_retry_schedule) or coalesce(a.misbehaved + a.stale, 0) < d.attempts - d.retries_from)`,
  },
  signatures_hold: {
    sentence: "no receiver got a request whose signature does not hold",
    broken: `select format('%s got event %s with a signature that no secret of it makes', slot, event_id) as broken from chaos.forged`,
  },
  bodies_are_the_events: {
    sentence: "every request carried exactly the body of an event that is there",
    broken: `
      select format('%s got event %s, which is %s', a.slot, a.event_id,
        case when v.id is null then 'not there' else 'another one' end) as broken
      from chaos.arrivals a left join public.webhook_events v on v.id = a.event_id
      where (v.id is null and a.type <> 'webhook.test') or md5(v.payload::text) <> a.body_md5`,
  },
  attempts_are_on_record: {
    sentence: "attempts are numbered without a gap",
    broken: `
      select format('delivery %s made %s attempts and has %s on record', d.id, d.attempts, count(a.id)) as broken
      from public.webhook_deliveries d left join public.webhook_attempts a on a.delivery_id = d.id
      group by d.id having count(a.id) <> d.attempts or coalesce(max(a.attempt), 0) <> d.attempts`,
  },
} satisfies Record<string, Promised>;
