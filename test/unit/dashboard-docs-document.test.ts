import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { answerOf } from "../../dashboard/src/docs/answer-of.ts";
import { callersSentence } from "../../dashboard/src/docs/callers-sentence.ts";
import { errorsOf } from "../../dashboard/src/docs/errors-of.ts";
import { filterOperations } from "../../dashboard/src/docs/filter-operations.ts";
import { itemId, itemOf, searchOf } from "../../dashboard/src/docs/item-address.ts";
import { byTag, operationsOf } from "../../dashboard/src/docs/operations-of.ts";
import { readDocument } from "../../dashboard/src/docs/read-document.ts";
import { createSampler } from "../../dashboard/src/docs/sample-of.ts";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { document, operation, operations } from "./dashboard-docs-fixture.ts";

test("the document → every operation of the contract, its own, and the events", () => {
  const events = ["onProjectCreated", "onGenerationSucceeded", "onGenerationFailed", "onWebhookTest"];
  const ids = operations.map(({ id }) => id).sort();
  expect(ids).toEqual([...Object.keys(OPERATIONS), "readOpenApi", "readMetrics", ...events].sort());
});

test("by tag → in the document's order, each operation once, no tag without any", () => {
  const groups = byTag(document, operations);
  expect(groups.map(([tag]) => tag)).toEqual(["Projects", "Generation", "Webhooks", "Events", "Service"]);
  expect(groups.flatMap(([, found]) => found)).toHaveLength(operations.length);
  expect(byTag(document, [operation("readHealth")]).map(([tag]) => tag)).toEqual(["Service"]);
});

test("an operation → its parameters and answers with their references followed", () => {
  const { parameters, responses, method, path } = operation("readVideo");
  expect([method, path]).toEqual(["GET", "/api/projects/generate/video"]);
  expect(parameters.map((one) => `${one.in} ${one.name}`)).toEqual(
    expect.arrayContaining(["query projectId", "header If-None-Match", "header Prefer"]),
  );
  expect(responses.every(([, { description }]) => description !== undefined)).toBe(true);
});

test("something else than the document → a sentence for a person", () => {
  for (const given of [null, "<html>", {}, { openapi: "2.0", paths: {} }, { openapi: "3.1.0" }, []]) {
    expect(() => readDocument(given)).toThrow("no OpenAPI 3.1 document");
  }
});

test("a document that says little → its operations with what there is", () => {
  const bare = readDocument({ openapi: "3.1.0", paths: { "/x": { get: {}, parameters: [] } } });
  const found = operationsOf(bare);
  expect(found).toMatchObject([{ id: "get-/x", tag: "Others", method: "GET", callers: [], bodies: [], responses: [] }]);
  expect(byTag(bare, found).map(([tag]) => tag)).toEqual(["Others"]);
  expect(answerOf(bare, found[0]?.responses ?? [])).toBeNull();
});

test("a filter → what has all its words, in any case and order", () => {
  const ids = (filter: string) => filterOperations(operations, filter).map(({ id }) => id);
  expect(ids("")).toHaveLength(operations.length);
  expect(ids("  SECRET get ")).toEqual(["revealSecret"]);
  expect(ids("delete projects")).toEqual(["deleteProject"]);
  expect(ids("event generation.failed")).toEqual(["onGenerationFailed"]);
  expect(ids("nothing-like-this")).toEqual([]);
});

test("errors → one row for each code, with its status and meaning", () => {
  const rows = errorsOf(operation("startVideo").responses);
  const codes = rows.map(({ status, code }) => `${status} ${code}`);
  expect(codes).toEqual(expect.arrayContaining(["400 invalid_json", "400 invalid_request", "422 unsupported_input"]));
  expect(rows.every(({ meaning }) => meaning.length > 10 && !meaning.startsWith("`"))).toBe(true);
  expect(codes.some((code) => code.startsWith("2"))).toBe(false);
});

test("an answer without a code → its whole description", () => {
  expect(errorsOf(operation("readVideo").responses)[0]).toMatchObject({ status: "304", code: null });
  expect(errorsOf([["410", { description: "Gone." }]])).toEqual([{ status: "410", code: null, meaning: "Gone." }]);
});

test("an answer in the envelope → what stands in data; the document itself → whole", () => {
  const created = answerOf(document, operation("createProject").responses);
  expect(created).toMatchObject({ status: "201", isEnveloped: true, schema: { $ref: "#/components/schemas/Project" } });
  expect(answerOf(document, operation("readOpenApi").responses)).toMatchObject({ status: "200", isEnveloped: false });
  expect(answerOf(document, operation("onWebhookTest").responses)).toMatchObject({ status: "2XX", schema: null });
});

test("who may call → in words", () => {
  expect(callersSentence(operation("createProject"))).toMatch(/^A signed-in user, .* session\.$/);
  expect(callersSentence(operation("createWebhook"))).toContain("secret key");
  expect(callersSentence(operation("readHealth"))).toContain("Anybody");
  expect(callersSentence(operation("onWebhookTest"))).toContain("Keyframe sends it");
});

test("an address → its item, and back", () => {
  for (const id of [itemId("operation", "createProject"), itemId("schema", "Project & more")]) {
    expect(itemOf(searchOf(id))).toBe(id);
  }
  expect(itemOf("?operation=createProject")).toBe("operation-createProject");
  expect([itemOf(""), itemOf("?other=1"), searchOf(null)]).toEqual([null, null, ""]);
});

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: "https://document/", ...document });
const makeSample = createSampler(document);

test.each(Object.keys(document.components?.schemas ?? {}))("the sample of %s → fits its schema", (name) => {
  const schema = { $ref: `#/components/schemas/${name}` };
  const isValid = ajv.validate({ $ref: `https://document/${schema.$ref}` }, makeSample(schema));
  expect(ajv.errorsText(ajv.errors)).toBe("No errors");
  expect(isValid).toBe(true);
});

test.each(operations.filter(({ isEvent }) => isEvent).map((one) => [one.path, one] as const))(
  "the sample of the event %s → fits its schema",
  (path, { bodies }) => {
    const schema = bodies[0]?.[1] ?? {};
    const sample = makeSample(schema);
    ajv.validate(schema, sample);
    expect(ajv.errorsText(ajv.errors)).toBe("No errors");
    expect(sample).toMatchObject({ type: path });
  },
);

test("a schema that contains itself → an end", () => {
  const list = { type: "object", properties: { next: { $ref: "#/components/schemas/List" } }, required: ["next"] };
  const endless = { openapi: "3.1.0", paths: {}, components: { schemas: { List: list } } };
  expect(JSON.stringify(createSampler(endless)(list)).length).toBeLessThan(200);
});
