import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { FAULT_NAMES } from "../../lab/chaos/faults.ts";
import { INVARIANTS } from "../../lab/chaos/invariants/invariants.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

// The short form of `npm run chaos`, as a person runs it: a stack of its own, fifteen seconds of load, and every fault once,
// most of them at the same time.
const ARGUMENTS = ["--minutes", "0.25", "--seed", "1", "--users", "6"];
const LIMIT_MS = 280_000;

let text: string;
let code: number;
beforeAll(async () => {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", join(PROJECT_ROOT, "lab/chaos.ts"), ...ARGUMENTS],
    env: { KEYFRAME_DATABASE_URL: "" }, // the other tests use that, and a run needs an empty one
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  text = decoder.decode(output.stdout) + decoder.decode(output.stderr);
  code = output.code;
}, LIMIT_MS);

/** The numbers that the report has beside a name. */
const figures = (name: string): number[] =>
  (text.match(new RegExp(`^\\| ${name} \\| (.*) \\|$`, "m"))?.[1] ?? "")
    .split(" | ")
    .map((cell) => Number(cell.replaceAll(",", "")));

test("fifteen seconds of load and every fault → every invariant holds", () => {
  expect(code, text).toBe(0);
  expect(text).toContain("Nothing was lost (seed 1).");
  expect(text.match(/\| holds \|$/gm)).toHaveLength(Object.keys(INVARIANTS).length + 1);
});

test("every fault was tried, and nearly all could be done", () => {
  const rows = FAULT_NAMES.map((name) => figures(name.replaceAll("_", " ")));
  for (const [i, [done = 0, notDone = 0]] of rows.entries()) expect(done + notDone, FAULT_NAMES[i]).toBe(1);
  expect(rows.filter(([done]) => done === 1).length).toBeGreaterThanOrEqual(FAULT_NAMES.length - 4);
});

test("it was used meanwhile: starts accepted, events delivered, projects deleted, outputs read", () => {
  expect(figures("accepted starts")[0]).toBeGreaterThan(0);
  expect(figures("deliveries delivered")[0]).toBeGreaterThan(0);
  expect(figures("deleted projects")[0]).toBeGreaterThan(0);
  expect(figures("signed URLs")[0]).toBeGreaterThan(0);
  expect(figures("statuses that users got")[0]).toBeGreaterThan(0);
  expect(figures("of these by 304")[0]).toBeGreaterThan(0);
  // Deleted files are among them: this distinguishes a file without a row from one that never had any.
  expect(figures("files that ever had a row")[0]).toBeGreaterThan(figures("files in Storage")[0] ?? Number.NaN);
});
