import type postgres from "postgres";
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import {
  addProject,
  seedCopies,
  seedPrediction,
  seedSubmit,
  useWorld,
  type World,
} from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { addScene, makeRequest, REQUESTS } from "../../support/database/requests.ts";
import { scalar } from "../../support/database/scalar.ts";
import { start } from "../../support/database/user.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import { addEndpoint, type Caller, call, seedDeliveries } from "../../support/database/webhooks.ts";

// What one owner can take of the database: calls at once, processor time, tokens. Under load, with others who are measured: lab/chaos.
const db = useDatabase();
const world = useWorld(db);
afterEach(() => db.sql`update keyframe_private.settings set max_calls_per_owner = 1000, service_month_micros = null`);

const asOwner = <T>(work: (sql: postgres.TransactionSql) => Promise<T>, { owner } = world) => db.asUser(owner, work);

describe("an owner with as many open calls as are allowed", () => {
  /** Does something while so many calls of the owner are open. */
  async function whileCallsAreOpen(calls: number, work: () => Promise<unknown>): Promise<void> {
    await db.sql`update keyframe_private.settings set max_calls_per_owner = 2`;
    const next = async (left: number): Promise<unknown> =>
      left === 0
        ? await work()
        : await asOwner(async (sql) => {
            await sql`select set_config('request.method', 'GET', true)`;
            await sql`select from keyframe.projects`;
            await next(left - 1);
          });
    await next(calls);
  }
  const busy = { sqlstate: "KEYFR", message: "rate_limited" };
  const hint = { policy: "calls", limit: 2, window_seconds: 1, wait_seconds: 1 };

  test("a third call while an owner has two open, the maximum → rate_limited at once, with the wait; another owner is answered", async () => {
    const scene = await addScene(db, world.owner);
    const other = await addScene(db, await db.addUser());
    await whileCallsAreOpen(2, async () => {
      for (const name of Object.keys(REQUESTS)) {
        const refusal = await refusalOf(makeRequest(db, scene, name));
        expect([name, refusal]).toMatchObject([name, busy]);
        expect(JSON.parse(refusal.hint ?? "")).toEqual(hint);
      }
      await makeRequest(db, other, "list_projects");
    });
    await makeRequest(db, scene, "list_projects");
  });

  test("rows by the Data API while an owner's calls are all open → reads and writes refused; Realtime can still read", async () => {
    const read = (method: string) =>
      asOwner(async (sql) => {
        await sql`select set_config('request.method', ${method}, true)`;
        return await sql`select from keyframe.projects`;
      });
    const write = () => asOwner((sql) => sql`update keyframe.projects set title = 'Quay' where id = ${world.project}`);
    await whileCallsAreOpen(1, () => read("GET"));
    await whileCallsAreOpen(2, async () => {
      expect(await codeOf(read("GET"))).toBe("rate_limited");
      expect(await codeOf(write())).toBe("rate_limited");
      expect(await read("")).toHaveLength(1);
    });
  });

  test("three table reads at once → two succeed, the third waits for one of them; a transaction that writes does not wait", async () => {
    await db.sql`update keyframe_private.settings set max_calls_per_owner = 10`;
    const read = (mode: "read only" | "read write", then = async () => {}) =>
      asOwner(async (sql) => {
        await sql`select set_config('request.method', 'GET', true)`;
        await sql.unsafe(`set local transaction_read_only = ${mode === "read only" ? "on" : "off"}`);
        await sql`select from keyframe.projects`;
        await then();
      });
    let third: Promise<void> | undefined;
    await read("read only", () =>
      read("read only", async () => {
        await read("read write");
        third = read("read only");
        await untilSomebodyWaits(db.sql);
      }),
    );
    await third;
  });

  test("a request that reads many tables → counts as one call", async () => {
    await whileCallsAreOpen(1, () =>
      asOwner(async (sql) => {
        await sql`select set_config('request.method', 'GET', true)`;
        for (let times = 0; times < 3; times++) {
          await sql`select keyframe.read_project(${world.project})`;
          await sql`select from keyframe.projects p left join keyframe.predictions on true left join keyframe.films on true`;
        }
        const held = await db.sql`
          select from pg_locks join pg_database d on d.oid = database
          where locktype = 'advisory' and granted and datname = current_database()`;
        expect(held).toHaveLength(2);
      }),
    );
  });
});

test("an owner's transaction holds all rows of that owner → another user's request about them is refused without waiting", async () => {
  const scene = await addScene(db, world.owner);
  const stranger = await db.addUser();
  await db.sql.begin(async (sql) => {
    for (const table of ["projects", "films", "predictions", "webhook_endpoints", "webhook_deliveries"])
      await sql.unsafe(`select from keyframe.${table} where owner_id = $1 for update`, [world.owner]);
    for (const [name, { args }] of Object.entries(REQUESTS)) {
      const given = Object.entries(args(scene));
      if (!given.some(([argument]) => argument.endsWith("_id"))) continue;
      const asked = db.asUser(stranger, async (session) => {
        await session`set local lock_timeout = '1s'`; // of those that have none of their own
        const list = given.map(([argument], i) => `${argument} => $${i + 1}`);
        return await session.unsafe(`select keyframe.${name}(${list})`, given.map(([, value]) => value) as never[]);
      });
      expect([name, (await refusalOf(asked)).message]).toEqual([name, "not_found"]);
    }
  });
});

describe("what a request costs", () => {
  const taken = async (
    name: string,
    args: Parameters<typeof call>[3] = {},
    rate = "read",
    caller: Caller = world.owner,
  ) => {
    await db.sql`delete from keyframe_private.rate_buckets`;
    await call(db, caller, name, args).catch(() => undefined);
    const tokens = await scalar(db.sql`
      select round(l.capacity - b.tokens)::int from keyframe_private.rate_buckets b join keyframe_private.rate_limits l using (route_class)
      where route_class = ${rate}`);
    return tokens ?? 0;
  };

  test("a film, or a page of projects with predictions → costs one more token for each ten shots or projects", async () => {
    const { id } = await addFilm(25);
    expect(await taken("read_film", { film_id: id })).toBe(3);
    expect(await taken("list_projects", { max_rows: 20, with_predictions: true })).toBe(3);
    expect(await taken("list_projects", { max_rows: 20 })).toBe(1);
  });

  test("a page of films → costs one more token for each thousand shots", async () => {
    for (let films = 0; films < 5; films++) await addFilm(500);
    expect(await taken("list_films", { max_rows: 5 })).toBe(3);
    expect(await taken("list_films", { max_rows: 1 })).toBe(1);
  });

  test("a page of predictions or of deliveries → costs one more token for each 25 rows", async () => {
    const { id } = await seedPrediction(db.sql, world, { status: "failed" });
    await seedCopies(db.sql, id, 60);
    const predictions = { project_id: world.project };
    expect(await taken("list_predictions", { ...predictions, max_rows: 101 })).toBe(3);
    expect(await taken("list_predictions", { ...predictions, max_rows: 21 })).toBe(1);
    const endpoint_id = await addEndpoint(db.sql, world.owner);
    await seedDeliveries(db.sql, endpoint_id, 60);
    expect(await taken("list_webhook_deliveries", { endpoint_id, max_rows: 101 })).toBe(3);
  });

  test("a repeated request with the same key → costs a read token; the start of a film, one more for each ten predictions", async () => {
    const scene = await addScene(db, world.owner);
    const key = { idempotency_key: "k", request_hash: "a".repeat(64) };
    for (const [name, { post, args, takes }] of Object.entries(REQUESTS)) {
      if (!post || name === "admit_upload") continue; // whose body is read again
      await db.sql`delete from keyframe_private.idempotency_keys`;
      const again = () => taken(name, { ...args(scene), ...key });
      expect([name, await again()]).toEqual([name, 0]);
      expect([name, await again()]).toEqual([name, 1]);
      expect([name, await taken(name, { ...args(scene), ...key }, takes)]).toEqual([name, 0]);
    }
    await db.sql`delete from keyframe_private.idempotency_keys`;
    const film = { film_id: (await addFilm(25)).id, step: "first-frame", ...key };
    expect([await taken("start_film", film), await taken("start_film", film)]).toEqual([0, 3]);
  });

  test("usage → costs a token for each day when grouped by project, else one for each month begun", async () => {
    const days = { from_day: "2026-01-01", to_day: "2026-02-09" };
    expect(await taken("read_usage", { ...days, group_by: "project" })).toBe(40);
    expect(await taken("read_usage", { ...days, group_by: "model" })).toBe(2);
    expect(await taken("read_usage")).toBe(1);
  });

  test("a request that costs more than a full bucket → takes the full bucket; the next one → rate_limited", async () => {
    await db.sql`update keyframe_private.rate_limits set capacity = 3, per_second = 0.001 where route_class = 'read'`;
    const days = { from_day: "2026-01-01", to_day: "2026-02-09" };
    const read = () => call(db, world.owner, "read_usage", { ...days, group_by: "project" });
    await read();
    expect(await codeOf(read())).toBe("rate_limited");
    await db.sql`update keyframe_private.rate_limits set capacity = 1000000, per_second = 20 where route_class = 'read'`;
  });

  test("each read of a waiting request → costs a token of the class “wait”, none of “read”", async () => {
    await start(db, world);
    const look = { project_id: world.project, step: "first-frame", waiting: true };
    expect([await taken("read_prediction", look), await taken("read_prediction", look, "wait")]).toEqual([0, 1]);
  });

  test("a refused request, also a repeated one → costs one token; for a film, one more for each ten shots", async () => {
    for (const [shots, tokens] of [
      [5, 1],
      [25, 3],
    ] as const) {
      const { id } = await addFilm(shots);
      expect(await taken("start_film", { film_id: id, step: "video" }, "generate")).toBe(tokens);
    }
    const [nowhere, none] = [{ project_id: crypto.randomUUID() }, crypto.randomUUID()];
    const texts = { title: "t", text_prompt: "p" };
    for (const [name, args, rate] of [
      ["read_project", nowhere, "read"],
      ["read_prediction", { ...nowhere, prediction_id: none, step: "first-frame" }, "read"],
      ["reveal_webhook_secret", { endpoint_id: none }, "read"],
      ["start_prediction", { ...nowhere, step: "first-frame" }, "generate"],
      ["start_prediction", { project_id: world.project, step: "video", count: 8 }, "generate"],
      ["cancel_prediction", { ...nowhere, prediction_id: none }, "change"],
      ["delete_project", nowhere, "change"],
      ["revoke_key", { key_id: "kf_0000000000000000" }, "change"],
      ["update_project", { ...nowhere, changes: "{}" }, "change"],
      ["test_webhook_endpoint", { endpoint_id: none }, "create"],
      ["create_project", { ...texts, film_id: none }, "create"],
    ] as const)
      expect(await taken(name, args, rate), name).toBe(1);
    const keyed = { ...texts, idempotency_key: "k", request_hash: "a".repeat(64) };
    expect(await taken("create_project", keyed, "create")).toBe(1);
    expect(await taken("create_project", keyed, "create")).toBe(0);
    await db.sql`delete from keyframe.projects where owner_id = ${world.owner}`;
    expect(await taken("create_project", keyed, "create")).toBe(1);
  });

  test("a client without the right to manage asks for keys or webhooks → client_not_allowed, and one token", async () => {
    const id: string = crypto.randomUUID();
    await db.sql`insert into keyframe_private.allowed_clients (client_id, name, may) values (${id}, 'An app', 'read')`;
    const caller = { sub: world.owner, role: "authenticated", client_id: id };
    for (const name of ["list_keys", "list_webhook_endpoints", "webhook_health"])
      expect([name, await taken(name, {}, "read", caller)]).toEqual([name, 1]);
    await db.sql`delete from keyframe_private.allowed_clients where client_id = ${id}`;
  });

  test("a page with too few tokens for its rows → rate_limited, and the first token stays taken", async () => {
    await addFilm(25);
    await db.sql`update keyframe_private.rate_limits set per_second = 0.001 where route_class = 'read'`;
    await db.sql`
      insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values (${world.owner}, 'read', 2, now())
      on conflict (owner_id, route_class) do update set tokens = excluded.tokens, refilled_at = now()`;
    const page = () => call(db, world.owner, "list_projects", { max_rows: 20, with_predictions: true });
    expect(await codeOf(page())).toBe("rate_limited");
    const left = db.sql`select round(tokens)::int from keyframe_private.rate_buckets where owner_id = ${world.owner} and route_class = 'read'`;
    expect(await scalar(left)).toBe(1);
    await db.sql`update keyframe_private.rate_limits set per_second = 20 where route_class = 'read'`;
  });
});

/** The pages of the database that a call touches, once its plans are kept. */
async function pagesOf(name: string, args: string): Promise<number> {
  const claims = JSON.stringify({ sub: world.owner, role: "authenticated" });
  return await db.sql.begin(async (sql) => {
    await sql`select set_config('request.jwt.claims', ${claims}, true), set_config('request.jwt.claim.sub', ${world.owner}, true)`;
    await sql`set local role authenticated`;
    let pages = 0;
    for (let times = 0; times < 3; times++) {
      const [row] = await sql.unsafe(
        `explain (analyze, buffers, timing off, format json) select keyframe.${name}(${args})`,
      );
      const plan = row?.["QUERY PLAN"][0].Plan;
      pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    }
    return pages;
  });
}

test("an owner with 5,000 ended keys lists them and makes one → few pages are read", async () => {
  await db.sql`
    insert into keyframe_private.allowed_clients (client_id, name, may, owner_id, secret_hash, expires_at)
    select 'kf_' || left(md5(i::text), 16), 'k', 'read', ${world.owner}, sha256(''), now() - i * interval '1 minute'
    from generate_series(1, 5000) i`;
  await db.sql`vacuum analyze keyframe_private.allowed_clients`;
  expect(await pagesOf("list_keys", "")).toBeLessThan(50);
  expect(await pagesOf("create_key", "'k', 'read'")).toBeLessThan(50);
});

describe("sums of costs", () => {
  /** So many submits of the owner in three projects, of which the given share has ended, merged and vacuumed. */
  async function addSubmits(number: number, state: "held" | "settled"): Promise<void> {
    const projects = [world.project, await addProject(db, world.owner), await addProject(db, world.owner)];
    await db.sql`
      insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, is_first, step, model, most_micros, cost_micros, cost_state)
      select ${world.owner}, (${projects}::uuid[])[1 + i % 3], gen_random_uuid(), 1, true, 'first-frame', 'google/nano-banana', 1000,
        case ${state}::text when 'settled' then 900 end, ${state}
      from generate_series(1, ${number}::int) i`;
    await db.sql`select keyframe_private.merge_costs()`;
    await db.sql`vacuum analyze keyframe_private.cost_changes, keyframe_private.cost_sums, keyframe_private.provider_submits`;
  }

  test("a start with a budget, a balance, 5,000 holds and 13 months of sums → reads no more pages than without them", async () => {
    await db.sql`update keyframe_private.settings set service_month_micros = 9007199254740991`;
    await db.sql`select keyframe_private.add_credit(${world.owner}, 1000000000, 'grant')`;
    const starting = () => pagesOf("start_prediction", `'${world.project}', 'first-frame'`);
    const without = await starting();
    await db.sql`
      insert into keyframe_private.cost_sums (kind, owner_id, day, step, model, settled_charge_micros)
      select 'owner_day', ${world.owner}, (now() at time zone 'UTC')::date - i % 400, 'first-frame', 'm' || i % 3, 83 from generate_series(1, 1200) i`;
    await addSubmits(5_000, "held");
    const held = db.sql`select sum(held_micros)::int from keyframe_private.costs where kind = 'owner_day' and owner_id = ${world.owner}`;
    expect(await scalar(held)).toBeGreaterThanOrEqual(5_000 * 1000);
    expect(await starting()).toBeLessThan(without * 1.1);
  });

  test("usage by project of an owner with 5,000 submits → reads few pages, and counts every submit, merged or not", async () => {
    await addSubmits(5_000, "settled");
    await seedSubmit(db.sql, { owner_id: world.owner, project_id: world.project, most_micros: 5, is_first: true });
    const { groups } = await call<{ groups: Record<string, unknown>[] }>(db, world.owner, "read_usage", {
      group_by: "project",
    });
    const sum = (field: string) => groups.reduce((total, group) => total + Number(group[field]), 0);
    expect(groups).toHaveLength(3);
    expect(sum("predictions")).toBe(5_001);
    expect(sum("settledMicros")).toBe(5_000 * 900);
    expect(sum("heldMicros")).toBe(5);
    expect(await pagesOf("read_usage", "group_by => 'project'")).toBeLessThan(100);
  });
});

describe("a project with more predictions than one request deletes", () => {
  /** Frames that have succeeded, without triggers. */
  const addFrames = (number: number, { owner, project }: World) =>
    db.sql.begin(async (sql) => {
      await sql`set local session_replication_role = replica`;
      await sql`
        insert into keyframe.predictions (
          id, project_id, owner_id, step, status, input, model, attempt, admitted_at, started_at, completed_at, deadline_at, output_path,
          output_content_type, output_bytes, output_sha256, output_width, output_height)
        select id, ${project}, ${owner}, 'first-frame', 'succeeded', '{"prompt": "p", "referenceImagePaths": []}', 'google/nano-banana', 1,
          now(), now(), now(), now(), ${owner} || '/' || ${project} || '/' || id || '.png', 'image/png', 1, repeat('a', 64), 1, 1
        from (select gen_random_uuid() as id from generate_series(1, ${number}::int)) n`;
    });
  const left = (project = world.project) =>
    scalar(db.sql`select count(*)::int from keyframe.predictions where project_id = ${project}`);
  const isThere = async (id: string) => (await db.sql`select from keyframe.projects where id = ${id}`).count > 0;
  const remove = () =>
    call<{ project: { id: string } }>(db, world.owner, "delete_project", { project_id: world.project });
  const part = () => db.sql`select keyframe_private.delete_parts(800)`;

  test("a project with very many predictions is deleted → unreadable and unusable at once, deleted in parts, files included", async () => {
    const { id: film } = await addFilm(2);
    await db.sql`update keyframe.projects set film_id = ${film} where id = ${world.project}`;
    await addFrames(1_001, world);
    const frame = await scalar(db.sql`select id from keyframe.predictions where project_id = ${world.project} limit 1`);
    const other = await addProject(db, world.owner);
    expect((await remove()).project.id).toBe(world.project);
    expect(await left()).toBe(1_001);

    const project = { project_id: world.project };
    const one = { ...project, prediction_id: frame };
    for (const [name, args] of [
      ["read_project", project],
      ["update_project", { ...project, changes: {} }],
      ["delete_project", project],
      ["list_predictions", project],
      ["read_prediction", { ...one, step: "first-frame" }],
      ["cancel_prediction", one],
      ["update_prediction", { ...one, changes: { hidden: true } }],
      ["delete_prediction", one],
      ["start_prediction", { ...project, step: "first-frame" }],
      ["start_prediction", { project_id: other, step: "last-frame", input: { firstFramePredictionId: frame } }],
      ["update_film", { film_id: film, project_ids: `{${world.project}}` }],
    ] as const) {
      expect([name, await codeOf(call(db, world.owner, name, args))]).toEqual([name, "not_found"]);
    }
    expect(JSON.stringify(await call(db, world.owner, "list_projects"))).not.toContain(world.project);
    expect(JSON.stringify(await call(db, world.owner, "read_film", { film_id: film }))).not.toContain(world.project);
    for (const table of ["projects where id", "predictions where project_id"])
      expect(await asOwner((sql) => sql.unsafe(`select from keyframe.${table} = $1`, [world.project]))).toHaveLength(0);

    await part();
    expect(await left()).toBe(201);
    await part();
    expect(await isThere(world.project)).toBe(false);
    const names = `${world.owner}/${world.project}/%`;
    expect(await db.sql`select from keyframe_private.file_removals where name like ${names}`).toHaveLength(1_001);
  });

  test("a large project is deleted again while a part of it is being deleted → not_found at once", async () => {
    await addFrames(1_001, world);
    await remove();
    await db.sql.begin(async (open) => {
      await open`select keyframe_private.delete_parts(800)`;
      expect(await codeOf(remove())).toBe("not_found");
    });
    await part();
    expect(await isThere(world.project)).toBe(false);
  });

  test("a film's large shots, or projects by the Data API, are deleted → one request's maximum at once, the rest in parts", async () => {
    const { id: film, shots } = await addFilm(3);
    for (const project of shots) await addFrames(400, { owner: world.owner, project });
    await call(db, world.owner, "delete_film", { film_id: film, with_projects: true });
    const rest = await Promise.all(shots.map((shot) => left(shot)));
    expect(rest.sort()).toEqual([0, 0, 400]);
    await addFrames(1_001, world);
    await asOwner((sql) => sql`delete from keyframe.projects where true`);
    expect(await left()).toBe(1_001);
    expect(await asOwner((sql) => sql`select from keyframe.projects`)).toHaveLength(0);
    for (let parts = 0; parts < 3; parts++) await part();
    expect(await db.sql`select from keyframe.projects where owner_id = ${world.owner}`).toHaveLength(0);
  });

  test("a prediction of a large deleted project is locked → all others are deleted, and it is once the lock is free", async () => {
    await addFrames(1_001, world);
    await remove();
    await db.sql.begin(async (open) => {
      await open`select from keyframe.predictions where project_id = ${world.project} limit 1 for update`;
      await part();
      await part();
      expect(await left()).toBe(1);
    });
    await part();
    expect(await isThere(world.project)).toBe(false);
  });
});

async function addFilm(shots: number): Promise<{ id: string; shots: string[] }> {
  const id: string = await scalar(
    db.sql`insert into keyframe.films (owner_id, title) values (${world.owner}, 'F') returning id`,
  );
  const rows = await db.sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt, film_id) select ${world.owner}, 't', 'p', ${id} from generate_series(1, ${shots}::int)
    returning id`;
  return { id, shots: rows.map((row) => row.id) };
}
