// HTTP around the messages: errors, answers without a stream, and CORS.

/** An error that concerns the whole message. */
export const refuseMessage = (code: number, message: string) =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status: 400 });

/** Clients must accept both types, but some name only one, or none. Only a stream reports progress. */
export const ACCEPTS_JSON = /application\/(json|\*)|\*\/\*/i;
export const ACCEPTS_EVENTS = /text\/(event-stream|\*)/i;

/** The last message of a stream of events, which is the result. */
export async function withoutStream(response: Response): Promise<Response> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const last = dataOf(await response.text()).at(-1);
  return new Response(last, { status: response.status, headers: { "content-type": "application/json" } });
}

/** The data of the events of a stream. Other events, such as one that keeps the connection open, have none. */
const dataOf = (stream: string): string[] =>
  stream
    .split("\n\n")
    .map((event) => event.split("\n").filter((line) => line.startsWith(DATA)))
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => line.slice(DATA.length)).join("\n"));
const DATA = "data: ";

/** The same body, with `done` called when it has been sent or its receiver has left. */
export function whenSent(body: Response["body"], done: () => void): Response["body"] {
  if (body === null) done();
  const reader = body?.getReader();
  if (reader === undefined) return null;
  return new ReadableStream(
    {
      async pull(controller) {
        const { value } = await reader.read().catch((error) => {
          done();
          throw error;
        });
        if (value !== undefined) return controller.enqueue(value);
        done();
        controller.close();
      },
      cancel(reason) {
        done();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Any web page may call the server, because tokens are sent in a header, never in a cookie. Protocol versions add headers, so the requested
 * ones are allowed.
 */
export function withCors(request: Request, { status, headers: given, body }: Response, requestId: string): Response {
  const headers = new Headers(given);
  headers.set("access-control-allow-origin", "*");
  headers.set("access-control-expose-headers", "mcp-session-id, mcp-protocol-version, www-authenticate, x-request-id");
  headers.set("x-request-id", requestId);
  if (request.method === "OPTIONS") {
    const requested = request.headers.get("access-control-request-headers") ?? "";
    headers.set("access-control-allow-methods", "GET, POST, DELETE");
    headers.set("access-control-allow-headers", /^[\w\-, ]{0,1000}$/.test(requested) ? requested : "");
    headers.set("access-control-max-age", "86400");
  }
  return new Response(body, { status, headers });
}
