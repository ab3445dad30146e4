import type { Tool } from "@modelcontextprotocol/client";
import { loadImage } from "@napi-rs/canvas";
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { afterAll, expect, inject, test } from "vitest";
import { z } from "zod";
import type { Stage } from "../../command-line/show-stages.ts";
import { runDemo } from "../../tools/demo/run-demo.ts";
import { openDatabase } from "../support/api/database.ts";
import { makeKey } from "../support/api/keys.ts";
import { signUp, type User } from "../support/api/user.ts";
import { type Agent, clientToken, connectAgent, textOf } from "../support/mcp/agent.ts";

// Agents that a user has approved or given a key, by the official client. What each tool refuses: test/security/mcp.test.ts.

const sql = openDatabase();
const APP = crypto.randomUUID();
const allow = () => sql`
  insert into keyframe_private.allowed_clients (client_id, name, may) values (${APP}, 'An agent', 'generate')
  on conflict do nothing`;
afterAll(() => sql`delete from keyframe_private.allowed_clients where client_id = ${APP}`);

type Credential = { token: string; clientId: string };
const KINDS: [who: string, give: (user: User) => Promise<Credential>][] = [
  [
    "an OAuth client",
    async (user) => {
      await allow();
      return { token: await clientToken(user, APP), clientId: APP };
    },
  ],
  [
    "a key",
    async (user) => {
      const { key, keyId } = await makeKey(user, { may: "generate" });
      return { token: key, clientId: keyId };
    },
  ],
];

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

test.each(KINDS)(
  "an agent with the tool list and %s → makes an element, frames and a video with it, and reads what they cost",
  async (_, give) => {
    const user = await signUp();
    const { token, clientId } = await give(user);
    const agent = await newNewcomer(token);
    const { data: element } = await agent.use(/^Create an element/, {
      kind: "prop",
      name: "Boat",
      text: "Red, of wood",
    });
    const shot = { title: "Harbour", textPrompt: "A harbour at dawn, one @boat", elementIds: [element.elementId] };
    await agent.use(/^Create a project/, shot);
    const prices: number[] = [];
    const make = async (price: RegExp, args = {}) => {
      const { data: quote } = await agent.use(price, args);
      expect(quote.elements).toEqual([{ elementId: element.elementId, name: "Boat" }]);
      expect(quote.next).toContain(`$0.${String(quote.atMostMicros / 100).padStart(4, "0")} at most`);
      prices.push(quote.atMostMicros);
      await agent.use(/^Start what was quoted/);
      const progress: string[] = [];
      const waited = await agent.use(/^Wait until/, {}, progress);
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
    const ids = takes.data.takes.map((take: { predictionId: string }) => take.predictionId);
    expect(ids).toEqual([second.data.predictionId, first.data.predictionId]);
    const pictures = takes.content.flatMap((part) => (part.type === "image" ? [part] : []));
    const sizes = await Promise.all(pictures.map(({ data }) => loadImage(Uint8Array.fromBase64(data))));
    expect(sizes.map(({ width }) => width)).toEqual([160, 160]);
    expect(new Set(pictures.map(({ data }) => data)).size).toBe(2);
    expect(takes.content.filter(({ type }) => type === "resource_link")).toHaveLength(2);
    await agent.use(/^Select the take/, { step: "first-frame", predictionId: ids[1] });
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
    expect(ledger).toEqual([{ micros: spent, clients: [clientId] }]);
    await agent.close();
  },
);

/** What a model reads of the result: clients give it the text or the data. */
const tokensOf = ({ content, structuredContent }: Awaited<ReturnType<Agent["call"]>>) => {
  const [text] = content;
  expect(text?.type === "text" && JSON.parse(text.text)).toEqual(structuredContent);
  return tokens(structuredContent);
};
const tokenizer = new Tiktoken(o200k);
const tokens = (value: unknown) => tokenizer.encode(JSON.stringify(value)).length;

test("a film of ten shots by tools → each step on one quote; tools 8,000 tokens, film 6,000, models 3,000 at most", async () => {
  await allow();
  const user = await signUp();
  const agent = await connectAgent(await clientToken(user, APP));
  const { elementId } = await agent.ask("create_element", { name: "Mara", text: "A keeper of 60 in a yellow coat" });
  const { filmId } = await agent.ask("create_film", { title: "The pier", elementIds: [elementId] });
  const says = "waits at the end of the pier while the fog lifts; slow push in, cold morning light, gulls far away";
  const projectIds: unknown[] = [];
  for (let shot = 1; shot <= 10; shot++) {
    const made = await agent.ask("create_project", {
      filmId,
      title: `Pier ${shot}`,
      textPrompt: `@Mara ${says}, ${shot}`,
    });
    projectIds.push(made.projectId);
  }
  const { updatedAt } = await agent.ask("read_film", { filmId });
  const order = { filmId, projectIds: projectIds.toReversed(), updatedAt };
  await agent.ask("change_film", { ...order, title: "The pier at dawn" });
  expect(await agent.refusal("change_film", order)).toContain("precondition_failed");
  await agent.ask("change_project", { projectId: projectIds[0], title: "The last one" });
  for (const step of ["first-frame", "last-frame", "video"]) {
    const quote = await agent.ask("generate_film", { filmId, step });
    expect(quote).toMatchObject({ shots: Array(10).fill({ elements: ["Mara"] }), quoteId: expect.any(String) });
    const { predictions } = z
      .object({ predictions: z.array(z.record(z.string(), z.unknown())) })
      .parse(await agent.ask("start", { quoteId: quote.quoteId, atMostMicros: quote.atMostMicros }));
    expect(predictions.map(({ projectId }) => projectId)).toEqual(projectIds.toReversed());
    for (const { projectId, predictionId } of predictions) {
      const which = { projectId, predictionId, step };
      let ended = await agent.ask("wait", which);
      while (ended.status !== "succeeded") ended = await agent.ask("wait", which);
    }
    expect(await agent.ask("generate_film", { filmId, step })).toMatchObject({ shots: [] });
  }
  const film = await agent.call("read_film", { filmId });
  const takes = { "first-frame": { status: "succeeded" }, "last-frame": {}, video: { cost: { state: "settled" } } };
  const shots = Array(10).fill({ takes });
  expect(film.structuredContent).toMatchObject({ title: "The pier at dawn", shots });
  expect(Object(film.structuredContent).shots[9].title).toBe("The last one");
  expect(JSON.stringify(film)).not.toMatch(/null|token=/);
  const sizes = {
    list: tokens((await agent.client.listTools()).tools),
    film: tokensOf(film),
    models: tokensOf(await agent.call("list_models")),
    model: tokensOf(await agent.call("list_models", { model: "google/veo-3.1" })),
    takes: tokensOf(await agent.call("list_takes", { projectId: projectIds[0] })),
  };
  expect(sizes.list).toBeLessThanOrEqual(8000);
  expect(sizes.film).toBeLessThanOrEqual(6000);
  expect(sizes.models).toBeLessThanOrEqual(3000);
  expect(sizes.takes).toBeLessThanOrEqual(1000);

  // However long the film and its prompts are.
  await sql`
    insert into keyframe.projects (owner_id, title, text_prompt, film_id)
    select ${user.id}, 'Shot ' || n, repeat('A very long prompt. ', 200), ${String(filmId)} from generate_series(11, 500) n`;
  const long = await agent.call("read_film", { filmId, from: 471 });
  expect(long.structuredContent).toMatchObject({ next: expect.stringContaining("from: 491") });
  expect(tokensOf(long)).toBeLessThanOrEqual(6000);
  await agent.close();
}, 120_000);

test("npm run demo -- --mcp → a shot by the tools only, at the cost that was quoted", async () => {
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
