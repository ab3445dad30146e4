import { z } from "zod";
import type { ModelRow } from "../../tools/models-check/row-inputs.ts";
import { modelJson } from "../../local/simulator/api-routes.ts";
import { models } from "../../local/simulator/models.ts";
import { KLING, NANO_BANANA } from "../support/models.ts";
import { serveHttp } from "../../local/simulator/serve-http.ts";

const changed =
  (row: ModelRow) =>
  (change: Partial<ModelRow> = {}, controls: Partial<ModelRow["controls"]> = {}): ModelRow => ({
    ...row,
    ...change,
    controls: { ...row.controls, ...controls } as ModelRow["controls"], // no control is taken away
  });

/** A right row of google/nano-banana, changed. */
export const imageRow = changed({ step: "first-frame", model: "google/nano-banana", is_default: true, ...NANO_BANANA });
/** A right row of kwaivgi/kling-v2.1, changed. */
export const videoRow = changed({ step: "video", model: "kwaivgi/kling-v2.1", is_default: true, ...KLING });

/** Rows as the Data API of a project gives them. */
export const projectRows = (rows: ModelRow[]) =>
  rows.map(({ is_default, ...row }) => ({ ...row, step_defaults: is_default ? { step: row.step } : null }));

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
