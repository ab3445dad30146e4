/** One request that went through. */
export type Passed = { method: string; path: string; status: number; headers: Headers };

/** A door to the stack on an origin of its own, where every request is seen. */
export function startProxy(target: string) {
  const passed: Passed[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    const body = request.body ? await request.arrayBuffer() : null;
    const init = { method: request.method, headers, body, redirect: "manual" } as const;
    const answer = await fetch(`${target}${pathname}${search}`, init);
    passed.push({ method: request.method, path: pathname + search, status: answer.status, headers });
    return new Response(answer.body, answer);
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, passed, stop: () => server.shutdown() };
}
