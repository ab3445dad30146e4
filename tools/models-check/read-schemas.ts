import { type InputSchema, readInputSchema, type RecordedSchema } from "../../local/simulator/model-schemas.ts";
import { CheckFailed } from "./check-failed.ts";
import { fetchSchema, type Provider } from "./fetch-schema.ts";

/** A model's schema and where it was found, or why there is none: what the schema is then said to say, and what to do. */
export type Found =
  | { schema: InputSchema; origin: string; version?: string; openapi: unknown }
  | { missing: string; todo: string };

/** The recorded schema of each model. */
export function fromRecords(models: string[], recorded: Record<string, RecordedSchema>): Map<string, Found> {
  return new Map(models.map((model) => [model, ofRecord(recorded[model])]));
}

function ofRecord(openapi: RecordedSchema | undefined): Found {
  if (openapi === undefined) {
    const todo = "Set KEYFRAME_REPLICATE_API_TOKEN to compare it with what Replicate publishes.";
    return { missing: "nothing: none is recorded for this model", todo };
  }
  const { how, date } = openapi["x-source"];
  return { schema: readInputSchema(openapi), origin: `recorded ${date}, ${how}`, openapi };
}

/** What the provider publishes now of each model. Throws CheckFailed when it cannot be asked. */
export async function fromProvider(models: string[], provider: Provider): Promise<Map<string, Found>> {
  const found = await Promise.all(
    models.map(async (model): Promise<[string, Found]> => [model, await ofProvider(model, provider)]),
  );
  return new Map(found);
}

async function ofProvider(model: string, provider: Provider): Promise<Found> {
  const published = await fetchSchema(model, provider);
  if (published === "gone") {
    return { missing: "nothing: Replicate has no such model (404)", todo: "Correct its name, or take the row out." };
  }
  if (published === "no version") {
    return { missing: "nothing: the model has no published version", todo: "Use another model." };
  }
  const { version, openapi } = published;
  try {
    return { schema: readInputSchema(openapi), origin: `Replicate, version ${version.slice(0, 8)}`, version, openapi };
  } catch (error) {
    throw new CheckFailed(`What Replicate publishes of ${model} cannot be read: ${String(error)}`);
  }
}
