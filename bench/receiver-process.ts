/**
 * A receiver of webhooks in a process of its own, so that its work is not counted as the sender's more than need be.
 * `/hang…` never answers, everything else is answered 204 at once. Prints its port. Ends with its standard input.
 */
Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(JSON.stringify({ ready: true, port })) },
  async (request) => {
    await request.arrayBuffer();
    if (new URL(request.url).pathname.startsWith("/hang")) return new Promise<Response>(() => undefined);
    return new Response(null, { status: 204 });
  },
);
await Deno.stdin.readable.pipeTo(new WritableStream());
Deno.exit(0);

export {};
