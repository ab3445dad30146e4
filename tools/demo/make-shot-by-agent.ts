import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { estimate } from "../../shared/contract/costs.ts";
import { prediction } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import type { DemoOptions, Timed } from "./make-shot.ts";

const PROMPT = "A lighthouse on a cliff at dusk, waves below, slow camera move towards the sea";
const text = z.object({ type: z.literal("text"), text: z.string() });
const made = project.pick({ projectId: true });
const quoted = estimate.pick({ quoteId: true, atMostMicros: true });
const started = prediction.pick({ predictionId: true });
/** Answers leave out what is null. */
const waited = z.object({
  status: prediction.shape.status,
  cost: z.object({ amountMicros: z.number().optional() }),
  error: z.object({ message: z.string() }).optional(),
});
const usage = z.object({ groups: z.array(z.object({ settledMicros: z.number() })) });

const dollars = (micros: number) => `$${(micros / 1_000_000).toFixed(3)}`;

/** Makes a shot, from project to video, using only the tools of keyframe-mcp, as an agent does. The cost must equal the quote. */
export async function makeShotByAgent(
  token: string,
  timed: Timed,
  { url, signal, timeoutMs }: DemoOptions,
): Promise<void> {
  const client = new Client({ name: "keyframe demo", version: "1.0.0" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/functions/v1/keyframe-mcp`), { requestInit });
  const call = async <Answer>(
    answer: z.ZodType<Answer>,
    name: string,
    args: Record<string, unknown>,
  ): Promise<Answer> => {
    const result = await client.callTool({ name, arguments: args }, { signal, timeout: timeoutMs });
    if (result.isError) throw new Error(text.parse(result.content[0]).text.replaceAll("\n", " "));
    return answer.parse(result.structuredContent);
  };
  await timed(
    "connect",
    async () => {
      await client.connect(transport);
      return (await client.listTools()).tools.length;
    },
    (tools) => `${tools} tools`,
  );
  const { projectId } = await timed(
    "project",
    () => call(made, "create_project", { title: "Lighthouse", textPrompt: PROMPT }),
    (shot) => shot.projectId,
  );
  let price = 0;
  for (const step of ["first-frame", "last-frame", "video"] as const) {
    await timed(
      step,
      async () => {
        const priced = `estimate_${step.replace("-", "_")}`;
        const { quoteId, atMostMicros } = await call(quoted, priced, { projectId });
        const { predictionId } = await call(started, "start", { quoteId, atMostMicros });
        const end = Date.now() + timeoutMs;
        let ended = await call(waited, "wait", { projectId, predictionId, step });
        while (["queued", "starting", "processing"].includes(ended.status) && Date.now() < end)
          ended = await call(waited, "wait", { projectId, predictionId, step });
        if (ended.status !== "succeeded")
          throw new Error(`The ${step} is ${ended.status}: ${ended.error?.message ?? ""}`);
        price += atMostMicros ?? 0;
        return { atMostMicros, cost: ended.cost.amountMicros };
      },
      ({ atMostMicros, cost }) => `quoted ${dollars(atMostMicros ?? 0)}, cost ${dollars(cost ?? 0)}`,
    );
  }
  await timed(
    "usage",
    async () => {
      const { groups } = await call(usage, "read_usage", { groupBy: "step" });
      const spent = groups.reduce((sum, { settledMicros }) => sum + settledMicros, 0);
      if (spent !== price) throw new Error(`It cost ${dollars(spent)}, and ${dollars(price)} was quoted.`);
      return spent;
    },
    (spent) => `${dollars(spent)}, as quoted`,
  );
  await client.close();
}
