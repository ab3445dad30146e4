import { expect, test } from "vitest";
import { measureFunctionSize } from "../../lab/bench/cold/measure-function.ts";
import { cpuOfProcess, residentMb, watchMemory } from "../../lab/bench/memory/process-usage.ts";
import { until } from "../support/until.ts";

/** A process id that no process has: Linux gives none above this. */
const NOBODY = 2 ** 22 + 1;

test("the processor time of a process → grows while it works; 0 of one that is not there", async () => {
  const before = await cpuOfProcess(Deno.pid);
  const grown = async () => (await cpuOfProcess(Deno.pid)) - before;
  const begun = performance.now();
  await until("60 ms of work are seen", async () => {
    for (const end = performance.now() + 20; performance.now() < end; );
    return (await grown()) >= 60;
  });
  expect(await grown()).toBeLessThan(20 * (performance.now() - begun)); // ms, of some threads at most
  expect(await cpuOfProcess(NOBODY)).toBe(0);
});

test("memory watched → its most, also of what is gone again", async () => {
  const seen: number[] = [];
  const watch = watchMemory(7, async (pid) => {
    seen.push(pid);
    return seen.length === 2 ? 90 : 20;
  });
  await until("it has looked four times", () => seen.length >= 4);
  expect(await watch.stop()).toBe(90);
  expect(new Set(seen)).toEqual(new Set([7]));
});

test("memory watched of a process that is gone → reported when the watch is stopped", async () => {
  const watch = watchMemory(7, () => Promise.reject(new Error("Process 7 is gone.")));
  await expect(watch.stop()).rejects.toThrow("Process 7 is gone.");
});

test("what a process holds → in MB; of one that is not there → an error", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `const taken = new Uint8Array(80_000_000).fill(1);
       console.log("taken");
       for await (const _ of Deno.stdin.readable);
       console.log(taken.length);`,
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  const held = await residentMb(child.pid);
  expect(held).toBeGreaterThan(100); // 80 MB and the runtime
  expect(held).toBeLessThan(400);
  await child.stdin.close();
  await reader.cancel();
  await child.status;
  await expect(residentMb(child.pid)).rejects.toThrow();
});

test("the size of a function → all modules it imports, and less of them bundled; next to nothing of an empty one", async () => {
  const bare = await measureFunctionSize("lab/bench/cold/bare/index.ts");
  expect(bare.graph).toBeGreaterThan(500);
  expect(bare.minified).toBeLessThan(bare.graph / 2);
  const empty = await measureFunctionSize("lab/bench/cold/empty/index.ts");
  expect(empty.graph).toBeLessThan(1);
  expect(empty.minified).toBeLessThan(empty.graph);
});

test("the size of api → counts what is loaded only when openapi.json is asked for", async () => {
  const [api, document] = await Promise.all(
    ["supabase/functions/api/index.ts", "shared/contract/openapi/index.ts"].map(measureFunctionSize),
  );
  expect(api?.graph).toBeGreaterThan(document?.graph ?? Number.NaN);
  expect(api?.minified).toBeGreaterThan(document?.minified ?? Number.NaN);
});
