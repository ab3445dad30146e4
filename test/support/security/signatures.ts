import { createHmac } from "node:crypto";

/** What a genuine sender would send, and what somebody without the secret can know of it. */
export type Genuine = { secret: string; id: string; seconds: number; body: string };

/** Header lines, and the body where it is not the genuine one. */
export type Forged = { lines: string[]; body?: string | Uint8Array };

const keyOf = (secret: string) => Uint8Array.fromBase64(secret.slice("whsec_".length));

const digest = (key: Uint8Array | string, text: string, hash = "sha256") => createHmac(hash, key).update(text).digest();

/** The signature of these parts, as Standard Webhooks has it, without its version. */
export const signatureOf = (secret: string, id: string, seconds: number | string, body: string): string =>
  digest(keyOf(secret), `${id}.${seconds}.${body}`).toString("base64");

export const lines = (id: string | number, time: string | number, signature: string): string[] => [
  `webhook-id: ${id}`,
  `webhook-timestamp: ${time}`,
  `webhook-signature: ${signature}`,
];

type Make = (genuine: Genuine) => Forged;

/** The signature is right and is written down in another way. */
const written =
  (write: (signature: string) => string): Make =>
  ({ secret, id, seconds, body }) => ({ lines: lines(id, seconds, write(signatureOf(secret, id, seconds, body))) });

/** Signed for a time, and sent with a time, both given relative to now. */
const timed =
  (signed: (now: number) => number | string, sent: (now: number) => number | string = signed): Make =>
  ({ secret, id, seconds, body }) => ({
    lines: lines(id, sent(seconds), `v1,${signatureOf(secret, id, signed(seconds), body)}`),
  });

/** The genuine headers, and another body. */
const withBody =
  (change: (body: string) => string | Uint8Array): Make =>
  ({ secret, id, seconds, body }) => ({
    lines: lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`),
    body: change(body),
  });

const signedWith =
  (sign: (genuine: Genuine, text: string) => string): Make =>
  (genuine) => {
    const { id, seconds, body } = genuine;
    return { lines: lines(id, seconds, `v1,${sign(genuine, `${id}.${seconds}.${body}`)}`) };
  };

const WRONG = "K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=";
const same = (now: number) => now;
const bytesOf = (text: string) => new TextEncoder().encode(text);

function flipped(body: string, at: number): Uint8Array {
  const bytes = bytesOf(body);
  const index = Math.min(Math.floor(bytes.length * at), bytes.length - 1);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}

/** Each is refused with 401 wherever a signature is asked for. Beside those of test/faults/kicks.test.ts. */
export const FORGERIES: Record<string, Make> = {
  // Versions and spellings of the right signature
  "version v2": written((signature) => `v2,${signature}`),
  "version v1a": written((signature) => `v1a,${signature}`),
  "version in capitals": written((signature) => `V1,${signature}`),
  "no version": written((signature) => signature),
  "an empty version": written((signature) => `,${signature}`),
  "an equals sign instead of the comma": written((signature) => `v1=${signature}`),
  "a space behind the comma": written((signature) => `v1, ${signature}`),
  "a wrong one behind a comma": written((signature) => `v1,${signature},v1,${WRONG}`),
  "without its padding": written((signature) => `v1,${signature.replace(/=+$/, "")}`),
  "in the other alphabet": written(
    (signature) => `v1,${signature.replaceAll("+", "-").replaceAll("/", "_").replace("=", "-")}`,
  ),
  "in hexadecimal": signedWith(({ secret }, text) => digest(keyOf(secret), text).toString("hex")),
  "in small letters": written((signature) => `v1,${signature.toLowerCase()}x`),
  "its first half": written((signature) => `v1,${signature.slice(0, 22)}`),
  "one character off": written((signature) => `v1,${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`),
  "one character more": written((signature) => `v1,${signature}A`),
  "a name behind it": written((signature) => `v1,${signature};q=1`),
  "in quotation marks": written((signature) => `"v1,${signature}"`),
  "two hundred wrong ones": () => ({
    lines: lines("msg_1", Math.floor(Date.now() / 1000), Array(200).fill(`v1,${WRONG}`).join(" ")),
  }),
  // Other keys and hashes
  "HMAC with SHA-1": signedWith(({ secret }, text) => digest(keyOf(secret), text, "sha1").toString("base64")),
  "HMAC with SHA-512": signedWith(({ secret }, text) => digest(keyOf(secret), text, "sha512").toString("base64")),
  "the secret's text as key": signedWith(({ secret }, text) => digest(secret, text).toString("base64")),
  "the secret without whsec_ as key": signedWith(({ secret }, text) =>
    digest(secret.slice(6), text).toString("base64"),
  ),
  "an empty key": signedWith((_genuine, text) => digest("", text).toString("base64")),
  "a key of zeros": signedWith((_genuine, text) => digest(new Uint8Array(32), text).toString("base64")),
  "the body alone signed": signedWith(({ secret, body }) => digest(keyOf(secret), body).toString("base64")),
  "time and id the other way round": signedWith(({ secret, id, seconds, body }) =>
    digest(keyOf(secret), `${seconds}.${id}.${body}`).toString("base64"),
  ),
  // Times
  "signed 302 seconds ago": timed((now) => now - 302),
  "signed 310 seconds ahead": timed((now) => now + 310),
  "signed a day ago": timed((now) => now - 86_400),
  milliseconds: timed((now) => now * 1000),
  "the year 1970": timed(() => 0),
  "the year 33658": timed(() => 999_999_999_999),
  "a negative time": timed((now) => -now),
  "a time with a fraction": timed((now) => `${now}.5`),
  "a time with a fraction, signed without": timed(same, (now) => `${now}.5`),
  "letters behind the time": timed(same, (now) => `${now}x`),
  "a plus sign before the time": timed(same, (now) => `+${now}`),
  "an exponent": timed(same, (now) => `${now / 10}e1`),
  "a hexadecimal time": timed(same, (now) => `0x${now.toString(16)}`),
  "a date": timed(same, (now) => new Date(now * 1000).toISOString()),
  "an empty time": timed(same, () => ""),
  "another second than the signed one": timed(same, (now) => now - 1),
  "two times in one header": timed(same, (now) => `${now}, ${now}`),
  // Identifiers
  "another id": ({ secret, id, seconds, body }) => ({
    lines: lines(`${id}x`, seconds, `v1,${signatureOf(secret, id, seconds, body)}`),
  }),
  "an id that takes the time with it": ({ secret, id, seconds, body }) => ({
    lines: lines(`${id}.${seconds}`, seconds, `v1,${signatureOf(secret, id, seconds, `${seconds}.${body}`)}`),
  }),
  "an id of 300 characters, well signed": ({ secret, seconds, body }) => {
    const long = "m".repeat(300);
    return { lines: lines(long, seconds, `v1,${signatureOf(secret, long, seconds, body)}`) };
  },
  "an id with a space, well signed": ({ secret, seconds, body }) => ({
    lines: lines("msg 1", seconds, `v1,${signatureOf(secret, "msg 1", seconds, body)}`),
  }),
  "an empty id, well signed": ({ secret, seconds, body }) => ({
    lines: lines("", seconds, `v1,${signatureOf(secret, "", seconds, body)}`),
  }),
  // Headers twice
  "the signature twice, the right one first": ({ secret, id, seconds, body }) => ({
    lines: [...lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`), `webhook-signature: v1,${WRONG}`],
  }),
  "the signature twice, the right one last": ({ secret, id, seconds, body }) => ({
    lines: [`webhook-signature: v1,${WRONG}`, ...lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`)],
  }),
  "the time twice": ({ secret, id, seconds, body }) => ({
    lines: [...lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`), `webhook-timestamp: ${seconds + 1}`],
  }),
  "the id twice": ({ secret, id, seconds, body }) => ({
    lines: [...lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`), "webhook-id: msg_other"],
  }),
  "the headers of another product": ({ secret, id, seconds, body }) => ({
    lines: [
      `svix-id: ${id}`,
      `svix-timestamp: ${seconds}`,
      `svix-signature: v1,${signatureOf(secret, id, seconds, body)}`,
    ],
  }),
  "in cookies": ({ secret, id, seconds, body }) => ({
    lines: [`cookie: ${lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`).join("; ")}`],
  }),
  // Bodies: one byte, or what some reader takes for the same
  "its first byte changed": withBody((body) => flipped(body, 0)),
  "a byte in the middle changed": withBody((body) => flipped(body, 0.5)),
  "its last byte changed": withBody((body) => flipped(body, 1)),
  "its last byte missing": withBody((body) => body.slice(0, -1)),
  "a line feed behind it": withBody((body) => `${body}\n`),
  "a NUL behind it": withBody((body) => `${body}\0`),
  "a mark of byte order before it": withBody((body) => `\ufeff${body}`),
  "the same JSON with a space": withBody((body) => body.replace("{", "{ ")),
  "twice the same": withBody((body) => body + body),
  "another object": withBody(() => '{"id":"mine","status":"succeeded"}'),
  nothing: withBody(() => ""),
  "a form": ({ secret, id, seconds, body }) => ({
    lines: [
      ...lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`),
      "content-type: application/x-www-form-urlencoded",
    ],
    body: `payload=${encodeURIComponent(body)}`,
  }),
};
