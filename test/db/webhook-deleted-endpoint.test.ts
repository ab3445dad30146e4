import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClonedDatabase, cloneDatabase } from "../support/clone-database.ts";

let db: ClonedDatabase;

beforeAll(async () => {
  db = await cloneDatabase();
});
afterAll(() => db.drop());

test("a project created while its owner's endpoint is being deleted → the project is there, without a delivery", async () => {
  const owner = await db.addUser();
  const [endpoint] = await db.sql<{ id: string }[]>`
    insert into public.webhook_endpoints (owner_id, url) values (${owner}, 'https://example.com/hook') returning id`;
  const remover = await db.sql.reserve();
  await remover`begin`;
  await remover`delete from public.webhook_endpoints where id = ${endpoint?.id ?? ""}`;

  const created = db.as(
    { sub: owner, role: "authenticated" },
    (sql) => sql`select public.create_project('Harbour', 'A harbour at dawn') as answer`,
  );
  await untilSomebodyWaits();
  await remover`commit`;
  remover.release();

  await expect(created).resolves.toHaveLength(1);
  const [counts] = await db.sql`
    select (select count(*)::int from public.webhook_events where owner_id = ${owner}) as events,
           (select count(*)::int from public.webhook_deliveries) as deliveries`;
  expect(counts).toEqual({ events: 1, deliveries: 0 });
});

async function untilSomebodyWaits(): Promise<void> {
  for (let look = 0; look < 500; look++) {
    const [waiting] = await db.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' limit 1`;
    if (waiting) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nobody waited for the deletion");
}
