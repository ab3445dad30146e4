import { join } from "node:path";
import { z } from "zod";
import type { FlowStack } from "./own-stack.ts";

const line = z.looseObject({ event: z.string(), code: z.string().optional() });
const callback = z.looseObject({ event: z.literal("callback"), status: z.string(), outcome: z.string() });

/** What a function has logged with this in the line (a prediction's identifier, an event's name), oldest first. */
export async function loggedBy(
  { dataDir }: Pick<FlowStack, "dataDir">,
  functionName: "keyframe-generate" | "keyframe-replicate-webhook",
  part: string,
) {
  const log = await Deno.readTextFile(join(dataDir, "logs", `${functionName}.log`)).catch(() => "");
  return log
    .split("\n")
    .filter((text) => text.includes(part) && text.startsWith("{") && text.endsWith("}"))
    .flatMap((text) => line.safeParse(JSON.parse(text)).data ?? []);
}

/** The callbacks of a prediction whose signature held, oldest first: `<provider's status> <what the database made of it>`. */
export async function callbacksFor(stack: FlowStack, predictionId: string): Promise<string[]> {
  const lines = await loggedBy(stack, "keyframe-replicate-webhook", predictionId);
  return lines.flatMap((logged) => {
    const { success, data } = callback.safeParse(logged);
    return success ? [`${data.status} ${data.outcome}`] : [];
  });
}
