import { expect, test } from "vitest";
import { sign } from "../../shared/webhooks/signature.ts";
import { createVerify } from "../../shared/webhooks/verify.ts";

const NOW = Date.parse("2026-01-02T03:04:05Z");
const secretOf = (bytes: Uint8Array) => `whsec_${btoa(String.fromCharCode(...bytes))}`;
const SECRET = secretOf(crypto.getRandomValues(new Uint8Array(32)));
const OTHER = secretOf(crypto.getRandomValues(new Uint8Array(32)));
const verify = createVerify(SECRET, () => NOW);
const at = (seconds: number) => new Date(NOW + seconds * 1000);

/** The headers that the package of Standard Webhooks makes, some of them replaced. */
const headersOf = (change: Record<string, string> = {}, body = "{}") =>
  new Headers({ ...sign(SECRET, "msg_1", at(0), body), ...change });
const signatureBy = (secret: string, body = "{}") => sign(secret, "msg_1", at(0), body)["webhook-signature"];

test.each([16, 24, 32, 64, 100])(
  "a secret of %i bytes, any body → what the package signs is verified",
  async (length) => {
    const secret = secretOf(crypto.getRandomValues(new Uint8Array(length)));
    for (const body of ["", "{}", "ünïcödé 🎬", "x".repeat(100_000)]) {
      const signed = new Headers(sign(secret, "msg_1", at(0), body));
      expect(await createVerify(secret, () => NOW)(signed, body)).toBe(true);
      expect(await createVerify(OTHER, () => NOW)(signed, body)).toBe(false);
      expect(await createVerify(secret, () => NOW)(signed, `${body} `)).toBe(false);
    }
  },
);

test.each([
  [-300, true],
  [-301, false],
  [300, true],
  [301, false],
])("signed %i s from now → %s", async (seconds, expected) => {
  expect(await verify(new Headers(sign(SECRET, "msg_1", at(seconds), "{}")), "{}")).toBe(expected);
});

test("another id or time than the signed one → refused", async () => {
  expect(await verify(headersOf({ "webhook-id": "msg_2" }), "{}")).toBe(false);
  expect(await verify(headersOf({ "webhook-timestamp": String(NOW / 1000 + 1) }), "{}")).toBe(false);
});

test("several signatures, as while a secret rotates → one that fits is enough, among the first ten", async () => {
  const [ours, others] = [signatureBy(SECRET), signatureBy(OTHER)];
  const accepts = (signature: string) => verify(headersOf({ "webhook-signature": signature }), "{}");
  expect(await accepts(`${others} ${ours}`)).toBe(true);
  expect(await accepts(`v1a,abc v2,${ours.slice(3)} ${ours}`)).toBe(true);
  expect(await accepts(`${`${others} `.repeat(10)}${ours}`)).toBe(false);
});

test.each(["", "v1,", "v1,abc", `v2,${"A".repeat(43)}=`, "v1,%%%", "v1"])(
  "the signature %j → refused",
  async (signature) => {
    expect(await verify(headersOf({ "webhook-signature": signature }), "{}")).toBe(false);
  },
);
