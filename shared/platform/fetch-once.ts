/**
 * A fetch that sends a body once. It sends the body as a Blob, which Deno's fetch cannot send again. Deno's fetch repeats any request, even a
 * POST, if its kept-alive connection closes without an answer and it still has the bytes. A create could then be carried out twice.
 */
export const fetchOnce =
  (fetcher: typeof fetch): typeof fetch =>
  (input, init) =>
    fetcher(input, typeof init?.body === "string" ? { ...init, body: new Blob([init.body]) } : init);
