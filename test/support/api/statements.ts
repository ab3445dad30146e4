type Frame = { type: string; body: Uint8Array };

const text = new TextDecoder();

/**
 * A door to Postgres that notes each statement executed through it, in the order of their arrival, and passes everything on.
 * It reads what clients send (messages Parse, Bind, Execute and Query of the protocol); answers go back unread.
 */
export function openStatementDoor(databaseUrl: string): { url: string; statements: string[]; close(): void } {
  const target = new URL(databaseUrl);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const statements: string[] = [];
  void (async () => {
    for await (const client of listener) void pass(client, target, (statement) => statements.push(statement));
  })();
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(listener.addr.port);
  return { url: url.href, statements, close: () => listener.close() };
}

async function pass(client: Deno.TcpConn, target: URL, note: (statement: string) => void): Promise<void> {
  const server = await Deno.connect({ hostname: target.hostname, port: Number(target.port) });
  const parsed = new Map<string, string>();
  let bound = "";
  const read = frameReader(({ type, body }) => {
    const [first = "", second = ""] = text.decode(body).split("\0");
    if (type === "P") parsed.set(first, second); // name, statement
    if (type === "B") bound = second; // portal, name
    if (type === "E") note(parsed.get(bound) ?? `the statement ${bound}`);
    if (type === "Q") note(first);
  });
  const seen = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (chunk, controller) => {
      read(chunk);
      controller.enqueue(chunk);
    },
  });
  const ways = [client.readable.pipeThrough(seen).pipeTo(server.writable), server.readable.pipeTo(client.writable)];
  await Promise.allSettled(ways); // one side ends a connection, and the other is closed with it
}

/** Cuts a client's bytes into messages. The first has no type: it is the greeting. */
function frameReader(take: (frame: Frame) => void): (chunk: Uint8Array) => void {
  let kept = new Uint8Array(0);
  let isGreeted = false;
  return (chunk) => {
    const bytes = new Uint8Array([...kept, ...chunk]);
    const view = new DataView(bytes.buffer);
    let at = 0;
    for (;;) {
      const head = isGreeted ? 1 : 0;
      if (bytes.length < at + head + 4) break;
      const end = at + head + view.getUint32(at + head);
      if (bytes.length < end) break;
      if (isGreeted) take({ type: String.fromCharCode(bytes[at] ?? 0), body: bytes.subarray(at + 5, end) });
      isGreeted = true;
      at = end;
    }
    kept = bytes.slice(at);
  };
}
