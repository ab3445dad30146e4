/** A port on 127.0.0.1 that was free a moment ago. Another process may take it before the caller does. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  // A TCP listener's address is a network address, never a path.
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
