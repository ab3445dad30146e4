import { ApiError, failed, readRequestId } from "../http/errors.ts";
import { type BodyReader, createBodyReader, decodeBody } from "../http/read-body.ts";
import type { Log } from "../platform/log.ts";
import { verifySignature } from "./verify-signature.ts";

/** The limit for all bodies whose signature is not verified yet: enough for 256 that have not begun. */
const MAX_UNSIGNED_BYTES = 16 * 1024 * 1024;
/** The limit on bodies that take more than one read. Each normally takes milliseconds. More would cost memory under an attack (lab/bench/memory). */
const MAX_SLOW = 4;
/** Kicks and callbacks arrive within milliseconds, and senders wait a few seconds at most. */
const MAX_BODY_MS = 30_000;

type SignedHandlerSettings = {
  /** The only path, as the function sees it: `/keyframe-generate`. */
  path: string;
  secret: string;
  maxBytes: number;
  log: Log;
  /** Called only when signature and age are valid. */
  handle: (body: string, request: Request) => Promise<Response> | Response;
};

/**
 * Checks every signed request in this order: path, method, size, text, signature and age; then calls the handler. Errors are answered in
 * the envelope.
 */
export function createSignedHandler(settings: SignedHandlerSettings): (request: Request) => Promise<Response> {
  const readBody = createBodyReader({ maxTotalBytes: MAX_UNSIGNED_BYTES, maxSlow: MAX_SLOW });
  return async (request) => {
    const requestId = readRequestId(request);
    const response = await answer(settings, request, readBody).catch((error) => refuse(error, requestId, settings.log));
    // keyframe_private.kick_figures tells our answers from others' by this header: pg_net keeps the headers of an answer, not its URL.
    response.headers.set("keyframe-function", settings.path.slice(1));
    return response;
  };
}

async function answer(settings: SignedHandlerSettings, request: Request, readBody: BodyReader): Promise<Response> {
  const { path, secret, maxBytes, handle } = settings;
  if (new URL(request.url).pathname.replace(/\/$/, "") !== path) {
    throw new ApiError("not_found", `This path does not exist. Send a signed POST to ${path}.`);
  }
  if (request.method !== "POST") {
    throw new ApiError("method_not_allowed", "This path supports only POST.", { headers: { Allow: "POST" } });
  }
  const body = decodeBody(await readBody(request, { maxBytes, maxMs: MAX_BODY_MS }));
  if (!(await verifySignature(secret, request.headers, body))) {
    throw new ApiError(
      "unauthorized",
      "The signature is missing, wrong, or more than five minutes old. Sign the request again.",
    );
  }
  return await handle(body, request);
}

function refuse(error: unknown, requestId: string, log: Log): Response {
  const known =
    error instanceof ApiError ? error : new ApiError("internal", "Something went wrong here. Try again later.");
  const { code, message, status, extra } = known;
  if (status < 500) log.warn("request_refused", { requestId, code });
  else log.error("request_refused", { requestId, code, reason: String(extra.cause ?? error).slice(0, 500) });
  const body = failed({ code, message, details: extra.details, requestId });
  return Response.json(body, { status, headers: { "X-Request-Id": requestId, ...extra.headers } });
}
