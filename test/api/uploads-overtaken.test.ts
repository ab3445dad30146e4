import { expect, test } from "vitest";
import { createApiApp } from "../support/api-app.ts";
import { requestInit } from "../support/api-call.ts";
import { openDatabase } from "../support/api-database.ts";
import { readReply } from "../support/api-envelope.ts";
import { drawImage } from "../support/api-images.ts";
import { signUp } from "../support/api-user.ts";

// The function's own code in front of the running platform, with a fetch that can keep an upload waiting.

const sql = openDatabase();

test("an upload that an equal one overtakes on the way to Storage → 201 for both, one file", async () => {
  const user = await signUp();
  const onItsWay = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let uploads = 0;
  const { fetch: send } = createApiApp({
    fetcher: async (input, init) => {
      const request = new Request(input, init);
      if (new URL(request.url).pathname.startsWith("/storage/v1/object/projects/") && ++uploads === 1) {
        onItsWay.resolve();
        await goOn.promise;
      }
      return await fetch(request);
    },
  });
  const headers = { "content-type": "image/png", "idempotency-key": crypto.randomUUID() };
  const init = requestInit({ token: user.token, body: await drawImage(), headers });
  const upload = async () => readReply(await send(new Request("http://api.test/api/projects/reference-images", init)));

  const slow = upload();
  await onItsWay.promise;
  const quick = await upload();
  goOn.resolve();
  const late = await slow;
  expect([quick, late].map(({ status, headers }) => [status, headers.get("idempotency-replayed")])).toEqual([
    [201, "true"],
    [201, null],
  ]);
  expect(late.data).toEqual(quick.data);
  expect(await sql`select from storage.objects where bucket_id = 'projects' and owner_id = ${user.id}`).toHaveLength(1);
});
