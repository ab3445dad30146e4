import fc from "fast-check";
import { type Example, findPlace, follow, lookUp, type Parameter, type Place } from "./document.ts";

export type FuzzRequest = {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Undefined: no body at all. */
  body: string | Uint8Array<ArrayBuffer> | undefined;
};

/** What stands for the caller's token, which is not for a report. */
export const SIGNED_IN = "Bearer <token>";

const METHODS = ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"];
/** How images of each kind begin. */
const IMAGES = [
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52],
  [0xff, 0xd8, 0xff, 0xe0],
  [0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x20],
];
const UPLOADS = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "application/octet-stream",
  "multipart/form-data; boundary=x",
];

const mostly = <Value>(times: number, usual: fc.Arbitrary<Value>, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: other });
const always = <Value>(value: Value) => fc.constant(value);

/** Text of whatever kind: every plane of Unicode, halves of characters, NUL, and of the lengths that are limits. */
const anyText = fc.oneof(
  // fc.string({ unit: "binary" }) is the same, but takes seconds to prepare.
  fc.array(fc.integer({ min: 0, max: 0x10ffff })).map((points) => String.fromCodePoint(...points)),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", " ", "\0", "a\0b", "\ud800", "\u202e", "👩‍👩‍👧‍👦", "%00", "'; --", "null", "-1", "..", "*"),
  fc
    .tuple(fc.constantFrom("x", "é", "😀", "\n", "\ud83d"), fc.constantFrom(200, 201, 500, 501, 2048, 4000, 4001, 9000))
    .map(([unit, length]) => unit.repeat(length)),
);
/** JSON of whatever kind, as text: `1e400`, `-0` and a name twice do not survive as values. */
const anyJson = fc.oneof(
  fc.json({ maxDepth: 3 }),
  anyText.map((text) => JSON.stringify(text)),
  fc.constantFrom("-0", "1", "-1", "0.5", "61", "1e400", "-1e400", "9007199254740993", "1E+2", "2147483648"),
  fc.constantFrom("null", "true", "[]", "{}", '{"__proto__":{"polluted":true}}', "[null]"),
  fc.constantFrom(10, 200, 10_000).map((depth) => `${"[".repeat(depth)}1${"]".repeat(depth)}`),
);

/** Names with values, each as text; a name may come twice. */
type Entries = [name: string, text: string][];

/** The entries with up to three changes, each at a place of its own. */
function changed(entries: Entries, values: fc.Arbitrary<string>, names: string[]): fc.Arbitrary<Entries> {
  const ofObjects = ["__proto__", "constructor", "toString", "", "ownerId", "id", "status"];
  const change = fc.record({
    kind: fc.constantFrom("replace", "drop", "add", "repeat", "rename"),
    at: fc.nat(10),
    name: fc.oneof(fc.constantFrom(...ofObjects, ...names), anyText),
    text: values,
  });
  return fc.array(change, { maxLength: 3, size: "max" }).map((changes) => {
    const result = [...entries];
    for (const { kind, at, name, text } of changes) {
      const index = result.length === 0 ? 0 : at % result.length;
      const [ownName, ownText] = result[index] ?? [name, text];
      if (kind === "replace") result[index] = [ownName, text];
      else if (kind === "drop") result.splice(index, 1);
      else if (kind === "rename") result[index] = [name, ownText];
      else result.push([kind === "add" ? name : ownName, text]);
    }
    return result;
  });
}

const isUpload = ({ described }: Place) => "image/png" in (described.requestBody?.content ?? {});

export function plainRequest(place: Place, example: Example, image: Uint8Array<ArrayBuffer>): FuzzRequest {
  const path = place.template.replaceAll(/\{(\w+)\}/g, (_, name: string) => example.path?.[name] ?? "");
  const query = example.query === undefined ? "" : `?${new URLSearchParams(example.query)}`;
  const type = isUpload(place) ? "image/png" : "application/json";
  const body = isUpload(place) ? image : JSON.stringify(example.body);
  return {
    method: place.method,
    path: path + query,
    headers: { authorization: SIGNED_IN, "content-type": type },
    body,
  };
}

/** Requests of every kind for an operation: examples that succeed, most with some changes, and some of no sense. */
export function requestsFor(
  place: Place,
  examples: Example[],
  image: Uint8Array<ArrayBuffer>,
): fc.Arbitrary<FuzzRequest> {
  // What another method of the path does, that the caller's own requests try: here it would delete what the others ask for.
  const wrong = METHODS.filter((method) => findPlace(method, place.template) === undefined);
  return fc.constantFrom(...examples).chain(({ path = {}, query = {}, body }) =>
    fc
      .record({
        method: mostly(40, always(place.method), fc.constantFrom(...wrong)),
        path: pathOf(place, path),
        query: queryOf(place, Object.entries(query)),
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
  const other = fc.oneof(
    fc.uuid(),
    anyText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 2000)),
    fc.constantFrom("%ff", "%", "%2e%2e", "..%2f..", ";"),
  );
  const segments = template.split("/").map((segment) => {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    return name === undefined ? always(segment) : mostly(4, always(values[name] ?? ""), other);
  });
  return fc.tuple(...segments).map((parts) => parts.join("/"));
}

function queryOf({ described, pointer }: Place, own: Entries): fc.Arbitrary<string> {
  const parameters = (described.parameters ?? []).map(
    (_, index) => lookUp(follow(`${pointer}/parameters/${index}`)) as Parameter, // that is what stands there
  );
  const names = parameters.filter((one) => one.in === "query").map(({ name }) => name);
  // A server takes no address longer than some kilobytes; what is beyond never reaches the service.
  const written = (entries: Entries) => (entries.length === 0 ? "" : `?${new URLSearchParams(entries)}`.slice(0, 4000));
  const other = fc.oneof(changed(own, anyText, names).map(written), fc.constantFrom("?", "?%ff", "?limit=%zz", "?&&="));
  return mostly(names.length > 0 ? 2 : 10, always(written(own)), other);
}

function bodyOf(place: Place, body: unknown, image: Uint8Array<ArrayBuffer>): fc.Arbitrary<FuzzRequest["body"]> {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => new Uint8Array(array));
  const none = always(undefined);
  if (place.described.requestBody === undefined) return mostly(9, none, anyJson);
  if (isUpload(place)) {
    const imageLike = fc
      .tuple(fc.constantFrom(...IMAGES), bytes)
      .map((parts) => new Uint8Array(parts.flatMap((part) => [...part])));
    return fc.oneof(imageLike, bytes, anyJson, none, always(image));
  }
  const fit = JSON.stringify(body ?? {});
  const entries: Entries = Object.entries(body ?? {}).map(([name, value]) => [name, JSON.stringify(value)]);
  const written = (all: Entries) => `{${all.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
  const cut = fc.nat(50).map((at) => fit.slice(0, at));
  const marked = always(new TextEncoder().encode(`\ufeff${fit}`));
  const other = fc.oneof(anyJson, cut, marked, bytes, none, always(" ".repeat(65_536)));
  return mostly(3, mostly(3, changed(entries, anyJson, []).map(written), always(fit)), other);
}

function headersOf(place: Place): fc.Arbitrary<Record<string, string>> {
  // What fetch takes as the value of a header.
  const unit = fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code));
  const value = fc.string({ unit, maxLength: 300 }).map((text) => text.replaceAll(/[\x7f-\x9f]/g, "~"));
  const or = (...values: string[]) => fc.oneof(fc.constantFrom(...values), value);
  const type = isUpload(place) ? fc.constantFrom(...UPLOADS) : always("application/json");
  const seldom = (arbitrary: fc.Arbitrary<string>) => mostly<string | undefined>(15, always(undefined), arbitrary);
  const headers = fc.record({
    authorization: mostly(30, always(SIGNED_IN), or("", "Bearer", "Bearer a.b.c", "Bearer eyJhbGciOiJub25lIn0.e30.")),
    "content-type": mostly(40, type, or("application/json; charset=utf-8", "application/json;charset=latin1", ";")),
    "idempotency-key": seldom(or("a", "b", "c")),
    "x-request-id": seldom(value),
    prefer: seldom(or("wait=0", "wait=1", "wait=-1", "respond-async, wait=1")),
    "if-none-match": seldom(or("*", 'W/"succeeded-0123456789abcdef-99999999999"', 'W/"x-0-0"')),
    "content-encoding": mostly<string | undefined>(60, always(undefined), fc.constantFrom("gzip", "identity", "br")),
  });
  return headers.map((all) =>
    Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)),
  );
}
