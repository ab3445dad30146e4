/** The parts of the platform, each with its own form of an error. */
export type Service = "auth" | "rest" | "storage";

export const missingApiKey = () =>
  Response.json(
    { message: "No API key found in request", hint: "No `apikey` request header or url param was found." },
    { status: 401, headers: { "sb-error-code": "UNAUTHORIZED_MISSING_API_KEY" } },
  );

export const invalidApiKey = () =>
  Response.json(
    { message: "Invalid API key", hint: "Double check your Supabase `anon` or `service_role` API key." },
    { status: 401, headers: { "sb-error-code": "UNAUTHORIZED_INVALID_API_KEY" } },
  );

/** The answer to a bearer token that was not issued here or has run out. Auth says 403, the others 401, as hosted. */
export function invalidToken(service: Service, reason: "expired" | "invalid"): Response {
  const expired = reason === "expired";
  if (service === "auth") {
    const why = expired ? "token is expired" : "signature is invalid";
    const msg = `invalid JWT: unable to parse or verify signature, ${why}`;
    return Response.json({ code: 403, error_code: "bad_jwt", msg }, { status: 403 });
  }
  if (service === "storage") {
    const message = expired ? '"exp" claim timestamp check failed' : "signature verification failed";
    return Response.json({ statusCode: "401", error: "Unauthorized", message }, { status: 401 });
  }
  return Response.json(
    expired
      ? { code: "PGRST303", message: "JWT expired", details: null, hint: null }
      : {
          code: "PGRST301",
          message: "No suitable key or wrong key type",
          details: "None of the keys was able to decode the JWT",
          hint: null,
        },
    { status: 401, headers: { "www-authenticate": "Bearer" } },
  );
}

export function unavailable(service: Service): Response {
  const message = "The database is not available. Try again in a moment.";
  const body = {
    auth: { code: 503, error_code: "unexpected_failure", msg: message },
    rest: { code: "PGRST001", message, details: null, hint: null },
    storage: { statusCode: "503", error: "DatabaseUnavailable", message },
  }[service];
  return Response.json(body, { status: 503, headers: { "retry-after": "1" } });
}

export function bodyTooLarge(service: Service, limit: number): Response {
  const message = `The request is larger than ${limit} bytes.`;
  const body = {
    auth: { code: 413, error_code: "request_too_large", msg: message },
    rest: { code: "PGRST102", message, details: null, hint: null },
    storage: objectTooLarge,
  }[service];
  return Response.json(body, { status: 413 });
}

export const objectTooLarge = {
  statusCode: "413",
  error: "Payload too large",
  message: "The object exceeded the maximum allowed size",
};

/** A fault in the platform itself; the cause is in the log, not in the answer. */
export const unexpected = () => Response.json({ message: "An unexpected error occurred" }, { status: 500 });
