/** A request on its way: before it has arrived, or after it was answered, while its sender still waits. */
export type Pass = { name: string; moment: "before" | "after" };

type Gate = { url: string; stop(): Promise<void> };

/**
 * Stands in front of a server. `onPass` is called, and waited for, before and after each request. A request keeps its name when it is
 * repeated: its method and path, with its Idempotency-Key, its webhook-id, or else its query and body.
 */
export function openGate(target: string, onPass: (pass: Pass) => Promise<void>): Gate {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const body = request.method === "GET" ? null : new Uint8Array(await request.arrayBuffer());
    const headers = new Headers(request.headers);
    headers.delete("host");
    const key =
      headers.get("idempotency-key") ??
      headers.get("webhook-id") ??
      search + new TextDecoder().decode(body ?? undefined);
    const name = `${request.method} ${pathname} ${key}`;
    await onPass({ name, moment: "before" });
    const response = await fetch(target + pathname + search, { method: request.method, headers, body }).catch(
      () => null,
    );
    const answer = response && new Uint8Array(await response.arrayBuffer());
    await onPass({ name, moment: "after" });
    if (!response) return new Response(null, { status: 502 });
    const isEmpty = response.status === 204 || response.status === 304;
    return new Response(isEmpty ? null : answer, { status: response.status, headers: response.headers });
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}
