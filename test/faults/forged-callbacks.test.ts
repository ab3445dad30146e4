import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { cryptoBytes, randomWebhookSecret } from "../../local/simulator/random.ts";
import { sign } from "../../shared/webhooks/signature.ts";
import { type Seeded, type Status, seedPrediction } from "../support/database/predictions.ts";
import { wholeRow } from "../support/film/ending.ts";
import { type FilmMaker, newFilmMaker } from "../support/film/film-maker.ts";
import { type SignedPost, signedPost } from "../support/receiver/signed-post.ts";
import { connect } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

const stack = inject("stack");
const secret = stack.replicateWebhookSecret;
const sql = connect(stack.databaseUrl);
let maker: FilmMaker;
beforeAll(async () => {
  maker = await newFilmMaker(stack);
});
afterAll(() => sql.end({ timeout: 1 }));

const HOUR = 3_600_000;
const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000);
const secondsNow = () => String(Math.floor(Date.now() / 1000));
const otherSecret = randomWebhookSecret(cryptoBytes);

/** A prediction whose run nobody else will ask about within the hour. */
async function seed(status: Status = "processing"): Promise<Seeded & { run: string }> {
  const isOver = status === "canceled" || status === "succeeded" || status === "failed";
  const run = `run-${crypto.randomUUID()}`;
  const columns = {
    ...(isOver ? {} : { next_attempt_at: new Date(Date.now() + HOUR), lease_token: null }),
    provider_prediction_id: run,
  };
  return {
    ...(await seedPrediction(sql, { owner: maker.userId, project: maker.projectId }, { status, columns })),
    run,
  };
}

const address = (id: string, attempt: number | string = 1) =>
  `${stack.url}/functions/v1/keyframe-replicate-webhook?prediction=${id}&attempt=${attempt}`;
const says = (run: string, status: string, more: Record<string, unknown> = {}) =>
  JSON.stringify({ id: run, status, logs: "", error: null, output: null, ...more });

async function expectUnchanged(seeded: Seeded, send: () => Promise<unknown>): Promise<void> {
  const before = await wholeRow(sql, seeded.id);
  await send();
  expect(await wholeRow(sql, seeded.id)).toBe(before);
}

describe("a callback whose signature does not hold → 401 unauthorized, and the prediction is as it was", () => {
  const other = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=";
  const variants: [string, SignedPost & { secret?: string }][] = [
    ["no signature at all", { headers: { "webhook-id": null, "webhook-timestamp": null, "webhook-signature": null } }],
    ["no webhook-id", { headers: { "webhook-id": null } }],
    ["no webhook-timestamp", { headers: { "webhook-timestamp": null } }],
    ["no webhook-signature", { headers: { "webhook-signature": null } }],
    ["an empty signature", { headers: { "webhook-signature": "" } }],
    ["a signature of something else", { headers: { "webhook-signature": other } }],
    ["a signature without its version", { headers: { "webhook-signature": other.slice(3) } }],
    ["a hundred wrong signatures", { headers: { "webhook-signature": Array(100).fill(other).join(" ") } }],
    ["signed six minutes ago", { at: minutesFromNow(-6) }],
    ["signed six minutes ahead", { at: minutesFromNow(6) }],
    ["signed long ago, stamped now", { at: minutesFromNow(-60), headers: { "webhook-timestamp": secondsNow() } }],
    ["a timestamp that is no number", { headers: { "webhook-timestamp": "now" } }],
    ["another webhook-id than the signed one", { headers: { "webhook-id": "msg_another" } }],
    ["signed with another secret", { secret: otherSecret }],
    ["signed with the secret of our own kicks", { secret: stack.kickSecret }],
    ["one space more in the body than was signed", { sent: " " }],
  ];
  test.each(variants)("%s", async (_name, { secret: used = secret, sent, ...post }) => {
    const seeded = await seed();
    await expectUnchanged(seeded, async () => {
      const body = says(seeded.run, "failed", { error: "forged" });
      const changed = sent === undefined ? {} : { sent: `${body}${String(sent)}` };
      const answer = await signedPost(address(seeded.id), used, { ...post, ...changed, body });
      expect(answer).toEqual({ status: 401, code: "unauthorized", data: null });
    });
  });
});

describe("a callback that is signed but makes no sense → refused, and the prediction is as it was", () => {
  type Variant = SignedPost & { url?: (id: string) => string; run?: string };
  const sense = (status: string) => says("run", status);
  const variants: [string, number, string, Variant][] = [
    ["no such prediction", 404, "not_found", { url: () => address(crypto.randomUUID()) }],
    ["an attempt that has not been made yet", 404, "not_found", { url: (id) => address(id, 2) }],
    ["attempt 0", 400, "invalid_request", { url: (id) => address(id, 0) }],
    ["an attempt that is no number", 400, "invalid_request", { url: (id) => address(id, "1;drop") }],
    ["no attempt", 400, "invalid_request", { url: (id) => address(id).replace(/&.*/, "") }],
    ["a prediction that is no uuid", 400, "invalid_request", { url: () => address("../../keyframe-generate") }],
    ["a body that is not JSON", 400, "invalid_json", { body: "status=failed" }],
    ["an empty body", 400, "invalid_json", { body: "" }],
    ["a list", 400, "invalid_request", { body: `[${sense("failed")}]` }],
    ["an unknown status", 400, "invalid_request", { body: sense("exploded") }],
    ["a run that is a path", 400, "invalid_request", { body: says("../predictions/1", "failed") }],
    ["logs that are no text", 400, "invalid_request", { body: says("run", "processing", { logs: 5 }) }],
    [
      "a body of more than 1 MiB",
      413,
      "payload_too_large",
      { body: says("run", "failed", { logs: "x".repeat(1 << 20) }) },
    ],
    ["GET", 405, "method_not_allowed", { method: "GET" }],
    [
      "PUT that calls itself POST",
      405,
      "method_not_allowed",
      { method: "PUT", headers: { "x-http-method-override": "POST" } },
    ],
    ["a path below", 404, "not_found", { url: (id) => address(id).replace("?", "/failed?") }],
  ];
  test.each(variants)("%s → %i %s", async (_name, status, code, { url = address, ...post }) => {
    const seeded = await seed();
    await expectUnchanged(seeded, async () => {
      const body = says(seeded.run, "failed");
      expect(await signedPost(url(seeded.id), secret, { body, ...post })).toEqual({ status, code, data: null });
    });
  });

  test("the run of another prediction → 404 not_found, and both are as they were", async () => {
    const [mine, other] = [await seed(), await seed()];
    await expectUnchanged(other, () =>
      expectUnchanged(mine, async () => {
        const answer = await signedPost(address(mine.id), secret, { body: says(other.run, "failed") });
        expect(answer).toMatchObject({ status: 404, code: "not_found" });
      }),
    );
  });
});

describe("a callback that comes too late or too often → 200, so that it is not repeated, and nothing changes", () => {
  test.each(["succeeded", "failed", "canceled"] as const)(
    "after the prediction has ended as %s → ended",
    async (status) => {
      const seeded = await seed(status);
      await expectUnchanged(seeded, async () => {
        for (const late of ["starting", "processing", "succeeded", "failed", "canceled", "aborted"]) {
          const body = says(seeded.run, late, { output: `${stack.simulatorUrl}/delivery/a/out-0.png` });
          const answer = await signedPost(address(seeded.id), secret, { body });
          expect(answer).toEqual({ status: 200, code: null, data: { outcome: "ended" } });
        }
      });
    },
  );

  test("the same webhook-id again, even with another state → duplicate", async () => {
    const seeded = await seed();
    const id = `msg_${crypto.randomUUID()}`;
    const changed = says(seeded.run, "processing", { logs: "video:  40%|████      | 40/100" });
    const first = await signedPost(address(seeded.id), secret, { id, body: changed });
    expect(first).toMatchObject({ status: 200, data: { outcome: "recorded" } });
    // Nobody polls it meanwhile.
    await sql`update keyframe.predictions set next_attempt_at = ${new Date(Date.now() + HOUR)} where id = ${seeded.id}`;
    await expectUnchanged(seeded, async () => {
      for (const body of [changed, says(seeded.run, "failed")]) {
        const answer = await signedPost(address(seeded.id), secret, { id, body });
        expect(answer).toMatchObject({ status: 200, data: { outcome: "duplicate" } });
      }
    });
  });

  test("from a run that the prediction does not follow → stale", async () => {
    const seeded = await seed();
    await expectUnchanged(seeded, async () => {
      const answer = await signedPost(address(seeded.id), secret, { body: says(`other-${seeded.run}`, "succeeded") });
      expect(answer).toMatchObject({ status: 200, data: { outcome: "stale" } });
    });
  });

  test("with a wrong and a right signature, as while a secret is rotated → recorded", async () => {
    const seeded = await seed();
    const id = `msg_${crypto.randomUUID()}`;
    const body = says(seeded.run, "failed", { error: "It broke." });
    const at = new Date();
    const both = `v1,d3Jvbmc= ${sign(secret, id, at, body)["webhook-signature"]}`;
    const answer = await signedPost(address(seeded.id), secret, {
      id,
      at,
      body,
      headers: { "webhook-signature": both },
    });
    expect(answer).toMatchObject({ status: 200, data: { outcome: "recorded" } });
    expect(JSON.parse(await wholeRow(sql, seeded.id))).toMatchObject({ status: "failed", error_message: "It broke." });
  });
});

test("a signed success with its output at an address that is not the provider's → failed, and not fetched", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.address() as AddressInfo; // it listens on TCP, so the address is an object
  const provider = new URL(stack.simulatorUrl).host;
  const outputs = [
    `http://127.0.0.1:${port}/out-0.png`,
    `http://${provider}@127.0.0.1:${port}/out-0.png`,
    `http://127.0.0.1.localhost:${port}/out-0.png`,
    `${stack.url}/functions/v1/api/health`,
    "file:///etc/passwd",
  ];
  try {
    for (const output of outputs) {
      const { id, run } = await seed();
      await signedPost(address(id), secret, { body: says(run, "succeeded", { output }) });
      const row = await until(`the prediction with output ${output} ends`, async () => {
        const [seen] = await sql`select * from keyframe.predictions where id = ${id} and completed_at is not null`;
        return seen;
      });
      expect(row).toMatchObject({ status: "failed", error_code: "output_not_usable", lease_token: null });
    }
    expect(asked).toEqual([]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
