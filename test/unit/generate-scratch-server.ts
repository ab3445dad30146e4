import { PNG } from "./generate-fixture.ts";
const total = Number(Deno.args[0]);
Deno.serve({ port: 18501, hostname: "127.0.0.1", onListen() {} }, async (r) => {
  if (r.method === "POST") { let n = 0; for await (const c of r.body!) { n += c.length; if (Deno.args[1]) await new Promise((x) => setTimeout(x, 1)); } console.log("stored", n); return Response.json({ Key: "x" }); }
  const z = new Uint8Array(65536); let left = total - PNG.length; let first = true;
  return new Response(new ReadableStream({ pull(c) { if (first) { first = false; c.enqueue(PNG.subarray(0, -12)); } else if (left > 0) { const n = Math.min(left, z.length); c.enqueue(z.subarray(0, n)); left -= n; } else { c.enqueue(PNG.subarray(-12)); c.close(); } } }), { headers: { "content-length": String(total) } });
});
