import { MISCOUNTED } from "./counted-hours.ts";
import type { Promised } from "./promises.ts";

/** An endpoint's slot at the receivers. */
const SLOT = "substring(e.url from '/hooks/([^?]+)')";

export const deliveryPromises = {
  endpoints_are_owed_everything: {
    sentence:
      "each event is on its way to every endpoint that was subscribed to it (of those made before the load, whose subscription never changed)",
    broken: `
      select format('event %s (%s) was never meant for endpoint %s', v.id, v.type, e.id) as broken
      from keyframe.webhook_endpoints e
      join keyframe.webhook_events v on (v.owner_id = e.owner_id or e.owner_id is null) and v.type <> 'webhook.test'
        and v.created_at > e.created_at
      left join keyframe.webhook_deliveries d on d.event_id = v.id and d.endpoint_id = e.id
      where (e.url like '%/hooks/steady-%' or e.url like '%/hooks/moody-%' and e.updated_at = e.created_at)
        and (e.event_types = '{}' or v.type = any (e.event_types)) and d.id is null`,
  },
  events_reach_their_own: {
    sentence: "nobody got an event of somebody else's, or of a kind that the endpoint never asked for",
    broken: `
      select format('endpoint %s of %s: event %s (%s) of %s', e.id, e.owner_id, v.id, v.type, v.owner_id) as broken
      from (
        select endpoint_id, event_id from keyframe.webhook_deliveries
        union select e.id, a.event_id from chaos.arrivals a join keyframe.webhook_endpoints e on ${SLOT} = a.slot
      ) s
      join keyframe.webhook_endpoints e on e.id = s.endpoint_id
      join keyframe.webhook_events v on v.id = s.event_id
      where (e.owner_id is not null and e.owner_id is distinct from v.owner_id)
        or (v.type = 'webhook.test' and v.endpoint_id <> e.id)
        or (e.event_types <> '{}' and v.type <> 'webhook.test' and v.type <> all (e.event_types)
          and ${SLOT} not in (select slot from chaos.resubscribed))`,
  },
  deliveries_have_ended: {
    sentence: "each delivery to an enabled endpoint has ended",
    broken: `
      select format('delivery %s of event %s to %s waits for attempt %s', d.id, d.event_id, ${SLOT}, d.attempts + 1) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
      where d.status = 'pending' and e.enabled`,
  },
  delivered_was_received: {
    sentence: "each delivered event reached its endpoint at least once, with a valid signature, and was taken",
    broken: `
      select format('delivery %s of event %s to %s', d.id, d.event_id, ${SLOT}) as broken
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
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
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id cross join keyframe_private.settings s
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
      from chaos.arrivals a left join keyframe.webhook_events v on v.id = a.event_id
      where (v.id is null and a.type <> 'webhook.test') or md5(v.payload::text) <> a.body_md5`,
  },
  attempts_tell_the_outcome: {
    sentence: "what was delivered was answered 2xx last, what was given up was not",
    broken: `
      select format('delivery %s is %s, and attempt %s was answered %s', d.id, d.status, a.attempt, coalesce(a.status_code::text, a.error)) as broken
      from keyframe.webhook_deliveries d
      cross join lateral (
        select t.attempt, t.status_code, t.error from keyframe.webhook_attempts t where t.delivery_id = d.id order by t.attempt desc limit 1
      ) a
      where d.status <> 'pending' and (d.status = 'delivered') <> coalesce(a.status_code between 200 and 299 and a.error is null, false)`,
  },
  hours_say_what_deliveries_say: {
    sentence:
      "what is counted of each endpoint by the hour is what its deliveries say, now and before each jump of the clock",
    broken: `${MISCOUNTED} union all select broken from chaos.miscounted`,
  },
  what_deleted_endpoints_left_is_noted: {
    sentence: "each delivery is of an endpoint that is there, or of a deleted one whose deliveries are to be pruned",
    broken: `
      select format('delivery %s is of endpoint %s, which nobody knows of', d.id, d.endpoint_id) as broken
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
} satisfies Record<string, Promised>;
