import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { addFilm, addShot } from "../../support/database/films.ts";
import { addWorld, seedPrediction, seedSubmit, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { setSettings } from "../../support/database/settings.ts";
import { call } from "../../support/database/webhooks.ts";

// Prices that hold, and what an OAuth client may spend. A first frame by the default model costs 67,000 micro-dollars.
const db = useDatabase();
const world = useWorld(db);
const FRAME = 67_000;
const MODEL = "google/nano-banana-2";
const APP = "An app";

beforeEach(async () => {
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.provider_submits, keyframe_private.cost_changes, keyframe_private.cost_sums, keyframe_private.quotes, keyframe_private.owner_budgets, keyframe_private.allowed_clients, keyframe_private.work",
  );
  await db.sql`
    update keyframe_private.settings set owner_month_micros = null, spending_stopped = false, max_active_per_owner = 100`;
});

type Estimate = { quoteId: string; quotedUntil: string; atMostMicros: number; availableMicros: number | null };
type Claims = { role: string; sub: string; client_id?: string };
const session = (owner = world.owner): Claims => ({ role: "authenticated", sub: owner });
const client = (client_id = APP, owner = world.owner): Claims => ({ ...session(owner), client_id });

async function quote(caller = session(), input: object = {}, project = world.project, step = "first-frame") {
  const args = { project_id: project, step, input, quote: true };
  return (await call<{ estimate: Estimate }>(db, caller, "estimate_prediction", args)).estimate;
}
type Started = {
  prediction: { id: string; input: { prompt: string } };
  predictions?: { project_id: string }[];
  replayed: boolean;
};
const start = ({ quoteId, atMostMicros }: Estimate, caller = session()) =>
  call<Started>(db, caller, "start_quote", { quote_id: quoteId, at_most_micros: atMostMicros });
const allow = (micros: number | null, id = APP) => db.sql`
  insert into keyframe_private.allowed_clients (client_id, name, may, owner_day_micros) values (${id}, 'An app', 'generate', ${micros})
  on conflict (client_id) do update set owner_day_micros = excluded.owner_day_micros`;
const age = (id: string, by: string) => db.sql`
  update keyframe_private.quotes
  set expires_at = expires_at - ${by}::interval where id = ${id}`;

/** What the owner has started and holds. */
async function started(owner = world.owner) {
  const [row] = await db.sql`
    select (select count(*)::int from keyframe.predictions where owner_id = ${owner}) as predictions,
      coalesce(sum(held_micros), 0)::int as held from keyframe_private.costs where kind = 'owner_day' and owner_id = ${owner}`;
  return row;
}

async function addModelWithoutPrice(): Promise<string> {
  await db.sql`
    insert into keyframe.models select (m).* from (
      select jsonb_populate_record(m, '{"model": "a/free", "cost_ceiling_micros": null}') as m from keyframe.models m
      where m.step = 'first-frame' and m.model = ${MODEL}) c
    on conflict do nothing`;
  return "a/free";
}

describe("a quote", () => {
  test("a quote started after ten minutes → not_found; repeated within a day → the same prediction; later → not_found", async () => {
    const [old, made] = [await quote(), await quote(session(), { prompt: "A quay" })];
    expect(made).toMatchObject({ atMostMicros: FRAME });
    expect(Date.parse(made.quotedUntil) - Date.now()).toBeGreaterThan(590_000);
    await age(old.quoteId, "10 minutes 1 second");
    const another = { title: "The pier", idempotency_key: "another", request_hash: "0".repeat(64) };
    await call(db, session(), "create_film", another); // only the quote's own key makes it repeatable
    expect(await codeOf(start(old))).toBe("not_found");
    const { prediction, replayed } = await start(made);
    expect(prediction.input.prompt).toBe("A quay");
    expect(replayed).toBe(false);
    await age(made.quoteId, "23 hours");
    expect(await start(made)).toMatchObject({ prediction: { id: prediction.id }, replayed: true });
    // Also while the key is there: it would start another.
    await age(made.quoteId, "10 minutes");
    expect(await codeOf(start(made))).toBe("not_found");
    expect(await started()).toEqual({ predictions: 1, held: FRAME });
  });

  test("a quote with a markup → its price is what the user pays, and counts so towards an OAuth client's limit", async () => {
    await setSettings(db.sql, { markup: 1.5 });
    await allow(FRAME * 2);
    const made = await quote(client());
    expect(made).toMatchObject({ atMostMicros: FRAME * 1.5, availableMicros: FRAME * 2 });
    await start(made, client());
    expect(await codeOf(quote(client()))).toBe("budget_exceeded");
  });

  test("a quote of an owner with too small a balance → refused, without an event that the balance is low", async () => {
    const { owner, project } = await addWorld(db);
    await db.sql`update keyframe_private.settings set balance_low_micros = ${FRAME * 6}`;
    await db.sql`select keyframe_private.add_credit(${owner}, ${FRAME * 6}, 'grant')`;
    const ask = (count: number) =>
      call(db, session(owner), "estimate_prediction", { project_id: project, step: "first-frame", count, quote: true });
    expect(await codeOf(ask(7))).toBe("balance_exhausted");
    const events = () => db.sql`select from keyframe.webhook_events where owner_id = ${owner} and type = 'balance.low'`;
    const made = await quote(session(owner), {}, project);
    expect(await events()).toHaveLength(0);
    expect(await started(owner)).toMatchObject({ held: 0 });
    await start(made, session(owner));
    expect(await events()).toHaveLength(1);
  });

  test("a quote repeated after its prediction was deleted → not_found, and nothing starts", async () => {
    const made = await quote();
    const { prediction } = await start(made);
    await db.sql`delete from keyframe.predictions where id = ${prediction.id}`;
    const detail = "What this request started has been deleted. Send a new Idempotency-Key, or request a new quote.";
    expect(await refusalOf(start(made))).toMatchObject({ message: "not_found", detail });
    expect(await started()).toMatchObject({ predictions: 0 });
  });

  test("a quote started at another price, lower or higher → invalid_request, and nothing starts", async () => {
    const made = await quote();
    for (const atMostMicros of [0, FRAME - 1, FRAME + 1, Number.MAX_SAFE_INTEGER]) {
      const detail = expect.stringContaining(String(FRAME));
      expect(await refusalOf(start({ ...made, atMostMicros }))).toMatchObject({ message: "invalid_request", detail });
    }
    expect(await started()).toEqual({ predictions: 0, held: 0 });
    await start(made);
  });

  test("a quote started with a key that another request has used → idempotency_mismatch, and nothing starts", async () => {
    const [first, second] = [await quote(), await quote()];
    const other = { project_id: world.project, step: "last-frame", idempotency_key: `quote:${first.quoteId}` };
    await call(db, session(), "start_prediction", { ...other, request_hash: "0".repeat(64) });
    await db.sql`
      insert into keyframe_private.idempotency_keys (resource_id, owner_id, key, answer)
      values (gen_random_uuid(), ${world.owner}, ${`quote:${second.quoteId}`}, '7')`; // as a recovery leaves it
    for (const made of [first, second]) expect(await codeOf(start(made))).toBe("idempotency_mismatch");
    expect(await started()).toMatchObject({ predictions: 1 });
  });

  test("quotes of a session, an OAuth client and another user → each can start only its own", async () => {
    await allow(null);
    await allow(null, "Another");
    const stranger = await addWorld(db);
    const callers = [session(), client(), client("Another"), session(stranger.owner), client(APP, stranger.owner)];
    for (const mine of [session(), client()]) {
      const made = await quote(mine);
      for (const caller of callers.filter((one) => one.sub !== mine.sub || one.client_id !== mine.client_id)) {
        expect([caller, await codeOf(start(made, caller))]).toEqual([caller, "not_found"]);
      }
      await start(made, mine);
    }
    expect(await started()).toEqual({ predictions: 2, held: 2 * FRAME });
    expect(await started(stranger.owner)).toEqual({ predictions: 0, held: 0 });
  });

  const raise = (usd: number) => db.sql`
    insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, checked_at, valid_from, source)
    values (${MODEL}, '{"resolution": "1K"}', 'image', ${usd}, now(), now(), 'a test')`;

  afterEach(() => raise(FRAME / 1e6)); // a price cannot be taken back

  const budget = (micros: number) => db.sql`
    insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${world.owner}, ${micros})
    on conflict (owner_id) do update set month_micros = excluded.month_micros`;
  const edit = (column: string) =>
    db.sql`update keyframe.projects set ${db.sql(column)} = 'A quay' where id = ${world.project}`;
  const stop = (stopped: boolean) => db.sql`update keyframe_private.settings set spending_stopped = ${stopped}`;

  test.each<[what: string, change: () => PromiseLike<unknown>, code: string]>([
    ["the price rose", () => raise(0.068), "precondition_failed"],
    ["the markup rose", () => setSettings(db.sql, { markup: 2 }), "precondition_failed"],
    ["the prompt is another", () => edit("text_prompt"), "precondition_failed"],
    ["the project was deleted", () => db.sql`delete from keyframe.projects where id = ${world.project}`, "not_found"],
    ["spending was stopped", () => stop(true), "spending_stopped"],
    ["the budget is used up", () => budget(FRAME - 1), "budget_exceeded"],
  ])("a quote started when %s → refused, and nothing is held", async (_what, change, code) => {
    const made = await quote();
    await change();
    expect(await codeOf(start(made))).toBe(code);
    expect(await started()).toEqual({ predictions: 0, held: 0 });
  });

  test("a quote started after the price fell and the title changed → it starts", async () => {
    const made = await quote();
    await raise(0.05);
    await edit("title");
    await start(made);
  });

  test("a quote of a video whose default first frame has changed → precondition_failed; with a named frame → it starts", async () => {
    const frame = await seedPrediction(db.sql, world, { status: "succeeded" });
    const input = { lastFramePredictionId: null, durationSeconds: 5 };
    const shown = await quote(session(), input, world.project, "video");
    const named = await quote(session(), { ...input, firstFramePredictionId: frame.id }, world.project, "video");
    await seedPrediction(db.sql, world, { status: "succeeded" });
    expect(await codeOf(start(shown))).toBe("precondition_failed");
    await start(named);
  });

  test("a quote for what a start would be refused for → that error, and no quote", async () => {
    await budget(FRAME - 1);
    expect(await codeOf(quote())).toBe("budget_exceeded");
    await budget(FRAME);
    await stop(true);
    expect(await codeOf(quote())).toBe("spending_stopped");
    await stop(false);
    expect(await codeOf(quote(session(), { seed: 1 }))).toBe("unsupported_input");
    const large = { elementId: crypto.randomUUID(), updatedAt: "2026-11-21T12:00:00.000Z", name: "Bo", imagePaths: [] };
    const elements = [{ ...large, text: "x".repeat(65_536) }];
    expect(await codeOf(quote(session(), { elements }))).toBe("invalid_request");
    expect(await codeOf(quote(client()))).toBe("client_not_allowed");
    expect(await db.sql`select from keyframe_private.quotes`).toHaveLength(0);
  });

  test("a quote for a model without a known price → price_unknown, also without a budget", async () => {
    const model = await addModelWithoutPrice();
    const args = { project_id: world.project, step: "first-frame", model };
    expect(await codeOf(call(db, session(), "estimate_prediction", { ...args, quote: true }))).toBe("price_unknown");
    await call(db, session(), "estimate_prediction", args);
  });
  test("a quote of three takes → priced for all three, starts all three, and a client's limit counts them all", async () => {
    await allow(4 * FRAME);
    const args = { project_id: world.project, step: "first-frame", count: 3, quote: true };
    const ask = () => call<{ estimate: Estimate }>(db, client(), "estimate_prediction", args);
    const [{ estimate: one }, { estimate: other }] = [await ask(), await ask()];
    expect(one).toMatchObject({ atMostMicros: 3 * FRAME, availableMicros: 4 * FRAME });
    await start(one, client());
    await start(one, client());
    expect(await started()).toEqual({ predictions: 3, held: 3 * FRAME });
    expect(await codeOf(start(other, client()))).toBe("budget_exceeded");
    expect(await codeOf(ask())).toBe("budget_exceeded");
  });

  test("a quote of a film with a shot that cannot start → starts the others in film order, all or none, once", async () => {
    const { owner, project } = await addWorld(db);
    const film = await addFilm(db, owner);
    const [second, first] = [await addShot(db, owner, film), await addShot(db, owner, film)];
    await db.sql`update keyframe.projects set film_id = ${film} where id = ${project}`;
    await call(db, session(owner), "update_film", { film_id: film, project_ids: [first, second, project] });
    for (const shot of [first, second]) await seedPrediction(db.sql, { owner, project: shot }, { status: "succeeded" });
    const args = { film_id: film, step: "video", model: "kwaivgi/kling-v2.1", quote: true };
    type Priced = Estimate & { shots: { projectId: string; error: object | null }[] };
    const ask = async () => (await call<{ estimate: Priced }>(db, session(owner), "estimate_film", args)).estimate;
    const [made, other, late] = [await ask(), await ask(), await ask()];
    expect(made.shots.map(({ projectId, error }) => [projectId, Object(error).code])).toEqual([
      [first, undefined],
      [second, undefined],
      [project, "frame_not_ready"],
    ]);
    await db.sql`update keyframe.projects set text_prompt = 'A quay' where id = ${second}`;
    expect(await codeOf(start(made, session(owner)))).toBe("precondition_failed");
    expect(await started(owner)).toMatchObject({ held: 0 });
    await db.sql`update keyframe.projects set text_prompt = 'A boat' where id = ${second}`;
    const fresh = await ask();
    const answers = await Promise.all([1, 2, 3].map(() => start(fresh, session(owner))));
    const shots = answers.map(({ predictions = [] }) => predictions.map(({ project_id }) => project_id));
    expect(shots).toEqual(Array(3).fill([first, second]));
    expect(await started(owner)).toMatchObject({ held: fresh.atMostMicros });
    for (const quote of [other, late]) expect(await codeOf(start(quote, session(owner)))).toBe("precondition_failed");
    expect(await ask()).toMatchObject({ shots: [{ projectId: project }], quoteId: null });
  });

  test("a quote of a film whose second shot continues the first → both start, and the second waits", async () => {
    const { owner } = await addWorld(db);
    const film = await addFilm(db, owner);
    const [first, second] = [await addShot(db, owner, film), await addShot(db, owner, film)];
    await seedPrediction(db.sql, { owner, project: first }, { status: "succeeded" });
    await db.sql`update keyframe.projects set plan = '{"video": {"continuesPreviousShot": true}}' where id = ${second}`;
    const args = { film_id: film, step: "video", model: "kwaivgi/kling-v2.1", quote: true };
    const { estimate } = await call<{ estimate: Estimate }>(db, session(owner), "estimate_film", args);
    const { predictions = [] } = await start(estimate, session(owner));
    expect(predictions.map(({ project_id }) => project_id)).toEqual([first, second]);
    expect(await started(owner)).toMatchObject({ held: estimate.atMostMicros });
  });

  test("a quote never started → deleted once it has ended; started → kept for a day; its account deleted → deleted too", async () => {
    const [unused, used, fresh] = [await quote(), await quote(), await quote()];
    await start(used);
    const left = async () => {
      await db.sql`select keyframe_private.prune()`;
      return (await db.sql`select id from keyframe_private.quotes`).map(({ id }) => id).toSorted();
    };
    await Promise.all([unused, used].map(({ quoteId }) => age(quoteId, "11 minutes")));
    expect(await left()).toEqual([used.quoteId, fresh.quoteId].toSorted());
    await age(used.quoteId, "22 hours 45 minutes");
    expect(await left()).toContain(used.quoteId);
    await age(used.quoteId, "20 minutes");
    expect(await left()).toEqual([fresh.quoteId]);
    await db.sql`delete from auth.users where id = ${world.owner}`;
    expect(await db.sql`select from keyframe_private.quotes`).toHaveLength(0);
  });
});

describe("the day's limit of an OAuth client", () => {
  const begin = (caller: Claims) =>
    call<Started>(db, caller, "start_prediction", { project_id: world.project, step: "first-frame" });

  test("ten starts at once under a client's limit of three → three start; its user, other clients and other users go on", async () => {
    await allow(3 * FRAME);
    await allow(null, "Another");
    const starts = await Promise.allSettled(Array.from({ length: 10 }, () => begin(client())));
    expect(starts.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    const { message, detail, hint } = await refusalOf(begin(client()));
    expect(message).toBe("budget_exceeded");
    expect(detail).toContain("this app's budget for this day");
    expect(JSON.parse(hint ?? "")).toMatchObject({
      ...{ scope: "client", period: "day", estimateMicros: FRAME, limitMicros: 3 * FRAME },
      ...{ heldMicros: 3 * FRAME, settledMicros: 0, availableMicros: 0 },
    });
    const free = { name: "A key", may: "generate", day_limit_micros: 0 };
    const { created } = await call<{ created: { id: string } }>(db, session(), "create_key", free);
    expect((await refusalOf(begin(client(created.id)))).detail).toContain("this key's budget for this day");
    await begin(session());
    await begin(client("Another"));
    const stranger = await addWorld(db);
    await quote(client(APP, stranger.owner), {}, stranger.project);
  });

  test("amounts held, settled, unknown and released today → count towards a client's limit as for budgets; yesterday's do not", async () => {
    await allow(4 * FRAME);
    const submit = { owner_id: world.owner, client_id: APP, most_micros: FRAME };
    const ended = { ended_at: new Date(), outcome: "succeeded" };
    await seedSubmit(db.sql, submit);
    await seedSubmit(db.sql, { ...submit, ...ended, cost_state: "settled", cost_micros: FRAME / 2 });
    await seedSubmit(db.sql, { ...submit, ...ended, outcome: "lost", cost_state: "unknown" });
    await seedSubmit(db.sql, { ...submit, ...ended, outcome: "no_run", cost_state: "released" });
    await seedSubmit(db.sql, { ...submit, created_at: new Date(Date.now() - 86_400_000) });
    const counted = await db.sql`
      select settled_micros::int as settled, held_micros::int as held, available_micros::int as left
      from keyframe_private.budgets_of(${world.owner}, now(), ${APP})`;
    expect([...counted]).toEqual([{ settled: 1.5 * FRAME, held: FRAME, left: 1.5 * FRAME }]);
    expect((await quote(client())).availableMicros).toBe(1.5 * FRAME);
  });
});
