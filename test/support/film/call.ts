import { z } from "zod";

const envelope = z.object({
  success: z.boolean(),
  data: z.unknown(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

export type Call = <Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  path: string,
  body?: unknown,
) => Promise<z.output<Schema>>;

/** Calls the API as an app does: session token, JSON or bytes in, envelope out. Throws the API's own sentence. */
export function apiCaller(baseUrl: string, accessToken: string, signal?: AbortSignal): Call {
  return async (schema, method, path, body) => {
    const isFile = body instanceof Uint8Array;
    const request = {
      method,
      ...(signal ? { signal } : {}),
      headers: {
        authorization: `Bearer ${accessToken}`,
        ...(body === undefined ? {} : { "content-type": isFile ? "image/png" : "application/json" }),
      },
      // A Uint8Array made by drawing lies in an ordinary ArrayBuffer, which is all fetch asks for.
      ...(body === undefined ? {} : { body: isFile ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
    };
    const response = await fetch(`${baseUrl}${path}`, request).catch(() => {
      throw new Error(`${method} ${path} got no answer from ${baseUrl}.`);
    });
    const answer = envelope.safeParse(await response.json().catch(() => undefined));
    if (!answer.success) throw new Error(`${method} ${path} answered ${response.status}, not as the API does.`);
    const { success, data, error } = answer.data;
    if (!success) throw new Error(`${method} ${path} answered ${response.status} ${error?.code}: ${error?.message}`);
    return schema.parse(data);
  };
}
