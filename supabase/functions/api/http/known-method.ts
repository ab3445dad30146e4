const KNOWN = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * The request, but as one with the method OTHER where its own is none that is usual. A method can be any word: one that
 * every object has (constructor) breaks the router before a line of ours runs, and none of them belongs into the log.
 */
export const withKnownMethod = (request: Request): Request =>
  KNOWN.includes(request.method) ? request : new Request(request.url, { method: "OTHER", headers: request.headers });
