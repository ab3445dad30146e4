import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createPlatform } from "../../local/platform/create-platform.ts";
import { signingKeySchema } from "../../local/platform/session-tokens.ts";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import { createApiApp } from "../support/api/app.ts";
import { requestInit } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { OPERATION_IDS, prepare, REQUESTS, type Scene, setScene } from "../support/api/requests.ts";
import { openStatementDoor } from "../support/api/statements.ts";

// The function's own code in front of a gateway of its own, whose connections to the stack's Postgres go through a door that
// notes each statement.

const { databaseUrl, url, signingKey, liteJwtSecret, publishableKey, secretKey } = inject("stack");
const door = openStatementDoor(databaseUrl);
const storageFolder = await Deno.makeTempDir({ prefix: "keyframe-statements-" });
const platform = await createPlatform({
  databaseUrl: door.url,
  publicUrl: url,
  signingKey: signingKeySchema.parse(signingKey),
  liteSecret: liteJwtSecret,
  publishableKey,
  secretKey,
  storageFolder,
  functions: {},
});
/** A function that has just started and has kept no signed URL. */
const startApp = () => createApiApp({ fetcher: (input, init) => platform.fetch(new Request(input, init)) });
const sql = openDatabase();
afterAll(async () => {
  await platform.close();
  door.close();
  await Deno.remove(storageFolder, { recursive: true });
});

let scene: Scene;
beforeAll(async () => {
  scene = await setScene(sql);
  await startApp().fetch(new Request("http://api.test/api/health")); // the gateway reads the schema before its first answer
});
/** What PostgREST does around a call as well: the transaction, who calls, and what the function has said of the answer. */
const AROUND = [
  /^begin$/,
  /^select set_config\(/,
  /^select current_setting\('response\.status'/,
  /^(commit|rollback)$/,
];

async function statementsOf(id: OperationId): Promise<string[]> {
  const { path, options } = await prepare(id, scene);
  door.statements.length = 0;
  const reply = await readReply(await startApp().fetch(new Request(`http://api.test${path}`, requestInit(options))));
  expect(reply.status).toBe(OPERATIONS[id].status);
  return [...door.statements];
}

/** Those that sign or store a file: Storage asks for its bucket and the object, in a transaction of its own. */
const STORES: OperationId[] = ["readProject", "readFirstFrame", "uploadReferenceImage"];

test.each(STORES)("%s → the same, and after it what Storage asks for the file, of its own tables alone", async (id) => {
  const statements = await statementsOf(id);
  const [call, ...others] = statements.filter((statement) => !AROUND.some((around) => around.test(statement)));
  expect(call).toContain(`from keyframe.${REQUESTS[id].calls}(`);
  for (const statement of others) expect(statement).toMatch(/\b"?storage"?\."?(buckets|objects)"?\b/);
  expect(others.length).toBeGreaterThan(0);
});

test.each(OPERATION_IDS.filter((id) => !STORES.includes(id)))(
  "%s → one transaction, and one statement in it: the call of its SQL function",
  async (id) => {
    const statements = await statementsOf(id);
    expect(statements.filter((statement) => statement === "begin")).toHaveLength(1);
    const calls = statements.filter((statement) => !AROUND.some((around) => around.test(statement)));
    expect(calls).toEqual([expect.stringContaining(`from keyframe.${REQUESTS[id].calls}(`)]);
  },
);
