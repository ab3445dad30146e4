import { Webhook } from "npm:standardwebhooks@1.1.1";

const webhook = new Webhook(Deno.env.get("WEBHOOK_SECRET") ?? "");

async function readBody(request: Request): Promise<string> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > 65_536) throw new Error("too large");
    chunks.push(chunk);
  }
  return await new Blob(chunks).text(); // raw: not parsed and serialized again
}

const port = Number(Deno.env.get("PORT") ?? 8787);
Deno.serve({ port, onListen: ({ port }) => console.log("port", port) }, async (request) => {
  let event: { type: string } | null;
  try {
    event = webhook.verify(await readBody(request), Object.fromEntries(request.headers)) as { type: string } | null;
  } catch {
    return new Response(null, { status: 401 });
  }
  console.log("received", request.headers.get("webhook-id"), event?.type); // store it here, work later
  return new Response(null, { status: 204 });
});
