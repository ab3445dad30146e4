import { makeDeps, storeTask, never } from "./generate-fixture.ts";
import { store } from "../../supabase/functions/generate/store.ts";
const n = Number(Deno.args[0]);
const made = makeDeps({ storageUrl: "http://127.0.0.1:18501", outputHosts: "http://127.0.0.1:18501" });
const before = Deno.memoryUsage().rss; let peak = 0; const t = setInterval(() => { peak = Math.max(peak, Deno.memoryUsage().rss); }, 20);
const start = performance.now(); const cpu0 = process.cpuUsage();
await Promise.all(Array.from({ length: n }, () => store(storeTask("http://127.0.0.1:18501/o.png"), made.deps, never())));
clearInterval(t); const cpu = process.cpuUsage(cpu0);
console.log(n, "stores", Math.round(performance.now() - start), "ms; rss MB before", before / 1e6 | 0, "peak", peak / 1e6 | 0, "cpu ms", (cpu.user + cpu.system) / 1000 | 0, made.calls.map((c) => c[0] + JSON.stringify(c[1])).slice(0,1), made.lines.slice(0, 1));
