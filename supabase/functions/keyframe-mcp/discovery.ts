/** What clients ask Supabase Auth for. It refuses scopes that it does not know, such as offline_access, and none limits what a token may do. */
const SCOPE = "email";
const PATH = "/functions/v1/keyframe-mcp";

/**
 * How a client that has no token finds who gives one (RFC 9728). Clients compare `resource` with the address that they were given, to the
 * letter: both have the slash of the request, and its host if that is the project's own or the app's. Not its query: Supabase Auth refuses
 * a `resource` with one.
 */
export function createDiscovery(supabaseUrl: string, clientUrl: string) {
  const hosts = new Map([supabaseUrl, clientUrl].map((base) => [new URL(base).hostname, base]));
  const addressOf = ({ url, headers }: Request, suffix = "") => {
    const [host = ""] = (headers.get("x-forwarded-host") ?? "").toLowerCase().split(":");
    const slash = new URL(url).pathname.endsWith("/") ? "/" : "";
    return `${hosts.get(host) ?? clientUrl}${PATH}${suffix}${slash}`;
  };
  return {
    /** The metadata, where the request is for it. */
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
    /** The header WWW-Authenticate of a refusal. */
    challenge(request: Request): string {
      const error = request.headers.has("authorization") ? 'error="invalid_token", ' : "";
      return `Bearer ${error}scope="${SCOPE}", resource_metadata="${addressOf(request, "/oauth-protected-resource")}"`;
    },
  };
}
