import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { openStore } from "../../examples/crm-sync/store.ts";
import { freePort } from "../../local/network.ts";
import { delivery, webhookList, webhookSecretAnswer } from "../../shared/contract/webhooks.ts";
import { type FakeHubSpot, HUBSPOT_TOKEN, type HubSpotRequest, startHubSpot } from "../support/examples/hubspot.ts";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import { hasFailed, isDelivered, letRetriesComeDue, readStories, untilStories } from "../support/receiver/story.ts";
import { connect } from "../support/stack/own-stack.ts";
import { type Running, runCommand } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";
import { deliver, documentedBodies, OTHER_SECRET, SECRET, status } from "../tools/receiver-fixture.ts";

// examples/crm-sync as its own process, between deliveries and a server that answers as HubSpot does.

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
const folder = await Deno.makeTempDir({ prefix: "kf-crm-sync-" });
let hubspot: FakeHubSpot;
let sync: Running | undefined;
const port = freePort();
const url = `http://127.0.0.1:${port}/`;

const setUpHubSpot = (token = HUBSPOT_TOKEN) =>
  runCommand("examples/crm-sync/set-up-hubspot.ts", [], { HUBSPOT_API_URL: hubspot.url, HUBSPOT_TOKEN: token }).ended;
const run = (environment: Record<string, string>) =>
  runCommand("examples/crm-sync/main.ts", [], {
    ...{ PORT: String(port), HUBSPOT_API_URL: hubspot.url, HUBSPOT_TOKEN, STORE_FILE: `${folder}/store.sqlite` },
    ...environment,
  });
const start = async (secret = SECRET) => {
  sync = run({ WEBHOOK_SECRET: secret });
  await sync.printed("listening on");
};
const stop = async (signal: Deno.Signal = "SIGTERM") => {
  sync?.kill(signal);
  await sync?.ended;
};

beforeAll(async () => {
  hubspot = await startHubSpot();
  expect(await setUpHubSpot()).toMatchObject({ code: 0 });
});
beforeEach(() => hubspot.clear());
afterEach(() => stop());
afterAll(async () => {
  await hubspot.stop();
  await sql.end({ timeout: 1 });
  await Deno.remove(folder, { recursive: true });
});

const creates = (request: HubSpotRequest, kind: string) =>
  request.method === "POST" && request.path === `/crm/v3/objects/${kind}`;

/** The one contact there must be, and the deals of these projects, each linked with it; no others. */
function expectOneContactAnd(ownerId: string, ...projectIds: (string | undefined)[]): Record<string, string>[] {
  const { contacts, deals } = hubspot.objects;
  expect(contacts.map(({ properties }) => properties.keyframe_owner_id)).toEqual([ownerId]);
  expect(deals.map(({ properties }) => properties.keyframe_project_id).sort()).toEqual([...projectIds].sort());
  for (const deal of deals) expect(deal.contacts).toEqual([contacts[0]?.id]);
  return projectIds.map(
    (id) => deals.find(({ properties }) => properties.keyframe_project_id === id)?.properties ?? {},
  );
}

describe("deliveries of the service", () => {
  let maker: FilmMaker;
  let webhookId: string;
  beforeEach(async () => {
    maker = await newFilmMaker(stack);
    const webhook = await register(maker, url);
    webhookId = webhook.webhookId;
    await start(webhook.secret);
  });
  const delivered = (count: number) => untilStories(sql, webhookId, `${count} delivered`, count, isDelivered);
  const failed = (count: number) => untilStories(sql, webhookId, `${count} failed`, count, hasFailed);
  const tryAgain = () => letRetriesComeDue(sql, stack, webhookId);

  test("two projects and the steps of one → one contact, two deals with each outcome; repeats and forgeries change nothing", async () => {
    const [one, two] = await createProjects(maker, 2);
    await maker.start("first-frame", { projectId: one });
    await maker.start("last-frame", { projectId: one, prompt: promptWith("failed") });
    await delivered(4);
    const [deal, other] = expectOneContactAnd(maker.userId, one, two);
    expect(deal).toMatchObject({
      dealname: "Harbour 1",
      keyframe_text_prompt: "A harbour at dawn, Häfen 🎬",
      dealstage: "appointmentscheduled",
      keyframe_first_frame: "succeeded",
      keyframe_last_frame: expect.stringMatching(/^failed: ./),
    });
    expect(other).toMatchObject({ dealname: "Harbour 2" });
    expect(other).not.toHaveProperty("keyframe_first_frame");

    const asked = hubspot.requests.length;
    const [story] = await delivered(4);
    await maker.call(delivery, "POST", `/api/webhooks/deliveries/${story?.id}/redeliver`);
    await until("it came again", () => sync?.output().includes("repeated"));
    await maker.call(delivery, "POST", `/api/webhooks/${webhookId}/test`);
    await delivered(5);
    expect(await status(fetch(url, { method: "POST", body: "{}" }))).toBe(401);
    expect(hubspot.requests.length).toBe(asked);
  });

  test("a salesperson renamed the deal and moved it on → a later step leaves both as they are", async () => {
    const [project] = await createProjects(maker, 1);
    await delivered(1);
    Object.assign(hubspot.objects.deals[0]?.properties ?? {}, { dealname: "Big one", dealstage: "closedwon" });
    await maker.start("first-frame", { projectId: project });
    await delivered(2);
    const [deal] = expectOneContactAnd(maker.userId, project);
    expect(deal).toMatchObject({ dealname: "Big one", dealstage: "closedwon", keyframe_first_frame: "succeeded" });
  });

  test("HubSpot is busy, then down, then back → the events fail, come again, and each is stored once", async () => {
    hubspot.behave(() => ({ refuse: 429, headers: { "retry-after": "1800" } }));
    const [project] = await createProjects(maker, 1);
    const [waiting] = await failed(1);
    expect(waiting?.told).toEqual([expect.stringMatching(/^1 503/)]);
    expect((waiting?.next_attempt_at.getTime() ?? 0) - Date.now()).toBeGreaterThan(1_500_000); // as HubSpot asked
    hubspot.behave(() => ({ refuse: 503 }));
    await maker.start("first-frame", { projectId: project });
    await failed(2);
    await tryAgain();
    await until("both failed again", async () =>
      (await readStories(sql, webhookId)).every((story) => story.attempts >= 2 && hasFailed(story)),
    );
    expect(hubspot.objects).toEqual({ contacts: [], deals: [] });
    hubspot.behave(() => undefined);
    await tryAgain();
    await delivered(2);
    const [deal] = expectOneContactAnd(maker.userId, project);
    expect(deal).toMatchObject({ dealname: "Harbour 1", keyframe_first_frame: "succeeded" });
  });
});

describe("signed events, one by one", () => {
  const [created, succeeded] = documentedBodies.map((body) => JSON.parse(body));
  const { ownerId } = created.data;
  beforeEach(() => start());
  /** A project of its own, because the receiver remembers what is done. */
  const newProject = () => {
    const projectId = crypto.randomUUID();
    const send = (body: { data: object }, more: object = {}, id: string = crypto.randomUUID()) =>
      status(deliver(url, { id, body: JSON.stringify({ ...body, ...more, data: { ...body.data, projectId } }) }));
    return { projectId, send };
  };
  const video = () => hubspot.objects.deals[0]?.properties.keyframe_video;
  const [OLD, NEW] = ["2026-03-01T09:30:00.000Z", "2026-03-01T09:31:00.000Z"];
  const failed = { type: "generation.failed", error: { message: "no" } };

  test("every body of docs/receive-webhooks.md, and unknown types and fields → 204; the deal has what they say", async () => {
    const { projectId, send } = newProject();
    for (const body of documentedBodies.map((text) => JSON.parse(text))) {
      expect([await send({ ...body, later: 1, data: { ...body.data, later: 2 } }), body.type]).toEqual([
        204,
        body.type,
      ]);
    }
    expect(await send({ data: {} }, { type: "project.sold" })).toBe(204);
    expect(expectOneContactAnd(ownerId, projectId)).toMatchObject([
      {
        dealname: "Harbour",
        keyframe_video: "succeeded",
        keyframe_first_frame: expect.stringMatching(/^failed: The model/),
      },
    ]);
  });

  test.each(["contacts", "deals"])(
    "HubSpot creates %s and its answer is lost → 503, and the next attempt finds it",
    async (kind) => {
      hubspot.behave((request) => (creates(request, kind) ? "lose the answer" : undefined));
      const { projectId, send } = newProject();
      // The same event: of two with one timestamp, the webhook-id decides.
      const attempt = () => send(created, {}, projectId);
      expect(await attempt()).toBe(503);
      hubspot.behave(() => undefined);
      // A connection that was kept alive may be closed by now: then once more.
      await until("it is saved", async () => (await attempt()) === 204);
      expectOneContactAnd(ownerId, projectId);
    },
  );

  test.each([409, 400] as const)(
    "another user creates the same record between search and create → %i, and theirs is used",
    async (conflict) => {
      hubspot.clear(conflict);
      hubspot.behave((request) => {
        const key = JSON.parse(request.body || "{}").properties;
        if (creates(request, "contacts")) hubspot.add("contacts", { ...key, lastname: "Theirs" });
        if (creates(request, "deals"))
          hubspot.add("deals", { keyframe_project_id: key.keyframe_project_id, dealstage: "closedwon" });
        return undefined;
      });
      const { projectId, send } = newProject();
      expect(await send(created)).toBe(204);
      const { contacts, deals } = hubspot.objects;
      expect(contacts.map(({ properties }) => properties.lastname)).toEqual(["Theirs"]);
      expect(deals.map(({ properties }) => properties)).toMatchObject([
        { keyframe_project_id: projectId, dealname: "Harbour", dealstage: "closedwon" },
      ]);
    },
  );

  test("a newer event is not saved, a crash, then the older one → the older one is ignored; the project's name comes last", async () => {
    const { projectId, send } = newProject();
    hubspot.behave(() => ({ refuse: 503 }));
    expect(await send(succeeded, { timestamp: NEW }, `b ${projectId}`)).toBe(503);
    await stop("SIGKILL");
    await start();
    hubspot.behave(() => undefined);
    expect(await send(succeeded, { ...failed, timestamp: OLD })).toBe(204);
    expect(hubspot.objects.deals).toEqual([]);
    expect(await send(succeeded, { timestamp: NEW }, `b ${projectId}`)).toBe(204);
    expect(hubspot.objects.deals[0]?.properties.dealname).toMatch(/^Keyframe project /);
    expect(await send(created)).toBe(204);
    expect(expectOneContactAnd(ownerId, projectId)).toMatchObject([
      { dealname: "Harbour", keyframe_video: "succeeded" },
    ]);
  });

  test("HubSpot is slow with an older event → the newer one of the owner waits and wins; another owner's does not wait", async () => {
    const { send } = newProject();
    const slow = Promise.withResolvers<undefined>();
    const asked = Promise.withResolvers<void>();
    hubspot.behave(({ body }) => {
      if (!body.includes("failed: no")) return undefined;
      asked.resolve();
      return slow.promise;
    });
    const older = send(succeeded, { ...failed, timestamp: OLD });
    await asked.promise;
    const newer = send(succeeded, { timestamp: NEW });
    const other = { ...succeeded.data, ownerId: crypto.randomUUID(), projectId: crypto.randomUUID() };
    expect(await status(deliver(url, { body: JSON.stringify({ ...succeeded, data: other }) }))).toBe(204);
    expect(video()).toBeUndefined();
    slow.resolve(undefined);
    expect(await Promise.all([older, newer])).toEqual([204, 204]);
    expect(video()).toBe("succeeded");
  });

  test.each(["ab", "ba"])("two events of the same millisecond, in the order %s → the same one wins", async (order) => {
    const { projectId, send } = newProject();
    const bodies = { a: failed, b: {} };
    for (const id of order as Iterable<"a" | "b">) {
      expect(await send(succeeded, { ...bodies[id], timestamp: OLD }, `${id} ${projectId}`)).toBe(204);
    }
    expect(video()).toBe("succeeded");
  });

  test("a second process with the same file → refused as locked, since the two would not see each other's locks", async () => {
    expect(await run({ PORT: "0", WEBHOOK_SECRET: SECRET }).ended).toMatchObject({
      code: 1,
      error: expect.stringContaining("database is locked"),
    });
  });
});

test("both secrets of a rotation, separated by a space → events signed with either are accepted", async () => {
  await start(`${OTHER_SECRET}, ${SECRET}`);
  for (const secret of [SECRET, OTHER_SECRET]) expect(await status(deliver(url, { secrets: [secret] }))).toBe(204);
});

test("the CRM receiver without a secret → says what to set, exit 1", async () => {
  const refused = { code: 1, error: expect.stringMatching(/^Set WEBHOOK_SECRET and HUBSPOT_TOKEN[^\n]*\n$/) };
  expect(await run({ WEBHOOK_SECRET: "" }).ended).toMatchObject(refused);
});

test("an event's record → forgotten after 35 days, not sooner, and the latest one never", () => {
  const store = openStore(`${folder}/old.sqlite`);
  const days = (count: number) => new Date(Date.UTC(2026, 0, 1 + count));
  const change = (at: string) => ({ ownerId: "o", projectId: "p", part: "video", at, properties: {} }) as const;
  store.claim("b", change("2026-03-01T09:31:00.000Z"));
  store.markDone("b", days(0));
  store.markDone("c", days(34));
  expect(store.isDone("b")).toBe(true);
  store.markDone("d", days(36));
  expect([store.isDone("b"), store.isDone("c")]).toEqual([false, true]);
  expect(store.claim("a", change("2026-03-01T09:30:00.000Z"))).toBe(false);
});

test("set-up-hubspot.ts again → everything exists already; a wrong token → says what to look at", async () => {
  const { code, said } = await setUpHubSpot();
  expect(code).toBe(0);
  expect(said.trimEnd().split("\n")).toHaveLength(6);
  expect(said).not.toContain("created");
  const refused = { code: 1, error: expect.stringMatching(/answered 401.*HUBSPOT_TOKEN/) };
  expect(await setUpHubSpot("wrong")).toMatchObject(refused);
});

test("the first command of the CRM example's README, with a session token → registers, and its variable has the secret", async () => {
  const maker = await newFilmMaker(stack);
  const readme = await Deno.readTextFile(new URL("../../examples/crm-sync/README.md", import.meta.url));
  const [, command = ""] = /```sh\n(.*?)\n# 2\./s.exec(readme) ?? [];
  const script = `${command.replace("http://127.0.0.1:54321", stack.url)}\nprintf %s "$WEBHOOK_SECRET"`;
  const env = { TOKEN: maker.accessToken };
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script], env }).output();
  const { webhooks } = await maker.call(webhookList, "GET", "/api/webhooks");
  const made = webhooks.find((each) => each.url === "http://127.0.0.1:54391/");
  expect(made).toMatchObject({ eventTypes: ["project.created", "generation.succeeded", "generation.failed"] });
  const { secret } = await maker.call(webhookSecretAnswer, "GET", `/api/webhooks/${made?.webhookId}/secret`);
  expect(new TextDecoder().decode(stdout)).toBe(secret);
});
