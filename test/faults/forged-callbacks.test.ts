import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { sign } from "../../local/sign.ts";
import { type Seeded, seedPrediction } from "../support/database/predictions.ts";
import { wholeRow } from "../support/film/ending.ts";
import { type FilmMaker, newFilmMaker } from "../support/film/film-maker.ts";
import { type SignedPost, signedPost } from "../support/receiver/signed-post.ts";
import { connect } from "../support/stack/own-stack.ts";

// Signed callbacks. What is not signed, or not by the provider: test/security/signatures.

const stack = inject("stack");
const secret = stack.replicateWebhookSecret;
const sql = connect(stack.databaseUrl);
let maker: FilmMaker;
beforeAll(async () => {
  maker = await newFilmMaker(stack);
});
afterAll(() => sql.end({ timeout: 1 }));

/** A prediction whose run nobody else will ask about within the hour. */
async function seed(): Promise<Seeded & { run: string }> {
  const run = `run-${crypto.randomUUID()}`;
  const columns = {
    due_at: new Date(Date.now() + 3_600_000),
    lease_token: null,
    provider_prediction_id: run,
  };
  const world = { owner: maker.userId, project: maker.projectId };
  return { ...(await seedPrediction(sql, world, { status: "processing", columns })), run };
}

const address = (id: string, attempt: number | string = 1) =>
  `${stack.url}/functions/v1/keyframe-replicate-webhook?prediction=${id}&attempt=${attempt}`;
const says = (run: string, status: string, more: Record<string, unknown> = {}) =>
  JSON.stringify({ id: run, status, logs: "", error: null, output: null, ...more });

describe("a signed callback with invalid content → refused, and the prediction is unchanged", () => {
  const variants: [string, number, string, SignedPost & { url?: (id: string) => string }][] = [
    ["no such prediction", 404, "not_found", { url: () => address(crypto.randomUUID()) }],
    ["an attempt that has not been made yet", 404, "not_found", { url: (id) => address(id, 2) }],
    ["attempt 0", 400, "invalid_request", { url: (id) => address(id, 0) }],
    ["an attempt that is no number", 400, "invalid_request", { url: (id) => address(id, "1;drop") }],
    ["no attempt", 400, "invalid_request", { url: (id) => address(id).replace(/&.*/, "") }],
    ["a prediction that is no uuid", 400, "invalid_request", { url: () => address("../../keyframe-generate") }],
    ["a body that is not JSON", 400, "invalid_json", { body: "status=failed" }],
    ["an empty body", 400, "invalid_json", { body: "" }],
    ["a list", 400, "invalid_request", { body: `[${says("run", "failed")}]` }],
    ["an unknown status", 400, "invalid_request", { body: says("run", "exploded") }],
    ["a run that is a path", 400, "invalid_request", { body: says("../predictions/1", "failed") }],
    ["logs that are no text", 400, "invalid_request", { body: says("run", "processing", { logs: 5 }) }],
  ];
  test.each(variants)("a signed callback with %s → %i %s", async (_name, status, code, { url = address, ...post }) => {
    const { id, run } = await seed();
    const before = await wholeRow(sql, id);
    const answer = await signedPost(url(id), secret, { body: says(run, "failed"), ...post });
    expect(answer).toEqual({ status, code, data: null });
    expect(await wholeRow(sql, id)).toBe(before);
  });
});

test("a callback with a wrong and a right signature, as during a rotation, and 900 KB of logs → recorded", async () => {
  const seeded = await seed();
  const id = `msg_${crypto.randomUUID()}`;
  const body = says(seeded.run, "failed", { error: "It broke.", logs: "x".repeat(900_000) });
  const at = new Date();
  const headers = { "webhook-signature": `v1,d3Jvbmc= ${sign(secret, id, at, body)["webhook-signature"]}` };
  const answer = await signedPost(address(seeded.id), secret, { id, at, body, headers });
  expect(answer).toMatchObject({ status: 200, data: { outcome: "recorded" } });
  expect(JSON.parse(await wholeRow(sql, seeded.id))).toMatchObject({ status: "failed", error_message: "It broke." });
});
