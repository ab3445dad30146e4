import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { until } from "../support/until.ts";
import { allGone, descendantsOf, runProgram } from "../unit/stack-process.ts";

const STACK_MS = 90_000;

const runBench = (args: string[], env: Record<string, string> = {}) =>
  runProgram(Deno.execPath(), ["run", "-A", join(PROJECT_ROOT, "lab/bench/main.ts"), ...args], env);

const spread = z.strictObject({ median: z.number(), min: z.number(), max: z.number() });
const said = z.object({
  date: z.iso.date(),
  quick: z.literal(true),
  results: z.strictObject({
    cold: z.object({
      aims: z.array(z.object({ name: z.string(), ratio: spread, atMost: z.number() })).min(1),
      tables: z.array(z.object({ rows: z.array(z.object({ name: z.string(), cells: z.array(spread) })) })),
    }),
  }),
  failed: z.strictObject({}),
});

test("--quick --json NAME → its tables, one line of JSON last, nothing written; exit 0", async () => {
  const document = join(PROJECT_ROOT, "docs/benchmarks.md");
  const before = await Deno.readTextFile(document);
  const { code, output, lastLine } = await runBench(["--quick", "--json", "cold"]).ended;
  expect(code, output).toBe(0);
  const { cold } = said.parse(JSON.parse(lastLine)).results;
  const [answers, sizes] = cold.tables;
  for (const name of ["api", "keyframe-generate", "keyframe-replicate-webhook", "keyframe-deliver"]) {
    const [answer] = answers?.rows.find((row) => row.name === name)?.cells ?? [];
    expect(answer?.median).toBeGreaterThan(5); // ms: no process of Deno's starts in less
    const [graph, minified] = sizes?.rows.find((row) => row.name === name)?.cells ?? [];
    expect(graph?.median).toBeGreaterThan(minified?.median ?? Number.NaN);
  }
  expect(output).toContain("| from the start of its process to its first answer, ms | first answer |");
  expect(output).toMatch(/^\d+ of \d+ aims met\.$/m);
  expect(await Deno.readTextFile(document)).toBe(before);
}, 30_000);

test("--help → what there is; exit 0. An unknown name → one line; exit 1", async () => {
  const help = await runBench(["--help"]).ended;
  expect([help.code, help.output]).toEqual([0, expect.stringContaining("one of: ")]);
  const unknown = await runBench(["--json", "speed"]).ended;
  expect([unknown.code, unknown.output]).toEqual([1, expect.stringMatching(/^There is no benchmark "speed"\. .*\n$/)]);
});

/** A run with a folder for temporary files of its own, and what of the project's is left there. */
async function runWithStack() {
  const folder = await Deno.makeTempDir({ prefix: "kf-bench-test-" });
  await Deno.chmod(folder, 0o755); // Postgres runs as another user where this runs as root
  onTestFinished(() => Deno.remove(folder, { recursive: true }));
  const bench = runBench(["--quick", "--json", "memory"], { TMPDIR: folder });
  onTestFinished(() => bench.kill("SIGKILL"));
  const left = () =>
    [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.startsWith("keyframe-"));
  return { bench, left };
}

const STOPPED = { results: {}, failed: { memory: "It was asked to stop." } };

test(
  "SIGTERM while it measures → the stack stops, its data and processes are gone; exit 1",
  async () => {
    const { bench, left } = await runWithStack();
    await bench.printed("deliver sends");
    expect(left()).toContainEqual(expect.stringMatching(/^keyframe-bench-/));
    const children = await descendantsOf(bench.pid);
    expect(children.length).toBeGreaterThan(5);
    bench.kill("SIGTERM");
    const { code, output, lastLine } = await bench.ended;
    expect(code, output).toBe(1);
    expect(JSON.parse(lastLine)).toMatchObject(STOPPED);
    await allGone(children, 10);
    expect(left()).toEqual([]);
  },
  STACK_MS,
);

test(
  "SIGINT while its stack starts → the same",
  async () => {
    const { bench, left } = await runWithStack();
    await until("the stack begins to start", () => left().length > 0);
    bench.kill("SIGINT");
    const { code, output, lastLine } = await bench.ended;
    expect(code, output).toBe(1);
    expect(JSON.parse(lastLine)).toMatchObject(STOPPED);
    expect(left()).toEqual([]);
  },
  STACK_MS,
);
