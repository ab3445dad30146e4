import fc from "fast-check";
import { expect, test } from "vitest";
import { sign } from "../../shared/webhooks/signed-handler.ts";
import { eventHeaders } from "../../supabase/functions/keyframe-deliver/send/attempt.ts";
import { EVENT } from "./deliver-fixture.ts";

// That receivers can verify what is sent, with two libraries, is in test/e2e/webhooks-signed.test.ts.

const BODY = '{"data": {"title": "Käse 😀"}, "type": "project.created"}';
const makeSecret = () => `whsec_${crypto.getRandomValues(new Uint8Array(32)).toBase64()}`;

test("any secret, identifier, time and body → signed as the package standardwebhooks signs", () => {
  const key = fc.uint8Array({ minLength: 1, maxLength: 100 });
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
  // fc.string({ unit: "binary" }) is the same, but takes seconds to prepare.
  const points = fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 300 });
  const text = points.map((of) => String.fromCodePoint(...of));
  fc.assert(
    fc.property(key, fc.string(), time, text, (bytes, id, at, body) => {
      const secret = `whsec_${bytes.toBase64()}`;
      expect(eventHeaders([secret], id, new Date(at), body)).toMatchObject(sign(secret, id, new Date(at), body));
    }),
  );
});

test("three secrets → three signatures in the order of the secrets, separated by spaces", () => {
  const at = new Date();
  const secrets = [makeSecret(), makeSecret(), makeSecret()];
  const alone = secrets.map((secret) => eventHeaders([secret], EVENT, at, BODY)["webhook-signature"]);
  expect(eventHeaders(secrets, EVENT, at, BODY)["webhook-signature"]).toBe(alone.join(" "));
});

test.each([
  ["no secret", []],
  ["an empty secret", ["whsec_"]],
  ["a secret that is base64 up to a letter", [`${makeSecret().slice(0, 20)}ä${makeSecret().slice(20)}`]],
  ["a secret without its last letter", [makeSecret().slice(0, -1)]],
  ["a secret with a line's end", [`${makeSecret()}\n`]],
  ["a secret of another kind", [makeSecret().replace("whsec_", "whsk_")]],
  ["a secret beside one that cannot be read", [makeSecret(), "whsec_ä"]],
])("%s → nothing is signed, so nothing can be sent", (_what, live) => {
  expect(() => eventHeaders(live, EVENT, new Date(), BODY)).toThrow();
});
