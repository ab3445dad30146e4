import { join } from "node:path";
import { z } from "zod";
import type { FlowStack } from "./flow-stack.ts";

const line = z.object({ predictionId: z.string(), status: z.string(), outcome: z.string(), message: z.string().optional() });
export type LoggedCallback = z.infer<typeof line>;

/** The callbacks of a prediction that replicate-webhook accepted, oldest first, and what the database made of each. */
export async function callbacksFor({ dataDir }: FlowStack, predictionId: string): Promise<LoggedCallback[]> {
  const log = await Deno.readTextFile(join(dataDir, "logs", "replicate-webhook.log")).catch(() => "");
  return log
    .split("\n")
    .filter((text) => text.includes(predictionId))
    .flatMap((text) => line.safeParse(JSON.parse(text)).data ?? []);
}
