import { expect, test } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import type { Database } from "../../supabase/functions/keyframe-generate/database.ts";
import type { Deps } from "../../supabase/functions/keyframe-generate/deps.ts";
import { createProvider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import { createStorage } from "../../supabase/functions/keyframe-generate/files/storage.ts";
import { createWork } from "../../supabase/functions/keyframe-generate/tasks/work.ts";
import { fakeDatabase, PREDICTION, submitTask } from "./generate-fixture.ts";

const CALLBACK = `https://app.test/functions/v1/keyframe-replicate-webhook?prediction=${PREDICTION}&attempt=1`;
const SINCE = "2026-03-01T12:00:00.000Z";

const listed = (id: string, webhook = CALLBACK) => ({
  id,
  model: "google/nano-banana",
  status: "processing",
  input: { prompt: "A lighthouse at dusk" },
  output: null,
  error: null,
  logs: "",
  created_at: SINCE,
  webhook,
});

/** Does the task of a prediction that ended with a submit unanswered, against a provider whose list answers like this. */
async function search(answer: () => Response, answers: Partial<Database> = {}) {
  const asked: string[] = [];
  const fetcher: typeof fetch = async (input, init) => {
    asked.push(`${init?.method ?? "GET"} ${new URL(String(input)).pathname}`);
    return answer();
  };
  const { database, calls } = fakeDatabase(answers);
  const deps: Deps = {
    database,
    provider: createProvider({ token: "t", baseUrl: "https://provider.test/v1", fetch: fetcher, now: Date.now }),
    storage: createStorage("https://app.test", "sb_secret_test", fetcher),
    outputs: { isAllowed: () => false, fetch: fetcher },
    publicUrl: "https://app.test",
    platformUrl: "https://app.test",
    log: createLog({ function: "keyframe-generate" }, () => undefined),
    now: Date.now,
  };
  // As claim_predictions hands it out: without a lease, for the prediction is over.
  const task = { ...submitTask(), task: "search", lease_token: null, search_since: SINCE };
  await createWork(deps)(task, AbortSignal.timeout(5_000));
  return { calls, asked };
}

const page = (...results: object[]) => Response.json({ next: null, previous: null, results });

test("runs whose callback addresses name it stand in the list → each is recorded, and the search has ended", async () => {
  const { calls, asked } = await search(() => page(listed("run-1"), listed("run-2")), {
    recordState: async () => "ended",
  });
  expect(calls).toEqual([
    ["recordState", expect.objectContaining({ id: "run-1" }), "name"],
    ["recordState", expect.objectContaining({ id: "run-2" }), "name"],
    ["recordSearchEnded", PREDICTION],
  ]);
  expect(asked).toEqual(["GET /v1/predictions"]);
});

test("only others' runs stand in the list → nothing recorded, and the search has ended", async () => {
  const { calls } = await search(() => page(listed("run-3", CALLBACK.replace(PREDICTION, crypto.randomUUID()))));
  expect(calls).toEqual([["recordSearchEnded", PREDICTION]]);
});

test("the list cannot be had → the search is still due", async () => {
  const { calls } = await search(() => Response.json({ detail: "Away" }, { status: 503 }));
  expect(calls).toEqual([]);
});
