import { untilStdinEnds } from "../start-process.ts";

/** The best of 20, 50, 100, 200 and 400. */
const AT_ONCE = 100;

export type Shot = { url: string; headers: Record<string, string>; body: string };

/**
 * The limit of fetch: posts requests that are made and signed beforehand. PUT takes them as JSON; POST sends them all
 * and answers when that began and ended, in ms since 1970.
 */
let shots: Shot[] = [];

async function fire(): Promise<{ began: number; ended: number }> {
  const began = performance.timeOrigin + performance.now();
  let next = 0;
  const lane = async () => {
    for (let shot = shots[next++]; shot !== undefined; shot = shots[next++]) {
      const { url, headers, body } = shot;
      const response = await fetch(url, { method: "POST", headers, body });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return { began, ended: performance.timeOrigin + performance.now() };
}

Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(JSON.stringify({ ready: true, port })) },
  async (request) => {
    if (request.method === "POST") return Response.json(await fire());
    shots = await request.json();
    return new Response(null, { status: 204 });
  },
);
await untilStdinEnds();
Deno.exit(0);
