import { join } from "node:path";
import type postgres from "postgres";
import { describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { fillIn } from "../../support/database/admin-recipes.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addWorld, seedPrediction } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { addScene, makeRequest, REQUESTS, type Scene } from "../../support/database/requests.ts";
import { addReference } from "../../support/database/user.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import { addEndpoint, call, seedDeliveries, sendNext } from "../../support/database/webhooks.ts";

// docs/scale.md, "Move an owner", by tools/move-owner.sql between two databases that are cells.
const oldCell = useDatabase();
const newCell = useDatabase();

const OWNED = `
  select 'user' as name, to_jsonb(t) as data from auth.users t where id = $1
  union all select 'film', to_jsonb(t) from keyframe.films t where owner_id = $1
  union all select 'project', to_jsonb(t) from keyframe.projects t where owner_id = $1
  union all select 'prediction', to_jsonb(t) from keyframe.predictions t where owner_id = $1
  union all select 'image', to_jsonb(t) from keyframe_private.prediction_images t where prediction_id in (select id from keyframe.predictions where owner_id = $1)
  union all select 'submit', to_jsonb(t) - 'id' - 'price_ids' from keyframe_private.provider_submits t where owner_id = $1
  union all select 'cost', to_jsonb(t) - 'id' from keyframe_private.cost_sums t where owner_id = $1
  union all select 'element', to_jsonb(t) from keyframe.elements t where owner_id = $1
  union all select 'share', to_jsonb(t) from keyframe_private.film_shares t
    where film_id in (select id from keyframe.films where owner_id = $1)
  union all select 'budget', to_jsonb(t) from keyframe_private.owner_budgets t where owner_id = $1
  union all select 'credit', to_jsonb(t) - 'id' from keyframe_private.credits t where owner_id = $1
  union all select 'noted limit', to_jsonb(t) - 'id' from keyframe_private.limit_notes t where owner_id = $1
  union all select 'quote', to_jsonb(t) from keyframe_private.quotes t where owner_id = $1
  union all select 'user key', to_jsonb(t) from keyframe_private.allowed_clients t where owner_id = $1
  union all select 'key', to_jsonb(t) from keyframe_private.idempotency_keys t where owner_id = $1
  union all select 'endpoint', to_jsonb(t) from keyframe.webhook_endpoints t where owner_id = $1
  union all select 'event', to_jsonb(t) from keyframe.webhook_events t where owner_id = $1
  union all select 'delivery', to_jsonb(t) from keyframe.webhook_deliveries t where owner_id = $1
  union all select 'attempt', to_jsonb(t) - 'id' from keyframe.webhook_attempts t where owner_id = $1
  union all select 'secret', to_jsonb(t) - 'vault_secret_id' || jsonb_build_object('secret', v.decrypted_secret)
    from keyframe_private.webhook_secrets t join vault.decrypted_secrets v on v.id = t.vault_secret_id
    where endpoint_id in (select id from keyframe.webhook_endpoints where owner_id = $1)`;

const KINDS = [...OWNED.matchAll(/select '([a-z ]+)'/g)].map(([, kind]) => kind);

type Started = { prediction: { id: string; status: string; project_id: string } };

/** The SQL that the guide runs, for this owner. */
async function recipeFor(owner: string): Promise<string> {
  const text = await Deno.readTextFile(join(PROJECT_ROOT, "tools/move-owner.sql"));
  const { hostname, port, pathname, username, password } = new URL(oldCell.url);
  const old = { old_host: hostname, old_port: port, old_database: pathname.slice(1), old_user: username };
  return fillIn(text, { ...old, old_password: decodeURIComponent(password), owner_id: owner });
}

/** Step 1 of the guide. */
const mark = (owner: string) => oldCell.sql`insert into keyframe_private.moved_owners (owner_id) values (${owner})`;
const addCredit = (owner: string, key: string, sql: postgres.Sql | postgres.TransactionSql = oldCell.sql) =>
  sql`select keyframe_private.add_credit(${owner}, 50000000, 'purchase', ${key})`;

/** All that is an owner's, but for numbers that each cell gives itself. */
async function readOwned(sql: postgres.Sql, owner: string): Promise<string[]> {
  const rows = await sql.unsafe<{ row: string }[]>(`select name || ' ' || data as row from (${OWNED}) t order by 1`, [
    owner,
  ]);
  return rows.map(({ row }) => row);
}

test("an owner is moved to another cell → all rows and secrets arrive, nothing is announced or charged again, starts work", async () => {
  const world = await addWorld(oldCell);
  const { owner } = world;
  const film = crypto.randomUUID();
  const element = crypto.randomUUID();
  const share = crypto.randomUUID();
  const images = [await addReference(oldCell, owner)];
  await oldCell.sql`
    insert into keyframe.elements (id, owner_id, name, image_paths) values (${element}, ${owner}, 'Anna', ${images})`;
  await oldCell.sql`
    insert into keyframe.films (id, owner_id, title, element_ids) values (${film}, ${owner}, 'The pier', array[${element}]::uuid[])`;
  await oldCell.sql`
    insert into keyframe_private.film_shares (id, film_id, token_hash) values (${share}, ${film}, sha256('a'))`;
  await call(oldCell, owner, "create_key", { name: "Claude Code", may: "read" });
  await addCredit(owner, "payment-1");
  await oldCell.sql`insert into keyframe_private.owner_budgets (owner_id, day_micros) values (${owner}, 9000000)`;
  const endpoint = await addEndpoint(oldCell.sql, owner);
  const none = { quote: "", prediction: "", delivery: "", key: "" };
  const scene: Scene = { ...world, caller: owner, film, element, share, endpoint, ...none };
  await seedPrediction(oldCell.sql, scene, { step: "video", status: "succeeded" });
  const started = await makeRequest<Started>(oldCell, scene, "start_prediction", { idempotency_key: "again" });
  await makeRequest(oldCell, { ...scene, prediction: started.prediction.id }, "cancel_prediction");
  await seedDeliveries(oldCell.sql, endpoint, 2);
  await sendNext(oldCell.sql, { status_code: 200 });
  const asked = { project_id: world.project, step: "first-frame", quote: true };
  await call(oldCell, owner, "estimate_prediction", asked);
  await oldCell.sql`
    insert into keyframe_private.limit_notes (owner_id, type, once_for) values (${owner}, 'balance.low', '1')`;
  await oldCell.sql`select keyframe_private.merge_costs()`;
  const before = await readOwned(oldCell.sql, owner);
  expect(new Set(before.map((row) => row.split(" {")[0]))).toEqual(new Set(KINDS));
  const stranger = await addWorld(oldCell);

  await mark(owner);
  await newCell.sql.unsafe(await recipeFor(owner)).simple();

  expect(await readOwned(newCell.sql, owner)).toEqual(before);
  expect(await readOwned(newCell.sql, stranger.owner)).toEqual([]);
  expect(await newCell.sql`select from keyframe_private.kicks`).toHaveLength(0);
  for (const name of ["read_usage", "list_predictions", "reveal_webhook_secret", "list_films"])
    expect({ ...(await makeRequest(newCell, scene, name)), rate: null }).toEqual({
      ...(await makeRequest(oldCell, scene, name)),
      rate: null,
    });
  const again = await makeRequest<Started>(newCell, scene, "start_prediction", { idempotency_key: "again" });
  expect(again.prediction.id).toBe(started.prediction.id);
  const next = await makeRequest<Started>(newCell, scene, "start_prediction");
  expect(next.prediction).toMatchObject({ status: "queued", project_id: world.project });
});

test("an earlier move ended half way, or a prediction runs → nothing is moved, and the same SQL can be repeated", async () => {
  const world = await addWorld(oldCell);
  const { id } = await seedPrediction(oldCell.sql, world, { status: "processing" });
  const disabled = await addEndpoint(oldCell.sql, world.owner, { enabled: false });
  await seedDeliveries(oldCell.sql, disabled, 1); // stays pending
  const recipe = await recipeFor(world.owner);
  await mark(world.owner);
  const [untilRows = ""] = recipe.split("do $$"); // as psql sends it: each statement for itself
  await newCell.sql.unsafe(untilRows).simple();

  await expect(newCell.sql.unsafe(recipe).simple()).rejects.toThrow(/still has open work in the old cell/);
  expect(await readOwned(newCell.sql, world.owner)).toEqual([]);

  await oldCell.sql`delete from keyframe.predictions where id = ${id}`;
  await oldCell.sql`delete from keyframe_private.provider_submits where owner_id = ${world.owner}`;
  await oldCell.sql`select keyframe_private.merge_costs()`;
  await newCell.sql.unsafe(recipe).simple();
  expect(await readOwned(newCell.sql, world.owner)).toEqual(await readOwned(oldCell.sql, world.owner));
});

test("an owner who is not marked as moved is moved → refused, since writes after the copy would be lost", async () => {
  const { owner } = await addWorld(oldCell);
  await oldCell.sql`select keyframe_private.merge_costs()`;
  await expect(newCell.sql.unsafe(await recipeFor(owner)).simple()).rejects.toThrow(/1\. Stop/);
  expect(await readOwned(newCell.sql, owner)).toEqual([]);
});

test("an owner is marked as moved while credit is being added → the mark waits for the credit, which is moved too", async () => {
  const { owner } = await addWorld(oldCell);
  const marked = await oldCell.sql.begin(async (sql) => {
    await addCredit(owner, "payment-1", sql);
    const waiting = mark(owner).execute();
    await untilSomebodyWaits(oldCell.sql);
    return { waiting };
  });
  await marked.waiting;
  await oldCell.sql`select keyframe_private.merge_costs()`;
  await newCell.sql.unsafe(await recipeFor(owner)).simple();
  const credits = newCell.sql`select key from keyframe_private.credits where owner_id = ${owner}`;
  expect(await credits).toEqual([{ key: "payment-1" }]);
});

describe("an owner who is marked as moved", () => {
  test("credit for an owner marked as moved → user_moved, also repeated or after deletion; another owner's credit is added", async () => {
    const [{ owner }, other] = [await addWorld(oldCell), await addWorld(oldCell)];
    await addCredit(owner, "payment-1");
    await mark(owner);
    const expectRefused = async () => {
      expect(await codeOf(addCredit(owner, "payment-1"))).toBe("user_moved");
      expect(await codeOf(addCredit(owner, "payment-2"))).toBe("user_moved");
      const refund = oldCell.sql`
        insert into keyframe_private.credits (owner_id, micros, kind) values (${owner}, -5, 'refund')`;
      expect(await codeOf(refund)).toBe("user_moved");
    };
    await expectRefused();
    await oldCell.sql`delete from auth.users where id = ${owner}`;
    await expectRefused();
    await addCredit(other.owner, "payment-1");
  });

  test("each request of an owner marked as moved → answered if it reads, else user_moved", async () => {
    const scene = await addScene(oldCell, (await addWorld(oldCell)).owner);
    await mark(scene.owner);
    for (const [name, { takes }] of Object.entries(REQUESTS)) {
      const request = makeRequest(oldCell, scene, name);
      if (takes === "read") await request;
      else expect(await codeOf(request), name).toBe("user_moved");
    }
  });
});
