import { afterAll, beforeAll, expect, test } from "vitest";
import { startPostgres } from "../../local/postgres/start-postgres.ts";
import { eventually, PUBLISHABLE_KEY, startTestPlatform, type TestPlatform } from "./platform-fixture.ts";

let platform: TestPlatform;

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.migrate
    .unsafe(`
    create table public.items (id int primary key);
    create function public.one() returns int language sql as 'select 1';
    create function public.nap() returns int language sql as 'select pg_sleep(2); select 1';
    grant execute on function public.one, public.nap to anon;
  `)
    .simple();
});
afterAll(() => platform?.stop());

const one = () => platform.client().rpc("one");

test("a statement that fails 60 times, twice the pool and more → every connection is free again", async () => {
  const client = platform.client();
  await Promise.all(Array.from({ length: 60 }, () => client.rpc("one", { none: 1 })));
  await Promise.all(Array.from({ length: 60 }, () => client.from("items").insert([{ id: 1 }, { id: 1 }])));
  expect((await one()).data).toBe(1);
});

test("a connection cut by an administrator → the request gets an answer, the next one works", async () => {
  // supabase-js sends nothing before somebody waits.
  const napping = platform
    .client()
    .rpc("nap")
    .then((answer) => answer);
  await eventually(
    async () =>
      await platform.admin`
      select pg_terminate_backend(pid) from pg_stat_activity where query like '%nap%' and state = 'active'
        and application_name = 'keyframe-platform'`,
    (rows) => rows.length > 0,
  );
  expect((await napping).status).toBe(503);
  expect((await one()).data).toBe(1);
});

test("Postgres killed under 40 requests, away, and back → answers, 503 in each service, then as before", async () => {
  const { client } = await platform.signedIn();
  const under = Promise.all(Array.from({ length: 40 }, () => platform.client().rpc("nap")));
  await eventually(
    async () => await platform.admin`select 1 from pg_stat_activity where query like '%nap%' and state = 'active'`,
    (rows) => rows.length > 5,
  );
  platform.postgres.kill("SIGQUIT");
  await platform.postgres.exited;
  for (const { status } of await under) expect([200, 503]).toContain(status);

  // More than the pool holds: whatever these leave behind must not be missing afterwards.
  const away = await Promise.all(Array.from({ length: 40 }, one));
  expect(new Set(away.map((answer) => answer.status))).toEqual(new Set([503]));
  const headers = { apikey: PUBLISHABLE_KEY };
  for (const path of ["/rest/v1/items", "/storage/v1/bucket"]) {
    const answer = await fetch(platform.url + path, { headers });
    expect([path, answer.status]).toEqual([path, 503]);
    expect(answer.headers.get("content-type")).toContain("json");
  }
  const upload = await client.storage.from("any").upload("x.txt", new Blob(["x"]));
  expect(upload.error).toMatchObject({ status: 503 });
  const body = JSON.stringify({ email: "a@example.com", password: "x" });
  const signIn = await fetch(`${platform.url}/auth/v1/token?grant_type=password`, { method: "POST", headers, body });
  expect(signIn.status).toBe(503);

  const { port, dataDir } = platform.postgres;
  platform.postgres = await startPostgres({ port, dataDir, durable: false });
  const back = await Promise.all(Array.from({ length: 40 }, one));
  expect(new Set(back.map((answer) => answer.data))).toEqual(new Set([1]));
  expect((await client.auth.getUser()).error).toBeNull();
});
