import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { delivery, webhookList, webhookSecretAnswer } from "../../shared/contract/webhooks.ts";
import { type CrmSync, newCrmSync, setUpHubSpot } from "../support/examples/crm-sync.ts";
import { type FakeHubSpot, HUBSPOT_TOKEN, type HubSpotRequest, startHubSpot } from "../support/examples/hubspot.ts";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { createProjects, type Registered, register } from "../support/receiver/register.ts";
import { hasFailed, isDelivered, letRetriesComeDue, readStories, untilStories } from "../support/receiver/story.ts";
import { connect } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// examples/crm-sync as its own process, between the deliveries of the running stack and a server that answers as HubSpot does.

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

let hubspot: FakeHubSpot;
let sync: CrmSync;
let maker: FilmMaker;
let webhook: Registered;
beforeAll(async () => {
  hubspot = await startHubSpot();
  expect(await setUpHubSpot(hubspot.url)).toMatchObject({ code: 0 });
});
afterAll(() => hubspot.stop());
beforeEach(async () => {
  hubspot.clear();
  sync = await newCrmSync();
  maker = await newFilmMaker(stack);
  webhook = await register(maker, sync.url);
  await start();
});
afterEach(() => sync.stop());

const start = () => sync.start({ WEBHOOK_SECRET: webhook.secret, HUBSPOT_API_URL: hubspot.url, HUBSPOT_TOKEN });
const delivered = (count: number) => untilStories(sql, webhook.webhookId, `${count} delivered`, count, isDelivered);
const failed = (count: number) => untilStories(sql, webhook.webhookId, `${count} failed`, count, hasFailed);
const tryAgain = () => letRetriesComeDue(sql, stack, webhook.webhookId);
const creates = (request: HubSpotRequest, kind: string) =>
  request.method === "POST" && request.path === `/crm/v3/objects/${kind}`;

/** The one contact there must be, and the deals of these projects, each linked with it; no others. */
function expectOneContactAnd(...projectIds: (string | undefined)[]): Record<string, string>[] {
  const { contacts, deals } = hubspot.objects;
  expect(contacts.map(({ properties }) => properties.keyframe_owner_id)).toEqual([maker.userId]);
  expect(deals.map(({ properties }) => properties.keyframe_project_id).sort()).toEqual([...projectIds].sort());
  for (const deal of deals) expect(deal.contacts).toEqual([contacts[0]?.id]);
  return projectIds.map(
    (id) => deals.find(({ properties }) => properties.keyframe_project_id === id)?.properties ?? {},
  );
}

describe("what arrives in the CRM", () => {
  test("two projects and the steps of one → one contact, two deals, the deal has the outcome of each step; what comes again, a test and a forgery change nothing", async () => {
    const [one, two] = await createProjects(maker, 2);
    await maker.start("first-frame", { projectId: one });
    await maker.start("last-frame", { projectId: one, prompt: promptWith("failed") });
    await delivered(4);
    const [deal, other] = expectOneContactAnd(one, two);
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
    await until("it came again", () => sync.log().includes("repeated"));
    await maker.call(delivery, "POST", `/api/webhooks/${webhook.webhookId}/test`);
    await delivered(5);
    const forged = await fetch(sync.url, { method: "POST", body: "{}" });
    expect([forged.status, await forged.text()]).toEqual([401, "Not signed by us.\n"]);
    expect(hubspot.requests.length).toBe(asked);
  });

  test("a salesperson renamed the deal and moved it on → a later step leaves both as they are", async () => {
    const [project] = await createProjects(maker, 1);
    await delivered(1);
    Object.assign(hubspot.objects.deals[0]?.properties ?? {}, { dealname: "Big one", dealstage: "closedwon" });
    await maker.start("first-frame", { projectId: project });
    await delivered(2);
    const [deal] = expectOneContactAnd(project);
    expect(deal).toMatchObject({ dealname: "Big one", dealstage: "closedwon", keyframe_first_frame: "succeeded" });
  });
});

describe("when things go wrong", () => {
  test("HubSpot is busy, then down, then back → the events fail, come again, and are all there once", async () => {
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
      (await readStories(sql, webhook.webhookId)).every((story) => story.attempts >= 2 && hasFailed(story)),
    );
    expect(hubspot.objects).toEqual({ contacts: [], deals: [] });
    hubspot.behave(() => undefined);
    await tryAgain();
    await delivered(2);
    const [deal] = expectOneContactAnd(project);
    expect(deal).toMatchObject({ dealname: "Harbour 1", keyframe_first_frame: "succeeded" });
  });

  test.each(["contacts", "deals"])(
    "HubSpot creates %s and its answer is lost → the next attempt finds it",
    async (kind) => {
      let lost = 0;
      hubspot.behave((request) => (creates(request, kind) && lost++ === 0 ? "lose the answer" : undefined));
      const [project] = await createProjects(maker, 1);
      await failed(1);
      await tryAgain();
      await delivered(1);
      expectOneContactAnd(project);
    },
  );

  test.each([409, 400] as const)(
    "another user creates the same between look and create → %i, and theirs is used",
    async (status) => {
      hubspot.clear(status);
      const theirs = { dealname: "Theirs", dealstage: "closedwon" };
      hubspot.behave((request) => {
        const key = JSON.parse(request.body || "{}").properties;
        if (creates(request, "contacts")) hubspot.add("contacts", { ...key, lastname: "Theirs" });
        if (creates(request, "deals"))
          hubspot.add("deals", { keyframe_project_id: key.keyframe_project_id, ...theirs });
        return undefined;
      });
      const [project] = await createProjects(maker, 1);
      const [story] = await delivered(1);
      expect(story?.told).toEqual(["1 204"]); // at the first attempt
      const { contacts, deals } = hubspot.objects;
      expect(contacts.map(({ properties }) => properties)).toEqual([
        { keyframe_owner_id: maker.userId, lastname: "Theirs" },
      ]);
      expect(deals.map(({ properties }) => properties)).toEqual([
        expect.objectContaining({ keyframe_project_id: project, dealname: "Harbour 1", dealstage: "closedwon" }),
      ]);
    },
  );

  test("an older failure comes after a newer success, and the project last of all → the newer one stays", async () => {
    hubspot.behave(() => ({ refuse: 429, headers: { "retry-after": "3600" } })); // not before Retry-After
    const [project] = await createProjects(maker, 1);
    await maker.start("first-frame", { projectId: project, prompt: promptWith("failed") });
    await failed(2);
    hubspot.behave(() => undefined);
    await maker.start("first-frame", { projectId: project });
    await until("the newer one is there", async () =>
      (await readStories(sql, webhook.webhookId)).some(({ status }) => status === "delivered"),
    );
    expect(expectOneContactAnd(project)[0]).toMatchObject({ dealname: expect.stringMatching(/^Keyframe project /) });
    await sync.kill(); // which event was the latest must outlive this
    await start();
    await tryAgain();
    await delivered(3);
    expect(sync.log()).toContain("overtaken: first-frame");
    expect(expectOneContactAnd(project)[0]).toMatchObject({ dealname: "Harbour 1", keyframe_first_frame: "succeeded" });
  });
});

describe("lines of JSON instead of HubSpot", () => {
  test("a project and a crash that tore the last line → whole lines alone, each event's there", async () => {
    const file = `${sync.folder}/changes.jsonl`;
    const environment = { WEBHOOK_SECRET: webhook.secret, JSON_FILE: file };
    await sync.kill();
    await Deno.writeTextFile(file, '{"webhookId":"first"}\n{"webhookId":"to');
    await sync.start(environment);
    const [project] = await createProjects(maker, 1);
    const [story] = await delivered(1);
    const [torn, line, ...more] = (await Deno.readTextFile(file)).trimEnd().split("\n");
    expect([torn, more]).toEqual(['{"webhookId":"first"}', []]);
    const fields = { title: "Harbour 1", textPrompt: "A harbour at dawn, Häfen 🎬", description: "" };
    expect(JSON.parse(line ?? "")).toEqual({
      webhookId: story?.event_id,
      at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      contact: { ownerId: maker.userId },
      deal: { projectId: project, ownerId: maker.userId, ...fields },
    });
  });
});

test("set-up-hubspot.ts again → everything was there; a wrong token → what to look at", async () => {
  const { code, said } = await setUpHubSpot(hubspot.url);
  expect([code, said.trimEnd().split("\n").length, said.includes("created")]).toEqual([0, 6, false]);
  const refused = { code: 1, error: expect.stringMatching(/answered 401.*HUBSPOT_TOKEN/) };
  expect(await setUpHubSpot(hubspot.url, "wrong")).toMatchObject(refused);
});

test("the first command of README.md, with a session token → registered, and the secret is in its variable", async () => {
  const readme = await Deno.readTextFile(new URL("../../examples/crm-sync/README.md", import.meta.url));
  const [, command = ""] = /```sh\n(.*?)\n# 2\./s.exec(readme) ?? [];
  const script = `${command.replace("http://127.0.0.1:54321", stack.url)}\nprintf %s "$WEBHOOK_SECRET"`;
  const env = { TOKEN: maker.accessToken };
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script], env }).output();
  const { webhooks } = await maker.call(webhookList, "GET", "/api/webhooks");
  const made = webhooks.find(({ url }) => url === "http://127.0.0.1:54391/");
  expect(made).toMatchObject({ eventTypes: ["project.created", "generation.succeeded", "generation.failed"] });
  const { secret } = await maker.call(webhookSecretAnswer, "GET", `/api/webhooks/${made?.webhookId}/secret`);
  expect(new TextDecoder().decode(stdout)).toBe(secret);
});
