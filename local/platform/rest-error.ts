/** An error of Postgres as the driver gives it. */
export interface DatabaseError {
  code: string;
  message: string;
  detail?: string;
  hint?: string;
}

/** lite maps these itself, as PostgREST does; Storage also asks for their codes. */
const LITE_KNOWS = new Set(["42501", "42P01", "42P17", "42703", "42883", "23505", "23503", "23502", "25006"]);

const STATUS_BY_CODE: Record<string, number> = { "21000": 400, "22023": 400, "53400": 500, P0001: 400 };

/** PostgREST's table of SQLSTATE classes. What is not here is the caller's mistake: 400. */
const STATUS_BY_CLASS: Record<string, number> = {
  "08": 503,
  "09": 500,
  "0L": 403,
  "0P": 403,
  "25": 500,
  "28": 403,
  "2D": 500,
  "38": 500,
  "39": 500,
  "3B": 500,
  "40": 500,
  "53": 503,
  "54": 500,
  "55": 500,
  "57": 500,
  "58": 500,
  F0: 500,
  HV: 500,
  P0: 500,
  XX: 500,
};

export function isDatabaseError(error: unknown): error is DatabaseError {
  return (
    error instanceof Error &&
    error.name === "PostgresError" &&
    "code" in error &&
    /^[0-9A-Z]{5}$/.test(String(error.code))
  );
}

/** The HTTP status PostgREST answers for a SQLSTATE. */
export function restStatus(code: string): number {
  return STATUS_BY_CODE[code] ?? STATUS_BY_CLASS[code.slice(0, 2)] ?? 400;
}

/**
 * lite answers 500 for every SQLSTATE it has no rule for, our own (`raise … using errcode = 'KEYFR'`) among them.
 * It does know PostgREST's special code PGRST, whose message and detail carry the whole answer: so each such error is
 * put into that form, and comes out with PostgREST's status, code, message, details and hint.
 */
export function asRestError(error: unknown): unknown {
  if (!isDatabaseError(error)) return error;
  const { code, message } = error;
  if (LITE_KNOWS.has(code) || code.startsWith("PT") || code === "PGRST") return error;
  return {
    code: "PGRST",
    message: JSON.stringify({ code, message, details: error.detail ?? null, hint: error.hint ?? null }),
    detail: JSON.stringify({ status: restStatus(code), headers: {} }),
  };
}
