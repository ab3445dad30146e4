import fc from "fast-check";
import { type Example, findPlace, follow, lookUp, type Parameter, type Place } from "./document.ts";

export type FuzzRequest = {
  method: string;
  /** With its query, below /functions/v1. */
  path: string;
  headers: Record<string, string>;
  /** Undefined: no body at all. */
  body: string | Uint8Array<ArrayBuffer> | undefined;
};

/** What stands for the caller's token, which is not for a report. */
export const SIGNED_IN = "Bearer <token>";

/** A server takes no address longer than some kilobytes; what is beyond never reaches the service. */
const LONGEST_QUERY = 4000;

const METHODS = ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"];
const SEGMENTS = ["%00", "%ff", "%", "%2e%2e", "..%2f..", "null", "-1", "a%20b", "%F0%9F%98%80", "*", ";", "{id}"];
const TYPES = ["application/json; charset=utf-8", "application/json;charset=latin1", "text/plain", "image/png", ";"];
const UPLOADS = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "application/octet-stream",
  "multipart/form-data; boundary=x",
];
const TOKENS = ["", "Bearer", "Bearer x", "Bearer a.b.c", "Basic dTpw", "Bearer eyJhbGciOiJub25lIn0.e30."];
/** JSON as text: `1e400`, `-0` and a name twice do not survive as values. */
const NUMBERS = [
  "-0",
  "0",
  "1",
  "-1",
  "0.5",
  "61",
  "1e400",
  "-1e400",
  "1e-400",
  "9007199254740993",
  "1E+2",
  "2147483648",
];
const STRINGS = ["", " ", "\0", "a\0b", "\ud800", "\udc00x", "\u202e", "e\u0301", "👩‍👩‍👧‍👦", "%00", "'; --", "null"];
const NAMES = ["__proto__", "constructor", "prototype", "toString", "", "\0", "ownerId", "id", "status"];
/** How images of each kind begin. */
const IMAGES = [
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52],
  [0xff, 0xd8, 0xff, 0xe0],
  [0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x20],
];

const often = <Value>(weight: number, arbitrary: fc.Arbitrary<Value>) => ({ weight, arbitrary });
/** A value that is there once in `times`. */
const seldom = (value: fc.Arbitrary<string>, times = 16) =>
  fc.oneof(often(times - 1, fc.constant(undefined)), often(1, value));

const longString = fc
  .tuple(
    fc.constantFrom("x", "é", "😀", "\n", "\ud83d"),
    fc.constantFrom(199, 200, 201, 500, 501, 2048, 4000, 4001, 9000),
  )
  .map(([unit, length]) => unit.repeat(length));
const deep = fc
  .tuple(fc.constantFrom(["[", "]"], ['{"a":', "}"]), fc.constantFrom(10, 200, 5000, 10_000))
  .map(([[open = "", close = ""], depth]) => `${open.repeat(depth)}1${close.repeat(depth)}`);
/** Text of whatever kind: every plane of Unicode, halves of characters, NUL. */
const anyString = fc.oneof(
  // fc.string({ unit: "binary" }) is the same, but takes seconds to prepare.
  fc.array(fc.integer({ min: 0, max: 0x10ffff })).map((points) => String.fromCodePoint(...points)),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(...STRINGS),
  longString,
);
/** JSON of whatever kind. */
const anyJson = fc.oneof(
  often(
    3,
    fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  ),
  often(2, fc.constantFrom(...NUMBERS)),
  often(
    3,
    anyString.map((text) => JSON.stringify(text)),
  ),
  often(2, fc.constantFrom("null", "true", "[]", "{}", '{"__proto__":{"polluted":true}}', "[null]")),
  often(1, deep),
);

/** Names with values, each as text; a name may come twice. */
type Entries = [name: string, text: string][];

/** The entries with so many changes, each at a place of its own. */
function changed(entries: Entries, values: fc.Arbitrary<string>, names: string[], most: number): fc.Arbitrary<Entries> {
  const change = fc.record({
    kind: fc.constantFrom("replace", "drop", "add", "repeat", "rename"),
    at: fc.nat(10),
    name: fc.oneof(fc.constantFrom(...NAMES, ...names), anyString),
    text: values,
  });
  return fc.array(change, { maxLength: most, size: "max" }).map((changes) => {
    const result = [...entries];
    for (const { kind, at, name, text } of changes) {
      const index = result.length === 0 ? 0 : at % result.length;
      const [ownName, ownText] = result[index] ?? [name, text];
      if (kind === "replace") result[index] = [ownName, text];
      else if (kind === "drop") result.splice(index, 1);
      else if (kind === "add") result.push([name, text]);
      else if (kind === "repeat") result.push([ownName, text]);
      else result[index] = [name, ownText];
    }
    return result;
  });
}

/** The request of an example as it stands. */
export function plainRequest(place: Place, example: Example, image: Uint8Array<ArrayBuffer>): FuzzRequest {
  const { method, template, described } = place;
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => example.path?.[name] ?? "");
  const content = described.requestBody?.content ?? {};
  const [type, body] =
    "image/png" in content ? ["image/png", image] : ["application/json", JSON.stringify(example.body)];
  const query = example.query === undefined ? "" : `?${new URLSearchParams(example.query)}`;
  return { method, path: path + query, headers: { authorization: SIGNED_IN, "content-type": type }, body };
}

/** Requests of every kind for an operation: examples that succeed, most with some changes, and some of no sense. */
export function requestsFor(
  place: Place,
  examples: Example[],
  image: Uint8Array<ArrayBuffer>,
): fc.Arbitrary<FuzzRequest> {
  const parameters = (place.described.parameters ?? []).map(
    (_, index) => lookUp(follow(`${place.pointer}/parameters/${index}`)) as Parameter, // that is what stands there
  );
  const inQuery = parameters.filter((one) => one.in === "query").map(({ name }) => name);
  // What another method of the path does, that the caller's own requests try: here it would delete what the others ask for.
  const wrong = METHODS.filter((method) => findPlace(method, place.template) === undefined);
  return fc.constantFrom(...examples).chain(({ path = {}, query = {}, body }) =>
    fc
      .record({
        method: fc.oneof(often(40, fc.constant(place.method)), often(1, fc.constantFrom(...wrong))),
        path: pathOf(place, path),
        query: queryOf(Object.entries(query), inQuery),
        headers: headersOf(place),
        body: bodyOf(place, body, image),
      })
      .map(({ method, path, query, headers, body }) => ({
        method,
        path: `${path}${query}`,
        headers,
        body: method === "GET" || method === "HEAD" ? undefined : body,
      })),
  );
}

function pathOf({ template }: Place, values: Record<string, string>): fc.Arbitrary<string> {
  const segments = template.split("/").map((segment) => {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined) return fc.constant(segment);
    const arbitrary = anyString.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 2000));
    return fc.oneof(
      often(16, fc.constant(values[name] ?? "")),
      often(2, fc.uuid()),
      often(2, fc.oneof(arbitrary, fc.constantFrom(...SEGMENTS))),
    );
  });
  return fc.tuple(...segments).map((parts) => parts.join("/"));
}

function queryOf(own: Entries, names: string[]): fc.Arbitrary<string> {
  const written = (entries: Entries) => {
    const text = String(new URLSearchParams(entries)).slice(0, LONGEST_QUERY);
    return text === "" ? "" : `?${text}`;
  };
  const values = fc.oneof(anyString, fc.constantFrom(...NUMBERS));
  return fc.oneof(
    often(16, fc.constant(written(own))),
    often(names.length > 0 ? 8 : 1, changed(own, values, names, 3).map(written)),
    often(1, fc.constantFrom("?", "?%ff", "?limit=%zz", "?&&=", "?limit=1&limit=2")),
  );
}

function bodyOf(
  { described }: Place,
  body: unknown,
  image: Uint8Array<ArrayBuffer>,
): fc.Arbitrary<FuzzRequest["body"]> {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => new Uint8Array(array));
  const none = fc.constant(undefined);
  const content = described.requestBody?.content;
  if (content === undefined) return fc.oneof(often(9, none), often(1, anyJson));
  if (content["application/json"] === undefined) {
    const imageLike = fc
      .tuple(fc.constantFrom(...IMAGES), bytes)
      .map(([start, rest]) => new Uint8Array([...start, ...rest]));
    return fc.oneof(often(4, imageLike), often(4, fc.oneof(bytes, anyJson, none, fc.constant(image))));
  }
  const fit = JSON.stringify(body ?? {});
  const entries: Entries = Object.entries(body ?? {}).map(([name, value]) => [name, JSON.stringify(value)]);
  const written = (all: Entries) => `{${all.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
  const cut = fc.nat(50).map((at) => fit.slice(0, at));
  const marked = fc.constant(new TextEncoder().encode(`\ufeff${fit}`));
  const large = fc.constantFrom(" ".repeat(65_536), `"${"x".repeat(70_000)}"`);
  return fc.oneof(
    often(12, changed(entries, anyJson, [], 3).map(written)),
    often(4, fc.constant(fit)),
    often(4, anyJson),
    often(2, fc.oneof(cut, marked, bytes, none, large)),
  );
}

/** What fetch takes as the value of a header. */
const headerValue = fc
  .string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 300 })
  .map((text) => text.replaceAll(/[\x7f-\x9f]/g, "~"));

function headersOf(place: Place): fc.Arbitrary<Record<string, string>> {
  const isImage = "image/png" in (place.described.requestBody?.content ?? {});
  const type = isImage ? fc.constantFrom(...UPLOADS) : fc.constant("application/json");
  const or = (...values: string[]) => fc.oneof(fc.constantFrom(...values), headerValue);
  return fc
    .record({
      authorization: fc.oneof(often(30, fc.constant(SIGNED_IN)), often(1, or(...TOKENS))),
      "content-type": fc.oneof(often(40, type), often(1, or(...TYPES))),
      "idempotency-key": seldom(fc.oneof(or("a", "b", "c"), fc.uuid())),
      "x-request-id": seldom(headerValue),
      prefer: seldom(or("wait=0", "wait=1", "wait=-1", "respond-async, wait=1", "wait")),
      "if-none-match": seldom(or("*", 'W/"succeeded-0123456789abcdef-99999999999"', 'W/"x-0-0"')),
      "content-encoding": seldom(fc.constantFrom("gzip", "identity", "br"), 60),
    })
    .map((headers) =>
      Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    );
}
