import { afterAll, beforeAll, expect, test } from "vitest";
import { type Agent, newAgent } from "../support/mcp/agent.ts";
import { until } from "../support/until.ts";

// Some clients show their model structuredContent alone (Claude Code, Codex), others the texts of content alone, and few the pictures.

type Result = Awaited<ReturnType<Agent["call"]>>;
let agent: Awaited<ReturnType<typeof newAgent>>;
beforeAll(async () => {
  agent = await newAgent();
});
afterAll(() => agent.close());

const viewsOf = ({ content, structuredContent }: Result) => ({
  content: content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
  structuredContent: JSON.stringify(structuredContent ?? null),
});

const PRICED = [
  /"atMostMicros":\d+/,
  /"quoteId":"/,
  /It costs \$0\.\d{4} at most by the price list; what the provider measures is charged\. If the user agrees, call start with this quoteId and atMostMicros\./,
];

test("every tool, in a client that shows content only or structuredContent only → price, quote, links and what to do next", async () => {
  const told = new Set<string>();
  const use = async (
    name: string,
    args: Record<string, unknown>,
    parts: RegExp[],
  ): Promise<Record<string, unknown>> => {
    const result = await agent.call(name, args);
    for (const [view, text] of Object.entries(viewsOf(result)))
      for (const part of parts) expect([name, view, text]).toEqual([name, view, expect.stringMatching(part)]);
    expect([name, result.isError ?? false]).toEqual([name, false]);
    told.add(name);
    return Object(result.structuredContent);
  };
  await use("list_models", { step: "video" }, [/"price":"\$\d/]);
  const { elementId } = await use("create_element", { kind: "prop", name: "Boat", text: "Red" }, [/"elementId":"/]);
  await use("list_elements", {}, [/"elementId":"/]);
  const { filmId } = await use("create_film", { title: "The pier", elementIds: [elementId] }, [/"filmId":"/]);
  const shot = { title: "Harbour", textPrompt: "One @boat" };
  const { projectId } = await use("create_project", { ...shot, filmId }, [/"projectId":"/]);
  await use("list_films", {}, [/"shots":1/]);
  const { updatedAt } = await use("read_film", { filmId }, [/"place":1/]);
  await use("change_film", { filmId, title: "The old pier", updatedAt }, [/The old pier/]);
  await use("list_projects", {}, [/Harbour/]);
  await use("change_project", { projectId, description: "Dawn" }, [/Dawn/]);
  const { quoteId, atMostMicros } = await use("generate_film", { filmId, step: "first-frame" }, [
    ...PRICED.slice(0, 2),
    /1 shot costs \$0\.\d{4} at most by the price list; what the provider measures is charged\. If the user agrees, call start with this quoteId and atMostMicros\./,
  ]);
  const started = await use("start", { quoteId, atMostMicros }, [
    /"predictionId":"/,
    /Call wait with projectId, predictionId and step of each/,
  ]);
  const predictionId = Object(started.predictions)[0].predictionId;
  const first = { projectId, predictionId, step: "first-frame" };
  await until("the end of the first frame", async () => (await agent.ask("wait", first)).status === "succeeded");
  await use("wait", first, [/"amountMicros":\d+/, /"url":"https?:[^"]+token=/]);
  for (const name of ["estimate_first_frame", "estimate_last_frame", "estimate_video"])
    await use(name, { projectId }, PRICED);
  await use("read_project", { projectId }, [/wait with a predictionId and its step has the link/]);
  await use("list_takes", { projectId }, [/"amountMicros":\d+/, /wait with a predictionId and its step has the link/]);
  await use("select_take", { projectId, step: "first-frame", predictionId }, [/"selected"/]);
  await use("hide_take", { projectId, predictionId, hidden: false }, [/"status":"succeeded"/]);
  await use("share_film", { filmId }, [/"token":"/]);
  await use("read_usage", {}, [/"settledMicros":\d+/]);
  const prompt = "A boat [[fault:output_slow=60000]]"; // until it is canceled
  const again = await use("estimate_first_frame", { projectId, prompt }, PRICED);
  const run = await use("start", { quoteId: again.quoteId, atMostMicros: again.atMostMicros }, [/Call wait with/]);
  await use("cancel", { projectId, predictionId: run.predictionId }, [/"status":"/]);
  const { tools } = await agent.client.listTools();
  expect([...told].sort()).toEqual(tools.map(({ name }) => name).sort());
});

test("a refused tool call, in either client → the same sentences: what is wrong, and what to do", async () => {
  const projectId = await agent.user.createProject();
  const { quoteId } = await agent.ask("estimate_first_frame", { projectId });
  const refusals: [name: string, args: Record<string, unknown>, sentence: string][] = [
    ["create_project", { title: "A", prompt: "A" }, "Did you mean textPrompt?"],
    ["start", { quoteId, atMostMicros: 1 }, "price of this quote"],
    ["read_project", { projectId: crypto.randomUUID() }, "not_found"],
    ["make_coffee", {}, "There is no such tool. tools/list has their names."],
  ];
  for (const [name, args, sentence] of refusals) {
    const result = await agent.call(name, args);
    const { content } = viewsOf(result);
    expect([result.isError, content]).toEqual([true, expect.stringContaining(sentence)]);
    expect(result.structuredContent).toEqual({ error: content });
  }
});

test("the instructions for agents → say first what costs money, within what each client reads", () => {
  const said = agent.client.getInstructions() ?? "";
  for (const sentence of ["Only start spends money", "Ask the user before you spend.", "estimate_first_frame; start"])
    expect(said.slice(0, 512)).toContain(sentence);
  expect(said.length).toBeLessThanOrEqual(2048);
});
