import type { ApiDocument, Response, Schema } from "./open-api.ts";
import { resolve } from "./resolve.ts";

export type Answer = { status: string; response: Response; schema: Schema | null; isEnveloped: boolean };

/** The success of an operation. `schema` is what stands in `data` of the envelope, for one that has it. */
export function answerOf(document: ApiDocument, responses: [status: string, response: Response][]): Answer | null {
  const [status, response] = responses.find(([code]) => code.startsWith("2")) ?? [];
  if (status === undefined || response === undefined) return null;
  const given = response.content?.["application/json"]?.schema;
  const whole = given === undefined ? undefined : resolve<Schema>(document, given);
  const data = whole?.properties?.success === undefined ? undefined : whole.properties.data;
  return { status, response, schema: data ?? given ?? null, isEnveloped: data !== undefined };
}
