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
  expect(text.match(/\| holds \|$/gm)).toHaveLength(Object.keys(INVARIANTS).length);
});

test("every fault of the chaos run → was tried, and nearly all could be caused", () => {
  const rows = FAULT_NAMES.map((name) => figures(name.replaceAll("_", " ")));
  for (const [i, [done = 0, notDone = 0]] of rows.entries()) expect(done + notDone, FAULT_NAMES[i]).toBe(1);
  expect(rows.filter(([done]) => done === 1).length).toBeGreaterThanOrEqual(FAULT_NAMES.length - 4);
});

test("users during the chaos run → starts accepted, files stored, events delivered, projects deleted", () => {
  for (const name of [
    "accepted starts",
    "files in Storage",
    "deliveries delivered",
    "projects with starts that were deleted",
  ])
    expect(figures(name)[0], name).toBeGreaterThan(0);
});
