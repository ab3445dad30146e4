import { describeSchema, type SchemaFacts } from "./describe-schema.ts";
import type { ApiDocument, Schema } from "./open-api.ts";
import { resolve } from "./resolve.ts";

/** What is inside: of a component, or a list of components, that of the component. */
export function lookInto(document: ApiDocument, facts: SchemaFacts): SchemaFacts {
  if (facts.reference === null) return facts;
  const found = resolve<Schema>(document, { $ref: `#/components/schemas/${facts.reference}` });
  return found === undefined ? facts : describeSchema(found);
}
