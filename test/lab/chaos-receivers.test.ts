import { afterAll, beforeAll, expect, test } from "vitest";
import { Receivers } from "../../lab/chaos/receivers.ts";
import { sign } from "../../shared/webhooks/signature.ts";

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY = JSON.stringify({ type: "project.created", data: {} });

const receivers = new Receivers();
beforeAll(() => receivers.open());
afterAll(() => receivers.close());

/** Sends an event that was signed so many minutes ago; the status of the answer. */
async function send(minutesAgo: number, hook = "hook"): Promise<number> {
  const headers = sign(SECRET, "event", new Date(Date.now() - minutesAgo * 60_000), BODY);
  const response = await fetch(receivers.urlOf(hook), { method: "POST", headers, body: BODY });
  await response.body?.cancel();
  return response.status;
}

test("signed with a secret that is learned only at the end, long after → taken; with one that never is → forged", async () => {
  // Minutes pass before the end of a run; here the signature is that old from the beginning.
  expect(await send(6)).toBe(204);
  receivers.know("hook", [SECRET]);
  expect(receivers.forged()).toEqual([]);
  expect(receivers.received.get("hook event")).toMatchObject({ valid: 1, stale: 0, taken: 1 });
  // Once it is known, a clock that is off is refused.
  expect(await send(6)).toBe(400);
  expect(receivers.received.get("hook event")).toMatchObject({ valid: 2, stale: 1, taken: 1 });

  await send(0, "another hook");
  expect(receivers.forged()).toHaveLength(1);
});
