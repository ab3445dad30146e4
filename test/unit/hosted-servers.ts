import { createCanvas } from "@napi-rs/canvas";
import { onTestFinished } from "vitest";
import { runHosted } from "../support/hosted/deno.ts";

/** A database that is there and answers each call with what it is given. */
export function serveDatabase(call: (name: string, given: unknown) => unknown): string {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) =>
    Response.json(call(new URL(request.url).pathname.replace("/rest/v1/rpc/", ""), await request.json()) ?? null),
  );
  onTestFinished(() => server.shutdown());
  return `http://127.0.0.1:${server.addr.port}`;
}

/** A picture of noise, several hundred kilobytes. */
export async function drawNoise(): Promise<Uint8Array<ArrayBuffer>> {
  const canvas = createCanvas(480, 270);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(480, 270);
  for (let i = 0; i < pixels.data.length; i += 60_000) {
    pixels.data.set(crypto.getRandomValues(new Uint8Array(Math.min(60_000, pixels.data.length - i))), i);
  }
  context.putImageData(pixels, 0, 0);
  return new Uint8Array(await canvas.encode("png"));
}

/** Storage that keeps what was uploaded whole, and a file server beside it. */
export function serveFiles(source: (request: Request) => Response) {
  const stored: Uint8Array[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    if (request.method === "GET") return source(request);
    const bytes = await request.bytes().catch(() => null);
    if (bytes !== null) stored.push(bytes);
    return Response.json({ Key: "a/b.png" });
  });
  onTestFinished(() => server.shutdown());
  const host = `127.0.0.1:${server.addr.port}`;
  const copy = () =>
    runHosted(
      "test/support/hosted/store.ts",
      "keyframe-generate",
      [host],
      [`http://${host}/out.png`, `http://${host}`],
    );
  return { stored, copy };
}
