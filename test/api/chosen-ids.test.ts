import { expect, test } from "vitest";
import { prediction } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import { type CallOptions, callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { dataOf } from "../support/api/envelope.ts";
import { until } from "../support/until.ts";

// Postgres takes any 32 hexadecimal digits for a uuid. Administrators may choose the ids of projects and predictions, and users who
// are imported into Auth bring theirs.

const sql = openDatabase();

/** No id of RFC 9562, like 5f4dcc3b-5aa7-65d6-1d83-27deb882cf99, and another one each time. */
const chosenId = () => `${crypto.randomUUID().slice(0, 13)}-65d6-1d83-${crypto.randomUUID().slice(24)}`;

test("owner, project and predictions with chosen ids → started, polled, listed, canceled through the API", async () => {
  const [userId, projectId, inserted] = [chosenId(), chosenId(), chosenId()];
  await sql`insert into auth.users (id, email) values (${userId}, ${`${userId}@keyframe.local`})`;
  const token = await forgeToken(userId);
  const call = (path: string, options: CallOptions = {}) => callApi(path, { token, ...options });
  await sql`
    insert into keyframe.projects (id, owner_id, title, text_prompt)
    values (${projectId}, ${userId}, 'Harbour', 'A harbour at dawn')`;
  expect(project.parse(dataOf(await call(`/api/projects/${projectId}`), 200)).projectId).toBe(projectId);

  const read = async (step: string, predictionId: string) => {
    const query = new URLSearchParams({ projectId, predictionId });
    return prediction.parse(dataOf(await call(`/api/projects/generate/${step}?${query}`), 200));
  };
  const end = (step: string, predictionId: string) =>
    until(`the end of ${predictionId}`, async () => {
      const now = await read(step, predictionId);
      return now.completedAt !== null && now;
    });
  const path = (predictionId: string) => `${userId}/${projectId}/${predictionId}.png`;

  await sql`
    insert into keyframe.predictions (id, project_id, step) values (${inserted}, ${projectId}, 'first-frame')`;
  expect(await end("first-frame", inserted)).toMatchObject({
    status: "succeeded",
    attempt: 1,
    output: { path: path(inserted) },
  });

  const json = { projectId, firstFramePredictionId: inserted };
  const started = prediction.parse(dataOf(await call("/api/projects/generate/last-frame", { json }), 202));
  expect(await end("last-frame", started.predictionId)).toMatchObject({
    status: "succeeded",
    output: { path: path(started.predictionId) },
  });

  const listed = dataOf(await call(`/api/projects/${projectId}/predictions`), 200);
  expect(listed).toMatchObject({ predictions: [{ predictionId: started.predictionId }, { predictionId: inserted }] });
  const ended = await call("/api/projects/generate/cancel", { json: { projectId, predictionId: inserted } });
  expect([ended.status, ended.error?.code]).toEqual([409, "generation_ended"]);
});
