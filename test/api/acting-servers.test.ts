import { beforeAll, expect, inject, test } from "vitest";
import { createKeyframeClient, type KeyframeClient, mustSucceed } from "../../client/index.ts";
import { callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp, type User } from "../support/api/user.ts";
import { drawImage } from "../support/media/images.ts";

// A server with the secret key acts for a user, by the client and over HTTP. What an attacker tries: test/security/acting-servers.test.ts.

const sql = openDatabase();
let user: User;
let server: KeyframeClient;
let headers: Record<string, string>;
beforeAll(async () => {
  user = await signUp();
  const { url, secretKey } = inject("stack");
  server = createKeyframeClient({ url, secretKey, userId: user.id });
  headers = { apikey: secretKey, "keyframe-user": user.id };
});

test("a server makes a project, image, first frame and video for a user → they are the user's, whose session reads them", async () => {
  const { projectId } = await server.createProject({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const { referenceImagePath } = await server.uploadReferenceImage(await drawImage());
  const started = await server.generate("first-frame", { projectId, referenceImagePath });
  const frame = mustSucceed(await server.waitFor(started));
  const video = mustSucceed(await server.waitFor(await server.generate("video", { projectId })));
  for (const { output } of [frame, video]) {
    const file = await fetch(output.url);
    await file.body?.cancel();
    expect(file.status).toBe(200);
  }

  const own = await user.read("video", projectId, video.predictionId);
  expect({ ...own, output: null }).toEqual({ ...video, output: null });
  expect(own.output?.path).toBe(video.output.path);
  expect(
    (await user.supabase.storage.from("projects").download(referenceImagePath.slice("projects/".length))).error,
  ).toBeNull();
  const rows = await sql`
    select p.owner_id, p.started_by_server, o.user_metadata ->> 'ownerId' as file_owner
    from keyframe.predictions p, storage.objects o where p.project_id = ${projectId} and 'projects/' || o.name = ${referenceImagePath}`;
  const row = { owner_id: user.id, started_by_server: true, file_owner: user.id };
  expect([...rows]).toEqual([row, row]);
  await server.deleteProject(projectId);
  expect((await user.call(`/api/projects/${projectId}`)).status).toBe(404);
});

test("a server sends a user's Idempotency-Key → the answer to the user's first request; also for an upload", async () => {
  const key = { "idempotency-key": crypto.randomUUID() };
  const json = { title: "Lighthouse", textPrompt: "A lighthouse" };
  const first = await user.post("/api/projects", json, key);
  const again = await callApi("/api/projects", { json, headers: { ...headers, ...key } });
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  expect(again.data).toEqual(first.data);
  const image = {
    body: await drawImage(),
    headers: { ...headers, "content-type": "image/png", "idempotency-key": "image-1" },
  };
  const uploads = [
    await callApi("/api/projects/reference-images", image),
    await callApi("/api/projects/reference-images", image),
  ];
  expect(uploads.map(({ status, headers }) => [status, headers.get("idempotency-replayed")])).toEqual([
    [201, null],
    [201, "true"],
  ]);
  expect(uploads[1]?.data).toEqual(uploads[0]?.data);
});

test("a server sends a user's ETag → 304 for a prediction; as If-Match for a changed project → 412", async () => {
  const projectId = await user.createProject();
  const { predictionId } = await user.finish(await user.start("first-frame", { projectId }));
  const query = new URLSearchParams({ projectId, predictionId });
  const read = (more: Record<string, string>) =>
    fetch(`${inject("stack").url}/functions/v1/api/projects/generate/first-frame?${query}`, { headers: more });
  const mine = await read({ authorization: `Bearer ${user.token}` });
  await mine.body?.cancel();
  const cached = await read({ ...headers, "if-none-match": mine.headers.get("etag") ?? "" });
  await cached.body?.cancel();
  expect(cached.status).toBe(304);
  const project = await server.readProject(projectId);
  await user.call(`/api/projects/${projectId}`, { method: "PATCH", json: { title: "Changed" } });
  const late = server.changeProject(projectId, { title: "Mine" }, { unchangedSince: project });
  await expect(late).rejects.toMatchObject({ code: "precondition_failed" });
});
