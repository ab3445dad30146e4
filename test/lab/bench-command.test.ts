import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { replaceBlock } from "../../lab/bench/report.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { runCommand } from "../support/tools/run-command.ts";

// A start takes seconds, and a minute where the machine is busy.
vi.setConfig({ testTimeout: 240_000 });

const runBench = (args: string[]) => runCommand("lab/bench/main.ts", args);
const readPage = (name: string) => Deno.readTextFile(join(PROJECT_ROOT, "docs", name));

test("--help → the benchmarks, each with its aims in the table of docs/benchmarks.md; exit 0", async () => {
  const { code, output } = await runBench(["--help"]).ended;
  expect(code, output).toBe(0);
  const [, names = ""] = /one of: ([a-z, ]+);/.exec(output) ?? [];
  expect(names.split(", ")).toContain("deliver");
  const page = await readPage("benchmarks.md");
  for (const name of names.split(", ")) expect(page).toContain(`\n| ${name} | `);
  expect(replaceBlock(page, "aims", "new")).toContain("\nnew\n");
  expect(replaceBlock(await readPage("scale.md"), "costs", "new")).toContain("\nnew\n");
});

test("--quick and two names → their tables, nothing written; exit 0", async () => {
  const before = await readPage("benchmarks.md");
  const { code, output } = await runBench(["--quick", "flow", "cold"]).ended;
  expect(code, output).toBe(0);
  for (const name of [
    "api",
    "keyframe-generate",
    "keyframe-replicate-webhook",
    "keyframe-deliver",
    "Hono and supabase-js alone",
  ])
    expect(output).toMatch(new RegExp(`^\\| ${name} \\| [\\d.,]{2,}`, "m"));
  expect(output).toMatch(/^\| Keyframe \| [\d.,]+ \| [\d.,]+ \| [\d.,]+ \|/m);
  expect(output).toMatch(/^\d of 8 aims met\.$/m);
  expect(await readPage("benchmarks.md")).toBe(before);
});
