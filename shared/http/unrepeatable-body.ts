/**
 * The body in a form that cannot be sent twice. Deno's fetch sends a request anew, a POST as well, when the kept-alive
 * connection it chose closes without an answer, as long as it still has the bytes: a create could count twice.
 * A blob is read as it is sent. Spread it into the `init` of a fetch.
 */
export function unrepeatableBody(body: RequestInit["body"]): { body?: Blob } {
  return typeof body === "string" ? { body: new Blob([body]) } : {};
}
