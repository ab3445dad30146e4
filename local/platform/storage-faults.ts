import { pause } from "../../shared/platform/retry.ts";

/** refuses: answers 503 to everything. slow: everything takes `ms` longer. full: reads uploads and answers 500. */
export type StorageFault = { fault: "refuses" | "slow" | "full"; ms?: number };

const refusal = (status: number, error: string, message: string) =>
  Response.json({ statusCode: String(status), error, message }, { status });

/**
 * Makes Storage fail, for fault tests. The file is read at each request, so that the fault can change while the platform
 * runs; without the file there is no fault.
 */
export async function withStorageFault(
  file: string,
  request: Request,
  answer: () => Promise<Response>,
): Promise<Response> {
  const fault = await readFault(file);
  if (fault === undefined) return await answer();
  if (fault.fault === "refuses") {
    await request.body?.cancel();
    return refusal(503, "ServiceUnavailable", "The service is temporarily unavailable.");
  }
  if (fault.fault === "full" && (request.method === "POST" || request.method === "PUT") && !isReading(request.url)) {
    await request.body?.pipeTo(new WritableStream());
    return refusal(500, "InternalError", "We encountered an internal error. Please try again.");
  }
  if (fault.fault === "slow") await pause(fault.ms ?? 0);
  return await answer();
}

/** Signing and listing are POSTs that write nothing. */
const isReading = (url: string) => /\/object\/(sign|list)\//.test(new URL(url).pathname);

async function readFault(file: string): Promise<StorageFault | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(file));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
