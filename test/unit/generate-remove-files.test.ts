import { afterEach, beforeEach, expect, test } from "vitest";
import { DatabaseError } from "../../shared/provider/call-database.ts";
import type { Database } from "../../supabase/functions/generate/database.ts";
import { createWork } from "../../supabase/functions/generate/work.ts";
import * as kit from "./generate-fixture.ts";

const TASK = "4d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a05";
const FRAME = `${kit.OWNER}/${kit.PROJECT}/${kit.PREDICTION}.png`;
const REFERENCE = "0a7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a06.png";
const FILES = [
  { bucket: "generations", name: FRAME },
  { bucket: "projects", name: REFERENCE },
];
let storage: kit.StorageServer;
beforeEach(async () => {
  storage = await kit.startStorage();
  for (const { bucket, name } of FILES) storage.files.set(`/${bucket}/${name}`, { bytes: kit.PNG, contentType: "" });
});
afterEach(() => storage.stop());

/** Does a task as claim_predictions hands it out. */
async function run(given: {
  files?: unknown;
  storageUrl?: string;
  database?: Partial<Database>;
  signal?: AbortSignal;
}) {
  const { files = FILES, storageUrl = storage.url, database = {}, signal = kit.never() } = given;
  const made = kit.makeDeps({ storageUrl, database });
  const claimed = { task: "remove", id: TASK, lease_token: TASK, files };
  await createWork(made.deps)(claimed, signal);
  return made;
}

test("files of both buckets → gone, one request for each bucket, recorded under the task's lease", async () => {
  storage.files.set("/generations/another.png", { bytes: kit.PNG, contentType: "" });
  const { calls } = await run({});
  expect([...storage.files.keys()]).toEqual(["/generations/another.png"]);
  expect(storage.removals).toEqual([
    { bucket: "generations", names: [FRAME] },
    { bucket: "projects", names: [REFERENCE] },
  ]);
  expect(calls).toEqual([["recordFilesRemoved", TASK, true]]);
});

test("a hundred files of a bucket → one request", async () => {
  const files = Array.from({ length: 100 }, (_, n) => ({ bucket: "generations", name: `o/p/${n}.png` }));
  await run({ files });
  expect(storage.removals.map(({ names }) => names.length)).toEqual([100]);
});

test("files that are not there → removed, as far as anybody can tell", async () => {
  storage.files.clear();
  expect((await run({})).calls).toEqual([["recordFilesRemoved", TASK, true]]);
});

test.each([403, 429, 500, 503])("Storage answers %i → recorded as not removed", async (status) => {
  storage.refuse = status;
  expect((await run({})).calls).toEqual([["recordFilesRemoved", TASK, false]]);
  expect(storage.files.size).toBe(2);
});

test("Storage is away, or the task's time is over → recorded as not removed; back again → gone", async () => {
  expect((await run({ storageUrl: "http://127.0.0.1:1" })).calls).toEqual([["recordFilesRemoved", TASK, false]]);
  expect((await run({ signal: AbortSignal.abort() })).calls).toEqual([["recordFilesRemoved", TASK, false]]);
  expect(storage.files.size).toBe(2);
  await run({});
  expect(storage.files.size).toBe(0);
});

test("one bucket is refused → the other's files go, and the task is tried again as a whole", async () => {
  storage.refusedBucket = "generations";
  expect((await run({})).calls).toEqual([["recordFilesRemoved", TASK, false]]);
  expect([...storage.files.keys()]).toEqual([`/generations/${FRAME}`]);
});

test("the outcome cannot be recorded → the task fails, and its lease brings it back", async () => {
  const recordFilesRemoved = () => Promise.reject(new DatabaseError("record_files_removed", 503, ""));
  await expect(run({ database: { recordFilesRemoved } })).rejects.toThrow(DatabaseError);
});

test.each([
  ["another bucket", [{ bucket: "avatars", name: "a.png" }]],
  ["no name, which would be everything", [{ bucket: "projects", name: "" }]],
  ["no files", []],
])("a task that names %s → not touched, and the log says so", async (_what, files) => {
  const { calls, lines } = await run({ files });
  expect(storage.removals).toEqual([]);
  expect(calls).toEqual([]);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ event: "task_unreadable", task: "remove", taskId: TASK }),
  ]);
});

test("the log → one line with counts, without the names of files", async () => {
  const { lines } = await run({});
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: "info", event: "files_removed", taskId: TASK, generations: 1, projects: 1 }),
  ]);
  storage.refuse = 503;
  lines.push(...(await run({})).lines);
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ level: "warn", event: "files_not_removed", generations: 1 });
  expect(lines.join()).not.toContain(".png");
});
