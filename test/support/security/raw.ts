import { type RawAnswer, readAnswer } from "./open-unfinished.ts";

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
  const writer = connection.writable.getWriter();
  const write = async () => {
    await writer.write(new TextEncoder().encode(head));
    await writer.write(bytes);
  };
  // A server that has seen enough closes while it is still being written to.
  write().catch(() => undefined);
  const answer = await readAnswer(connection);
  try {
    connection.close();
  } catch {}
  return answer;
}
