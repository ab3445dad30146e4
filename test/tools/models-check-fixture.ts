import { z } from "zod";
import { checkRow, findingLine } from "../../tools/models-check/check-row.ts";
import type { ModelRow } from "../../tools/models-check/read-rows.ts";
import type { InputSchema } from "../../local/simulator/model-schemas.ts";
import { modelJson } from "../../local/simulator/api-routes.ts";
import { models } from "../../local/simulator/models.ts";
import { KLING, NANO_BANANA } from "../support/models.ts";
import { serveHttp } from "../../local/simulator/serve-http.ts";

const IMAGE: ModelRow = { step: "first-frame", model: "google/nano-banana", is_default: true, ...NANO_BANANA };
const VIDEO: ModelRow = { step: "video", model: "kwaivgi/kling-v2.1", is_default: true, ...KLING };

/** A right row of google/nano-banana, changed. */
export const imageRow = (change: Partial<ModelRow> = {}): ModelRow => ({ ...IMAGE, ...change });
/** A right row of kwaivgi/kling-v2.1, changed. */
export const videoRow = (change: Partial<ModelRow> = {}): ModelRow => ({ ...VIDEO, ...change });

export function inputOf(model: string): InputSchema {
  const known = models[model];
  if (!known) throw new Error(`there is no model ${model}`);
  return known.input;
}

/** The lines of a row's findings against its model's recorded schema, or another. */
export function linesOf(row: ModelRow, schema = inputOf(row.model)): string[] {
  return checkRow(row, schema).map(findingLine);
}

type Schemas = Record<string, Record<string, unknown>>;
/** Changes, in place, the schemas that a model publishes. */
export type Change = (model: string, schemas: Schemas) => void;

const schemas = z.record(z.string(), z.record(z.string(), z.unknown()));
const document = z.looseObject({ components: z.looseObject({ schemas }) });
const published = z.looseObject({ latest_version: z.looseObject({ openapi_schema: document }) });

/** A server that stands for Replicate: the recorded models with a change of their schemas; 404 for all others. */
export async function startProvider(token: string, change: Change = () => undefined) {
  const asked: string[] = [];
  const server = await serveHttp(async (request) => {
    const name = new URL(request.url).pathname.replace("/v1/models/", "");
    asked.push(name);
    if (request.headers.get("authorization") !== `Bearer ${token}`)
      return Response.json({ status: 401 }, { status: 401 });
    if (!models[name]) return Response.json({ status: 404 }, { status: 404 });
    const model = published.parse(structuredClone(modelJson(name, "https://replicate.test")));
    change(name, model.latest_version.openapi_schema.components.schemas);
    return Response.json(model);
  }, 0);
  return { apiUrl: `http://127.0.0.1:${server.port}/v1`, asked, stop: server.stop };
}
