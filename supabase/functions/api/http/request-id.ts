/** The caller's X-Request-Id when it is 1 to 128 plain characters, so that it is safe in headers and logs; else a new one. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get("x-request-id");
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}
