import type { ErrorClass } from "../deliveries/database.ts";

/** A failure whose class is known where the error is thrown. */
export class SendError extends Error {
  constructor(
    readonly errorClass: ErrorClass,
    message: string,
  ) {
    super(message);
    this.name = "SendError";
  }
}

/** The class of an error that ended a request before a response began. */
export function classifyError(error: unknown): ErrorClass {
  if (error instanceof SendError) return error.errorClass;
  const code = error instanceof Error && "code" in error ? error.code : "";
  return code === "UND_ERR_HEADERS_OVERFLOW" ? "too_large" : "connection";
}
