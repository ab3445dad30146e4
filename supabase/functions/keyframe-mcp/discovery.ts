/** The scope that clients request. Supabase Auth refuses scopes it does not know, such as offline_access; none limits what a token may do. */
const SCOPE = "email";
const PATH = "/functions/v1/keyframe-mcp";

/**
 * How a client without a token finds the server that issues one (RFC 9728). Clients compare `resource` byte for byte, so it keeps the
 * request's trailing slash and, on the project's own host, that host; never the query, which Supabase Auth refuses.
 */
export function createDiscovery(supabaseUrl: string, clientUrl: string) {
  const hosts = new Map([supabaseUrl, clientUrl].map((base) => [new URL(base).hostname, base]));
  const addressOf = ({ url, headers }: Request, suffix = "") => {
    const [host = ""] = (headers.get("x-forwarded-host") ?? "").toLowerCase().split(":");
    const slash = new URL(url).pathname.endsWith("/") ? "/" : "";
    return `${hosts.get(host) ?? clientUrl}${PATH}${suffix}${slash}`;
  };
  return {
    /** The metadata, or undefined when the request is for something else. */
    metadata(request: Request): Response | undefined {
      if (!/\/oauth-protected-resource\/?$/.test(new URL(request.url).pathname)) return undefined;
      return Response.json({
        resource: addressOf(request),
        authorization_servers: [`${clientUrl}/auth/v1`],
        scopes_supported: [SCOPE],
        bearer_methods_supported: ["header"],
        resource_name: "Keyframe",
      });
    },
    /** The WWW-Authenticate header of a refusal. */
    challenge(request: Request): string {
      const error = request.headers.has("authorization") ? 'error="invalid_token", ' : "";
      return `Bearer ${error}scope="${SCOPE}", resource_metadata="${addressOf(request, "/oauth-protected-resource")}"`;
    },
  };
}
