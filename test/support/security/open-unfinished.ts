/** As far as it has come when the connection ends or the answer is complete. Status 0: none came. Of the body, its JSON. */
export type RawAnswer = { status: number; body: string };

/** A POST that is written piece by piece and whose body need not end. */
type UnfinishedRequest = {
  send(bytes: Uint8Array): Promise<void>;
  /** Resolves when the given part of the body has been written, or the server has stopped reading. */
  sent: Promise<void>;
  answer: Promise<RawAnswer>;
  close(): void;
};

/**
 * Sends a head and part of the body. `framing` is a Content-Length, which may be wrong, or "chunked", for which the
 * caller sends the chunks. Unread bytes wait in the connection without an error.
 */
export async function openUnfinished(
  url: string,
  headers: Record<string, string>,
  framing: number | "chunked",
  bytes: Uint8Array,
): Promise<UnfinishedRequest> {
  const { hostname, port, host, pathname, search } = new URL(url);
  const frame = framing === "chunked" ? "transfer-encoding: chunked" : `content-length: ${framing}`;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`POST ${pathname}${search} HTTP/1.1`, `host: ${host}`, ...lines, frame, "", ""].join("\r\n");
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const send = async (piece: Uint8Array) => {
    for (let sent = 0; sent < piece.length; ) sent += await connection.write(piece.subarray(sent));
  };
  const answer = readAnswer(connection);
  await send(new TextEncoder().encode(head));
  const sent = send(bytes).catch(() => undefined);
  return {
    send,
    sent,
    answer,
    close() {
      try {
        connection.close();
      } catch {
        // The server has closed it.
      }
    },
  };
}

export async function readAnswer(connection: Deno.Conn): Promise<RawAnswer> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(4096);
  let text = "";
  try {
    for (let read = await connection.read(buffer); read !== null; read = await connection.read(buffer)) {
      text += decoder.decode(buffer.subarray(0, read), { stream: true });
      if (isWhole(text)) break;
    }
  } catch {
    // Closed by either side: the answer is what came until then.
  }
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
  return { status, body: /\{.*\}/s.exec(rest.join("\r\n\r\n"))?.[0] ?? "" };
}

/** A server that waits for the rest of a body keeps the connection open after its answer. */
function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1];
  if (length === undefined) return text.endsWith("\r\n0\r\n\r\n");
  return new TextEncoder().encode(text.slice(end + 4)).length >= Number(length);
}
