import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sign } from "../../shared/webhooks/signature.ts";
import { eventHeaders } from "../../supabase/functions/keyframe-deliver/send/event-headers.ts";
import { EVENT } from "./deliver-fixture.ts";

const BODY = '{"data": {"title": "Käse 😀"}, "type": "project.created"}';
const makeSecret = () => `whsec_${crypto.getRandomValues(new Uint8Array(32)).toBase64()}`;
const secrets = [makeSecret(), makeSecret(), makeSecret()];

const LIBRARIES = {
  standardwebhooks: (secret: string, headers: Record<string, string>, body: string) =>
    new Standard(secret).verify(body, headers),
  svix: (secret: string, headers: Record<string, string>, body: string) => new Svix(secret).verify(body, headers),
};

describe.each(Object.entries(LIBRARIES))("a receiver that verifies with %s", (_library, verify) => {
  test.each([1, 2, 3])("%i live secrets → the body verifies with each of them, and with no other", (count) => {
    const live = secrets.slice(0, count);
    const headers = eventHeaders(live, EVENT, new Date(), BODY);
    for (const secret of live) expect(() => verify(secret, headers, BODY)).not.toThrow();
    for (const other of [...secrets.slice(count), makeSecret()]) {
      expect(() => verify(other, headers, BODY)).toThrow();
    }
  });

  test("another body, identifier or time than was signed → refused", () => {
    const headers = eventHeaders(secrets, EVENT, new Date(), BODY);
    const earlier = String(Number(headers["webhook-timestamp"]) - 1);
    expect(() => verify(secrets[0] ?? "", headers, BODY.replace("created", "deleted"))).toThrow();
    expect(() => verify(secrets[0] ?? "", { ...headers, "webhook-id": "other" }, BODY)).toThrow();
    expect(() => verify(secrets[0] ?? "", { ...headers, "webhook-timestamp": earlier }, BODY)).toThrow();
  });

  test("an attempt of six minutes ago, sent again → refused", () => {
    const headers = eventHeaders(secrets, EVENT, new Date(Date.now() - 360_000), BODY);
    expect(() => verify(secrets[0] ?? "", headers, BODY)).toThrow();
  });
});

test("any secret, identifier, time and body → signed as the package standardwebhooks signs", () => {
  const key = fc.uint8Array({ minLength: 1, maxLength: 100 });
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
  const text = fc.string({ unit: "binary", maxLength: 300 });
  fc.assert(
    fc.property(key, fc.string(), time, text, (bytes, id, at, body) => {
      const secret = `whsec_${bytes.toBase64()}`;
      expect(eventHeaders([secret], id, new Date(at), body)).toMatchObject(sign(secret, id, new Date(at), body));
    }),
  );
});

test("two attempts of an event → the same identifier, each its own time and signature", () => {
  const [first, second] = [1_770_000_000_000, 1_770_000_005_000].map((at) =>
    eventHeaders(secrets.slice(0, 1), EVENT, new Date(at), BODY),
  );
  expect([first?.["webhook-id"], second?.["webhook-id"]]).toEqual([EVENT, EVENT]);
  expect([first?.["webhook-timestamp"], second?.["webhook-timestamp"]]).toEqual(["1770000000", "1770000005"]);
  expect(first?.["webhook-signature"]).not.toBe(second?.["webhook-signature"]);
});

test("three secrets → three signatures in the order of the secrets, separated by spaces", () => {
  const at = new Date();
  const alone = secrets.map((secret) => eventHeaders([secret], EVENT, at, BODY)["webhook-signature"]);
  expect(eventHeaders(secrets, EVENT, at, BODY)["webhook-signature"]).toBe(alone.join(" "));
});

test.each([
  ["no secret", []],
  ["a secret that is not base64", ["whsec_ä"]],
  ["an empty secret", ["whsec_"]],
  ["a secret that is base64 up to a letter", [`${makeSecret().slice(0, 20)}ä${makeSecret().slice(20)}`]],
  ["a secret without its last letter", [makeSecret().slice(0, -1)]],
  ["a secret with a line's end", [`${makeSecret()}\n`]],
  ["a secret of another kind", [makeSecret().replace("whsec_", "whsk_")]],
  ["a secret beside one that cannot be read", [makeSecret(), "whsec_ä"]],
])("%s → nothing is signed, so nothing can be sent", (_what, live) => {
  expect(() => eventHeaders(live, EVENT, new Date(), BODY)).toThrow();
});
