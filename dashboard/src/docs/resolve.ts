import type { ApiDocument, Reference } from "./open-api.ts";

/** What a `$ref` leads to, or the thing itself. Undefined where it leads nowhere, outside, or in a circle. */
export function resolve<Thing extends object>(document: ApiDocument, thing: Thing | Reference): Thing | undefined {
  let found: unknown = thing;
  for (let steps = 0; steps < 10; steps++) {
    if (typeof found !== "object" || found === null) return undefined;
    // A reference to a Thing leads to a Thing: the standard allows nothing else.
    if (!("$ref" in found)) return found as Thing;
    found = follow(document, String(found.$ref));
  }
  return undefined;
}

/** The name at the end of a reference: `Project` of `#/components/schemas/Project`. */
export const nameOf = (reference: string): string => parts(reference).at(-1) ?? reference;

function follow(document: ApiDocument, reference: string): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let found: unknown = document;
  for (const part of parts(reference)) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = Reflect.get(found, part);
  }
  return found;
}

/** `~1` stands for a slash and `~0` for a tilde (RFC 6901). */
const parts = (reference: string): string[] =>
  reference
    .slice(2)
    .split("/")
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
