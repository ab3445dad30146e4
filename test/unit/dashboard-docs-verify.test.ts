import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { VERIFY_CODE } from "../../dashboard/src/docs/verify-code.ts";

const WEBHOOK_SECRET = `whsec_${btoa("a secret of a receiver, in base64")}`;
const body = JSON.stringify({ type: "webhook.test" });

function headersFor(signed: string): Record<string, string> {
  const now = new Date();
  return {
    "webhook-id": "1",
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(WEBHOOK_SECRET).sign("1", now, signed),
  };
}

/** The shown lines, without the import, as they would run in a receiver. */
function verify(headers: Record<string, string>): unknown {
  const lines = VERIFY_CODE.split("\n");
  expect(lines[0]).toMatch(/^import \{ Webhook \} from "standardwebhooks";/);
  const run = new Function("Webhook", "process", "rawBody", "request", `${lines.slice(1).join("\n")}\nreturn event;`);
  return run(Webhook, { env: { WEBHOOK_SECRET } }, body, { headers });
}

test("the shown lines, with a signed body → the event", () => {
  expect(verify(headersFor(body))).toEqual({ type: "webhook.test" });
});

test("the shown lines, with the signature of another body → they throw", () => {
  expect(() => verify(headersFor("{}"))).toThrow("signature");
});
