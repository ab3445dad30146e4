import { ApiError, failed, readRequestId, succeeded } from "../http/errors.ts";
import { type BodyReader, createBodyReader, decodeBody } from "../http/read-body.ts";
import type { Log } from "../platform/log.ts";

/** For all bodies whose signature is not verified yet: enough for 256 that have not begun. */
const MAX_UNSIGNED_BYTES = 16 * 1024 * 1024;
/** Bodies that arrive in more than one read, at the same time; each normally takes milliseconds. More would cost memory under an attack (lab/bench/memory). */
const MAX_SLOW = 4;
/** Kicks and callbacks arrive within milliseconds, and their senders wait a few seconds at most. */
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
    // keyframe_private.kick_figures tells our answers from others' by it: pg_net keeps the headers of an answer, not its URL.
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
  if (!(await verify(secret, request.headers, body))) {
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

const MAX_KICK_BYTES = 64 * 1024;

/** Keeps a hosted function alive after its answer. The global exists only there. */
const { EdgeRuntime } = globalThis as { EdgeRuntime?: { waitUntil(work: Promise<unknown>): void } };

type Settings = { name: string; secret: string; log: Log; kick: () => Promise<void> };

/** The handler of a function that Postgres kicks: every signed request is a kick, answered before the work is done. */
export function createKickHandler({ name, kick, ...signed }: Settings): (request: Request) => Promise<Response> {
  return createSignedHandler({
    ...signed,
    path: `/${name}`,
    maxBytes: MAX_KICK_BYTES,
    handle: () => {
      const run = kick(); // apart: where EdgeRuntime is missing, its arguments are not evaluated
      EdgeRuntime?.waitUntil(run);
      return Response.json(succeeded({ accepted: true }), { status: 202 });
    },
  });
}

/**
 * The headers of Standard Webhooks (https://www.standardwebhooks.com), and their accepted formats. An id with a dot could shift the
 * boundaries of the signed text. A header that was sent twice arrives joined, and matches none.
 */
const FORMS = {
  "webhook-id": /^[!-\-/-~]{1,256}$/,
  "webhook-timestamp": /^\d{1,12}$/,
  "webhook-signature": /^\w+,[\w+/=]+(?: \w+,[\w+/=]+)*$/,
};

const TOLERANCE_SECONDS = 5 * 60;

/**
 * True when the body was signed with the secret at most five minutes ago (or ahead). Compares in constant time. Not the package
 * standardwebhooks: loading it took a fifth of a function's start (docs/decisions/0017).
 */
export async function verify(secret: string, headers: Headers, body: string, now = Date.now()): Promise<boolean> {
  if (!Object.entries(FORMS).every(([name, form]) => form.test(headers.get(name) ?? ""))) return false;
  const timestamp = headers.get("webhook-timestamp") ?? "";
  if (Math.abs(Math.floor(now / 1000) - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = await signatureOf(secret, `${headers.get("webhook-id")}.${timestamp}.${body}`);
  const given = (headers.get("webhook-signature") ?? "").split(" ");
  return expected !== null && given.some((signature) => isSame(signature, expected));
}

/** Null: the secret is not base64, or is empty. */
async function signatureOf(secret: string, text: string): Promise<string | null> {
  try {
    const key = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
    const hmac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const signature = new Uint8Array(await crypto.subtle.sign("HMAC", hmac, new TextEncoder().encode(text)));
    return `v1,${btoa(String.fromCharCode(...signature))}`;
  } catch {
    return null;
  }
}

/** In the same time wherever they differ. */
export function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < other.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}
