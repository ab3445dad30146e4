import type { z } from "zod";
import { JSON_LIMIT_BYTES, readBytes, readJson } from "./request-body.ts";

/** Reads JSON as readJson does, but an empty body, whatever its Content-Type, counts as {}. Throws as readJson does. */
export async function readOptionalJson<Output>(request: Request, schema: z.ZodType<Output>): Promise<Output> {
  const bytes = await readBytes(request, JSON_LIMIT_BYTES);
  if (bytes.length === 0) return schema.parse({});
  const { url, method, headers } = request;
  return readJson(new Request(url, { method, headers, body: bytes }), schema);
}
