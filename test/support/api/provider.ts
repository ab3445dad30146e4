import { inject } from "vitest";
import { z } from "zod";
import type { StackInfo } from "../stack/global-setup.ts";

const page = z.object({
  next: z.string().nullable(),
  results: z.array(
    z.object({ id: z.string(), status: z.string(), error: z.string().nullable(), input: z.looseObject({}) }),
  ),
});

type Run = z.infer<typeof page>["results"][number];

/**
 * The runs the simulator was asked for with exactly this prompt, by Replicate's own list. Others use the simulator at the
 * same time, so its total counts say nothing about one test: give each prompt a random word.
 */
export async function providerRuns(
  prompt: string,
  { simulatorUrl, replicateToken }: Pick<StackInfo, "simulatorUrl" | "replicateToken"> = inject("stack"),
): Promise<Run[]> {
  const runs: Run[] = [];
  for (let url: string | null = `${simulatorUrl}/v1/predictions`; url !== null; ) {
    const response: Response = await fetch(url, { headers: { authorization: `Bearer ${replicateToken}` } });
    const { next, results } = page.parse(await response.json());
    runs.push(...results.filter(({ input }) => input.prompt === prompt));
    url = next;
  }
  return runs;
}

export const uniquePrompt = (text = "A harbour at dawn") => `${text}, ${crypto.randomUUID()}`;
