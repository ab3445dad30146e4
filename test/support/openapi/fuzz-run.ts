import fc from "fast-check";
import { inject } from "vitest";
import { checkAnswer } from "./check.ts";
import type { Place } from "./document.ts";
import { type Asker, type FuzzRequest, requestsFor, SIGNED_IN } from "./fuzz-request.ts";
import { unwatchedFetch } from "./watch.ts";

const IN_FLIGHT = 8;

export type FuzzLimits = {
  /** A request has to be answered within so long. */
  timeoutMs: number;
  /** One operation's requests, and looking for the smallest that fails, end then. */
  longestMs: number;
  /** Called with every answer. */
  onAnswer?: (milliseconds: number) => void;
};

/** How often each status came, and the report of what failed: null when nothing did. */
export type FuzzResult = { statuses: Map<number, number>; report: string | null };

type Details = fc.RunDetails<[FuzzRequest]>;

type Plan = { place: Place; runs: number; asker: Asker; token: string };

/** A report shows no more than this of a request, or of what was wrong. */
const LONGEST_TEXT = 1500;

/** Runs every plan, some side by side, and reports the outcome of each operation as soon as it has ended. */
export function runPlans(plans: Plan[], seed: number, limits: FuzzLimits): Map<string, Promise<FuzzResult>> {
  const waiting = plans.map((plan) => ({ plan, ended: Promise.withResolvers<FuzzResult>() }));
  const results = new Map(waiting.map(({ plan, ended }) => [plan.place.id, ended.promise]));
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await runPlan(next.plan, seed, limits).then(next.ended.resolve, next.ended.reject);
    }
  };
  for (let worker = 0; worker < IN_FLIGHT; worker++) void work();
  return results;
}

async function runPlan({ place, runs, asker, token }: Plan, seed: number, limits: FuzzLimits): Promise<FuzzResult> {
  const statuses = new Map<number, number>();
  const property = fc.asyncProperty(requestsFor(place, asker), async (request) => {
    const { status, faults } = await send(request, token, limits);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status >= 500) faults.push(`the status is ${status}`);
    if (faults.length > 0) throw new Error(faults.join("; "));
  });
  const details = await fc.check(property, { seed, numRuns: runs, interruptAfterTimeLimit: limits.longestMs });
  return { statuses, report: reportOf(details, runs) };
}

function reportOf(
  { failed, interrupted, numRuns, seed, counterexamplePath, counterexample, errorInstance }: Details,
  runs: number,
) {
  if (!failed)
    return numRuns === runs && !interrupted ? null : `Only ${numRuns} of ${runs} requests were made in time.`;
  const lines = [
    `Request ${numRuns}, and smaller ones after it, failed. KEYFRAME_FUZZ_SEED=${seed} sends the same again (path ${counterexamplePath}).`,
    fc.stringify(counterexample?.[0]).slice(0, LONGEST_TEXT),
    String(errorInstance).slice(0, LONGEST_TEXT),
  ];
  return lines.join("\n");
}

async function send(
  { method, path, headers: given, body }: FuzzRequest,
  token: string,
  { timeoutMs, onAnswer }: FuzzLimits,
): Promise<{ status: number; faults: string[] }> {
  const isSignedIn = given.authorization === SIGNED_IN;
  const headers = { ...given, ...(isSignedIn ? { authorization: `Bearer ${token}` } : {}) };
  const url = `${inject("stack").url}/functions/v1${path}`;
  const init = { method, headers, ...(body === undefined ? {} : { body }), signal: AbortSignal.timeout(timeoutMs) };
  const began = performance.now();
  const response = await unwatchedFetch(url, init);
  const text = await response.text();
  onAnswer?.(performance.now() - began);
  const answered = { method, path: new URL(url).pathname.slice("/functions/v1".length), status: response.status };
  return { status: response.status, faults: checkAnswer({ ...answered, headers: response.headers, text }) };
}
