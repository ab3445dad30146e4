import { expect, test } from "vitest";
import { createApiApp } from "../support/api/app.ts";
import { requestInit } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp } from "../support/api/user.ts";

// The function's own code in front of the running platform, with a fetch that can keep an upload waiting. One instance of the
// function reads one upload of an account at a time, so the second goes to another instance, as the hosted platform runs several.

const sql = openDatabase();

test("an upload that an equal one overtakes on the way to Storage → 201 for both, one file", async () => {
  const user = await signUp();
  const onItsWay = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slowInstance = createApiApp({
    fetcher: async (input, init) => {
      const request = new Request(input, init);
      if (new URL(request.url).pathname.startsWith("/storage/v1/object/projects/")) {
        onItsWay.resolve();
        await goOn.promise;
      }
      return await fetch(request);
    },
  });
  const headers = { "content-type": "image/png", "idempotency-key": crypto.randomUUID() };
  const init = requestInit({ token: user.token, body: await drawImage(), headers });
  const upload = async ({ fetch: send }: ReturnType<typeof createApiApp>) =>
    readReply(await send(new Request("http://api.test/api/projects/reference-images", init)));

  const slow = upload(slowInstance);
  await onItsWay.promise;
  const quick = await upload(createApiApp({ fetcher: fetch }));
  goOn.resolve();
  const late = await slow;
  expect([quick, late].map(({ status, headers }) => [status, headers.get("idempotency-replayed")])).toEqual([
    [201, "true"],
    [201, null],
  ]);
  expect(late.data).toEqual(quick.data);
  expect(await sql`select from storage.objects where bucket_id = 'projects' and owner_id = ${user.id}`).toHaveLength(1);
});
