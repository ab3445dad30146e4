import postgres from "postgres";
import type { Stack } from "../local/stack/stack-types.ts";
import { measureDeliveryLatency } from "./delivery-latency.ts";
import { openDeliveryLoad } from "./delivery-load.ts";
import { quantile } from "./measure/quantile.ts";

const ROUNDS = 3;
const BURSTS = [2_000, 10_000];
const ENDPOINTS = 20;

/** Measures webhook delivery of a running local stack. Returns Markdown: deliveries a second, isolation, latency. */
export async function measureDeliveries(stack: Pick<Stack, "databaseUrl">): Promise<string> {
  const sql = postgres(stack.databaseUrl, { max: 2, onnotice: () => undefined });
  const load = await openDeliveryLoad(sql);
  try {
    await load.burst(2_000 / ENDPOINTS, "all"); // warms up
    const lines = [
      "| deliveries of 1 KB over 20 endpoints, commit → last recorded outcome | p50, s | recorded per second |",
      "|---|---|---|",
    ];
    for (const deliveries of BURSTS) {
      const took: number[] = [];
      for (let round = 0; round < ROUNDS; round++) took.push(await load.burst(deliveries / ENDPOINTS, "all"));
      const ms = quantile(took, 0.5);
      lines.push(`| ${deliveries} | ${(ms / 1000).toFixed(2)} | ${Math.round((deliveries / ms) * 1000)} |`);
    }

    const alone: number[] = [];
    const beside: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await load.burst(2_000 / ENDPOINTS, "without the two"));
      beside.push(await load.burst(2_000 / ENDPOINTS, "two hang"));
    }
    lines.push(
      "",
      "| 2,000 deliveries, 2 of the 20 endpoints hang, alternating | p50, s |",
      "|---|---|",
      `| the 18 healthy ones without the two | ${(quantile(alone, 0.5) / 1000).toFixed(2)} |`,
      `| the 18 healthy ones beside the two | ${(quantile(beside, 0.5) / 1000).toFixed(2)} |`,
      "",
      `Ratio of the medians: ${(quantile(beside, 0.5) / quantile(alone, 0.5)).toFixed(2)}`,
    );

    const { idle, lingering } = await measureDeliveryLatency(sql, 15, 60);
    lines.push(
      "",
      "| insert sent (commit included) → received, one at a time | p50, ms | p95, ms |",
      "|---|---|---|",
      `| idle: nothing looks, Postgres wakes deliver | ${spread(idle)} |`,
      `| while the drain lingers | ${spread(lingering)} |`,
    );
    return lines.join("\n");
  } finally {
    await load.close();
    await sql.end({ timeout: 1 });
  }
}
