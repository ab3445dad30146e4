import { z } from "zod";

export const recordedFolder = new URL("./schemas/", import.meta.url);

export const sourceKinds = ["read from the provider", "put together from public documentation"] as const;

const recorded = z.looseObject({
  "x-source": z.object({
    how: z.enum(sourceKinds),
    /** The pages it was put together from; for one that was read, the version's id. */
    from: z.string(),
    url: z.url(),
    date: z.iso.date(),
  }),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
});

/** A model's published schema as a file of this repository keeps it, and where that comes from. */
export type RecordedSchema = z.infer<typeof recorded>;

/** Where a model's schema is recorded. */
export function recordedFile(model: string, folder: URL = recordedFolder): URL {
  return new URL(`${model}.json`, folder);
}

/** Every recorded schema by the model's `owner/name`, in alphabetical order. Throws for a file that is no schema. */
export function readRecordedSchemas(folder: URL = recordedFolder): Record<string, RecordedSchema> {
  const names = [...Deno.readDirSync(folder)]
    .filter((owner) => owner.isDirectory)
    .flatMap((owner) =>
      Array.from(Deno.readDirSync(new URL(`${owner.name}/`, folder)), (file) => `${owner.name}/${file.name}`),
    )
    .filter((path) => path.endsWith(".json"))
    .map((path) => path.slice(0, -".json".length))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readOne(name, folder)]));
}

function readOne(model: string, folder: URL): RecordedSchema {
  const parsed = recorded.safeParse(JSON.parse(Deno.readTextFileSync(recordedFile(model, folder))));
  if (!parsed.success) throw new Error(`schemas/${model}.json: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
