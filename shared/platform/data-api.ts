import { z } from "zod";

/** An answer of the platform. `status` is 0 without a whole answer; `body` is its JSON, or null. `isOk` only with a 2xx and JSON. */
export type PlatformAnswer = { status: number; isOk: boolean; body: unknown };

/** Never throws. `sent` rejects when there is no answer. */
export async function readAnswer(sent: Promise<Response>): Promise<PlatformAnswer> {
  let status = 0;
  try {
    const response = await sent;
    const text = await response.text();
    status = response.status;
    const body: unknown = text === "" ? null : JSON.parse(text);
    return { status, isOk: response.ok, body };
  } catch {
    return { status, isOk: false, body: null };
  }
}

const text = z.string().catch("");

/** An error of PostgREST, all empty where there is none. Only `code` may be logged: the rest can contain row data. */
export const databaseRefusal = z
  .object({ code: text, message: text, details: text, hint: text })
  .catch({ code: "", message: "", details: "", hint: "" });

/** How PostgREST takes the call of an SQL function: POST of its arguments as JSON. */
export const rpcPath = (name: string): string => `/rest/v1/rpc/${name}`;
export const rpcHeaders = (schema: string) => ({ "content-profile": schema, "content-type": "application/json" });
