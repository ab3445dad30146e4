import { expect, test, vi } from "vitest";
import { type BenchStack, type OpenBenchStack, SharedStack } from "../../lab/bench/stack.ts";
import type { Benchmark, BenchContext, Result } from "../../lab/bench/benchmark.ts";
import { runBenchmarks } from "../../lab/bench/run-benchmarks.ts";

const RESULT: Result = { tables: [], aims: [] };

const benchmark = (name: string, run: (context: BenchContext) => Promise<Result>): Benchmark => ({
  name,
  title: name,
  work: "",
  run,
});

/** Stacks that are only counted, and what became of them. */
function scene() {
  const log: string[] = [];
  let made = 0;
  const start = async (): Promise<OpenBenchStack> => {
    const id = `stack ${++made}`;
    log.push(`${id} starts`);
    // Nobody here asks the stack for anything.
    return { stack: { url: id } as BenchStack, end: async () => void log.push(`${id} ends`) };
  };
  const stop = new AbortController();
  const results: string[] = [];
  const run = (benchmarks: Benchmark[]) =>
    runBenchmarks(benchmarks, {
      quick: true,
      shared: new SharedStack(start),
      startOwn: start,
      signal: stop.signal,
      graceMs: 20,
      onResult: async ({ name }) => void results.push(name),
    });
  return { log, stop, results, run };
}

test("benchmarks that ask for the shared stack → one for all; one of its own ends with its benchmark", async () => {
  const { log, run, results } = scene();
  const shares = benchmark("shares", async ({ stack }) => {
    log.push(`shares ${(await stack()).url}`);
    return RESULT;
  });
  const owns = benchmark("owns", async ({ ownStack }) => {
    log.push(`owns ${(await ownStack()).url}`);
    return RESULT;
  });
  const also = { ...shares, name: "also" };
  expect(await run([shares, owns, also])).toEqual({
    results: { shares: RESULT, owns: RESULT, also: RESULT },
    failed: {},
  });
  expect(results).toEqual(["shares", "owns", "also"]);
  expect(log).toEqual([
    "stack 1 starts",
    "shares stack 1",
    "stack 2 starts",
    "owns stack 2",
    "stack 2 ends",
    "shares stack 1",
  ]);
});

test("one that fails → its name and why; the others' results are there, from a shared stack that is new", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { log, run } = scene();
  const uses = async ({ stack }: BenchContext) => void (await stack());
  const works = async (context: BenchContext) => {
    await uses(context);
    return RESULT;
  };
  const before = benchmark("before", works);
  const fails = benchmark("fails", async (context) => {
    await uses(context);
    throw new Error("3 of 4\n came.");
  });
  const after = benchmark("after", works);
  expect(await run([before, fails, after])).toEqual({
    results: { before: RESULT, after: RESULT },
    failed: { fails: "3 of 4 came." },
  });
  expect(log).toEqual(["stack 1 starts", "stack 1 ends", "stack 2 starts"]);
});

test("an unhandled rejection of a benchmark → that one has failed, and only that one", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { run } = scene();
  // The event that Deno sends; a real rejection would end the test run.
  const event = new PromiseRejectionEvent("unhandledrejection", {
    promise: Promise.resolve(),
    reason: new Error("lost"),
    cancelable: true,
  });
  const stray = benchmark("stray", () => {
    queueMicrotask(() => globalThis.dispatchEvent(event));
    return new Promise<Result>(() => undefined);
  });
  const outcome = await run([stray, benchmark("next", async () => RESULT)]);
  expect(outcome).toEqual({ results: { next: RESULT }, failed: { stray: "lost" } });
  expect(event.defaultPrevented).toBe(true);
});

test("a stop → the benchmark under way loses its stacks and ends; those behind it do not begin", async () => {
  const { log, stop, run } = scene();
  const begun = Promise.withResolvers<void>();
  const long = benchmark("long", async ({ stack, ownStack }) => {
    await stack();
    await ownStack();
    begun.resolve();
    await new Promise((_, reject) =>
      stop.signal.addEventListener("abort", () => setTimeout(() => reject(new Error("gone")))),
    );
    return RESULT;
  });
  const never = benchmark("never", () => Promise.reject(new Error("It began.")));
  const running = run([long, never]);
  await begun.promise;
  stop.abort(new Error("It was asked to stop."));
  expect(await running).toEqual({ results: {}, failed: { long: "It was asked to stop." } });
  expect(log.toSorted()).toEqual(["stack 1 ends", "stack 1 starts", "stack 2 ends", "stack 2 starts"]);
});

test("a result that cannot be written → failed, and kept", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const outcome = await runBenchmarks([benchmark("api", async () => RESULT)], {
    quick: false,
    shared: new SharedStack(() => Promise.reject(new Error("not asked for"))),
    startOwn: () => Promise.reject(new Error("not asked for")),
    signal: new AbortController().signal,
    onResult: () => Promise.reject(new Error("docs/benchmarks.md has no section for api")),
  });
  expect(outcome).toEqual({ results: { api: RESULT }, failed: { api: "docs/benchmarks.md has no section for api" } });
});
