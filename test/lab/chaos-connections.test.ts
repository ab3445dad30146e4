import type { ServerResponse } from "node:http";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectionsLeft, RUNNER, usableConnections } from "../../lab/chaos/connections.ts";
import { type SecondProcess, startSecondProcess } from "../../lab/chaos/start-process.ts";
import { removeData } from "../../local/stack/data-folder.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";
import { startFlowReceiver } from "../support/receiver/receiver.ts";
import { until } from "../support/until.ts";

// What the chaos run calls a connection left behind, each made once: of a stack that has nothing else to do.
let dataDir: string;
let stack: Stack;
let sql: postgres.Sql;
let pool: number;
beforeAll(async () => {
  dataDir = await Deno.makeTempDir({ prefix: "keyframe-connections-" });
  stack = await startStack({ dataDir, port: 0, durable: false, simulator: { startDelayMs: 0, runDelayMs: 0 } });
  sql = postgres(stack.databaseUrl, { max: 4, connection: { application_name: RUNNER } });
  // Signing the demo user up has left a connection for the next request, as fetch does for three minutes.
  pool = await usableConnections({ stack, sql });
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await stack.stop();
  await removeData(dataDir);
});

/** What is left at this moment, as `who: what`, without what callers of the gateway keep. */
async function leftNow(): Promise<string[]> {
  const left = await connectionsLeft({ stack, sql }, pool, 0);
  return left.map(({ who, what }) => `${who}: ${what}`).filter((line) => !line.includes("from its callers"));
}
const untilLeft = (line: RegExp) => until(String(line), async () => (await leftNow()).some((left) => line.test(left)));
const untilNothingIsLeft = () => until("nothing is left", async () => (await leftNow()).length === 0);

test("a client of Postgres that was not ended → it is named, until it ends", async () => {
  await untilNothingIsLeft();
  const forgotten = postgres(stack.databaseUrl, { max: 1, connection: { application_name: "forgotten" } });
  await forgotten`select 1`;
  await untilLeft(/^forgotten: 1 connections to Postgres .*kept may be 0/);
  await forgotten.end();
  await untilNothingIsLeft();
});

test("a connection of the gateway's pool that a request does not give back → one less can be used", async () => {
  const locked = Promise.withResolvers<void>();
  const given = Promise.withResolvers<void>();
  // While another user holds the table, a request for it holds its connection.
  const lock = sql.begin(async (other) => {
    await other`lock table keyframe.projects in access exclusive mode`;
    locked.resolve();
    await given.promise;
  });
  await locked.promise;
  const headers = { apikey: stack.keys.secretKey, "accept-profile": "keyframe" };
  const asked = fetch(`${stack.url}/rest/v1/projects?select=id&limit=1`, { headers }).then((r) => r.body?.cancel());
  await until("the request waits", async () => {
    const waits = await sql`select from pg_locks where not granted and relation = 'keyframe.projects'::regclass`;
    return waits.length > 0;
  });
  expect(await usableConnections({ stack, sql })).toBe(pool - 1);
  given.resolve();
  await Promise.all([lock, asked]);
  expect(await usableConnections({ stack, sql })).toBe(pool);
});

test("a function with a connection whose answer it never read → it is named, also when the receiver has hung up", async () => {
  const sockets: ServerResponse["socket"][] = [];
  // More than anybody's buffers hold; the receiver does not hang up by itself.
  const receiver = await startFlowReceiver((response) => {
    sockets.push(response.socket);
    response.writeHead(200, { "content-length": 90_000_000 }).write("x".repeat(60_000_000));
  });
  const { port } = new URL(receiver.url);
  const module = `${dataDir}/leak.js`;
  await Deno.writeTextFile(module, `globalThis.kept = await fetch("${receiver.url}");`);
  const left = new RegExp(`^another deliver: 1 connections to port ${port} `);
  let other: SecondProcess | undefined;
  try {
    other = await startSecondProcess({ stack, dataDir }, "keyframe-deliver", { preload: [module] });
    stack.children.set("another deliver", other.child);
    await untilLeft(left);
    for (const socket of sockets) socket?.end();
    await untilLeft(left);
  } finally {
    stack.children.delete("another deliver");
    await other?.stop();
    await receiver.close();
  }
  await untilNothingIsLeft();
});
