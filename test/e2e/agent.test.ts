import type { Tool } from "@modelcontextprotocol/client";
import { loadImage } from "@napi-rs/canvas";
import { afterAll, expect, inject, test } from "vitest";
import type { Stage } from "../../command-line/show-stages.ts";
import { runDemo } from "../../tools/demo/run-demo.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp } from "../support/api/user.ts";
import { clientToken, connectAgent, textOf } from "../support/mcp/agent.ts";

// Agents that a user has approved, by the official client. What each tool refuses: test/security/mcp.test.ts.

const sql = openDatabase();
const APP = crypto.randomUUID();
const allow = (micros: number | null) => sql`
  insert into keyframe_private.allowed_clients (client_id, name, may, owner_day_micros) values (${APP}, 'An agent', 'generate', ${micros})
  on conflict (client_id) do update set owner_day_micros = excluded.owner_day_micros`;
afterAll(() => sql`delete from keyframe_private.allowed_clients where client_id = ${APP}`);

/** Knows the tool list and what it was answered, nothing else: finds a tool by its words and fills in what it has read. */
async function newNewcomer(token: string) {
  const agent = await connectAgent(token);
  const { tools } = await agent.client.listTools();
  const memory: Record<string, unknown> = {};
  const learn = (value: unknown) => {
    for (const [name, part] of Object.entries(Object(value)))
      if (typeof part !== "object" && part !== null) memory[name] = part;
  };
  const find = (words: RegExp): Tool => {
    const [tool, another] = tools.filter(({ title, description }) => words.test(`${title}. ${description}`));
    if (tool === undefined || another !== undefined)
      throw new Error(`${words} is ${tool?.name} and ${another?.name ?? "nothing else"}.`);
    return tool;
  };
  return {
    ...agent,
    memory,
    async use(words: RegExp, args: Record<string, unknown> = {}, progress: string[] = []) {
      const { name, inputSchema } = find(words);
      const known = (inputSchema.required ?? []).map((field) => [field, memory[field]]);
      const result = await agent.call(name, { ...Object.fromEntries(known), ...args }, ({ message = "" }) =>
        progress.push(message),
      );
      if (result.isError) throw new Error(textOf(result));
      learn(result.structuredContent);
      return { ...result, data: Object(result.structuredContent) };
    },
  };
}

test("an agent that knows only the tool list → an element, frames and a video with it, the takes compared, and what they cost", async () => {
  await allow(null);
  const user = await signUp();
  const agent = await newNewcomer(await clientToken(user, APP));
  const { data: element } = await agent.use(/^Create an element/, { kind: "prop", name: "Boat", text: "Red, of wood" });
  const shot = { title: "Harbour", textPrompt: "A harbour at dawn, one @boat", elementIds: [element.elementId] };
  await agent.use(/^Create a project/, shot);
  const prices: number[] = [];
  const make = async (price: RegExp, args = {}) => {
    const { data: quote } = await agent.use(price, args);
    prices.push(quote.atMostMicros);
    await agent.use(/^Start what was quoted/);
    const progress: string[] = [];
    const waited = await agent.use(/^Wait for/, {}, progress);
    expect(waited.data).toMatchObject({ status: "succeeded", cost: { amountMicros: quote.atMostMicros } });
    return waited;
  };
  const first = await make(/^Price of a first frame/);
  expect(first.data.input).toMatchObject({
    prompt: expect.stringContaining("Boat: Red, of wood"),
    elements: [{ name: "Boat" }],
  });
  const second = await make(/^Price of a first frame/, { prompt: "A harbour at dawn, two blue boats" });

  const takes = await agent.use(/^List the takes/, { step: "first-frame" });
  const ids = takes.data.predictions.map((take: { predictionId: string }) => take.predictionId);
  expect(ids).toEqual([second.data.predictionId, first.data.predictionId]);
  const pictures = takes.content.flatMap((part) => (part.type === "image" ? [part] : []));
  const sizes = await Promise.all(pictures.map(({ data }) => loadImage(Uint8Array.fromBase64(data))));
  expect(sizes.map(({ width }) => width)).toEqual([160, 160]);
  expect(new Set(pictures.map(({ data }) => data)).size).toBe(2);
  expect(takes.content.filter(({ type }) => type === "resource_link")).toHaveLength(2);
  await agent.use(/^Select the take/, { selected: { "first-frame": ids[1] } });
  await agent.use(/^Hide a take/, { predictionId: ids[0], hidden: true });

  await make(/^Price of a last frame/, { prompt: "The same harbour at night" });
  const { data: video, content } = await make(/^Price of a video/, { durationSeconds: 5 });
  expect(video.input.firstFramePredictionId).toBe(ids[1]);
  expect(content).toContainEqual(
    expect.objectContaining({ type: "resource_link", mimeType: "video/mp4", uri: video.output.url }),
  );

  const { data: usage } = await agent.use(/^Read what your/, { groupBy: "step" });
  const spent = prices.reduce((sum, price) => sum + price);
  expect(
    usage.groups.reduce((sum: number, { settledMicros }: { settledMicros: number }) => sum + settledMicros, 0),
  ).toBe(spent);
  const ledger = await sql`
    select sum(cost_micros)::int as micros, array_agg(distinct client_id) as clients
    from keyframe_private.provider_submits where owner_id = ${user.id}`;
  expect(ledger).toEqual([{ micros: spent, clients: [APP] }]);
  await agent.close();
});

test("an agent whose day's limit is two frames → two frames; the third is refused with what is left, as is its price", async () => {
  await allow(2 * 67_000);
  const user = await signUp();
  const projectId = await user.createProject();
  const agent = await connectAgent(await clientToken(user, APP));
  const quote = () => agent.ask("estimate_first_frame", { projectId });
  const [one, other, third] = [await quote(), await quote(), await quote()];
  expect([one.availableMicros, one.withinBudget]).toEqual([134_000, true]);
  const start = ({ quoteId, atMostMicros }: Record<string, unknown>) => agent.call("start", { quoteId, atMostMicros });
  const starts = await Promise.all([start(one), start(other)]);
  expect(starts.map(({ isError }) => isError ?? false)).toEqual([false, false]);
  const refusals = [textOf(await start(third)), await agent.refusal("estimate_first_frame", { projectId })];
  for (const refusal of refusals) {
    expect(refusal).toContain("more than is left of this app's budget for this day");
    expect(refusal).toContain("$0.0000 of $0.1340 is left, and it can cost $0.0670.");
    expect(refusal).toContain("budget_exceeded");
  }
  // The limit is the agent's: its user goes on.
  await user.start("first-frame", { projectId });
  const started = await sql`
    select client_id, count(*)::int from keyframe.predictions where owner_id = ${user.id} group by 1 order by 1`;
  expect(started).toEqual([
    { client_id: APP, count: 2 },
    { client_id: null, count: 1 },
  ]);
  await agent.close();
});

test("npm run demo -- --mcp → a shot by the tools alone, whose cost is what was quoted", async () => {
  const steps: Stage[] = [];
  const { url, publishableKey } = inject("stack");
  const { signal } = new AbortController();
  await runDemo({ url, publishableKey, byAgent: true, timeoutMs: 60_000, signal, steps });
  expect(steps.map(({ name }) => name)).toEqual([
    "sign up",
    "connect",
    "project",
    "first-frame",
    "last-frame",
    "video",
    "usage",
  ]);
  expect(steps.at(-1)?.result).toMatch(/^\$\d\.\d{3}, as quoted$/);
});
