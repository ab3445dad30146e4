/**
 * Returns the body as a Blob, which fetch cannot send twice. Deno's fetch repeats any request, also a POST, when its kept-alive
 * connection closes without an answer and it still has the bytes: a create could be carried out twice. Spread it into `init`.
 */
export function unrepeatableBody(body: RequestInit["body"]): { body?: Blob } {
  return typeof body === "string" ? { body: new Blob([body]) } : {};
}
