import { z } from "zod";
import {
  type InputSchema,
  readInputSchema,
  recordedFile,
  type RecordedSchema,
  SOURCE_KINDS,
} from "../../local/simulator/model-schemas.ts";
import { oneLine } from "../../command-line/run-main.ts";

/** A model's schema and its origin, or why there is none and what to do. */
export type Found = { schema: InputSchema; origin: string; version?: string; openapi: unknown } | { missing: string };

/** A model's recorded schema. */
export function ofRecord(openapi: RecordedSchema | undefined): Found {
  if (openapi === undefined) {
    return { missing: "its schema is not recorded. Set KEYFRAME_REPLICATE_API_TOKEN to ask Replicate." };
  }
  const { how, date } = openapi["x-source"];
  return { schema: readInputSchema(openapi), origin: `recorded ${date}, ${how}`, openapi };
}

const version = z.object({ id: z.string(), openapi_schema: z.record(z.string(), z.unknown()) });
/** A model answers with its latest version; a version of a community model is named, and answers itself. */
const published = z.union([
  version.transform((named) => ({ latest_version: named })),
  z.object({ latest_version: version.nullish() }),
]);

export type Provider = { baseUrl: string; token: string; fetch: typeof fetch };

/** A model's published schema. Throws one line without the token when the provider cannot be reached. */
export async function ofProvider(model: string, { baseUrl, token, fetch }: Provider): Promise<Found> {
  const url = `${baseUrl}/models/${model.replace(":", "/versions/")}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } }).catch((error) => {
    throw new Error(`${url} cannot be reached: ${oneLine(error)}`);
  });
  const { status } = response;
  const body: unknown = await response.json().catch(() => undefined);
  if (status === 404) return { missing: "Replicate has no such model (404). Correct its name, or remove the row." };
  if (status === 401 || status === 403) {
    throw new Error(`Replicate refuses the token (${status}): check KEYFRAME_REPLICATE_API_TOKEN.`);
  }
  if (status !== 200) throw new Error(`${url} answered ${status}: try again later.`);
  const parsed = published.safeParse(body);
  if (!parsed.success) throw new Error(`${url} answered with no model: is KEYFRAME_REPLICATE_API_BASE_URL right?`);
  const { latest_version: latest } = parsed.data;
  if (!latest) return { missing: "the model has no published version. Use another model." };
  const { id, openapi_schema: openapi } = latest;
  try {
    return { schema: readInputSchema(openapi), origin: `Replicate, version ${id.slice(0, 8)}`, version: id, openapi };
  } catch (error) {
    throw new Error(`Replicate's schema of ${model} cannot be read: ${String(error)}`);
  }
}

const document = z.looseObject({ components: z.object({ schemas: z.record(z.string(), z.unknown()) }) });

type Reading = { model: string; version: string; openapi: unknown; url: string; date: string };

/** Records a published schema in its file: input, output, and the schemas that these refer to. */
export async function recordSchema({ model, version, openapi, url, date }: Reading, folder?: URL): Promise<void> {
  const { schemas } = document.parse(openapi).components;
  const kept = new Map<string, unknown>();
  const keep = (name: string) => {
    if (kept.has(name) || !(name in schemas)) return;
    kept.set(name, schemas[name]);
    for (const [, other] of JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      keep(other ?? "");
  };
  keep("Input");
  keep("Output");
  const source = { how: SOURCE_KINDS[0], from: `version ${version}`, url, date };
  const file = recordedFile(model, folder);
  await Deno.mkdir(new URL("./", file), { recursive: true });
  const recording = { "x-source": source, components: { schemas: Object.fromEntries(kept) } };
  await Deno.writeTextFile(file, JSON.stringify(recording, inOrder));
}

/** Keys in alphabetical order, but for those of the document, so that the same schema always gives the same file. */
function inOrder(at: string, value: unknown): unknown {
  if (at === "" || value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
