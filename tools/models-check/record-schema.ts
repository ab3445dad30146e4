import { z } from "zod";
import { recordedFile, sourceKinds, writeSchema } from "../../local/simulator/model-schemas.ts";

const document = z.looseObject({ components: z.object({ schemas: z.record(z.string(), z.unknown()) }) });

export type Reading = { model: string; version: string; openapi: unknown; url: string; date: string };

/** Writes what was read of a model into its file: its input and output, and the schemas that these name. */
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
  const source = { how: sourceKinds[0], from: `version ${version}`, url, date };
  const file = recordedFile(model, folder);
  await Deno.mkdir(new URL("./", file), { recursive: true });
  const text = writeSchema({ "x-source": source, components: { schemas: Object.fromEntries(kept) } });
  await Deno.writeTextFile(file, text);
}
