import { connectionLost, respondWith } from "./rest/error.ts";

/** The services, each with its own form of an error. */
export type Service = "auth" | "rest" | "storage";

export function unavailable(service: Service): Response {
  if (service === "rest") return respondWith(connectionLost());
  const message = "The database is not available. Try again in a moment.";
  const body = {
    auth: { code: 503, error_code: "unexpected_failure", msg: message },
    storage: { statusCode: "503", error: "DatabaseUnavailable", message },
  }[service];
  return Response.json(body, { status: 503, headers: { "retry-after": "1" } });
}

/** PostgREST answers every request like this while its schema cache cannot be read. */
export function noSchemaCache(): Response {
  const message = "Could not query the database for the schema cache. Retrying.";
  return Response.json({ code: "PGRST002", message, details: null, hint: null }, { status: 503 });
}
