/** Why a request failed, as it stands in the attempt's row. The first two come with a status code, the rest without. */
export type ErrorClass =
  | "http_status"
  | "redirect"
  | "timeout"
  | "connection"
  | "dns"
  | "tls"
  | "address"
  | "too_large";

/** A failure whose class is known where it happens. */
export class SendError extends Error {
  constructor(
    readonly errorClass: ErrorClass,
    message: string,
  ) {
    super(message);
    this.name = "SendError";
  }
}

/** The class of whatever ended a request before its answer had begun. */
export function classifyError(error: unknown): ErrorClass {
  if (error instanceof SendError) return error.errorClass;
  const code = error instanceof Error && "code" in error ? error.code : "";
  return code === "UND_ERR_HEADERS_OVERFLOW" ? "too_large" : "connection";
}
