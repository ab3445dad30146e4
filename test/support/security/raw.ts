export type RawAnswer = {
  /** 0: the server closed the connection without an answer. */
  status: number;
  body: string;
};

/**
 * Sends a request line by line, as fetch would not: a header twice, in any order, malformed. `lines` come after Host and
 * before Content-Length, which is left out where there is no body or a line gives it, and Connection: close.
 */
export async function rawExchange(
  url: string,
  method: string,
  lines: string[],
  body: string | Uint8Array = "",
): Promise<RawAnswer> {
  const { hostname, port, host, pathname, search } = new URL(url);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const isFramed = lines.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const framing = isFramed || bytes.length === 0 ? [] : [`Content-Length: ${bytes.length}`];
  const start = `${method} ${pathname}${search} HTTP/1.1`;
  const head = [start, `Host: ${host}`, ...lines, ...framing, "Connection: close", "", ""].join("\r\n");
  const connection = await Deno.connect({ hostname, port: Number(port) });
  let text = "";
  try {
    const writer = connection.writable.getWriter();
    const write = async () => {
      await writer.write(new TextEncoder().encode(head));
      await writer.write(bytes);
    };
    // A server that has seen enough closes while it is still being written to.
    void write().catch(() => undefined);
    const decoder = new TextDecoder();
    for await (const piece of connection.readable) {
      text += decoder.decode(piece, { stream: true });
      if (isWhole(text)) break;
    }
  } catch {
    // Whatever came until then is the answer.
  }
  try {
    connection.close();
  } catch {
    // Reading to its end has closed it.
  }
  const [answerHead = "", ...rest] = text.split("\r\n\r\n");
  const given = rest.join("\r\n\r\n");
  const isChunked = /^transfer-encoding: chunked/im.test(answerHead);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answerHead)?.[1] ?? 0);
  return { status, body: isChunked ? (/\{.*\}/s.exec(given)?.[0] ?? "") : given };
}

/** A server that still waits for the announced body keeps the connection open after its answer. */
function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1];
  if (length !== undefined) return new TextEncoder().encode(text.slice(end + 4)).length >= Number(length);
  return text.endsWith("\r\n0\r\n\r\n");
}
