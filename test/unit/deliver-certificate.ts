/** DER, the encoding of certificates: a tag, the length, the content. */
function der(tag: number, ...parts: (Uint8Array | number[])[]): Uint8Array {
  const content = parts.flatMap((part) => [...part]);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Uint8Array.from([tag, ...size, ...content]);
}
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const text = (tag: number, value: string) => der(tag, new TextEncoder().encode(value));

/** A positive integer: no needless zeros before it, and one where its first bit would make it negative. */
function integer(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(start);
  return der(0x02, (digits[0] ?? 0) > 127 ? [0, ...digits] : digits);
}

const ECDSA_WITH_SHA256 = sequence(der(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]));
const COMMON_NAME = der(0x06, [0x55, 0x04, 0x03]);
const ALTERNATIVE_NAMES = der(0x06, [0x55, 0x1d, 0x11]);
const DNS_NAME = 0x82;

const pem = (label: string, bytes: Uint8Array) =>
  `-----BEGIN ${label}-----\n${bytes.toBase64()}\n-----END ${label}-----\n`;

/** A self-signed certificate for a host name, with its key, in PEM. Made for each run: none expires in the repository. */
export async function makeCertificate(host: string, until = "20991231235959Z"): Promise<{ key: string; cert: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const name = sequence(der(0x31, sequence(COMMON_NAME, text(0x0c, host))));
  const names = der(0x04, sequence(text(DNS_NAME, host)));
  const body = sequence(
    der(0xa0, integer(Uint8Array.of(2))), // version 3
    integer(Uint8Array.of(1, ...crypto.getRandomValues(new Uint8Array(8)))),
    ECDSA_WITH_SHA256,
    name,
    sequence(text(0x18, "20200101000000Z"), text(0x18, until)),
    name,
    new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey)),
    der(0xa3, sequence(sequence(ALTERNATIVE_NAMES, names))),
  );
  const signature = new Uint8Array(
    await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, Uint8Array.from(body)),
  );
  const signatureDer = sequence(integer(signature.subarray(0, 32)), integer(signature.subarray(32)));
  const key = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  return {
    key: pem("PRIVATE KEY", key),
    cert: pem("CERTIFICATE", sequence(body, ECDSA_WITH_SHA256, der(0x03, [0], signatureDer))),
  };
}
