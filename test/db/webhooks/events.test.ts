import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { claim, complete, providerSays, readRow } from "../../support/database/calls.ts";
import { addProject, addWorld, columnOf, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { impatiently } from "../../support/database/waiting.ts";
import { addEndpoint, clearWebhooks } from "../../support/database/webhooks.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(() => clearWebhooks(db.sql));

type Event = { type: string; owner_id: string; project_id: string; prediction_id: string | null };
const events = () =>
  db.sql<Event[]>`select type, owner_id, project_id, prediction_id from keyframe.webhook_events order by created_at`;
const types = async () => (await events()).map(({ type }) => type);
const receivers = () => columnOf(db.sql`select endpoint_id from keyframe.webhook_deliveries order by 1`);

describe("a new project", () => {
  test("a new project → one delivery for each enabled endpoint, of its owner and service-wide, that subscribes to the type", async () => {
    const other = await addWorld(db);
    const wanting = await Promise.all([
      addEndpoint(db.sql, world.owner),
      addEndpoint(db.sql, world.owner, { event_types: ["generation.failed", "project.created"] }),
      addEndpoint(db.sql, null),
      addEndpoint(db.sql, null, { event_types: ["project.created"] }),
    ]);
    await addEndpoint(db.sql, world.owner, { event_types: ["generation.succeeded", "generation.failed"] });
    await addEndpoint(db.sql, world.owner, { enabled: false });
    await addEndpoint(db.sql, other.owner);
    await addEndpoint(db.sql, null, { event_types: ["webhook.test"] });
    await addEndpoint(db.sql, null, { enabled: false });
    await addProject(db, world.owner);
    expect(await receivers()).toEqual(wanting.sort());
    const rows = await db.sql`
      select distinct d.status, d.attempts, d.next_attempt_at <= now() as due, d.event_type, d.owner_id is not distinct from e.owner_id as same_owner
      from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id`;
    const expected = { status: "pending", attempts: 0, due: true, event_type: "project.created", same_owner: true };
    expect([...rows]).toEqual([expected]);
  });

  test("a project is changed or deleted → no further event, and project.created stays", async () => {
    const project = await addProject(db, world.owner);
    await db.sql`update keyframe.projects set title = 'Another' where id = ${project}`;
    await db.sql`delete from keyframe.projects where id = ${project}`;
    expect(await types()).toEqual(["project.created"]);
  });
});

describe("a prediction", () => {
  test("a prediction goes from queued to succeeded → generation.succeeded at its end, no event before", async () => {
    await addEndpoint(db.sql, world.owner);
    const { id } = await seedPrediction(db.sql, world);
    for (const status of ["starting", "processing", "succeeded"]) {
      await providerSays(db.sql, { id, run: `run-of-${id}`, status });
      expect(await events()).toEqual([]);
    }
    const [task] = await claim(db.sql);
    await complete(db.sql, id, task?.lease_token ?? null);
    expect(await events()).toMatchObject([
      { type: "generation.succeeded", owner_id: world.owner, project_id: world.project, prediction_id: id },
    ]);
    expect((await receivers()).length).toBe(1);
  });

  test("a prediction is canceled by its owner → no event: its owner knows", async () => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing" });
    const cancel = () =>
      db.asUser(world.owner, (sql) => sql`select keyframe.cancel_prediction(${world.project}, ${id})`);
    await cancel();
    await cancel();
    await providerSays(db.sql, { id, run: run ?? "", status: "succeeded" });
    expect((await readRow(db.sql, id)).status).toBe("canceled");
    expect(await events()).toEqual([]);
  });

  test("a prediction that has an event for its end ends again → no second event, and nothing is delivered twice", async () => {
    await addEndpoint(db.sql, world.owner);
    const { id, lease } = await seedPrediction(db.sql, world, { status: "storing" });
    await complete(db.sql, id, lease);
    for (const type of ["generation.succeeded", "generation.failed"]) {
      const [row] = await db.sql`
        select keyframe_private.emit_event(${type}, ${world.owner}, ${world.project}, ${id}, now(), '{}') as written`;
      expect(row?.written).toBe(false);
    }
    expect(await types()).toEqual(["generation.succeeded"]);
    expect((await receivers()).length).toBe(1);
  });
});

test.each([
  "read_webhook_endpoint",
  "update_webhook_endpoint",
  "reveal_webhook_secret",
  "rotate_webhook_secret",
  "list_webhook_deliveries",
])(
  "%s on an endpoint, uncommitted → projects whose events go to that endpoint are created without waiting",
  async (name) => {
    const endpoint = await addEndpoint(db.sql, world.owner);
    await db.asUser(world.owner, async (sql) => {
      await sql.unsafe(`select keyframe.${name}('${endpoint}')`);
      await impatiently(
        db.sql,
        (other) =>
          other`insert into keyframe.projects (owner_id, title, text_prompt) values (${world.owner}, 't', 'p')`,
      );
    });
    expect(await receivers()).toEqual([endpoint]);
  },
);
