import { inject } from "vitest";

type Answer = { status: number; body: unknown };

/**
 * Writes a request to the API byte by byte, to say what fetch would not: a Content-Length that is a lie, a body that ends
 * too early. `target` is "METHOD /path". With `closeAfterBody` nothing is read.
 */
export async function rawRequest(
  token: string,
  target: string,
  headers: Record<string, string>,
  body = "",
  { closeAfterBody = false } = {},
): Promise<Answer> {
  const url = new URL(inject("stack").url);
  const [method, path] = target.split(" ");
  const lines = [
    `${method} /functions/v1${path} HTTP/1.1`,
    `host: ${url.host}`,
    `authorization: Bearer ${token}`,
    "connection: close",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const connection = await Deno.connect({ hostname: url.hostname, port: Number(url.port) });
  try {
    await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n${body}`));
    if (closeAfterBody) return { status: 0, body: null };
    return await readAnswer(connection.readable);
  } finally {
    try {
      connection.close();
    } catch {
      // Reading to its end has closed it.
    }
  }
}

/** Reads until the envelope is whole: a server that still waits for the body keeps the connection open. */
async function readAnswer(stream: ReadableStream<Uint8Array>): Promise<Answer> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of stream) {
    text += decoder.decode(piece, { stream: true });
    const json = /\r\n\r\n(?:[0-9a-f]+\r\n)?(\{.*\})/s.exec(text)?.[1];
    if (json !== undefined) return { status: Number(text.split(" ")[1]), body: JSON.parse(json) };
  }
  throw new Error(`The answer broke off: ${text}`);
}
