import { createClient } from "@supabase/supabase-js";
import { removeData } from "../local/stack/remove-data.ts";
import { startStack } from "../local/stack/start-stack.ts";
import { measureCreate } from "./create-overhead.ts";
import { measureDeliveries } from "./deliveries.ts";
import { measureFirstFrame } from "./first-frame.ts";
import { liftLimits } from "./lift-limits.ts";
import { quantile, spread } from "./spread.ts";

/** Measures a throw-away stack on this machine and prints Markdown for docs/benchmarks.md. Ratios count, not absolutes. */
async function main(): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-bench-" });
  const options = { dataDir, port: 0, simulator: { startDelayMs: 0, runDelayMs: 0 } };
  const first = await startStack(options);
  await first.stop();
  const stack = await startStack(options);
  try {
    console.log("| stage | first start, ms | restart, ms |\n|---|---|---|");
    for (const [index, { name, ms }] of first.stages.entries()) {
      console.log(`| ${name} | ${ms} | ${stack.stages[index]?.ms} |`);
    }
    const supabase = createClient(stack.url, stack.keys.publishableKey, {
      auth: { persistSession: false, autoRefreshToken: false },
    });
    const { data, error } = await supabase.auth.signInWithPassword(stack.demoUser);
    if (error) throw error;
    const caller = { url: stack.url, apikey: stack.keys.publishableKey, token: data.session.access_token };
    await liftLimits(stack.databaseUrl);

    const { api, rest } = await measureCreate(caller, 500);
    console.log(`\n| 500 creates, alternating | p50, ms | p95, ms |\n|---|---|---|`);
    console.log(`| POST /api/projects | ${spread(api)} |\n| the same insert sent to /rest/v1 | ${spread(rest)} |`);
    console.log(`\nRatio of the medians: ${(quantile(api, 0.5) / quantile(rest, 0.5)).toFixed(2)}`);

    const frames = await measureFirstFrame(caller, 30);
    console.log(`\n| 30 first frames, one at a time, simulator delay 0 | p50, ms | p95, ms |\n|---|---|---|`);
    console.log(`| POST first-frame → succeeded | ${spread(frames)} |`);

    console.log(`\n${await measureDeliveries(stack)}`);
  } finally {
    await stack.stop();
    await removeData(dataDir);
  }
}

await main();
Deno.exit(0);
