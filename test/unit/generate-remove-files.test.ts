import { afterEach, beforeEach, expect, test } from "vitest";
import { DatabaseError } from "../../shared/platform/call-database.ts";
import type { Database } from "../../supabase/functions/keyframe-generate/database.ts";
import { createWork } from "../../supabase/functions/keyframe-generate/tasks/work.ts";
import * as kit from "./generate-fixture.ts";

const TASK = "4d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a05";
const FRAME = `${kit.OWNER}/${kit.PROJECT}/${kit.PREDICTION}.png`;
const REFERENCE = "0a7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a06.png";
const FILES = [
  { bucket: "keyframe-outputs", name: FRAME },
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
  storage.files.set("/keyframe-outputs/another.png", { bytes: kit.PNG, contentType: "" });
  const { calls } = await run({});
  expect([...storage.files.keys()]).toEqual(["/keyframe-outputs/another.png"]);
  expect(storage.removals).toEqual([
    { bucket: "keyframe-outputs", names: [FRAME] },
    { bucket: "projects", names: [REFERENCE] },
  ]);
  expect(calls).toEqual([["recordFilesRemoved", TASK, []]]);
});

test("a hundred files of a bucket → one request", async () => {
  const files = Array.from({ length: 100 }, (_, n) => ({ bucket: "keyframe-outputs", name: `o/p/${n}.png` }));
  await run({ files });
  expect(storage.removals.map(({ names }) => names.length)).toEqual([100]);
});

test("files that are not there → counted as removed", async () => {
  storage.files.clear();
  expect((await run({})).calls).toEqual([["recordFilesRemoved", TASK, []]]);
});

test.each([403, 429, 500, 503])("Storage answers %i → recorded as not removed", async (status) => {
  storage.refuse = status;
  expect((await run({})).calls).toEqual([["recordFilesRemoved", TASK, FILES]]);
  expect(storage.files.size).toBe(2);
});

test("Storage is away, or the task's time is over → recorded as not removed; back again → gone", async () => {
  expect((await run({ storageUrl: "http://127.0.0.1:1" })).calls).toEqual([["recordFilesRemoved", TASK, FILES]]);
  expect((await run({ signal: AbortSignal.abort() })).calls).toEqual([["recordFilesRemoved", TASK, FILES]]);
  expect(storage.files.size).toBe(2);
  await run({});
  expect(storage.files.size).toBe(0);
});

test("one bucket is refused → the other's files go, and only this one's are put off", async () => {
  storage.refusedBucket = "keyframe-outputs";
  const [frame] = FILES;
  expect((await run({})).calls).toEqual([["recordFilesRemoved", TASK, [frame]]]);
  expect([...storage.files.keys()]).toEqual([`/keyframe-outputs/${FRAME}`]);
});

/** So many files of a bucket, which are there. */
function store(count: number) {
  const files = Array.from({ length: count }, (_, n) => ({
    bucket: "keyframe-outputs" as const,
    name: `o/p/${n}.png`,
  }));
  for (const { bucket, name } of files) storage.files.set(`/${bucket}/${name}`, { bytes: kit.PNG, contentType: "" });
  return files;
}

test.each([0, 57, 99])("name %i of a hundred is refused → the others are gone after a few requests", async (which) => {
  storage.files.clear();
  const files = store(100);
  storage.refusedNames.add(files[which]?.name ?? "");
  expect((await run({ files })).calls).toEqual([["recordFilesRemoved", TASK, [files[which]]]]);
  expect(storage.files.size).toBe(1);
  expect(storage.removals.length).toBeLessThanOrEqual(15);
});

test("three of a hundred are refused → those three are put off", async () => {
  const files = store(100);
  const bad = [3, 4, 71].map((n) => files[n]);
  for (const file of bad) storage.refusedNames.add(file?.name ?? "");
  const { calls } = await run({ files });
  expect(calls).toEqual([["recordFilesRemoved", TASK, expect.arrayContaining(bad)]]);
  expect(calls[0]?.[2]).toHaveLength(3);
});

test("every name is refused → 40 requests, and all are put off", async () => {
  storage.refusedBucket = "keyframe-outputs";
  const files = store(100);
  const { calls } = await run({ files });
  expect(storage.removals).toHaveLength(40);
  const put = calls[0]?.[2];
  expect(Array.isArray(put) && put.length).toBe(100);
  expect(put).toEqual(expect.arrayContaining(files));
});

test.each([401, 429, 503])("Storage answers %i, which is about no name → one request", async (status) => {
  storage.refuse = status;
  await run({ files: store(100) });
  expect(storage.removals).toHaveLength(1);
});

test("Storage closes the connection without an answer → one request, and all are put off", async () => {
  const silent = kit.serveRaw("");
  const files = store(100);
  const { calls } = await run({ files, storageUrl: silent.url });
  await silent.stop();
  expect(silent.connections()).toBe(1);
  expect(calls).toEqual([["recordFilesRemoved", TASK, files]]);
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
    expect.objectContaining({
      level: "info",
      event: "files_removed",
      taskId: TASK,
      "keyframe-outputs": 1,
      projects: 1,
    }),
  ]);
  storage.refuse = 503;
  lines.push(...(await run({})).lines);
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({
    level: "warn",
    event: "files_not_removed",
    "keyframe-outputs": 1,
  });
  expect(lines.join()).not.toContain(".png");
});
