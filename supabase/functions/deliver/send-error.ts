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

/** Codes of a failed handshake or certificate check; the last four are OpenSSL's names for certificates. */
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|EPROTO$|HOSTNAME_MISMATCH$)|CERT|^(UNABLE_TO_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_)/;

/** The class of whatever node:http reports for a request without an answer. */
export function classifyError(error: unknown): ErrorClass {
  if (error instanceof SendError) return error.errorClass;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  // The head of an answer larger than the parser's limit.
  if (code === "HPE_HEADER_OVERFLOW") return "too_large";
  return TLS_CODE.test(code) ? "tls" : "connection";
}
