import { createClient } from "@supabase/supabase-js";
import { beforeAll, expect, inject, test } from "vitest";
import { callApi } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { prepare, type Scene, setScene } from "../support/api/requests.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { drawImage } from "../support/media/images.ts";

// A client that the user approved at Supabase Auth's OAuth server has a session's token with client_id. What each right opens, function by
// function and table by table: test/db/rights/oauth-clients.test.ts.

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

const stateOf = async ({ user, webhookId }: Scene) => [
  await footprint(sql, user.id),
  await sql`select * from keyframe.projects where owner_id = ${user.id} order by id`,
  await sql`
    select id, url, description, enabled, keyframe_private.webhook_secret(id) as secret
    from keyframe.webhook_endpoints where owner_id = ${user.id} order by id`,
  await sql`select id, retries_from from keyframe.webhook_deliveries where endpoint_id = ${webhookId} order by id`,
];

test("an OAuth client at Storage → gets nothing until it may read", async () => {
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

test("an OAuth client at the API → does what its right says, and a refused request changes nothing", async () => {
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
    [null, [403, 403, 403, 403, 403]],
    ["read", [200, 403, 403, 403, 403]],
    ["generate", [200, 201, 202, 403, 403]],
    ["manage", [200, 201, 202, 201, 200]],
  ] as const) {
    await (may === null ? sql`delete from keyframe_private.allowed_clients where client_id = ${APP}` : allow(may));
    const statuses = [];
    for (const id of asked) statuses.push(await ask(id));
    expect([may, ...statuses]).toEqual([may, ...expected]);
  }
});
