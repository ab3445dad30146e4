import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { replaceBlock } from "../../lab/bench/report.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { allGone, descendantsOf, runCommand } from "../support/tools/run-command.ts";

// A start takes seconds, and a minute where the machine is busy.
vi.setConfig({ testTimeout: 240_000 });

const runBench = (args: string[], env: Record<string, string> = {}) => runCommand("lab/bench/main.ts", args, env);
const readPage = (name: string) => Deno.readTextFile(join(PROJECT_ROOT, "docs", name));

test("--help → the benchmarks, each with a block for its tables in docs/benchmarks.md; exit 0", async () => {
  const { code, output } = await runBench(["--help"]).ended;
  expect(code, output).toBe(0);
  const [, names = ""] = /one of: ([a-z, ]+);/.exec(output) ?? [];
  expect(names.split(", ")).toContain("deliver");
  const page = await readPage("benchmarks.md");
  for (const name of names.split(", ")) expect(replaceBlock(page, name, "new")).toContain("\nnew\n");
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
    expect(output).toMatch(new RegExp(`^\\| ${name} \\| [\\d.]{2,}`, "m"));
  expect(output).toMatch(/^\| Keyframe \| [\d.]+ \| [\d.]+ \| [\d.]+ \|/m);
  expect(output).toMatch(/^\d of 8 aims met\.$/m);
  expect(await readPage("benchmarks.md")).toBe(before);
});

test("SIGTERM while it measures → the stack and its data are gone; exit 1", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kf-bench-test-" });
  await Deno.chmod(folder, 0o755); // Postgres runs as another user where this runs as root
  onTestFinished(() => Deno.remove(folder, { recursive: true }));
  const bench = runBench(["--quick", "latency"], { TMPDIR: folder });
  onTestFinished(() => bench.kill("SIGKILL"));
  await bench.printed("latency: after quiet");
  const children = await descendantsOf(bench.pid);
  expect(children.length).toBeGreaterThan(5);
  bench.kill("SIGTERM");
  const { code, output } = await bench.ended;
  expect(code, output).toBe(1);
  expect(output).toContain("latency failed: It was asked to stop.");
  await allGone(children);
  expect([...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith("keyframe-"))).toEqual([]);
});
