import { proxy } from "hono/proxy";
import { within } from "../bounded-wait.ts";
import { log } from "./log.ts";

/** As hosted, a function must begin to answer within 150 s. */
const ANSWER_MS = 150_000;

const refuse = (status: number, code: string, message: string) =>
  Response.json({ code, message }, { status, headers: { "sb-error-code": code } });

/** Answers one request below /functions/v1. */
type FunctionsRoute = (request: Request, url: URL) => Promise<Response>;

/**
 * Passes `/functions/v1/<name>/…` on to the function's own port as `/<name>/…`, as hosted. Bodies are streamed both ways,
 * redirects go to the client, and when the client disconnects the function's request ends too.
 *
 * @param functions name → address, e.g. `{ api: "http://127.0.0.1:9001" }`
 */
export function createFunctionsRoute(functions: Record<string, string>, publicUrl: string): FunctionsRoute {
  const { hostname, port, protocol } = new URL(publicUrl);
  const ownHeaders = {
    "x-forwarded-host": hostname,
    "x-forwarded-port": port || (protocol === "https:" ? "443" : "80"),
    "x-forwarded-proto": protocol.slice(0, -1),
    // Otherwise fetch requests a compressed response, which the function would compress for nothing.
    "accept-encoding": "identity",
  };
  // The request itself is not passed on: fetch would omit its Content-Length, by which a function refuses a large body at once.
  const passOn = ({ url, method, headers, body, signal }: Request) => {
    headers.delete("host");
    for (const [name, value] of Object.entries(ownHeaders)) headers.set(name, value);
    return fetch(url, { method, headers, body, signal, redirect: "manual" });
  };
  return async (request, url) => {
    const path = url.pathname.slice("/functions/v1".length);
    const name = path.split("/")[1] ?? "";
    const base = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (base === undefined) return refuse(404, "NOT_FOUND", "Requested function was not found");
    const target = base + path + url.search;
    const ended = new AbortController();
    request.signal.addEventListener("abort", () => ended.abort());
    const answer = proxy(target, { raw: request, signal: ended.signal, customFetch: passOn }).catch(
      (error: unknown) => {
        // The client has disconnected.
        if (request.signal.aborted) return new Response(null, { status: 499 });
        log("warn", "function does not answer", { function: name, error: String(error) });
        return refuse(503, "BOOT_ERROR", "Function failed to start (please check logs)");
      },
    );
    return await within(answer, ANSWER_MS, () => {
      ended.abort();
      return refuse(504, "IDLE_TIMEOUT", "The function did not answer in time");
    });
  };
}
