import type { AppOperationId } from "../../../client/routes.ts";
import { jsLiteral } from "./js-literal.ts";
import type { Example } from "./open-api.ts";
import type { ApiOperation } from "./operations-of.ts";

/** What a call is made of, each written as code. */
type Parts = {
  path: (name: string) => string;
  run: (step: string) => string;
  query: string;
  body: string;
};

/** How the client (client/) does each operation. Its type names those that an app has: a new one is missing here at once. */
const CALLS: Record<AppOperationId, (parts: Parts) => string> = {
  createProject: ({ body }) => `const project = await keyframe.createProject(${body});`,
  listProjects: ({ query }) => `const { projects, nextCursor } = await keyframe.listProjects(${query});`,
  readProject: ({ path }) => `const project = await keyframe.readProject(${path("projectId")});`,
  changeProject: ({ path, body }) => `const project = await keyframe.changeProject(${path("projectId")}, ${body});`,
  deleteProject: ({ path }) => `await keyframe.deleteProject(${path("projectId")});`,
  listPredictions: ({ path, query }) =>
    `const { predictions, nextCursor } = await keyframe.listPredictions(${join(path("projectId"), query)});`,
  uploadReferenceImage: () =>
    "// photo: a File, a Blob, or bytes\nconst { referenceImagePath } = await keyframe.uploadReferenceImage(photo);",
  startFirstFrame: ({ body }) => generate("first-frame", body),
  startLastFrame: ({ body }) => generate("last-frame", body),
  startVideo: ({ body }) => generate("video", body),
  readFirstFrame: ({ run }) => `const prediction = await keyframe.readPrediction(${run("first-frame")});`,
  readLastFrame: ({ run }) => `const prediction = await keyframe.readPrediction(${run("last-frame")});`,
  readVideo: ({ run }) => `const prediction = await keyframe.readPrediction(${run("video")});`,
  cancelPrediction: ({ body }) => `const prediction = await keyframe.cancel(${body});`,
  createWebhook: ({ body }) => `const { webhookId, secret } = await keyframe.webhooks.create(${body});`,
  listWebhooks: () => "const { webhooks } = await keyframe.webhooks.list();",
  readWebhook: ({ path }) => `const webhook = await keyframe.webhooks.read(${path("webhookId")});`,
  changeWebhook: ({ path, body }) => `const webhook = await keyframe.webhooks.change(${path("webhookId")}, ${body});`,
  deleteWebhook: ({ path }) => `await keyframe.webhooks.delete(${path("webhookId")});`,
  revealSecret: ({ path }) => `const { secret } = await keyframe.webhooks.secret(${path("webhookId")});`,
  rotateSecret: ({ path, body }) =>
    `const { secret } = await keyframe.webhooks.rotate(${join(path("webhookId"), body)});`,
  testWebhook: ({ path }) => `const delivery = await keyframe.webhooks.test(${path("webhookId")});`,
  listDeliveries: ({ path, query }) =>
    `const { deliveries, nextCursor } = await keyframe.webhooks.deliveries(${join(path("webhookId"), query)});`,
  redeliver: ({ path }) => `const delivery = await keyframe.webhooks.redeliver(${path("deliveryId")});`,
  recoverWebhook: ({ path, body }) => `await keyframe.webhooks.recover(${path("webhookId")}, ${body});`,
};

const generate = (step: string, body: string): string =>
  `const started = await keyframe.generate("${step}", ${body});\nconst ended = await keyframe.waitFor(started);`;

/** The example in code, for those who use the client; null for what the client leaves to the operator. */
export function clientCodeOf(operation: ApiOperation, example: Example): string | null {
  const path = example.path ?? {};
  const query = typed(operation, example.query ?? {});
  return (
    callOf(operation.id)?.({
      path: (name) => jsLiteral(path[name] ?? ""),
      run: (step) => jsLiteral({ step, ...query }),
      query: optional(query),
      body: optional(example.body ?? {}),
    }) ?? null
  );
}

const callOf = (id: string): ((parts: Parts) => string) | undefined =>
  Object.hasOwn(CALLS, id) ? Reflect.get(CALLS, id) : undefined;

const optional = (value: object): string => (Object.keys(value).length === 0 ? "" : jsLiteral(value));
const join = (...values: string[]): string => values.filter((value) => value !== "").join(", ");

/** In an address everything is text; the client takes numbers. */
function typed({ parameters }: ApiOperation, query: Record<string, string>): Record<string, string | number> {
  const isNumber = (name: string) =>
    parameters.some((one) => one.in === "query" && one.name === name && one.schema?.type === "integer");
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, isNumber(name) ? Number(value) : value]),
  );
}
