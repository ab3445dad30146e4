import { afterEach, beforeEach, expect, test } from "vitest";
import { Receivers } from "../../lab/chaos/receivers.ts";
import { sign } from "../../shared/webhooks/signature.ts";

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY = JSON.stringify({ type: "project.created", data: {} });

let receivers: Receivers;
beforeEach(async () => {
  receivers = new Receivers();
  await receivers.open();
});
afterEach(() => receivers.close());

/** Sends an event that was signed so many minutes ago; the status of the answer. */
async function send(minutesAgo: number): Promise<number> {
  const headers = sign(SECRET, "event", new Date(Date.now() - minutesAgo * 60_000), BODY);
  const response = await fetch(receivers.urlOf("hook"), { method: "POST", headers, body: BODY });
  await response.body?.cancel();
  return response.status;
}

test("signed with a secret that is learned only at the end, long after → taken, for it was answered 2xx", async () => {
  // Minutes pass before the end of a run; here the signature is that old from the beginning.
  expect(await send(6)).toBe(204);
  receivers.know("hook", [SECRET]);
  expect(receivers.forged()).toEqual([]);
  expect(receivers.received.get("hook event")).toMatchObject({ valid: 1, stale: 0, taken: 1 });
});

test("signed with a known secret by a clock that is off → refused, and not taken", async () => {
  receivers.know("hook", [SECRET]);
  expect(await send(6)).toBe(400);
  expect(receivers.received.get("hook event")).toMatchObject({ valid: 1, stale: 1, taken: 0 });
});

test("signed with a secret that is never learned → forged", async () => {
  await send(0);
  expect(receivers.forged()).toHaveLength(1);
  expect(receivers.received.size).toBe(0);
});
