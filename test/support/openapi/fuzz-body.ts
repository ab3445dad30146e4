import fc from "fast-check";
import { lookUp, type Place, type Schema } from "./document.ts";
import { anyJson, fittingBody, type Known, spoiltBody } from "./fuzz-json.ts";

/** Undefined: no body at all. */
export type FuzzBody = string | Uint8Array<ArrayBuffer> | undefined;

/** Bodies of every kind for an operation; `image` is one that it would take. */
export function bodyOf({ described }: Place, known: Known, image: Uint8Array<ArrayBuffer>): fc.Arbitrary<FuzzBody> {
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => new Uint8Array(array));
  const content = described.requestBody?.content;
  const json = content?.["application/json"];
  const none = fc.constant(undefined);
  if (content === undefined) return fc.oneof({ arbitrary: none, weight: 9 }, { arbitrary: anyJson, weight: 1 });
  if (json === undefined) {
    const rare = fc.oneof(bytes, anyJson, none, fc.constant(image));
    return fc.oneof({ arbitrary: imageLike, weight: 4 }, { arbitrary: rare, weight: 4 });
  }
  const { $ref } = json.schema;
  const schema = typeof $ref === "string" ? (lookUp($ref) as Schema) : json.schema; // references are to schemas
  const fit = fittingBody(schema, known);
  const cut = fc.tuple(fit, fc.nat(50)).map(([text, at]) => text.slice(0, at));
  const marked = fit.map((text) => new TextEncoder().encode(`\ufeff${text}`));
  const large = fc.constantFrom(" ".repeat(65_536), `"${"x".repeat(70_000)}"`);
  return fc.oneof(
    { arbitrary: spoiltBody(schema, known), weight: 10 },
    { arbitrary: fit, weight: 6 },
    { arbitrary: anyJson, weight: 4 },
    { arbitrary: fc.oneof(cut, marked, bytes, none, large), weight: 2 },
  );
}

/** Begins as an image of each kind, and goes on as it likes. */
const imageLike = fc
  .tuple(
    fc.constantFrom(
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52],
      [0xff, 0xd8, 0xff, 0xe0],
      [0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x20],
    ),
    fc.uint8Array({ maxLength: 300 }),
  )
  .map(([start, rest]) => new Uint8Array([...start, ...rest]));
