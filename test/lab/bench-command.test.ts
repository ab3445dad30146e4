import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { replaceBlock } from "../../lab/bench/report.ts";
import { shotTables } from "../../lab/bench/shot/plans.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { runCommand } from "../support/tools/run-command.ts";

// A start takes seconds, and a minute where the machine is busy.
vi.setConfig({ testTimeout: 240_000 });

const runBench = (args: string[]) => runCommand("lab/bench/main.ts", args);
const readPage = (path: string) => Deno.readTextFile(join(PROJECT_ROOT, path));

test("npm run bench --help → the benchmarks, each with its aims in the table of lab/aims.md; exit 0", async () => {
  const { code, output } = await runBench(["--help"]).ended;
  expect(code, output).toBe(0);
  const [, names = ""] = /one of: ([a-z, ]+);/.exec(output) ?? [];
  expect(names.split(", ")).toContain("deliver");
  const page = await readPage("lab/aims.md");
  for (const name of names.split(", ")) expect(page).toContain(`\n| ${name} | `);
  for (const block of ["aims", "shot"]) expect(replaceBlock(page, block, "new")).toContain("\nnew\n");
  expect(replaceBlock(await readPage("docs/benchmarks.md"), "shots", "new")).toContain("\nnew\n");
  expect(replaceBlock(await readPage("docs/scale.md"), "costs", "new")).toContain("\nnew\n");
});

test("npm run bench --against something other than a commit → one line that says so; exit 1", async () => {
  const { code, said, error } = await runBench(["--against", "no-such-version"]).ended;
  expect([code, said]).toEqual([1, ""]);
  expect(error).toMatch(/^git .*no-such-version\b.*\n$/);
});

test("the figures for one shot → shots a day by the limit reached first, calls without kicks next to a worker process", () => {
  const figures = {
    api: 20,
    kicks: 10,
    callbacks: 70,
    deliveries: 4,
    usd: 1,
    frameMs: 10,
    statusMs: 1,
    eventMs: 1,
    predictionBytes: 5e3,
  };
  const [plans] = shotTables(figures);
  const cells = (name: string) => plans?.rows.find((row) => row.name.startsWith(name))?.cells;
  expect(cells("shots a day: function invocations")?.map(Number)).toEqual([
    500_000 / 100 / 30,
    2_000_000 / 100 / 30,
    2_000_000 / 90 / 30,
  ]);
  expect(cells("used up first")).toEqual(["egress", "egress", "egress"]);
  expect(cells("**shots a day**")).toEqual(cells("shots a day: egress"));
  expect(cells("**$ a month**")).toEqual([0, 25, 31]);
  // 3 million calls, 450 GB of egress, 270 GB in Storage, 0.45 GB in the database.
  expect(cells("$ in the first month with 1,000 shots a day; the provider's: 30,000")?.[1]).toBeCloseTo(
    25 + 2 + 200 * 0.09 + 170 * 0.021,
  );
});
