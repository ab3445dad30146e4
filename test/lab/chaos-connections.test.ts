import { createServer, type Server, type Socket } from "node:net";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectionsLeft, RUNNER, usableConnections } from "../../lab/chaos/connections.ts";
import { type SecondProcess, startSecondProcess } from "../../lab/chaos/start-process.ts";
import { openPool } from "../../local/platform/open-pool.ts";
import { removeData } from "../../local/stack/data-folder.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";
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

test("a stack that has just started → its gateway can use the connections that its pool is made of, and nothing is left", async () => {
  const made = openPool({
    databaseUrl: stack.databaseUrl,
    publicUrl: stack.url,
    liteSecret: stack.keys.liteJwtSecret,
    publishableKey: stack.keys.publishableKey,
    secretKey: stack.keys.secretKey,
    storageFolder: dataDir,
    sendMail: () => undefined,
  });
  expect(pool).toBe(made.connection.driver.options.max);
  await made.connection.driver.end();
  await untilNothingIsLeft();
});

test.for([
  ["a client of Postgres that was not ended", "forgotten", /^forgotten: 1 connections to Postgres .*kept may be 0/],
  ["one more of a kind that the stack has itself", "pg_net worker", /^pg_net worker: 3 connections .*kept may be 2/],
] as const)("%s → it is named, until it ends", async ([, application_name, line]) => {
  const forgotten = postgres(stack.databaseUrl, { max: 1, connection: { application_name } });
  await forgotten`select 1`;
  await untilLeft(line);
  await forgotten.end();
  await untilNothingIsLeft();
});

test("a connection of the gateway's pool that a request does not give back → one less can be used", async () => {
  const taken = Promise.withResolvers<void>();
  const given = Promise.withResolvers<void>();
  // While another user holds the table, a request for it holds its connection.
  const lock = sql.begin(async (other) => {
    await other`lock table keyframe.projects in access exclusive mode`;
    const headers = {
      apikey: stack.keys.secretKey,
      authorization: `Bearer ${stack.keys.secretKey}`,
      "accept-profile": "keyframe",
    };
    const asked = fetch(`${stack.url}/rest/v1/projects?select=id&limit=1`, { headers }).then((r) => r.body?.cancel());
    await until("the request waits", async () => {
      const waits = await other`select from pg_locks where not granted and relation = 'keyframe.projects'::regclass`;
      return waits.length > 0;
    });
    taken.resolve();
    await given.promise;
    return asked;
  });
  await taken.promise;
  expect(await usableConnections({ stack, sql })).toBe(pool - 1);
  given.resolve();
  await await lock;
  expect(await usableConnections({ stack, sql })).toBe(pool);
});

/** A receiver that answers at once, with more than anybody's buffers hold, and never hangs up by itself. */
async function openReceiver() {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n${"x".repeat(60_000_000)}`),
    );
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  return {
    port: address.port,
    closeKeptConnections: () => {
      for (const socket of sockets) socket.end();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test("a function with a connection whose answer it never read → it is named, also when the receiver has hung up", async () => {
  const receiver = await openReceiver();
  const module = `${dataDir}/leak.js`;
  await Deno.writeTextFile(module, `globalThis.kept = await fetch("http://127.0.0.1:${receiver.port}/");`);
  const left = new RegExp(`^another deliver: 1 connections to port ${receiver.port} `);
  let other: SecondProcess | undefined;
  try {
    other = await startSecondProcess({ stack, dataDir }, "keyframe-deliver", { preload: [module] });
    stack.children.set("another deliver", other.child);
    await untilLeft(left);
    receiver.closeKeptConnections();
    await untilLeft(left);
  } finally {
    stack.children.delete("another deliver");
    await other?.stop();
    receiver.close();
  }
  await untilNothingIsLeft();
});
