import { createClient } from "@supabase/supabase-js";
import { beforeAll, expect, inject, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { type Scene, setScene } from "../support/api/requests.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { drawImage } from "../support/media/images.ts";

// A client that the user approved at Supabase Auth's OAuth server has a session's token with client_id. What each right opens, function by
// function and table by table: test/db/rights/oauth-clients.test.ts. By HTTP, as for keys and tools: keys.test.ts, mcp.test.ts.

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
  const before = await footprint(sql, user.id);
  expect(await tryAll()).toEqual([false]);
  expect(await footprint(sql, user.id)).toEqual(before);
  await allow("read");
  expect(await tryAll()).toEqual([true]);
});
