import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { runCommand } from "../support/tools/run-command.ts";

// Each benchmark starts a stack, which takes a minute where the machine is busy.
vi.setConfig({ testTimeout: 240_000 });

const readPage = (path: string) => Deno.readTextFile(join(PROJECT_ROOT, path));

test("--quick and three names → their aims and a shot, nothing written; exit 0", async () => {
  const before = await readPage("docs/benchmarks.md");
  const { code, output } = await runCommand("lab/bench/main.ts", ["--quick", "flow", "cold", "shot"]).ended;
  expect(code, output).toBe(0);
  for (const name of ["api", "keyframe-generate", "keyframe-replicate-webhook", "keyframe-deliver"])
    expect(output).toMatch(
      new RegExp(`^\\| first answer of ${name} in ms ÷ the bare function's \\| [\\d.,]{2,} ÷ `, "m"),
    );
  for (const other of ["DBOS'", "the written function's"])
    expect(output).toMatch(new RegExp(`^\\| 6 at once: per second ÷ ${other} \\| [\\d.,]+ ÷ [\\d.,]+ \\|`, "m"));
  // One call creates, three start, and each start is read once at least.
  const [, api = "", kicks = "", callbacks = "", deliveries, usd] =
    /^\| Keyframe \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|$/m.exec(output) ?? [];
  expect(Number(api)).toBeGreaterThan(6);
  expect(Number(kicks)).toBeGreaterThan(0);
  expect(Number(callbacks)).toBeGreaterThanOrEqual(6); // the start and the end of each
  expect([deliveries, usd]).toEqual(["4", "0.974"]);
  expect(output).toMatch(/^\d+ of 12 aims met\.$/m);
  expect(await readPage("docs/benchmarks.md")).toBe(before);
});

test("npm run bench --against a commit → figures of both versions and their ratio; its folder is removed; exit 0", async () => {
  const folders = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("keyframe-version-"));
  const before = await folders();
  const { code, output } = await runCommand("lab/bench/main.ts", ["--quick", "--against", "HEAD", "beside-retries"])
    .ended;
  expect(code, output).toBe(0);
  for (const name of ["500 events at once: ms", "one event in a row: ms (p50)"])
    expect(output).toMatch(new RegExp(`^\\| ${RegExp.escape(name)} \\| [\\d.,]+ ÷ [\\d.,]+ \\| [\\d.]+ \\|`, "m"));
  expect(await folders()).toEqual(before);
});
