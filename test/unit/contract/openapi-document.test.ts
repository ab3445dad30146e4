import { expect, test } from "vitest";
import { z } from "zod";
import { OPERATIONS } from "../../../shared/contract/operations/index.ts";
import { errorsOf, type Operation } from "../../../shared/contract/operations/operation.ts";
import { ERROR_STATUS } from "../../../shared/http/errors.ts";
import {
  type Answer,
  follow,
  lookUp,
  openApi,
  pointerTo,
  places,
  type Schema,
} from "../../support/openapi/document.ts";
import { faultsOf } from "../../support/openapi/schemas.ts";

// Rules that hold for the document whatever the contract says. What the service makes of it: test/api/reference-examples.test.ts; what
// other people's tools make of it: test/release/openapi-tools.test.ts.

type Node = { pointer: string; value: Record<string, unknown> };

function* nodes(value: unknown = openApi, pointer = "#"): Generator<Node> {
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value)) yield { pointer, value: value as Record<string, unknown> };
  for (const [name, inner] of Object.entries(value)) yield* nodes(inner, `${pointer}${pointerTo(name).slice(1)}`);
}
const all = [...nodes()];

/** Every schema, those within schemas included, but for what examples contain. */
const schemas = all
  .filter(({ pointer }) => /\/(schema|items|(schemas|properties|anyOf|oneOf)\/[^/]+)$/.test(pointer))
  .filter(({ pointer }) => !/\/(x-)?examples?\//.test(pointer))
  .map(({ pointer, value }): { pointer: string; schema: Schema } => ({ pointer, schema: value }));

const contract: [string, Operation][] = Object.entries(OPERATIONS);

test("openapi.json → has every operation of the contract once, and else only itself and the metrics", () => {
  const described = places.map(({ id, method, template }) => [id, method, template]);
  const wanted = contract.map(([id, { method, at }]) => [id, method, `/api${at.replaceAll(/:(\w+)/g, "{$1}")}`]);
  const documents = [
    ["readOpenApi", "GET", "/api/openapi.json"],
    ["readMetrics", "GET", "/api/metrics"],
  ];
  expect(described.toSorted()).toEqual([...wanted, ...documents].toSorted());
});

test("openapi.json's groups, operations and events → described, in other words than their summaries", () => {
  const operations = [...Object.values(openApi.paths), ...Object.values(openApi.webhooks)].flatMap(Object.values);
  for (const { operationId, summary, description = "" } of operations) {
    expect(description.length, operationId).toBeGreaterThan(60);
    expect(description, operationId).not.toContain(summary);
  }
  const used = new Set(operations.flatMap(({ tags }) => tags));
  expect(new Set(openApi.tags.map(({ name }) => name))).toEqual(used);
  expect(openApi.tags.filter(({ description = "" }) => description.length <= 60)).toEqual([]);
});

test("every id in openapi.json → a uuid, of any kind that Postgres accepts, so that validators refuse no existing id", () => {
  const ids = schemas.filter(({ schema }) => "format" in schema && schema.format === "uuid");
  expect(ids.length).toBeGreaterThan(20);
  for (const { pointer, schema } of ids) {
    const pattern = new RegExp("pattern" in schema ? String(schema.pattern) : "");
    expect(pattern.test("5f4dcc3b-5aa7-65d6-1d83-27deb882cf99"), pointer).toBe(true);
  }
});

test("an operation with a credential → says so and has 401; one for sessions, or a link → also 429", () => {
  for (const { id, described } of places) {
    const schemes = described.security.flatMap((one) => Object.keys(one));
    const { "401": unauthorized, "429": limited } = described.responses;
    expect(unauthorized !== undefined, id).toBe(schemes.length > 0);
    expect(limited !== undefined, id).toBe(schemes.includes("session") || id === "readShared");
  }
});

test("who may call an operation → the secret key for webhooks; nobody needs a session for health and links", () => {
  const those = (caller: string) => contract.flatMap(([id, operation]) => (operation.caller === caller ? [id] : []));
  expect(those("nobody")).toEqual(["readShared", "readHealth"]);
  expect(those("manager")).toEqual(contract.flatMap(([id, { tag }]) => (tag === "Webhooks" ? [id] : [])));
});

test("Keyframe-User → an optional header, not a credential, since generated clients send all credentials", () => {
  for (const { id, described } of places) {
    const schemes = described.security.flatMap((one) => Object.keys(one));
    const header = JSON.stringify(described.parameters ?? []).includes("KeyframeUser");
    expect(["session", "secretKey"], id).toEqual(expect.arrayContaining(schemes));
    expect(header, id).toBe(schemes.includes("session"));
  }
});

test("If-Match → an optional header of what changes or deletes a project, film or element, and of nothing else", () => {
  const ids = places.filter(({ described }) => JSON.stringify(described.parameters ?? []).includes("IfMatch"));
  expect(ids.map(({ id }) => id).sort()).toEqual(
    ["Element", "Film", "Project"].flatMap((one) => [`change${one}`, `delete${one}`]).sort(),
  );
});

test("an empty body → allowed exactly where {} is enough; an operation with waits → has an ETag", () => {
  for (const [id, { body, bodyMayBeEmpty = false, waits, tagged }] of contract) {
    const isEnough = body instanceof z.ZodType && body.safeParse({}).success;
    expect(bodyMayBeEmpty, id).toBe(isEnough);
    expect(!waits || tagged, id).toBe(true);
  }
});

test("every schema in openapi.json → has a type, or is made of schemas that have one", () => {
  const loose = schemas.filter(
    ({ schema }) => !["type", "$ref", "anyOf", "oneOf", "const", "enum"].some((keyword) => keyword in schema),
  );
  expect(loose.map(({ pointer }) => pointer)).toEqual([]);
  expect(schemas.length).toBeGreaterThan(300);
});

test("every object in openapi.json → allows no other field, or says of which kind; only openapi.json itself is open", () => {
  const isOpen = (more: unknown) => more === undefined || JSON.stringify(more) === "{}";
  const open = schemas.filter(({ schema }) => schema.type === "object" && isOpen(schema.additionalProperties));
  expect(open.map(({ pointer }) => pointer.split("/").slice(0, 3).join("/"))).toEqual(
    open.map(() => pointerTo("paths", "/api/openapi.json", "get").split("/").slice(0, 3).join("/")),
  );
});

test("every schema in openapi.json → compiles with the keywords of JSON Schema 2020-12, and fits its own default", () => {
  const pointers = new Set(schemas.map(({ pointer }) => pointer));
  const isWithinAnother = (pointer: string): boolean => {
    const outer = pointer.slice(0, pointer.lastIndexOf("/"));
    return outer !== "" && (pointers.has(outer) || isWithinAnother(outer));
  };
  for (const { pointer, schema } of schemas) {
    // One within another is compiled with it.
    if (!isWithinAnother(pointer)) expect(() => faultsOf(null, pointer), pointer).not.toThrow();
    if ("default" in schema) expect([pointer, faultsOf(schema.default, pointer)]).toEqual([pointer, []]);
  }
});

test("every operation with data in its answer → has an example of its own, for its step, with its secret", () => {
  const shown = new Map(
    places.map(({ id, described }) => {
      const [success] = Object.entries(described.responses).filter(([status]) => Number(status) < 300);
      const content = (success?.[1] as Answer | undefined)?.content?.["application/json"] as {
        example?: { data: object };
      };
      return [id, content?.example?.data] as const;
    }),
  );
  const without = [...shown].filter(([, data]) => data === undefined).map(([id]) => id);
  expect(without.toSorted()).toEqual(["readHealth", "readMetrics", "readOpenApi"]);
  expect(shown.get("createWebhook")).toMatchObject({
    url: expect.any(String),
    secret: expect.stringMatching(/^whsec_/),
  });
  expect(shown.get("startVideo")).toMatchObject({ step: "video", status: "queued", output: null });
  expect(shown.get("readLastFrame")).toMatchObject({ step: "last-frame", output: { contentType: "image/png" } });
  expect(shown.get("readVideo")).toMatchObject({ step: "video", output: { contentType: "video/mp4" } });
  expect(shown.get("cancelPrediction")).toMatchObject({ status: "canceled", output: null });
  expect(shown.get("testWebhook")).toMatchObject({ eventType: "webhook.test", attempts: 0 });
});

test("every error code of the service → documented, with its status and an example", () => {
  const examples = new Map(
    Object.values(openApi.components.responses ?? {}).flatMap((answer) =>
      Object.entries((answer as Answer).content?.["application/json"]?.examples ?? {}),
    ),
  );
  expect([...examples.keys()].toSorted()).toEqual(Object.keys(ERROR_STATUS).toSorted());
  for (const [code, { value }] of examples) expect(value).toMatchObject({ success: false, error: { code } });
});

test("every operation → documents each possible error under its status, and describes every answer", () => {
  for (const [id, operation] of contract) {
    const place = places.find((one) => one.id === id);
    for (const code of errorsOf(operation)) {
      const at = follow(`${place?.pointer}/responses/${ERROR_STATUS[code]}`);
      const codes = lookUp(`${at}/content/application~1json/schema/properties/error/properties/code/enum`);
      expect([id, code, codes]).toEqual([id, code, expect.arrayContaining([code])]);
    }
  }
  const answers = places.flatMap(({ pointer, described }) =>
    Object.keys(described.responses).map((status) => lookUp(follow(`${pointer}/responses/${status}`)) as Answer),
  );
  expect(answers.every(({ description }) => description.length > 3)).toBe(true);
});
