import { openApiDocument } from "../../shared/contract/openapi/index.ts";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { sendToApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import type { User } from "../support/api/user.ts";
import { listDeliveries } from "../support/api/webhooks.ts";
import { checkAnswer } from "../support/openapi/check.ts";
import { type Example, type Place, places } from "../support/openapi/document.ts";
import { until } from "../support/until.ts";
import { prepareScene, type Real, type Scene, withReal } from "../support/openapi/scene.ts";

// Every request to try in openapi.json, sent to the running service as it stands there but for its sample identifiers.

const sql = openDatabase();
let scene: Scene;
beforeAll(async () => {
  scene = await prepareScene(sql);
});
afterAll(() => scene?.receiver.close());

/** What a request uses up, and so has to be made for it. */
const PREPARE: Record<string, () => Promise<Real>> = {
  deleteFilm: () => scene.freshFilm(),
  deleteProject: () => scene.freshProject(),
  cancelPrediction: () => scene.freshRun(),
  changeWebhook: () => scene.freshWebhook(),
  deleteWebhook: () => scene.freshWebhook(),
};

test("GET /api/openapi.json without a session → the document itself, in no envelope, of this server and this version", async () => {
  const { version } = JSON.parse(await Deno.readTextFile(new URL("../../package.json", import.meta.url)));
  const made = openApiDocument(`${inject("stack").url}/functions/v1`, version);
  expect(await (await sendToApi("/api/openapi.json")).json()).toEqual(JSON.parse(JSON.stringify(made)));
});

/** The status that the document has for the success; there is one. */
const successOf = ({ described }: Place) =>
  Object.keys(described.responses)
    .map(Number)
    .filter((status) => status < 300);

/** A session where that is enough, else the secret key where nothing less is. */
function credentialsFor({ described: { security } }: Place, token: string) {
  if (security.some((scheme) => "session" in scheme)) return { token };
  return security.length === 0 || security.some((scheme) => Object.keys(scheme).length === 0)
    ? {}
    : { token: inject("stack").secretKey };
}

async function send(place: Place, { path = {}, query = {}, body }: Example, { token }: User) {
  const filled = place.template.replaceAll(/\{(\w+)\}/g, (_, name: string) => path[name] ?? "");
  const search = new URLSearchParams(query);
  const isImage = "image/png" in (place.described.requestBody?.content ?? {});
  const response = await sendToApi(search.size === 0 ? filled : `${filled}?${search}`, {
    method: place.method,
    ...credentialsFor(place, token),
    ...(body === undefined ? {} : { json: body }),
    ...(isImage ? { body: await drawImage(), headers: { "content-type": "image/png" } } : {}),
  });
  const { status, headers } = response;
  return { method: place.method, path: filled, status, headers, text: await response.text() };
}

const each = places.flatMap((place) =>
  place.described["x-examples"].map((example) => ({ name: `${place.id}: ${example.summary}`, place, example })),
);

describe.each(each)("$name", ({ place, example }) => {
  test(`→ ${successOf(place)}, as the document has it`, async () => {
    const real = withReal(example, { ...scene.real, ...(await PREPARE[place.id]?.()) });
    const seen = await send(place, real, place.id === "createWebhook" ? scene.newcomer : scene.user);
    expect([seen.status], seen.text).toEqual(successOf(place));
    expect(checkAnswer(seen)).toEqual([]);
    if (place.id === "createWebhook") await expectNothingSent(seen.text);
  });
});

/** The address in the example has no receiver: no delivery may be pending for it. */
async function expectNothingSent(text: string): Promise<void> {
  const { webhookId } = JSON.parse(text).data;
  expect((await listDeliveries(scene.newcomer, webhookId)).deliveries).toEqual([]);
  expect((await scene.newcomer.call(`/api/webhooks/${webhookId}`, { method: "DELETE" })).status).toBe(200);
}

/** An example of changing an endpoint subscribes it to runs that end, so that its receiver may get those too. */
test("the test events were sent, to this machine", async () => {
  const tests = () => scene.receiver.arrivals.filter(({ body }) => JSON.parse(body).type === "webhook.test");
  await until("two test events", () => tests().length >= 2);
});
