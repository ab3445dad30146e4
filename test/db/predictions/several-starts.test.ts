import postgres from "postgres";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readRow } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { addFilm, addShot } from "../../support/database/films.ts";
import { addWorld, columnOf, type Row, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { addReference } from "../../support/database/user.ts";
import { setSettings } from "../../support/database/settings.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

// Several takes of a step, and what the shots of a film lack: all or none. A first frame by the default model costs 67,000 micro-dollars.

const FRAME = 67_000;
const SEEDED = "black-forest-labs/flux-2-pro"; // takes a seed
const db = useDatabase();
const world = useWorld(db);
beforeEach(() => clearPredictions(db.sql, "cost_changes", "cost_sums", "owner_budgets", "limit_notes"));

type Made = Row & { id: string; project_id: string; input: Record<string, unknown> };
type Several = { prediction: Made; predictions: Made[]; replayed: boolean; rate: Row };
type Fields = Record<string, string | number | object | null>;
const FRAMES = { step: "first-frame" };
const asked = (fields: Fields = {}) => ({ project_id: world.project, ...FRAMES, ...fields });
const start = (fields: Fields = {}) => call<Several>(db, world.owner, "start_prediction", asked(fields));
const estimate = async (fields: Fields = {}) =>
  (await call<{ estimate: Row }>(db, world.owner, "estimate_prediction", asked(fields))).estimate;
const key = (letter = "a") => ({ idempotency_key: letter, request_hash: letter.repeat(64) });
const budget = (micros: number) =>
  db.sql`insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${world.owner}, ${micros})`;
/** What the owner has: predictions, what they hold, submits of the ledger, tokens of starts that are taken. */
async function has() {
  const [row] = await db.sql`
    select (select count(*)::int from keyframe.predictions where owner_id = ${world.owner}) as predictions,
      (select coalesce(sum(held_micros), 0)::int from keyframe_private.costs where kind = 'owner_day' and owner_id = ${world.owner}) as held,
      (select count(*)::int from keyframe_private.provider_submits where owner_id = ${world.owner}) as submits`;
  return row;
}
/** The rate limit of starts until the test has ended. */
const limit = async (capacity: number, per_second: number) => {
  const set = (values: object) =>
    db.sql`update keyframe_private.rate_limits set ${db.sql(values)} where route_class = 'generate'`;
  onTestFinished(async () => void (await set({ capacity: 1_000_000, per_second: 1 })));
  await set({ capacity, per_second });
};
const NOTHING = { predictions: 0, held: 0, submits: 0 };
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

describe("a start of several takes", () => {
  test("three takes with two slots → returned in order, the first also by itself; two are admitted, the third waits", async () => {
    await setSettings(db.sql, { max_active_per_owner: 2 });
    const { prediction, predictions } = await start({ count: 3 });
    expect(prediction).toEqual(predictions[0]);
    expect(predictions.map(({ queue_position }) => queue_position)).toEqual([0, 0, 1]);
    const line = await db.sql<{ id: string }[]>`
      select id from keyframe.predictions where project_id = ${world.project} order by created_at`;
    expect(idsOf(predictions)).toEqual(idsOf(line));
    expect(await has()).toEqual({ predictions: 3, held: 3 * FRAME, submits: 3 });
  });

  test("takes with a seed → each has the next seed; without one → none; count 1 → only that take", async () => {
    const seeded = await start({ model: SEEDED, input: { seed: 7 }, count: 3 });
    expect(seeded.predictions.map(({ input }) => input.seed)).toEqual([7, 8, 9]);
    const without = await start({ model: SEEDED, count: 2 });
    expect(without.predictions.map(({ input }) => input.seed)).toEqual([undefined, undefined]);
    const one = await start({ count: 1 });
    expect(one.predictions).toEqual([one.prediction]);
    expect((await start()).predictions).toBeNull();
  });

  test("an estimate of several takes → what all cost, and whether the budget has room for all", async () => {
    await budget(3 * FRAME);
    const all = { estimateMicros: 3 * FRAME, atMostMicros: 3 * FRAME, withinBudget: true };
    expect(await estimate({ count: 3 })).toMatchObject(all);
    expect(await estimate({ count: 4 })).toMatchObject({ availableMicros: 3 * FRAME, withinBudget: false });
  });

  test.each<[string, Fields, string]>([
    ["0", { count: 0 }, "invalid_request"],
    ["9", { count: 9 }, "invalid_request"],
    [
      "takes whose last seed is too high",
      { model: SEEDED, input: { seed: 2147483646 }, count: 3 },
      "unsupported_input",
    ],
    ["takes of a video without a first frame", { step: "video", count: 2 }, "frame_not_ready"],
  ])("takes: %s → the start and its estimate are refused, nothing is started", async (_what, fields, code) => {
    expect([await codeOf(estimate(fields)), await codeOf(start(fields))]).toEqual([code, code]);
    expect(await has()).toEqual(NOTHING);
  });

  test("a budget for fewer takes than the start asks for → refused with what all would cost, nothing held, the event says so", async () => {
    await budget(2 * FRAME);
    const { message, hint } = await refusalOf(start({ count: 3 }));
    expect(message).toBe("budget_exceeded");
    const figures = { estimateMicros: 3 * FRAME, availableMicros: 2 * FRAME, heldMicros: 0 };
    expect(JSON.parse(hint ?? "")).toMatchObject(figures);
    expect(await has()).toEqual(NOTHING);
    const types = db.sql`select type from keyframe.webhook_events where owner_id = ${world.owner} and type <> 'project.created'`;
    expect(await columnOf(types)).toEqual(["budget.exhausted"]);
  });

  test("a start of several takes whose connection is killed → none exists; the same key again → all start", async () => {
    // In one message, so that nothing is left to send to the connection that is gone.
    const own = postgres(db.url, { max: 1, onnotice: () => undefined });
    const args = `'${world.project}', 'first-frame', count => 8, idempotency_key => 'a', request_hash => '${"a".repeat(64)}'`;
    await db.sql.begin(async (open) => {
      await open`select keyframe_private.acquire_lock('slots', ${world.owner})`;
      const killed = own
        .unsafe(`
          begin;
          select set_config('request.jwt.claims', '{"sub": "${world.owner}", "role": "authenticated"}', true);
          select keyframe.start_prediction(${args});
          commit`)
        .catch(({ code }: { code: string }) => code);
      await untilSomebodyWaits(db.sql);
      await db.sql`
        select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      expect(["57P01", "CONNECTION_CLOSED"]).toContain(await killed);
    });
    await own.end({ timeout: 1 });
    expect(await has()).toEqual(NOTHING);
    expect(await start({ count: 8, ...key() })).toMatchObject({ replayed: false });
    expect(await has()).toEqual({ predictions: 8, held: 8 * FRAME, submits: 8 });
  });

  test("a start of several takes repeated after some were deleted → those that are left; none left → not_found", async () => {
    const again = () => start({ count: 3, ...key() });
    const [first = "", ...rest] = idsOf((await again()).predictions);
    const remove = (id: string) => db.sql`delete from keyframe.predictions where id = ${id}`;
    await remove(first);
    const { prediction, predictions, replayed } = await again();
    expect([prediction.id, idsOf(predictions), replayed]).toEqual([rest[0], rest, true]);
    await Promise.all(rest.map(remove));
    expect(await codeOf(again())).toBe("not_found");
  });

  test("more takes than the rate limit has left → refused for as long as all need; a take costs what a start costs", async () => {
    await limit(10, 0.1);
    const { rate } = await start({ count: 8 });
    expect(rate.remaining).toBe(2);
    const { message, hint } = await refusalOf(start({ count: 8 }));
    expect(message).toBe("rate_limited");
    expect(JSON.parse(hint ?? "").wait_seconds).toBeGreaterThan(10);
    expect((await start({ count: 2 })).rate.remaining).toBe(0);
    expect(await has()).toMatchObject({ predictions: 10 });
  });
});

describe("a start of what a film's shots lack", () => {
  let film: string;
  let shots: string[];
  const filmOf = async (count: number) => {
    film = await addFilm(db, world.owner);
    shots = [];
    while (shots.length < count)
      shots.push(await addShot(db, world.owner, film, { text_prompt: `Pier ${shots.length}` }));
  };
  const fill = (at: number, status: "succeeded" | "processing" | "failed", hidden = false) =>
    seedPrediction(db.sql, { owner: world.owner, project: shots[at] ?? "" }, { status, columns: { hidden } });
  const startFilm = (fields: Fields = {}, owner = world.owner) =>
    call<Several>(db, owner, "start_film", { film_id: film, ...FRAMES, ...fields });
  const estimateFilm = async (fields: Fields = {}) => {
    type Answer = { estimate: Row & { shots: Row[] } };
    return (await call<Answer>(db, world.owner, "estimate_film", { film_id: film, ...FRAMES, ...fields })).estimate;
  };
  const projectsOf = ({ predictions }: Several) => predictions.map(({ project_id }) => project_id);
  beforeEach(() => filmOf(5));

  test("a film whose shots have a take, a running, a failed, a hidden and no run → the last three are started, in film order", async () => {
    await fill(0, "succeeded");
    await fill(1, "processing");
    await fill(2, "failed");
    await fill(3, "succeeded", true);
    const order = shots.toReversed();
    await call(db, world.owner, "update_film", { film_id: film, project_ids: order });
    const missing = [shots[4], shots[3], shots[2]];
    const { shots: priced, ...amounts } = await estimateFilm();
    expect(priced.map(({ projectId, estimateMicros, error }) => [projectId, estimateMicros, error])).toEqual(
      missing.map((id) => [id, FRAME, null]),
    );
    expect(amounts).toMatchObject({ estimateMicros: 3 * FRAME, atMostMicros: 3 * FRAME, withinBudget: true });
    const before = await has();
    const started = await startFilm();
    expect(projectsOf(started)).toEqual(missing);
    expect(started.predictions.map(({ input }) => input.prompt)).toEqual(["Pier 4", "Pier 3", "Pier 2"]);
    expect(await has()).toMatchObject({ predictions: before?.predictions + 3, held: 3 * FRAME });
    expect(projectsOf(await startFilm())).toEqual([]); // they are running now
  });

  test("shots of a film that cannot start → refused before anything is held, naming their positions; without them the rest start", async () => {
    for (const at of [0, 2, 4]) await fill(at, "succeeded");
    const videos = { step: "video" };
    const { shots: priced, ...amounts } = await estimateFilm(videos);
    expect(priced.map(({ error }) => Object(error).code ?? "able").join()).toBe(
      "able,frame_not_ready,able,frame_not_ready,able",
    );
    const [video] = priced; // what one without a frame will cost is known, and not among the sums
    expect(priced.map(({ atMostMicros }) => atMostMicros)).toEqual(shots.map(() => video?.atMostMicros));
    expect(amounts.atMostMicros).toBe(3 * Number(video?.atMostMicros));
    const before = await has();
    const { message, detail } = await refusalOf(startFilm(videos));
    expect([message, detail]).toEqual(["frame_not_ready", expect.stringMatching(/shot 2, 4\..*first frame/)]);
    expect(await has()).toEqual(before);
    const able = { ...videos, project_ids: [shots[0], shots[2], shots[4]] as string[] };
    expect(projectsOf(await startFilm(able))).toEqual(able.project_ids);
    expect((await has())?.held).toBe(amounts.atMostMicros);
  });

  test("a budget for all shots but one → none starts; 20 requests at once with different keys → each shot starts once", async () => {
    await budget(5 * FRAME - 1);
    expect(await codeOf(startFilm())).toBe("budget_exceeded");
    expect(await has()).toEqual(NOTHING);
    await db.sql`update keyframe_private.owner_budgets set month_micros = ${5 * FRAME}`;
    // Otherwise the token makes them take turns.
    await db.sql`delete from keyframe_private.rate_limits where route_class = 'generate'`;
    const answers = await Promise.all([..."01234567890123456789"].map((one) => startFilm(key(one))));
    await db.sql`insert into keyframe_private.rate_limits (route_class, capacity, per_second) values ('generate', 1000000, 1)`;
    expect(answers.filter(({ replayed }) => !replayed).flatMap(projectsOf)).toEqual(shots);
    expect(await has()).toEqual({ predictions: 5, held: 5 * FRAME, submits: 5 });
  });

  test("a film's start of two shots, of one and of none, repeated → what it started, also after that was deleted", async () => {
    const startOf = (at: number[]) =>
      startFilm({ project_ids: at.map((i) => shots[i] ?? ""), ...key(String.fromCharCode(97 + at.length)) });
    for (const at of [[0, 1], [2], []]) {
      const { predictions } = await startOf(at);
      expect(predictions).toHaveLength(at.length);
      const again = await startOf(at);
      expect([again.replayed, idsOf(again.predictions)]).toEqual([true, idsOf(predictions)]);
      await db.sql`delete from keyframe.predictions where id = any (${idsOf(predictions)})`;
      expect(await startOf(at)).toMatchObject({ replayed: true, predictions: [] });
    }
  });

  test("another user's film, or a shot of another film → not_found, and nothing starts", async () => {
    const other = await addWorld(db);
    expect(await codeOf(startFilm({}, other.owner))).toBe("not_found");
    expect(await codeOf(startFilm({ project_ids: [shots[0], world.project] }))).toBe("not_found");
    expect(await has()).toEqual(NOTHING);
  });

  test("a film of 63 shots is started → 60 start at once, for 60 tokens; a second start → the other three", async () => {
    await filmOf(63);
    await limit(70, 0.001);
    const first = await startFilm();
    expect([projectsOf(first), first.rate.remaining]).toEqual([shots.slice(0, 60), 10]);
    const rest = await startFilm();
    expect([projectsOf(rest), rest.rate.remaining]).toEqual([shots.slice(60), 7]);
    expect(await readRow(db.sql, first.predictions[0]?.id ?? "")).toMatchObject({ status: "queued" });
  });
});

describe("one insert of several rows", () => {
  const of = async (owner: string) => {
    const [row] = await db.sql`
      select coalesce(sum(s.most_micros), 0)::int as held, count(*)::int as submits, count(p.admitted_at)::int as admitted,
        (select count(*)::int from keyframe_private.prediction_images i join keyframe.predictions p on p.id = i.prediction_id where p.owner_id = ${owner}) as images
      from keyframe_private.provider_submits s join keyframe.predictions p on p.id = s.prediction_id where s.owner_id = ${owner}`;
    return row;
  };
  const insert = (rows: Fields[]) =>
    db.sql`insert into keyframe.predictions ${db.sql(rows.map((row) => ({ ...FRAMES, ...row })))}`;

  test("an administrator's insert for two owners → each has its slots, holds and images; one is over its budget → none starts", async () => {
    const other = await addWorld(db);
    const image = await addReference(db, other.owner);
    const rows = [0, 1, 2, 3, 4].flatMap(() => [
      { project_id: world.project, input: {} },
      { project_id: other.project, input: { referenceImagePaths: [image] } },
    ]);
    await budget(5 * FRAME - 1);
    const { message, hint } = await refusalOf(insert(rows));
    expect([message, JSON.parse(hint ?? "").estimateMicros]).toEqual(["budget_exceeded", 5 * FRAME]);
    expect((await db.sql`select from keyframe.predictions`).count).toBe(0);
    await db.sql`update keyframe_private.owner_budgets set month_micros = ${5 * FRAME}`;
    await insert(rows);
    const each = { held: 5 * FRAME, submits: 5, admitted: 4 };
    expect(await of(world.owner)).toEqual({ ...each, images: 0 });
    expect(await of(other.owner)).toEqual({ ...each, images: 5 });
  });

  test("one insert for several OAuth clients of an owner → each client's limit counts its own rows, the owner's budget all", async () => {
    await db.sql`
      insert into keyframe_private.allowed_clients (client_id, name, may, owner_day_micros) values ('app', 'An app', 'generate', ${FRAME})`;
    const by = (client_id: string | null) => ({ project_id: world.project, client_id });
    const refused = async (clients: (string | null)[]) =>
      JSON.parse((await refusalOf(insert(clients.map(by)))).hint ?? "").scope;
    expect(await refused(["app", null, "app"])).toBe("client");
    await budget(2 * FRAME);
    expect(await refused(["app", null, null])).toBe("owner");
    await insert([by("app"), by(null)]);
    expect(await of(world.owner)).toMatchObject({ held: 2 * FRAME, submits: 2 });
  });

  test("one insert of predictions with different prices → each holds its own price", async () => {
    await insert([{}, { resolution: "2K" }, {}].map((input) => ({ project_id: world.project, input })));
    const holds = await columnOf<number>(db.sql`
      select most_micros::int from keyframe_private.provider_submits s join keyframe.predictions p on p.id = prediction_id
      where s.owner_id = ${world.owner} order by p.created_at`);
    expect(holds).toEqual([FRAME, expect.any(Number), FRAME]);
    expect(holds[1]).toBeGreaterThan(FRAME);
  });

  test("an insert of no rows, or only of rows that exist → nothing is held, and nothing is refused while spending is stopped", async () => {
    const { prediction } = await start();
    await db.sql`update keyframe_private.settings set spending_stopped = true`;
    const values = db.sql`values (${prediction.id}::uuid, ${world.project}::uuid, 'first-frame'::keyframe.generation_step)`;
    await db.sql`insert into keyframe.predictions (id, project_id, step) ${values} on conflict do nothing`;
    await db.sql`insert into keyframe.predictions (id, project_id, step) select * from (${values}) none where false`;
    await db.sql`update keyframe_private.settings set spending_stopped = false`;
    expect(await has()).toEqual({ predictions: 1, held: FRAME, submits: 1 });
  });

  test("a user inserts several predictions → a token for each; more than the limit has at once → invalid_request", async () => {
    await limit(7, 0.001);
    const rows = (count: number) =>
      db.asUser(
        world.owner,
        (sql) => sql`
          insert into keyframe.predictions (project_id, step) select ${world.project}, 'first-frame' from generate_series(1, ${count}::int)`,
      );
    expect([await codeOf(rows(8)), await codeOf(start({ count: 8 }))]).toEqual(["invalid_request", "invalid_request"]);
    await rows(5); // one was taken by the refused request of the API
    expect(await codeOf(rows(2))).toBe("rate_limited");
    expect((await start()).rate.remaining).toBe(0);
  });

  test("an insert with an image of another user and hardly a budget → not_found, so that no price reveals the image's size", async () => {
    await budget(1);
    const theirs = await addReference(db, (await addWorld(db)).owner);
    for (const image of [theirs, `projects/${crypto.randomUUID()}.png`])
      expect(await codeOf(start({ input: { referenceImagePaths: [image] } }))).toBe("not_found");
  });
});
