import { z } from "zod";
import { OPERATIONS } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import { isJsonObject } from "../../../shared/platform/json-text.ts";
import { inputOf, TOOLS, type Tool } from "./tools.ts";

type Json = Record<string, unknown>;

/** Left out of the schemas: the API checks them, and its errors name what is wrong. */
const LEFT_OUT = ["examples", "pattern", "minLength", "minItems", "minProperties", "uniqueItems"];
const ANY_INTEGER: unknown[] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
const isNull = (schema: unknown) => isJsonObject(schema) && schema.type === "null";

/** One schema within another, shorter. It drops `null` from a type unless the description gives it a meaning. */
function shortenSchema(schema: unknown): unknown {
  if (!isJsonObject(schema)) return schema;
  const isShown = ([word, value]: [string, unknown]) => !LEFT_OUT.includes(word) && !ANY_INTEGER.includes(value);
  const { type, anyOf, properties, ...rest }: Json = Object.fromEntries(Object.entries(schema).filter(isShown));
  if (typeof rest.description === "string") rest.description = inTools(rest.description);
  if (isJsonObject(properties))
    // a field that must be null belongs to another step
    rest.properties = Object.fromEntries(Object.entries(properties).filter(([, field]) => !isNull(field)));
  // Some clients read one type only.
  const types: unknown = Array.isArray(type) ? type.map((one: unknown) => ({ type: one })) : anyOf;
  if (!Array.isArray(types)) return { ...(type === undefined ? {} : { type }), ...rest };
  const shown: unknown[] = /\bnull\b/i.test(String(rest.description)) ? types : types.filter((one) => !isNull(one));
  const [only] = shown;
  return shown.length === 1 && isJsonObject(only) ? shortenSchema({ ...only, ...rest }) : { ...rest, anyOf: shown };
}

function toJson(schema: z.ZodType): Json & { type: "object" } {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const override: unknown = z.globalRegistry.get(zodSchema)?.override; // as zod-openapi applies it
      if (typeof override === "function") override({ jsonSchema });
    },
  });
  return { ...JSON.parse(JSON.stringify(json, (_name, part) => shortenSchema(part))), type: "object" };
}

/** The HTTP terms in the API's messages, and their equivalent for an agent. test/security/mcp.test.ts fails when one remains. */
const WORDS: [RegExp, string][] = [
  [/ Wait for the time in Retry-After, then try again\./g, ""],
  [/ Correct the fields named in details and send it again\./g, ""],
  [/\bETag\b/g, "updatedAt"],
  [/`?quote=true`?/g, "a quote"],
  [/:? (by )?`?\b(GET|POST|PATCH|DELETE) \/api\/[\w:/-]*\w`?/g, " in the app"],
];

/** A sentence of the API with the names of tools in place of its paths. */
export const inTools = (sentence: string): string => {
  const named = sentence.replaceAll(
    /`?(GET|POST|PATCH) \/api(\/[\w:/-]*\w)`?/g,
    (found, method: string, at: string) => {
      const tool = Object.entries(TOOLS).find(
        ([, { operation }]) => OPERATIONS[operation].method === method && OPERATIONS[operation].at === at,
      );
      return tool?.[0] ?? found;
    },
  );
  return WORDS.reduce((text, [word, tool]) => text.replaceAll(word, tool), named);
};

/** A tool in the answer to tools/list. It has no schema of its answers, which would be three quarters of the list. */
function describe(name: string, tool: Tool) {
  const { method, summary, changesNothing }: Operation = OPERATIONS[tool.operation];
  // A quote is stored, but it changes nothing that the user has.
  const reads = method === "GET" || changesNothing === true;
  const repeats = method !== "POST" || tool.repeats === true;
  return {
    name,
    title: tool.title ?? summary,
    description: tool.description,
    inputSchema: toJson(inputOf(tool)),
    annotations: {
      readOnlyHint: reads,
      openWorldHint: tool.reachesOut === true,
      ...(reads ? {} : { destructiveHint: tool.overwrites === true, idempotentHint: repeats }),
    },
  };
}

let described: ReturnType<typeof describe>[] | undefined;
/** Built at the first list, because a call needs none of it. */
export function listTools(): ReturnType<typeof describe>[] {
  described ??= Object.entries(TOOLS).map(([name, tool]) => describe(name, tool));
  return described;
}
