import { z } from "zod";
import type { FlowStack } from "../stack/own-stack.ts";

const run = z.object({
  id: z.string(),
  status: z.string(),
  error: z.string().nullable(),
  input: z.looseObject({ prompt: z.string().optional() }),
});
export type ProviderRun = z.infer<typeof run>;
const page = z.object({ next: z.string().nullable(), results: z.array(run) });

/** Every run that the provider made, and so charged, for a prompt. Prompts of tests are their own. */
export async function runsAtProvider(
  { simulatorUrl, replicateToken }: FlowStack,
  prompt: string,
): Promise<ProviderRun[]> {
  const found: ProviderRun[] = [];
  let url: string | null = `${simulatorUrl}/v1/predictions`;
  while (url !== null) {
    const response: Response = await fetch(url, { headers: { authorization: `Bearer ${replicateToken}` } });
    const { next, results } = page.parse(await response.json());
    found.push(...results.filter(({ input }) => input.prompt === prompt));
    url = next;
  }
  return found;
}
