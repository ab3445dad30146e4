import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, maySpend, whatToDo } from "../../tools/check-replicate/terminal.ts";
import { makeImage, waitForRun } from "../../tools/check-replicate/make-image.ts";
import type { FaultName } from "../../local/simulator/faults.ts";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { createProvider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import { imageRow } from "./models-check-fixture.ts";

let simulator: RunningSimulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.stop());

const forever = new AbortController().signal;

/** A provider whose every request passes `fetcher`, and a clock that each pause sets ahead. */
function makeSteps(fetcher: typeof fetch = fetch) {
  let time = Date.now();
  let runId: string | null = null;
  return {
    provider: createProvider({ token: simulator.token, baseUrl: simulator.apiUrl, fetch: fetcher, now: () => time }),
    outputs: { isAllowed: () => true, fetch },
    now: () => time,
    sleep: async (ms: number) => {
      time += ms;
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    onStarted: ({ id }: { id: string }) => {
      runId = id;
    },
    runId: () => runId,
  };
}

/** The output when the run has this fault. */
async function told(fault: FaultName, value?: string): Promise<string> {
  simulator.control.arm({ fault, value });
  const steps = makeSteps();
  const error: unknown = await makeImage(imageRow(), steps, forever).then(
    () => "it worked",
    (thrown: unknown) => thrown,
  );
  return whatToDo(error, { stopped: false, runId: steps.runId() });
}

describe("the output when the run is", () => {
  test.each<[FaultName, string | undefined, RegExp]>([
    ["rejected", undefined, /^The provider rejected the input\..*npm run models:check/],
    ["rate_limited", "7", /^The provider admits no more requests just now\..*Wait a minute and run it again\.$/],
    ["server_error", undefined, /not available\..*may have started a run all the same: .*replicate\.com\/predictions/],
    ["lost_answer", undefined, /could not be reached\..*may have started a run all the same/],
    ["failed", undefined, /^The run ended as failed: ./],
    ["aborted", undefined, /^The run ended as aborted/],
    ["output_expired", undefined, /no longer has the output/],
    ["output_not_image", undefined, /cannot be used: It is not a PNG, JPEG or WebP image\./],
    ["output_empty", undefined, /its output is no address/],
  ])("%s", async (fault, value, words) => {
    expect(await told(fault, value)).toMatch(words);
    simulator.control.clear();
  });
});

test("a create whose answer is lost → one run, never a second", async () => {
  const before = simulator.control.state().creates;
  const steps = makeSteps(async (input, init) => {
    await (await fetch(input, init)).body?.cancel();
    throw new TypeError("the connection broke");
  });
  await expect(makeImage(imageRow(), steps, forever)).rejects.toThrow("did not answer");
  expect(simulator.control.state().creates).toBe(before + 1);
});

test("answers that break while the run goes on → asked again, and the image comes", async () => {
  simulator.control.delays({ runMs: 30 });
  let gets = 0;
  const steps = makeSteps((input, init) => {
    if (init?.method !== "POST" && gets++ < 3)
      return Promise.resolve(new Response("", { status: gets === 1 ? 429 : 502 }));
    return fetch(input, init);
  });
  const image = await makeImage(imageRow(), steps, forever);
  simulator.control.delays({ runMs: 0 });
  expect(gets).toBeGreaterThan(3);
  expect([image.type, image.facts.width, image.bytes.byteLength > 1000]).toEqual(["image/png", 640, true]);
});

test("a run that does not end in time → cancelled, and named by its id", async () => {
  simulator.control.delays({ runMs: 3_600_000 });
  const { provider, ...steps } = makeSteps();
  const run = { model: "google/nano-banana", input: { prompt: "slow" }, cancelAfterSeconds: 300, webhook: null };
  const started = await provider.create(run, forever);
  const waiting = waitForRun(started, { provider, ...steps, maxMs: 3_000 }, forever);
  await expect(waiting).rejects.toThrow(`The run ${started.id} did not end within 3 s.`);
  simulator.control.delays({ runMs: 0 });
  expect((await provider.get(started.id, forever)).status).toBe("canceled");
});

test("the token is refused while the run goes on → reported at once, not retried", async () => {
  simulator.control.delays({ runMs: 3_600_000 });
  let gets = 0;
  const steps = makeSteps((input, init) => {
    if (init?.method === "POST") return fetch(input, init);
    gets++;
    return Promise.resolve(new Response("", { status: 401 }));
  });
  await expect(makeImage(imageRow(), steps, forever)).rejects.toThrow("401");
  simulator.control.delays({ runMs: 0 });
  expect(gets).toBe(1);
});

describe("may it cost money?", () => {
  const answering = (isAtTerminal: boolean, agrees: boolean, asked: string[] = []) => ({
    isAtTerminal: () => isAtTerminal,
    agrees: async (question: string) => asked.push(question) > 0 && agrees,
  });

  test("--yes → no question; a terminal → the answer decides, for this model", async () => {
    const asked: string[] = [];
    expect(await maySpend(true, answering(false, false, asked))("owner/name")).toBe(true);
    expect(asked).toEqual([]);
    expect(await maySpend(false, answering(true, true, asked))("owner/name")).toBe(true);
    expect(await maySpend(false, answering(true, false))("owner/name")).toBe(false);
    expect(asked).toEqual(["Run owner/name once on Replicate, at your account's expense?"]);
  });

  test.each([
    ["y\n", true],
    ["YES\n", true],
    ["\n", false],
    ["n\n", false],
    ["yesterday\n", false],
    [null, false],
  ])("%j typed → %s", async (typed, agreed) => {
    const read = async (buffer: Uint8Array) =>
      typed === null ? null : new TextEncoder().encodeInto(typed, buffer).written;
    expect(await ask("Really?", { write: () => undefined, read }, forever)).toBe(agreed);
  });

  test("stopped while it waits for the answer → no answer is needed", async () => {
    const stop = new AbortController();
    const terminal = { write: () => stop.abort(new Error("stopped")), read: () => new Promise<null>(() => undefined) };
    await expect(ask("Really?", terminal, stop.signal)).rejects.toThrow("stopped");
  });
});
