import { expect, test } from "vitest";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { errorsOf } from "../../shared/contract/operations/operation.ts";
import { SAMPLE } from "../../shared/contract/samples.ts";
import { ERROR_STATUS } from "../../shared/http/errors.ts";
import {
  type Answer,
  follow,
  lookUp,
  openApi,
  type Parameter,
  pointerTo,
  places,
  type Schema,
} from "../support/openapi/document.ts";
import { faultsOf } from "../support/openapi/schemas.ts";

// Rules that hold for the document whatever the contract says. What the service makes of it: test/api/openapi-examples.test.ts.

type Node = { pointer: string; value: Record<string, unknown> };

/** Every object of the document with where it is. */
function* nodes(value: unknown = openApi, pointer = "#"): Generator<Node> {
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value)) yield { pointer, value: value as Record<string, unknown> };
  for (const [name, inner] of Object.entries(value)) yield* nodes(inner, `${pointer}${pointerTo(name).slice(1)}`);
}
const all = [...nodes()];

/** Every place where a schema begins. */
function roots(): { pointer: string; schema: Schema }[] {
  const given = all.flatMap(({ pointer, value }) =>
    "schema" in value ? [{ pointer: `${pointer}/schema`, schema: value.schema as Schema }] : [],
  );
  const named = Object.entries(openApi.components.schemas ?? {}).map(([name, schema]) => ({
    pointer: pointerTo("components", "schemas", name),
    schema: schema as Schema,
  }));
  return [...given, ...named];
}

/** Every schema, those within schemas included. */
const schemas = () => roots().flatMap(({ pointer, schema }) => within(pointer, schema));

function within(pointer: string, schema: Schema): { pointer: string; schema: Schema }[] {
  const {
    properties = {},
    items,
    anyOf = [],
    oneOf = [],
  } = schema as {
    properties?: Record<string, Schema>;
    items?: Schema;
    anyOf?: Schema[];
    oneOf?: Schema[];
  };
  return [
    { pointer, schema },
    ...Object.entries(properties).flatMap(([name, one]) => within(`${pointer}/properties/${name}`, one)),
    ...(items === undefined ? [] : within(`${pointer}/items`, items)),
    ...anyOf.flatMap((one, index) => within(`${pointer}/anyOf/${index}`, one)),
    ...oneOf.flatMap((one, index) => within(`${pointer}/oneOf/${index}`, one)),
  ];
}

const parametersOf = (pointer: string, count: number): Parameter[] =>
  Array.from({ length: count }, (_, index) => lookUp(follow(`${pointer}/parameters/${index}`)) as Parameter);

test("it is OpenAPI 3.1 with a title, a version, a server and paths, webhooks and components", () => {
  expect(openApi).toMatchObject({
    openapi: expect.stringMatching(/^3\.1\.\d+$/),
    info: { title: "Keyframe", version: expect.stringMatching(/^\d+\.\d+\.\d+$/), license: { name: "MIT" } },
    servers: [{ url: expect.stringMatching(/^https?:\/\/[^/]+\/functions\/v1$/) }],
  });
  const known = ["openapi", "info", "servers", "tags", "paths", "webhooks", "components"];
  expect(Object.keys(openApi).filter((name) => !known.includes(name))).toEqual([]);
});

test("every operation of the contract is there once, and nothing else but the document itself and metrics", () => {
  const described = places.map(({ id, method, template }) => [id, method, template]);
  const wanted = Object.entries(OPERATIONS).map(([id, { method, at }]) => [
    id,
    method,
    `/api${at.replaceAll(/:(\w+)/g, "{$1}")}`,
  ]);
  const documents = [
    ["readOpenApi", "GET", "/api/openapi.json"],
    ["readMetrics", "GET", "/api/metrics"],
  ];
  expect(described.toSorted()).toEqual([...wanted, ...documents].toSorted());
});

test("every group, operation and event is described, in other words than its summary", () => {
  const operations = [...Object.values(openApi.paths), ...Object.values(openApi.webhooks)].flatMap(Object.values);
  for (const { operationId, summary, description = "" } of operations) {
    expect([operationId, description.length > 60, description.includes(summary)]).toEqual([operationId, true, false]);
  }
  const used = new Set(operations.flatMap(({ tags }) => tags));
  expect(new Set(openApi.tags.map(({ name }) => name))).toEqual(used);
  expect(openApi.tags.filter(({ description = "" }) => description.length <= 60)).toEqual([]);
});

test("every operationId is there once, and is a name in any language", () => {
  const ids = [...Object.values(openApi.paths), ...Object.values(openApi.webhooks)].flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(ids.length).toBeGreaterThan(20);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !/^[a-z][A-Za-z0-9]*$/.test(id))).toEqual([]);
});

test("every identifier is a uuid, of any kind that Postgres takes: who validates by the document refuses none that exists", () => {
  const ids = schemas().filter(({ schema }) => "format" in schema && schema.format === "uuid");
  expect(ids.length).toBeGreaterThan(20);
  for (const { pointer, schema } of ids) {
    const pattern = new RegExp("pattern" in schema ? String(schema.pattern) : "");
    expect(pattern.test("5f4dcc3b-5aa7-65d6-1d83-27deb882cf99"), pointer).toBe(true);
  }
});

test("no two templates mean the same path", () => {
  const shapes = Object.keys(openApi.paths).map((template) => template.replaceAll(/\{\w+\}/g, "{}"));
  expect(new Set(shapes).size).toBe(shapes.length);
});

test("every reference leads somewhere", () => {
  const references = all.flatMap(({ pointer, value }) =>
    typeof value.$ref === "string" ? [[pointer, value.$ref]] : [],
  );
  expect(references.length).toBeGreaterThan(50);
  expect(references.filter(([, target]) => lookUp(target ?? "") === undefined)).toEqual([]);
});

test("every component is referred to", () => {
  const used = new Set(all.map(({ value }) => value.$ref));
  const { securitySchemes: _, ...referred } = openApi.components;
  const made = Object.entries(referred).flatMap(([kind, ones]) =>
    Object.keys(ones).map((name) => pointerTo("components", kind, name)),
  );
  expect(made.filter((pointer) => !used.has(pointer))).toEqual([]);
});

test("every parameter of a path is declared and required, and no other; no parameter is declared twice", () => {
  for (const { id, template, pointer, described } of places) {
    const parameters = parametersOf(pointer, described.parameters?.length ?? 0);
    const inPath = parameters.filter((parameter) => parameter.in === "path");
    const named = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect([id, inPath.map(({ name }) => name)]).toEqual([id, named]);
    expect(inPath.every(({ required }) => required === true)).toBe(true);
    const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
    expect([id, new Set(keys).size]).toEqual([id, keys.length]);
  }
});

test("every tag and every security scheme that is used is declared", () => {
  const tags = (lookUp("#/tags") as { name: string }[]).map(({ name }) => name);
  const used = all.flatMap(({ value }) => (Array.isArray(value.tags) && "operationId" in value ? value.tags : []));
  expect(new Set(used)).toEqual(new Set(tags));
  const schemes = new Set(places.flatMap(({ described }) => described.security.flatMap(Object.keys)));
  expect(schemes).toEqual(new Set(Object.keys(openApi.components.securitySchemes ?? {})));
});

test("an operation that takes a credential says so and has 401, one for sessions 429 too; one that takes none has neither", () => {
  for (const { id, described } of places) {
    const schemes = described.security.flatMap((one) => Object.keys(one));
    const { "401": unauthorized, "429": limited } = described.responses;
    expect([id, unauthorized !== undefined, limited !== undefined]).toEqual([
      id,
      schemes.length > 0,
      schemes.includes("session"),
    ]);
  }
});

test("health is open to all and takes the secret key for deep=1; metrics takes the secret key alone", () => {
  const securityOf = (id: string) => places.find((place) => place.id === id)?.described.security;
  expect(securityOf("readHealth")).toEqual([{}, { secretKey: [] }]);
  expect(securityOf("readMetrics")).toEqual([{ secretKey: [] }]);
});

test("every schema says what type it is of, or is made of schemas that do", () => {
  const loose = schemas().filter(
    ({ schema }) => !["type", "$ref", "anyOf", "oneOf", "const", "enum"].some((keyword) => keyword in schema),
  );
  expect(loose.map(({ pointer }) => pointer)).toEqual([]);
  expect(schemas().length).toBeGreaterThan(300);
});

test("every object says that it takes no other field, but for the document in itself", () => {
  const open = schemas().filter(({ schema }) => schema.type === "object" && schema.additionalProperties !== false);
  expect(open.map(({ pointer }) => pointer.split("/").slice(0, 3).join("/"))).toEqual(
    open.map(() => pointerTo("paths", "/api/openapi.json", "get").split("/").slice(0, 3).join("/")),
  );
});

test("sizes are sane: no bound below another, no limit above what fits into 64 KiB, every number within what JSON holds", () => {
  for (const { pointer, schema } of schemas()) {
    const { minLength = 0, maxLength = 0, minimum = 0, maximum = 0 } = schema as Record<string, number | undefined>;
    if ("maxLength" in schema)
      expect([pointer, minLength <= maxLength, maxLength <= 8192]).toEqual([pointer, true, true]);
    if ("maximum" in schema) expect([pointer, minimum < maximum]).toEqual([pointer, true]);
    expect([pointer, Math.abs(maximum) <= Number.MAX_SAFE_INTEGER]).toEqual([pointer, true]);
  }
  expect(JSON.stringify(openApi).length).toBeLessThan(400_000);
});

test("every schema compiles, with no keyword that JSON Schema 2020-12 does not know", () => {
  for (const { pointer } of roots()) expect(() => faultsOf(null, pointer), pointer).not.toThrow();
});

test("every example fits its schema", () => {
  const wrong: unknown[] = [];
  let count = 0;
  const check = (value: unknown, pointer: string) => {
    count++;
    const faults = faultsOf(value, pointer);
    if (faults.length > 0) wrong.push([pointer, faults]);
  };
  for (const { pointer, value } of all) {
    if (!("schema" in value)) continue;
    for (const { value: example } of Object.values((value.examples ?? {}) as Record<string, { value: unknown }>)) {
      check(example, `${pointer}/schema`);
    }
    if ("example" in value) check(value.example, `${pointer}/schema`);
  }
  for (const { pointer, schema } of schemas()) {
    for (const example of (schema.examples ?? []) as unknown[]) check(example, pointer);
    if ("example" in schema) check(schema.example, pointer);
    if ("default" in schema) check(schema.default, pointer);
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(50);
});

test("every operation that answers with data shows an answer of its own: of its step, with its secret", () => {
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

test("every request to try fits its operation: path, query and body, with everything that is required", () => {
  for (const { id, pointer, described } of places) {
    const parameters = parametersOf(pointer, described.parameters?.length ?? 0);
    for (const { summary, path = {}, query = {}, body } of described["x-examples"]) {
      const given = { path, query, header: {} } as Record<string, Record<string, string>>;
      for (const [where, values] of Object.entries({ path, query })) {
        for (const [name, value] of Object.entries(values)) {
          const index = parameters.findIndex((one) => one.in === where && one.name === name);
          expect([id, summary, name, index >= 0]).toEqual([id, summary, name, true]);
          const number = parameters[index]?.schema.type === "integer";
          const schema = `${follow(`${pointer}/parameters/${index}`)}/schema`;
          expect([id, summary, name, faultsOf(number ? Number(value) : value, schema)]).toEqual([
            id,
            summary,
            name,
            [],
          ]);
        }
      }
      const absent = parameters.filter((one) => one.required && given[one.in]?.[one.name] === undefined);
      expect([id, summary, absent]).toEqual([id, summary, []]);
      const json = described.requestBody?.content["application/json"];
      if (json === undefined) expect([id, summary, body]).toEqual([id, summary, undefined]);
      else if (body === undefined) expect([id, described.requestBody?.required]).toEqual([id, false]);
      else expect(faultsOf(body, `${pointer}/requestBody/content/application~1json/schema`)).toEqual([]);
    }
  }
});

test("the bodies shown as examples are those of the requests to try", () => {
  for (const { id, described } of places) {
    const shown = Object.values(described.requestBody?.content["application/json"]?.examples ?? {});
    const tried = described["x-examples"].flatMap(({ body }) => (body === undefined ? [] : [body]));
    expect([id, shown.map(({ value }) => value)]).toEqual([id, tried]);
  }
});

test("every sample identifier is in an example, and no UUID in a request is anything else", () => {
  const requests = JSON.stringify(places.map(({ described }) => described["x-examples"]));
  const found = new Set(requests.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g));
  const samples: string[] = Object.values(SAMPLE);
  const known = (id: string) => samples.some((sample) => sample.includes(id));
  expect([...found].filter((id) => !known(id))).toEqual([]);
  const unused = samples.filter((sample) => !JSON.stringify(openApi).includes(sample));
  expect(unused).toEqual([]);
});

test("every error code of the service is documented, with the status and an example of its own", () => {
  const examples = new Map(
    Object.values(openApi.components.responses ?? {}).flatMap((answer) =>
      Object.entries((answer as Answer).content?.["application/json"]?.examples ?? {}),
    ),
  );
  expect([...examples.keys()].toSorted()).toEqual(Object.keys(ERROR_STATUS).toSorted());
  for (const [code, { value }] of examples) expect(value).toMatchObject({ success: false, error: { code } });
});

test("every operation documents each error it can meet under that error's status, and every answer is described", () => {
  for (const [id, operation] of Object.entries(OPERATIONS)) {
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
