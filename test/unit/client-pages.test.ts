import { expect, test } from "vitest";
import { refusal, useScriptedServer } from "../support/client/server.ts";

const server = await useScriptedServer();

/** Three pages of a list, the second of them empty. */
const play = (rows: string) =>
  server.play(
    { data: { [rows]: [1, 2], nextCursor: "c+1" } },
    { data: { [rows]: [], nextCursor: "c2" } },
    { data: { [rows]: [3], nextCursor: null } },
  );
const queries = () => server.seen.map(({ url }) => url.split("?")[1] ?? "");

async function all<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const found: Row[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

test("eachProject → every row of every page, the query kept", async () => {
  play("projects");
  expect(await all(server.client().eachProject({ limit: 2, include: "predictions" }))).toEqual([1, 2, 3]);
  const query = "limit=2&include=predictions";
  expect(queries()).toEqual([query, `${query}&cursor=c%2B1`, `${query}&cursor=c2`]);
});

test("eachPrediction, from a cursor on → the rows of that project and step", async () => {
  play("predictions");
  expect(await all(server.client().eachPrediction("p", { step: "video", cursor: "c0" }))).toEqual([1, 2, 3]);
  expect(queries()).toEqual(["step=video&cursor=c0", "step=video&cursor=c%2B1", "step=video&cursor=c2"]);
  expect(server.seen[0]?.url).toMatch(/\/projects\/p\/predictions\?/);
});

test("eachDelivery → the deliveries of that endpoint", async () => {
  play("deliveries");
  expect(await all(server.client().webhooks.eachDelivery("w", { status: "exhausted" }))).toEqual([1, 2, 3]);
  expect(queries()[2]).toBe("status=exhausted&cursor=c2");
});

test("no row is read → no request; the loop ends early → no further request", async () => {
  play("projects");
  const projects = server.client().eachProject();
  expect(server.seen).toEqual([]);
  for await (const _ of projects) break;
  expect(server.seen).toHaveLength(1);
});

test("a page that is refused → the loop throws, after the rows before it", async () => {
  server.play({ data: { projects: [1], nextCursor: "c1" } }, refusal(400, "invalid_request"));
  const found: unknown[] = [];
  const loop = async () => {
    for await (const project of server.client().eachProject()) found.push(project);
  };
  await expect(loop()).rejects.toMatchObject({ code: "invalid_request" });
  expect(found).toEqual([1]);
});
