import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeyframeClient, type KeyframeClient } from "../../client/index.ts";
import { type SecondProcess, startSecondProcess } from "../../lab/chaos/second-process.ts";
import { newFilmMaker } from "../support/film/film-maker.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";

// The database's clock is the truth. Another process of `api` beside the stack's own has a clock ten minutes off; a user meets
// now the one and now the other, as on the hosted platform, and notices nothing.
let stack: OwnStack;
let token: string;
beforeAll(async () => {
  stack = await startOwnStack();
  ({ accessToken: token } = await newFilmMaker(stack));
});
afterAll(() => stack.stop());

const TEN_MINUTES_MS = 600_000;
const CLOCKS = [
  ["ten minutes ahead", { aheadMs: TEN_MINUTES_MS, jumps: false }],
  ["now right, now ten minutes behind", { aheadMs: -TEN_MINUTES_MS, jumps: true }],
] as const;

describe.each(CLOCKS)("an api whose clock is %s", (_how, clock) => {
  let other: SecondProcess;
  let wrong: KeyframeClient;
  let right: KeyframeClient;
  beforeAll(async () => {
    other = await startSecondProcess({ stack: stack.running, dataDir: stack.dataDir }, "api", clock);
    wrong = clientOf(other.origin);
    right = clientOf(`${stack.url}/functions/v1`);
  });
  afterAll(() => other.child.stop());

  const clientOf = (origin: string) =>
    createKeyframeClient({
      url: stack.url,
      apikey: stack.publishableKey,
      getToken: () => token,
      retries: 0,
      fetch: (url, init) => fetch(url.replace(`${stack.url}/functions/v1`, origin), init),
    });
  const newProject = (client = right, idempotencyKey: string = crypto.randomUUID()) =>
    client.projects.create({ title: "Harbour", textPrompt: `A harbour, ${crypto.randomUUID()}` }, { idempotencyKey });

  test("an Idempotency-Key used with both clocks → one project", async () => {
    const body = { title: "Harbour", textPrompt: "A harbour" };
    const idempotencyKey = crypto.randomUUID();
    const { projectId } = await wrong.projects.create(body, { idempotencyKey });
    expect((await right.projects.create(body, { idempotencyKey })).projectId).toBe(projectId);
    expect((await wrong.projects.create(body, { idempotencyKey })).projectId).toBe(projectId);
  });

  test("a list whose pages come from an api with each clock → each project once, newest first", async () => {
    const made = [];
    for (const client of [right, wrong, right, wrong]) made.unshift((await newProject(client)).projectId);
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; seen.length < 4; page++) {
      const { projects, nextCursor } = await (page % 2 ? right : wrong).projects.list({ limit: 1, cursor });
      seen.push(...projects.map(({ projectId }) => projectId));
      cursor = nextCursor ?? undefined;
    }
    expect(seen).toEqual(made);
  });

  test("an output read from an api with each clock → its URL works until the time that both state; both accept each ETag", async () => {
    const { projectId } = await newProject(wrong);
    const started = await wrong.generate("first-frame", { projectId }, { wait: 20 });
    expect(started.status).toBe("succeeded");
    for (const client of [wrong, right]) {
      const { output } = await client.predictions.read(started);
      expect(output?.expiresAt).toBe(endOfAddress(output?.url ?? ""));
      const minutes = (Date.parse(output?.expiresAt ?? "") - Date.now()) / 60_000;
      expect(minutes).toBeCloseTo(60, 0);
      const file = await fetch(output?.url ?? "");
      expect([file.status, (await file.bytes()).length > 100]).toEqual([200, true]);
    }
    const { predictionId } = started;
    const path = `/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`;
    const headers = { authorization: `Bearer ${token}` };
    const first = await fetch(other.origin + path, { headers });
    await first.body?.cancel();
    const tagged = { headers: { ...headers, "if-none-match": first.headers.get("etag") ?? "" } };
    for (const origin of [`${stack.url}/functions/v1`, other.origin]) {
      const again = await fetch(origin + path, tagged);
      await again.body?.cancel();
      expect(again.status).toBe(304);
    }
    // How much is left is the database's to say.
    expect(first.headers.get("ratelimit")).toMatch(/^"read";r=\d+;t=\d{1,2}$/);
  });

  test("an api with a wrong clock, asked to wait one second for a longer run → answers in time", async () => {
    await stack.setRunDelay(60_000);
    const { projectId } = await newProject();
    const began = performance.now();
    const started = await wrong.generate("first-frame", { projectId }, { wait: 1 });
    expect(performance.now() - began).toBeLessThan(50_000);
    expect(started.status).not.toBe("succeeded");
    expect((await wrong.cancel(started)).status).toBe("canceled");
    expect((await right.predictions.read(started)).status).toBe("canceled");
    await stack.setRunDelay(0);
  });
});

/** When a signed URL of Storage expires, by its own token (ISO 8601). */
function endOfAddress(url: string): string {
  const payload = new URL(url).searchParams.get("token")?.split(".")[1] ?? "";
  const { exp } = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
  return new Date(exp * 1000).toISOString();
}
