/**
 * A fetch that sends a body once: as a Blob, which it cannot send again. Deno's fetch repeats any request, also a POST, when its
 * kept-alive connection closes without an answer and it still has the bytes: a create could be carried out twice.
 */
export const fetchOnce =
  (fetcher: typeof fetch): typeof fetch =>
  (input, init) =>
    fetcher(input, typeof init?.body === "string" ? { ...init, body: new Blob([init.body]) } : init);
