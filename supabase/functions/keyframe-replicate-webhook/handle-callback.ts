import { z } from "zod";
import { id } from "../../../shared/contract/fields.ts";
import { ApiError, succeeded } from "../../../shared/http/errors.ts";
import { type CallDatabase, DatabaseError } from "../../../shared/platform/call-database.ts";
import type { Log } from "../../../shared/platform/log.ts";
import { type ProviderPrediction, providerPrediction } from "../../../shared/replicate/provider-prediction.ts";
import { reportRun } from "../../../shared/replicate/report-run.ts";

/** The query of the callback URL that the submit sent. */
const query = z.object({ prediction: id, attempt: z.coerce.number().int().min(1).max(1_000_000) });

/**
 * Records a callback whose signature is verified, in one SQL call. Every outcome is answered with 200, so that the provider does not repeat
 * the callback. The exception is 404 for a prediction that is unknown or does not have this run. Throws ApiError.
 */
export function createCallbackHandler(
  call: CallDatabase,
  log: Log,
): (body: string, request: Request) => Promise<Response> {
  return async (body, request) => {
    const target = query.safeParse(Object.fromEntries(new URL(request.url).searchParams));
    if (!target.success)
      throw new ApiError("invalid_request", "The query must have prediction=<uuid> and attempt=<number>.");
    const { prediction: prediction_id, attempt } = target.data;
    const run = parseRun(body);
    const outcome = await reportRun(call, run, { prediction_id, attempt }).catch((cause) => {
      if (!(cause instanceof DatabaseError)) throw cause;
      const headers = { "Retry-After": "5" };
      throw new ApiError("unavailable", "The callback could not be recorded. Send it again.", { cause, headers });
    });
    log.info("callback", { predictionId: prediction_id, attempt, status: run.status, outcome });
    if (outcome === "unknown") throw new ApiError("not_found", "There is no such prediction.");
    return Response.json(succeeded({ outcome }));
  };
}

function parseRun(body: string): ProviderPrediction {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch (cause) {
    throw new ApiError("invalid_json", "The body is not JSON.", { cause });
  }
  const parsed = providerPrediction.safeParse(json);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  throw new ApiError("invalid_request", "The body is not a prediction of the provider.", { details });
}
