import type { Scene } from "./scene.ts";
import { type Way, wallClock } from "./way.ts";

/** Rows of projects, whose trigger writes event and delivery in the same transaction; the stack's own function delivers. */
export function keyframeWay({ sql }: Pick<Scene, "sql">): Way {
  return {
    name: "Keyframe",
    commit: async (events, endpoints) => {
      let sent = 0;
      await sql.begin(async (sql) => {
        await sql`
          insert into keyframe.projects (owner_id, title, text_prompt)
          select e.owner_id, 'Event ' || n, repeat('A harbour at dawn. ', 36)
          from generate_series(1, ${events}::int) n
          join bench.endpoints e on e.number = (${endpoints}::int[])[1 + n % cardinality(${endpoints}::int[])]`;
        sent = wallClock();
      });
      return sent;
    },
    // By the index of what is due, endpoint by endpoint, so that looking costs the database little.
    isOpen: async () => {
      const found = await sql`
        select from bench.endpoints e
        where exists (select from keyframe.webhook_deliveries d where d.status = 'pending' and d.endpoint_id = e.id) limit 1`;
      return found.length > 0;
    },
    close: async () => undefined,
  };
}
