/** Allows browsers to call Auth, REST and Storage from any origin. */
export function preflight(request: Request): Response {
  const headers = {
    "access-control-allow-methods": "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT",
    "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "*",
    "access-control-max-age": "3600",
  };
  return new Response(null, { headers });
}

/** Lets a page of any origin read the response and the headers that supabase-js needs. */
export function allowAnyOrigin(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set("access-control-allow-origin", "*");
  headers.delete("access-control-allow-credentials");
  const expose =
    "Content-Range, Content-Location, Preference-Applied, Content-Encoding, X-Total-Count, Location, Sb-Error-Code";
  headers.set("access-control-expose-headers", expose);
  return new Response(response.body, { status: response.status, headers });
}
