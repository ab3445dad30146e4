const METHODS = "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT";

/** The answer to a browser's question whether it may call Auth, REST or Storage from another origin: yes, from any. */
export function preflight(request: Request): Response {
  return new Response(null, {
    status: 200,
    headers: {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "*",
      "access-control-max-age": "3600",
    },
  });
}

/** Lets a page of any origin read the answer, and the headers supabase-js reads. */
export function allowAnyOrigin(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set("access-control-allow-origin", "*");
  headers.delete("access-control-allow-credentials");
  const expose =
    "Content-Range, Content-Location, Preference-Applied, Content-Encoding, X-Total-Count, Location, Sb-Error-Code";
  headers.set("access-control-expose-headers", expose);
  return new Response(response.body, { status: response.status, headers });
}
