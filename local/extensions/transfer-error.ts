import { z } from "zod";

const failure = z.object({ code: z.string().optional().catch(undefined), message: z.string().catch("") });

/** libcurl's sentence for a failed transfer, as pg_net stores it in error_msg. */
export function transferError(error: unknown): string {
  const { code, message } = failure.parse(error);
  if (["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"].includes(code ?? "")) {
    return "Couldn't connect to server";
  }
  if (["ENOTFOUND", "EAI_AGAIN", "EAI_NODATA"].includes(code ?? "")) return "Couldn't resolve host name";
  if (code === "ECONNRESET" || code === "EPIPE" || message === "socket hang up") {
    return "Server returned nothing (no headers, no data)";
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/i.test(`${code} ${message}`)) {
    return "SSL peer certificate or SSH remote key was not OK";
  }
  return message === "" ? String(error) : message;
}
