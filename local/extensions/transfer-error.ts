import { z } from "zod";

const failure = z.object({ code: z.string().catch(""), message: z.string().catch("") });

/** libcurl's sentence for a failed transfer (curl_easy_strerror), as pg_net stores it in error_msg. */
export function transferError(error: unknown): string {
  if (error instanceof TransferError) return error.message;
  const { code, message } = failure.parse(error);
  if (["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"].includes(code)) return "Couldn't connect to server";
  if (["ENOTFOUND", "EAI_AGAIN", "EAI_NODATA"].includes(code)) return "Couldn't resolve host name";
  if (message === "socket hang up") return "Server returned nothing (no headers, no data)";
  if (code === "EPIPE") return "Failed sending data to the peer";
  // What is not HTTP/1 would be HTTP/0.9, which libcurl does not take.
  if (code.startsWith("HPE_")) return "Unsupported protocol";
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/i.test(`${code} ${message}`)) {
    return "SSL peer certificate or SSH remote key was not OK";
  }
  if (/EPROTO|ERR_SSL|TLS|InvalidContentType/i.test(`${code} ${message}`)) return "SSL connect error";
  return "Failure when receiving data from the peer";
}

/** A failure with libcurl's own sentence. */
export class TransferError extends Error {}

/** When the parts of a transfer began, by performance.now(); undefined: it did not come so far. */
export type Moments = { begun: number; resolved?: number; connected?: number };

/** pg_net's sentence for a transfer that took too long (detailed_timeout_strerror), which says on what. */
export function timeoutError(timeoutMs: number, { begun, resolved, connected }: Moments, now: number): string {
  const dns = (resolved ?? now) - begun;
  const handshake = resolved === undefined ? 0 : (connected ?? now) - resolved;
  const http = connected === undefined ? 0 : now - connected;
  const [total, ...parts] = [now - begun, dns, handshake, http].map((ms) => `${ms.toFixed(6)} ms`);
  return (
    `Timeout of ${timeoutMs} ms reached. Total time: ${total} ` +
    `(DNS time: ${parts[0]}, TCP/SSL handshake time: ${parts[1]}, HTTP Request/Response time: ${parts[2]})`
  );
}
