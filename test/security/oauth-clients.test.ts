import { createClient } from "@supabase/supabase-js";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { callApi } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { OPERATION_IDS, prepare, type Scene, setScene } from "../support/api/requests.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { drawImage } from "../support/media/images.ts";
import { rest } from "../support/security/rest.ts";

// A client that the user approved at Supabase Auth's OAuth server has a session's token with client_id. What each right opens, and the
// tables one by one: test/db/rights/oauth-clients.test.ts.

const sql = openDatabase();
const APP = crypto.randomUUID();
let scene: Scene;
let token: string;
beforeAll(async () => {
  scene = await setScene(sql);
  token = await forgeToken(scene.user.id, { claims: { client_id: APP } });
});

const allow = (may: string) => sql`
  insert into keyframe_private.allowed_clients (client_id, name, may) values (${APP}, 'An app', ${may})
  on conflict (client_id) do update set may = excluded.may`;

/** All that the owner has, but for what sending changes. Two equal ones: nothing has changed between. */
const stateOf = async ({ user, webhookId }: Scene) => [
  await footprint(sql, user.id),
  await sql`select * from keyframe.projects where owner_id = ${user.id} order by id`,
  await sql`
    select id, url, description, enabled, keyframe_private.webhook_secret(id) as secret
    from keyframe.webhook_endpoints where owner_id = ${user.id} order by id`,
  await sql`select id, retries_from from keyframe.webhook_deliveries where endpoint_id = ${webhookId} order by id`,
];

describe("the API, to a client that nobody has allowed", () => {
  test.each(OPERATION_IDS.filter((id) => !["nobody", "server"].includes(OPERATIONS[id].caller)))(
    "%s → 403 client_not_allowed, and nothing changed",
    async (id) => {
      const { path, options } = await prepare(id, scene);
      const before = await stateOf(scene);
      const { status, error } = await callApi(path, { ...options, token });
      expect([status, error?.code]).toEqual([403, "client_not_allowed"]);
      expect(await stateOf(scene)).toEqual(before);
    },
  );
});

test("the Data API, to a client that nobody has allowed → no row, no insert, update, delete or call", async () => {
  const { user, projectId } = scene;
  const before = await stateOf(scene);
  for (const table of ["projects", "films", "predictions", "models", "webhook_endpoints", "webhook_events"]) {
    const { status, text } = await rest({ token }, "GET", `/${table}?select=*`);
    expect([table, status, text]).toEqual([table, 200, "[]"]);
  }
  const own = `?owner_id=eq.${user.id}`;
  for (const [method, path, json] of [
    ["POST", "/projects", { title: "t", text_prompt: "p" }],
    ["POST", "/predictions", { project_id: projectId, step: "first-frame" }],
    ["PATCH", `/projects${own}`, { title: "u" }],
    ["DELETE", `/films${own}`, undefined],
    ["POST", "/rpc/create_webhook_endpoint", { url: "https://receiver.example" }],
    ["POST", "/rpc/list_projects", {}],
  ] as const) {
    const { status, message } = await rest({ token }, method, path, { json });
    expect([method, path, status, message]).toEqual([method, path, 400, "client_not_allowed"]);
  }
  expect(await stateOf(scene)).toEqual(before);
});

test("Storage, to a client → nothing until it may read", async () => {
  const { user, finishedId, projectId } = scene;
  const { url, publishableKey } = inject("stack");
  const reference = (await user.upload(await drawImage())).slice("projects/".length);
  const { storage } = createClient(url, publishableKey, { accessToken: async () => token });
  const output = (await user.read("first-frame", projectId, finishedId)).output?.path ?? "";
  const files = [
    ["projects", reference, ""],
    ["keyframe-outputs", output, `${user.id}/${projectId}`],
  ] as const;
  const tryAll = async () => {
    const found = [];
    for (const [bucket, path, folder] of files) {
      const file = storage.from(bucket);
      found.push(
        (await file.download(path)).data !== null,
        (await file.createSignedUrl(path, 60)).data !== null,
        ((await file.list(folder)).data ?? []).length > 0,
      );
    }
    return [...new Set(found)];
  };
  const before = await stateOf(scene);
  expect(await tryAll()).toEqual([false]);
  expect(await stateOf(scene)).toEqual(before);
  await allow("read");
  expect(await tryAll()).toEqual([true]);
});

test("a client, over the API → does what its right says, and what is refused changes nothing", async () => {
  const asked = ["readProject", "uploadReferenceImage", "startFirstFrame", "createWebhook", "deleteProject"] as const;
  let hasStarted = false;
  const ask = async (id: (typeof asked)[number]) => {
    const { path, options } = await prepare(id, scene);
    const before = await stateOf(scene);
    const { status } = await callApi(path, { ...options, token });
    if (status === 403 && !hasStarted) expect([id, await stateOf(scene)]).toEqual([id, before]);
    hasStarted ||= status === 202; // from then on a run changes things
    return status;
  };
  for (const [may, expected] of [
    ["read", [200, 403, 403, 403, 403]],
    ["generate", [200, 201, 202, 403, 403]],
    ["manage", [200, 201, 202, 201, 200]],
  ] as const) {
    await allow(may);
    const statuses = [];
    for (const id of asked) statuses.push(await ask(id));
    expect([may, ...statuses]).toEqual([may, ...expected]);
  }
});
