/** Where the hosted and the local platform have the function; the function itself sees what follows. */
const FUNCTIONS = "/functions/v1";

/** fetch as it was, for who checks each answer itself. */
export const unwatchedFetch = globalThis.fetch;

/** What is being read, and what was found to be wrong, since the last look. */
let underWay: Promise<void>[] = [];
let faults: string[] = [];

/**
 * Holds every answer that this worker gets from the API, of whichever stack, against openapi.json. Clients that were made
 * before count too, as long as they look `fetch` up when they use it, as supabase-js does. Returns how to end it.
 * What it cannot see: requests of other processes (a browser, the scheduler) and those written byte by byte.
 */
export function watchFetch(): () => void {
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const response = await real(input, init);
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    // The gateway's own answers (no such function, it does not start) say so in a header; the function was not reached.
    const isOurs = pathname.startsWith(`${FUNCTIONS}/api/`) && !response.headers.has("sb-error-code");
    if (isOurs) look(method, pathname.slice(FUNCTIONS.length), response);
    return response;
  };
  return () => {
    globalThis.fetch = real;
  };
}

/** The same for an answer of the API's code running in the test itself; returns it. */
export function watched(request: Request, response: Response): Response {
  // The function may be deployed under another name than `api`, which then stands before its paths.
  look(request.method, new URL(request.url).pathname.replace(/^\/films(?=\/api\/)/, ""), response);
  return response;
}

/** All that was wrong since the last time, once all has been read. */
export async function takeFaults(): Promise<string[]> {
  const waiting = underWay;
  underWay = [];
  await Promise.all(waiting);
  const taken = faults;
  faults = [];
  return taken;
}

function look(given: string, path: string, response: Response): void {
  const method = given.toUpperCase();
  const { status, headers } = response;
  const copy = response.clone();
  const read = async () => {
    // A broken answer has no body to check; its caller gets the error.
    const text = await copy.text().catch(() => undefined);
    if (text === undefined) return;
    // Most test files never get here, and need not make the document.
    const { checkAnswer } = await import("./check.ts");
    const found = checkAnswer({ method, path, status, headers, text });
    if (found.length > 0) faults.push(`${method} ${path} → ${status}: ${found.join("; ")}`);
  };
  underWay.push(read());
}
