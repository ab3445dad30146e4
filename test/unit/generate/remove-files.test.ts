import { afterEach, beforeEach, expect, test } from "vitest";
import { runTask } from "../../../supabase/functions/keyframe-generate/tasks/run-task.ts";
import { files as filesSchema } from "../../../supabase/functions/keyframe-generate/tasks/task.ts";
import { receive } from "../../support/receiver/raw-receiver.ts";
import * as kit from "./fixture.ts";

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

async function run(given: { files?: unknown; storageUrl?: string; signal?: AbortSignal }) {
  const { files = FILES, storageUrl = storage.url, signal = kit.never() } = given;
  const made = kit.makeDeps({ storageUrl, database: { beginRemoval: async () => filesSchema.parse(files) } });
  await runTask({ task: "remove", id: TASK, ...kit.WORK }, made.deps, signal);
  return made;
}

test("files of both buckets → removed with one request for each bucket, recorded under the task's lease", async () => {
  storage.files.set("/keyframe-outputs/another.png", { bytes: kit.PNG, contentType: "" });
  const { calls } = await run({});
  expect([...storage.files.keys()]).toEqual(["/keyframe-outputs/another.png"]);
  expect(storage.removals).toEqual([
    { bucket: "keyframe-outputs", names: [FRAME] },
    { bucket: "projects", names: [REFERENCE] },
  ]);
  expect(calls).toEqual([["recordFilesRemoved", []]]);
});

test("one bucket refuses a removal → the other's files are removed, and only this one's are postponed", async () => {
  storage.refusedNames.add(FRAME);
  expect((await run({})).calls).toEqual([["recordFilesRemoved", [FILES[0]]]]);
  expect([...storage.files.keys()]).toEqual([`/keyframe-outputs/${FRAME}`]);
});

function storeHundred() {
  storage.files.clear();
  const bucket = "keyframe-outputs" as const;
  const files = Array.from({ length: 100 }, (_, n) => ({ bucket, name: `o/p/${n}.png` }));
  for (const { name } of files) storage.files.set(`/${bucket}/${name}`, { bytes: kit.PNG, contentType: "" });
  return files;
}

test.each([
  [[], 1],
  [[57], 15],
  [[99], 15],
  [[3, 4, 71], 35],
])(
  "names %j of a hundred are refused → those are postponed, the others removed after at most %i requests",
  async (which, most) => {
    const files = storeHundred();
    const bad = files.filter((_file, n) => which.includes(n));
    for (const { name } of bad) storage.refusedNames.add(name);
    const [[, refused] = []] = (await run({ files })).calls;
    expect(new Set(refused as typeof files)).toEqual(new Set(bad));
    expect(storage.files.size).toBe(which.length);
    expect(storage.removals.length).toBeLessThanOrEqual(most);
  },
);

test.each([
  [200, 1],
  [401, 1],
  [429, 1],
  [503, 1],
  [403, 199], // it may be about one name
  [500, 199],
])("Storage answers everything with %i → requests: %i; all are postponed", async (status, requests) => {
  storage.refuse = status;
  const files = storeHundred();
  const { calls } = await run({ files });
  expect(storage.removals).toHaveLength(requests);
  expect(calls).toEqual([["recordFilesRemoved", expect.arrayContaining(files)]]);
  expect(calls[0]?.[1]).toHaveLength(100);
});

test("Storage is down or hangs up, or the task's time is over → one request, and all files are postponed", async () => {
  const silent = await receive((socket) => socket.end());
  const files = storeHundred();
  const ends = [
    await run({ files, storageUrl: "http://127.0.0.1:1" }),
    await run({ files, storageUrl: silent.url }),
    await run({ files, signal: AbortSignal.abort() }),
  ];
  expect(silent.connections()).toBe(1);
  expect(ends.map(({ calls }) => calls)).toEqual(Array(3).fill([["recordFilesRemoved", files]]));
});

test.each([
  ["another bucket", [{ bucket: "avatars", name: "a.png" }]],
  ["no name, which would be everything", [{ bucket: "projects", name: "" }]],
])("a list of files with %s → not removed", async (_what, files) => {
  await expect(run({ files })).rejects.toThrow();
  expect(storage.removals).toEqual([]);
});

test("the log of a removal → one line with counts, without file names", async () => {
  const { lines } = await run({});
  storage.refuse = 503;
  lines.push(...(await run({})).lines);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "info", event: "files_removed", ownerId: TASK, "keyframe-outputs": 1, projects: 1 },
    { level: "warn", event: "files_not_removed", "keyframe-outputs": 1 },
  ]);
  expect(lines.join()).not.toContain(".png");
});
