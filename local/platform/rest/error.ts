/** An error of Postgres as its driver gives it. */
type DatabaseError = { code: string; message: string; detail?: string; hint?: string };

/** What PostgREST answers: its body has these four fields. */
export type RestError = {
  status: number;
  headers: Record<string, string>;
  body: { code: string; details: unknown; hint: unknown; message: string };
};

const STATUS_BY_CODE: Record<string, number> = {
  "23503": 409,
  "23505": 409,
  "25006": 405,
  "42883": 404,
  "42P01": 404,
  "42P17": 500,
  "53400": 500,
  "57P01": 503,
  P0001: 400,
};
/** The status by the first two letters of a code; 400 for all others. */
const STATUS_BY_CLASS: Record<string, number> = {
  ...{ "08": 503, "09": 500, "0L": 403, "0P": 403, "25": 500, "28": 403, "2D": 500, "38": 500, "39": 500, "3B": 500 },
  ...{ "40": 500, "53": 503, "54": 500, "55": 500, "57": 500, "58": 500, F0: 500, HV: 500, P0: 500, XX: 500 },
};

function statusOf({ code, message }: DatabaseError, role: string): number {
  if (code === "42501") return role === "anon" ? 401 : 403;
  if (code === "21000") return message.endsWith("requires a WHERE clause") ? 400 : 500;
  if (code === "22023" && /^role .* does not exist$/.test(message)) return 401;
  if (code.startsWith("PT")) return Number(code.slice(2)) || 500;
  return STATUS_BY_CODE[code] ?? STATUS_BY_CLASS[code.slice(0, 2)] ?? 400;
}

/** PostgREST's answer to an error of Postgres in a request of this role. */
export function restError(error: DatabaseError, role: string): RestError {
  const { code, message, detail, hint } = error;
  return restRefusal(statusOf(error, role), code, message, detail, hint);
}

export function restRefusal(
  status: number,
  code: string,
  message: string,
  details: string | null = null,
  hint: string | null = null,
): RestError {
  const headers: Record<string, string> = {
    "content-type": "application/json; charset=utf-8",
    "proxy-status": `PostgREST; error=${code}`,
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(status === 503 ? { "retry-after": "0" } : {}),
  };
  return { status, headers, body: { code, details, hint, message } };
}

/** The connection ended during the request. */
export const connectionLost = (): RestError =>
  restRefusal(503, "PGRST001", "Database client error. Retrying the connection.", "no connection to the server\n");

/** No connection of the pool was free in time. */
export const poolExhausted = (): RestError =>
  restRefusal(504, "PGRST003", "Timed out acquiring connection from connection pool.");

export const respondWith = ({ status, headers, body }: RestError): Response => Response.json(body, { status, headers });

export function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof Error &&
    error.name === "PostgresError" &&
    "code" in error &&
    /^[0-9A-Z]{5}$/.test(String(error.code))
  );
}
