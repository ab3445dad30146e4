import fc from "fast-check";
import { findPlace, follow, lookUp, type Parameter, type Place } from "./document.ts";
import { bodyOf, type FuzzBody } from "./fuzz-body.ts";
import { anyString, fittingParameter, type Known } from "./fuzz-json.ts";

export type FuzzRequest = {
  method: string;
  /** With its query, below /functions/v1. */
  path: string;
  headers: Record<string, string>;
  body: FuzzBody;
};

/** What stands for the caller's token, which is not for a report. */
export const SIGNED_IN = "Bearer <token>";

/** A server takes no address longer than some kilobytes; what is beyond never reaches the service. */
const LONGEST_QUERY = 4000;

const METHODS = ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"];
const SEGMENTS = [
  "%00",
  "%ff",
  "%",
  "%2e%2e",
  "..%2f..",
  "null",
  "undefined",
  "-1",
  "a%20b",
  "%F0%9F%98%80",
  "*",
  ";",
  "{id}",
];
const TYPES = [
  "application/json; charset=utf-8",
  "application/json;charset=latin1",
  "text/plain",
  "image/png",
  ";",
  "*/*",
];
const UPLOADS = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "application/octet-stream",
  "multipart/form-data; boundary=x",
];
const TOKENS = [
  "",
  "Bearer",
  "Bearer ",
  "Bearer x",
  "Bearer a.b.c",
  "Basic dTpw",
  "bearer null",
  "Bearer eyJhbGciOiJub25lIn0.e30.",
];

/** What fetch takes as the value of a header. */
const headerValue = fc
  .string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 300 })
  .map((text) => text.replaceAll(/[\x7f-\x9f]/g, "~"));

/** A value that is there once in `times`. */
const seldom = (value: fc.Arbitrary<string>, times = 16) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: times - 1 }, { arbitrary: value, weight: 1 });

/** Who asks, with what there is for them. */
export type Asker = { known: Known; image: Uint8Array<ArrayBuffer> };

/** Requests of every kind for an operation: some that fit, most that would but for something, and some of no sense. */
export function requestsFor(place: Place, { known, image }: Asker): fc.Arbitrary<FuzzRequest> {
  const parameters = (place.described.parameters ?? []).map(
    (_, index) => lookUp(follow(`${place.pointer}/parameters/${index}`)) as Parameter, // that is what stands there
  );
  // What another method of the path does, that the caller's own requests try: here it would delete what the others ask for.
  const wrong = METHODS.filter((method) => findPlace(method, place.template) === undefined);
  const method = fc.nat(40).chain((dice) => (dice === 0 ? fc.constantFrom(...wrong) : fc.constant(place.method)));
  return fc
    .record({
      method,
      path: pathOf(place, parameters, known),
      query: queryOf(parameters, known),
      headers: headersOf(place),
      body: bodyOf(place, known, image),
    })
    .map(({ method, path, query, headers, body }) => ({
      method,
      path: `${path}${query}`,
      headers,
      body: method === "GET" || method === "HEAD" ? undefined : body,
    }));
}

function pathOf({ template }: Place, parameters: Parameter[], known: Known): fc.Arbitrary<string> {
  const segments = template.split("/").map((segment) => {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    const schema = parameters.find((one) => one.in === "path" && one.name === name)?.schema;
    if (name === undefined || schema === undefined) return fc.constant(segment);
    const arbitrary = anyString.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 2000));
    return fc.oneof(
      { arbitrary: fittingParameter(schema, known, name), weight: 16 },
      { arbitrary: fc.uuid(), weight: 2 },
      { arbitrary: fc.oneof(arbitrary, fc.constantFrom(...SEGMENTS)), weight: 2 },
    );
  });
  return fc.tuple(...segments).map((parts) => parts.join("/"));
}

function queryOf(parameters: Parameter[], known: Known): fc.Arbitrary<string> {
  const own = parameters.filter((one) => one.in === "query");
  const values = Object.fromEntries(own.map(({ name, schema }) => [name, fittingParameter(schema, known, name)]));
  const requiredKeys = own.filter(({ required }) => required).map(({ name }) => name);
  const fit = fc.record(values, { requiredKeys }).map((record) => Object.entries(record) as [string, string][]);
  const names = fc.oneof(fc.constantFrom("limit", "cursor", "__proto__", ...own.map(({ name }) => name)), anyString);
  const extra = fc.array(fc.tuple(names, anyString), { minLength: 1, maxLength: 3 });
  const written = (entries: [string, string][]) => {
    const text = String(new URLSearchParams(entries)).slice(0, LONGEST_QUERY);
    return text === "" ? "" : `?${text}`;
  };
  return fc.oneof(
    { arbitrary: fit.map(written), weight: 16 },
    {
      arbitrary: fc.tuple(fit, extra).map(([one, other]) => written([...one, ...other])),
      weight: own.length > 0 ? 4 : 1,
    },
    { arbitrary: fc.constantFrom("?", "?%ff", "?limit=%zz", "?&&=", "?limit=1&limit=2"), weight: 1 },
  );
}

function headersOf(place: Place): fc.Arbitrary<Record<string, string>> {
  const isImage = "image/png" in (place.described.requestBody?.content ?? {});
  const type = isImage ? fc.constantFrom(...UPLOADS) : fc.constant("application/json");
  return fc
    .record({
      authorization: fc.oneof(
        { arbitrary: fc.constant(SIGNED_IN), weight: 30 },
        { arbitrary: fc.oneof(fc.constantFrom(...TOKENS), headerValue), weight: 1 },
      ),
      "content-type": fc.oneof(
        { arbitrary: type, weight: 40 },
        { arbitrary: fc.oneof(fc.constantFrom(...TYPES), headerValue), weight: 1 },
      ),
      "idempotency-key": seldom(fc.oneof(fc.constantFrom("a", "b", "c"), fc.uuid(), headerValue)),
      "x-request-id": seldom(headerValue),
      prefer: seldom(
        fc.oneof(fc.constantFrom("wait=0", "wait=1", "wait=-1", "respond-async, wait=1", "wait"), headerValue),
      ),
      "if-none-match": seldom(
        fc.oneof(fc.constantFrom("*", 'W/"succeeded-0123456789abcdef-99999999999"', 'W/"x-0-0"'), headerValue),
      ),
      "content-encoding": seldom(fc.constantFrom("gzip", "identity", "br"), 60),
    })
    .map((headers) =>
      Object.fromEntries(
        Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
    );
}
