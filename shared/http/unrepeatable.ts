/**
 * A body that fetch cannot send twice. Deno's fetch repeats any request, also a POST, when its kept-alive connection closes without an
 * answer and it still has the bytes: a create could be carried out twice.
 */
export const unrepeatable = (text: string): Blob => new Blob([text]);
