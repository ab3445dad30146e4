import postgres from "postgres";
import { startStack } from "../../local/stack/start-stack.ts";
const stack = await startStack({ dataDir: "/tmp/kf-api-stack", port: 0, durable: false, simulator: {startDelayMs: 50, runDelayMs: 100} });
try {
  const sql = postgres(stack.databaseUrl, {max:1}); await sql`update private.rate_limits set capacity=100000, per_second=100000`; await sql`truncate private.rate_buckets`; await sql.end();
  const auth = await (await fetch(`${stack.url}/auth/v1/token?grant_type=password`, { method: "POST", headers: { apikey: stack.keys.publishableKey, "content-type": "application/json" }, body: JSON.stringify(stack.demoUser) })).json();
  const headers = { authorization: `Bearer ${auth.access_token}`, apikey: stack.keys.publishableKey, "content-type": "application/json" };
  const run = async (path: string, body: unknown, extra = {}) => { const t = performance.now(); const r = await fetch(stack.url + path, { method: "POST", headers: { ...headers, ...extra }, body: JSON.stringify(body) }); await r.text(); if (!r.ok) throw new Error(path + r.status); return performance.now() - t; };
  const a: number[] = [], b: number[] = [], c: number[] = [];
  for (let i = 0; i < 300; i++) {
    a.push(await run("/functions/v1/api/projects", { title: "t", textPrompt: "p" }));
    b.push(await run("/rest/v1/projects", { title: "t", text_prompt: "p" }, { prefer: "return=representation" }));
    c.push(await run("/rest/v1/rpc/create_project", { title: "t", text_prompt: "p" }));
  }
  const p50 = (x: number[]) => x.slice(50).sort((m, n) => m - n)[125]!.toFixed(2);
  console.log("api", p50(a), "rest insert", p50(b), "rest rpc", p50(c));
  const d = Deno.readTextFileSync("/tmp/kf-api-stack/logs/api.log").split("\n").filter((l) => l.includes('"POST"')).slice(-200).map((l) => JSON.parse(l).duration_ms).sort((m, n) => m - n);
  console.log("inside function p50", d[100]);
} catch (e) { console.log(e); } finally { await stack.stop(); }
