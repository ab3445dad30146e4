/** How long an address keeps the next one waiting, as RFC 8305 recommends. */
const HEAD_START_MS = 250;

/**
 * Connects to the first of several IP addresses that accepts. Each gets a head start; one that refuses hands over at once.
 * Rejects with the last error when all have failed, and when the signal ends it.
 */
export function connectFirst(addresses: string[], port: number, signal: AbortSignal): Promise<Deno.TcpConn> {
  return new Promise((resolve, reject) => {
    const waiting = [...addresses];
    let failed = 0;
    let headStart: ReturnType<typeof setTimeout> | undefined;
    const settled = new AbortController();

    function settle(): void {
      clearTimeout(headStart);
      signal.removeEventListener("abort", abort);
      settled.abort();
    }

    function abort(): void {
      settle();
      reject(signal.reason);
    }

    function tryNext(): void {
      clearTimeout(headStart);
      const hostname = waiting.shift();
      if (hostname === undefined) return;
      headStart = setTimeout(tryNext, HEAD_START_MS);
      // Where Deno.connect does not know the signal, the connection is closed once it comes about.
      Deno.connect({ hostname, port, signal: settled.signal }).then(
        (connection) => {
          if (settled.signal.aborted) return connection.close();
          settle();
          resolve(connection);
        },
        (error) => {
          failed += 1;
          if (settled.signal.aborted) return;
          if (failed < addresses.length) return tryNext();
          settle();
          reject(error);
        },
      );
    }

    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    tryNext();
  });
}
