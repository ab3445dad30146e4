import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { providerSays, readRow } from "../../support/database/calls.ts";
import { columnOf, useWorld, seedPrediction } from "../../support/database/predictions.ts";
import { clearWebhooks } from "../../support/database/webhooks.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(() => clearWebhooks(db.sql));

// Those of generation.succeeded are in test/e2e/webhooks-signed.test.ts, webhook.test in test/api/webhooks-deliveries.test.ts.
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The one event's body, exactly as it is signed and sent. */
async function body(): Promise<string> {
  const bodies = await columnOf(db.sql`select payload::text from keyframe.webhook_events`);
  expect(bodies).toHaveLength(1);
  return bodies[0] ?? "";
}
const payload = async () => JSON.parse(await body());

async function addText(texts: { title?: string; text_prompt?: string; description?: string }): Promise<void> {
  const row = { owner_id: world.owner, title: "t", text_prompt: "p", ...texts };
  await db.sql`insert into keyframe.projects ${db.sql(row)}`;
}

test("project.created → has type, timestamp and the project as it was saved", async () => {
  await addText({ title: "The Pier", text_prompt: "A harbour at dawn", description: "Keep the boat red" });
  const [row] = await db.sql<{ id: string; created_at: Date }[]>`
    select id, created_at from keyframe.projects where title = 'The Pier'`;
  const createdAt = row?.created_at.toISOString();
  expect(createdAt).toMatch(ISO);
  expect(await payload()).toEqual({
    type: "project.created",
    timestamp: createdAt,
    data: {
      projectId: row?.id,
      ownerId: world.owner,
      title: "The Pier",
      textPrompt: "A harbour at dawn",
      description: "Keep the boat red",
      createdAt,
    },
  });
});

test("times in a payload → in UTC with milliseconds, whatever the time zone of the session", async () => {
  await db.sql.begin(async (sql) => {
    await sql`set local timezone = 'Asia/Kathmandu'`;
    const time = await columnOf(sql`select keyframe_private.wire_time('2026-01-02T03:04:05.6789+05:45')`);
    expect(time).toEqual(["2026-01-01T21:19:05.678Z"]);
  });
});

test("generation.failed → has the error at the top, where payload.error is specified, and no output", async () => {
  const columns = { requested_model: "google/nano-banana" }; // which made it
  const { id, run } = await seedPrediction(db.sql, world, { status: "processing", columns });
  await providerSays(db.sql, { id, run: run ?? "", status: "failed", error: 'Refused: "NSFW" \\ content\n' });
  const row = await readRow(db.sql, id);
  expect(await payload()).toEqual({
    type: "generation.failed",
    timestamp: (row.completed_at as Date).toISOString(), // timestamptz columns are read as dates
    data: {
      predictionId: id,
      projectId: world.project,
      ownerId: world.owner,
      step: "first-frame",
      model: "google/nano-banana",
      cost: { amountMicros: null, atMostMicros: null, currency: "USD", state: "unknown" }, // a row without a price
      createdAt: (row.created_at as Date).toISOString(),
      completedAt: (row.completed_at as Date).toISOString(),
    },
    error: { code: "provider_failed", message: 'Refused: "NSFW" \\ content\n', retryable: true },
  });
});

test("generation.failed of a replaced model with rejected content → has the requested model and the stage of the rejection", async () => {
  const { id } = await seedPrediction(db.sql, world, { columns: { requested_model: "old/model" } });
  await db.sql`select keyframe_private.mark_failed(${id}, 'content_rejected', 'Rejected.', false, stage => 'output')`;
  const { data, error } = await payload();
  expect(data).toMatchObject({ predictionId: id, requestedModel: "old/model" });
  expect(error).toEqual({ code: "content_rejected", message: "Rejected.", retryable: false, stage: "output" });
});

describe("the size of a body: at most 20 kB", () => {
  const fill = (unit: string, characters: number) => Array.from(unit.repeat(characters)).slice(0, characters).join("");

  test.each([
    ["families of emoji, joined", "👩‍👩‍👧‍👦"],
    ["line separators", "語\u2028"],
  ])(
    "the body for the largest project of %s → its long texts are shortened, and truncated says so",
    async (_name, unit) => {
      const long = fill(unit, 4000);
      const title = fill("😀", 200);
      await addText({ title, text_prompt: long, description: long });
      const sent = await body();
      expect(new TextEncoder().encode(sent).length).toBeLessThanOrEqual(20_000);
      const { data } = JSON.parse(sent);
      expect(data).toMatchObject({ title, truncated: true });
      for (const text of [data.textPrompt, data.description]) {
        expect(long.startsWith(text)).toBe(true);
        expect(Array.from(text).length).toBeGreaterThanOrEqual(1000);
      }
    },
  );

  test.each(["y", "ä", '"', "\\"])(
    "the body for the largest project of %s → whole, without truncated",
    async (letter) => {
      const texts = { title: letter.repeat(200), text_prompt: letter.repeat(4000), description: letter.repeat(4000) };
      await addText(texts);
      const { data } = await payload();
      expect(data).toMatchObject({ title: texts.title, textPrompt: texts.text_prompt, description: texts.description });
      expect(data).not.toHaveProperty("truncated");
    },
  );

  test("projects around the size limit, one every 40 bytes → each can be created, and its event's body is within the limit", async () => {
    const long = "語".repeat(4000); // 12,000 bytes
    for (let size = 0; size < 40; size++) {
      await addText({ text_prompt: long, description: "語".repeat(2100) + "x".repeat(size * 40) });
    }
    const sizes = await columnOf<number>(db.sql`
      select octet_length(payload::text) from keyframe.webhook_events order by 1`);
    expect(sizes).toHaveLength(40);
    expect(sizes.at(-1)).toBeLessThanOrEqual(20_000);
    expect(sizes.filter((bytes) => bytes > 18_900).length).toBeGreaterThan(3); // as near to it as a whole one comes
  });

  test("a body with one long and one short text → only the long text is shortened", async () => {
    const description = "😀".repeat(1000);
    await addText({ text_prompt: "😀".repeat(4000), description });
    expect((await payload()).data).toMatchObject({ textPrompt: "😀".repeat(2000), description, truncated: true });
  });

  test("the longest error message, of control characters → the body has its first 1,000, and is within the limit", async () => {
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing" });
    await providerSays(db.sql, { id, run: run ?? "", status: "failed", error: "\u0001".repeat(5000) });
    const sent = await body();
    expect(new TextEncoder().encode(sent).length).toBeLessThanOrEqual(20_000);
    expect(JSON.parse(sent).error.message).toBe("\u0001".repeat(1000));
  });
});
