/** The names of this machine itself. Any other name could belong to a foreign site, whose scripts would have the page's origin. */
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Answers a request for a page that is only for this machine and only for reading. */
export async function callPage(
  request: Request,
  url: URL,
  answer: () => Response | Promise<Response>,
): Promise<Response> {
  if (!LOOPBACK_NAMES.has(url.hostname)) return new Response("This page is for this machine only.", { status: 403 });
  if (request.method !== "GET" && request.method !== "HEAD") {
    await request.body?.cancel();
    return new Response("This page can only be read.", { status: 405, headers: { allow: "GET, HEAD" } });
  }
  const response = await answer();
  return request.method === "HEAD" ? new Response(null, response) : response;
}
