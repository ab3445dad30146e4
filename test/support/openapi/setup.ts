import { afterAll, afterEach, expect } from "vitest";
import { takeFaults, watchFetch } from "./watch.ts";

// These stand a server of their own in the API's place, to see what a client or the gateway makes of its answers.
const WITH_A_STAND_IN = /\/test\/unit\/(client\/|local\/platform-)/;

/** A setup file: every answer of the API that a test gets has to be as openapi.json has it, or the test fails. */
const stop = WITH_A_STAND_IN.test(expect.getState().testPath ?? "") ? () => {} : watchFetch();

const MAX_SHOWN = 5;

async function throwFaults(): Promise<void> {
  const faults = await takeFaults();
  if (faults.length === 0) return;
  const more = faults.length > MAX_SHOWN ? [`… and ${faults.length - MAX_SHOWN} more`] : [];
  throw new Error(["Not as openapi.json has it:", ...faults.slice(0, MAX_SHOWN), ...more].join("\n  "));
}

afterEach(throwFaults);
afterAll(async () => {
  stop();
  await throwFaults();
});
