import { createHmac } from "node:crypto";

/** What a genuine sender would send, and what somebody without the secret can know of it. */
type Genuine = { secret: string; id: string; seconds: number; body: string };

/** Header lines, and the body where it is not the genuine one. */
type Forged = { lines: string[]; body?: string | Uint8Array };

const keyOf = (secret: string) => Uint8Array.fromBase64(secret.slice("whsec_".length));

const digest = (key: Uint8Array | string, text: string, hash = "sha256") => createHmac(hash, key).update(text).digest();

/** The signature of these parts, as Standard Webhooks has it, without its version. */
const signatureOf = (secret: string, id: string, seconds: number | string, body: string): string =>
  digest(keyOf(secret), `${id}.${seconds}.${body}`).toString("base64");

const lines = (id: string, time: string | number, signature: string): string[] => [
  `webhook-id: ${id}`,
  `webhook-timestamp: ${time}`,
  `webhook-signature: ${signature}`,
];

/** The header lines of a genuine sender. */
export const signed = ({ secret, id, seconds, body }: Genuine): string[] =>
  lines(id, seconds, `v1,${signatureOf(secret, id, seconds, body)}`);

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

/** Well signed under an id of this shape. */
const named =
  (id: string): Make =>
  (genuine) => ({ lines: signed({ ...genuine, id }) });

/** The genuine lines, changed or with more. */
const sent =
  (change: (given: string[], genuine: Genuine) => string[]): Make =>
  (genuine) => ({ lines: change(signed(genuine), genuine) });

/** The genuine headers, and another body. */
const withBody =
  (change: (body: string) => string | Uint8Array): Make =>
  (genuine) => ({ lines: signed(genuine), body: change(genuine.body) });

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

/** Each is refused with 401 wherever a signature is asked for. */
export const FORGERIES: Record<string, Make> = {
  "no signature": sent((given) => given.slice(0, 2)),
  // Versions and spellings of the right signature
  "version v2": written((signature) => `v2,${signature}`),
  "no version": written((signature) => signature),
  "a wrong one behind a comma": written((signature) => `v1,${signature},v1,${WRONG}`),
  "without its padding": written((signature) => `v1,${signature.replace(/=+$/, "")}`),
  "more behind it": written((signature) => `v1,${signature}A`),
  "its first half": written((signature) => `v1,${signature.slice(0, 22)}`),
  "one character off": written((signature) => `v1,${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`),
  "two hundred wrong ones": written(() => Array(200).fill(`v1,${WRONG}`).join(" ")),
  // Other keys and hashes
  "HMAC with SHA-512": signedWith(({ secret }, text) => digest(keyOf(secret), text, "sha512").toString("base64")),
  "the secret's text as key": signedWith(({ secret }, text) => digest(secret, text).toString("base64")),
  "an empty key": signedWith((_genuine, text) => digest("", text).toString("base64")),
  "the body alone signed": signedWith(({ secret, body }) => digest(keyOf(secret), body).toString("base64")),
  // Times
  "signed 302 seconds ago": timed((now) => now - 302),
  "signed 310 seconds ahead": timed((now) => now + 310),
  milliseconds: timed((now) => now * 1000),
  "a time with a fraction, signed without": timed(same, (now) => `${now}.5`),
  "letters behind the time": timed(same, (now) => `${now}x`),
  "an empty time": timed(same, () => ""),
  "another second than the signed one": timed(same, (now) => now - 1),
  "two times in one header": timed(same, (now) => `${now}, ${now}`),
  // Identifiers
  "another id": sent(([id, ...rest]) => [`${id}x`, ...rest]),
  "an id that takes the time with it": ({ secret, id, seconds, body }) => ({
    lines: lines(`${id}.${seconds}`, seconds, `v1,${signatureOf(secret, id, seconds, `${seconds}.${body}`)}`),
  }),
  "an id of 300 characters, well signed": named("m".repeat(300)),
  "an id with a space, well signed": named("msg 1"),
  "an empty id, well signed": named(""),
  // Headers twice
  "the signature twice, the right one first": sent((given) => [...given, `webhook-signature: v1,${WRONG}`]),
  "the signature twice, the right one last": sent((given) => [`webhook-signature: v1,${WRONG}`, ...given]),
  "the time twice": sent((given, { seconds }) => [...given, `webhook-timestamp: ${seconds + 1}`]),
  "the id twice": sent((given) => [...given, "webhook-id: msg_other"]),
  "the headers of another product": sent((given) => given.map((line) => line.replace("webhook-", "svix-"))),
  "in cookies": sent((given) => [`cookie: ${given.join("; ")}`]),
  // Bodies: one byte, or what some reader takes for the same
  "a byte in the middle changed": withBody((body) => flipped(body, 0.5)),
  "its last byte missing": withBody((body) => body.slice(0, -1)),
  "a NUL behind it": withBody((body) => `${body}\0`),
  "a mark of byte order before it": withBody((body) => `\ufeff${body}`),
  "the same JSON with a space": withBody((body) => body.replace("{", "{ ")),
  nothing: withBody(() => ""),
  "a form": (genuine) => ({
    lines: [...signed(genuine), "content-type: application/x-www-form-urlencoded"],
    body: `payload=${encodeURIComponent(genuine.body)}`,
  }),
};
