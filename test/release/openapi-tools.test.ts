import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import type { Operation } from "../../shared/contract/operations/operation.ts";
import { openApi } from "../support/openapi/document.ts";

// What other people's tools make of openapi.json. Our own rules: test/unit/contract/openapi-document.test.ts.

test("Redocly on openapi.json, with its recommended rules and those for examples and tags → no error and no warning", async () => {
  const examples = { "no-invalid-schema-examples": "error", "no-invalid-parameter-examples": "error" } as const;
  const rules = { ...examples, "operation-tag-defined": "error", "operation-description": "error" } as const;
  const config = await createConfig({ extends: ["recommended"], rules });
  const problems = await lintFromString({ source: JSON.stringify(openApi), absoluteRef: "/openapi.json", config });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
});

/** Has an error where a body's optional fields are others than those that validation lets a request leave out. */
const USES = `
import type { operations } from "./api.ts";
type Body<Id extends keyof operations> = operations[Id] extends { requestBody?: infer Given }
  ? NonNullable<Given> extends { content: { "application/json": infer Json } } ? Json : never
  : never;
type OptionalOf<Fields> = { [Name in keyof Fields]-?: object extends Pick<Fields, Name> ? Name : never }[keyof Fields];
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
`;

test("openapi-typescript on openapi.json → a field that a body may leave out is optional, and every other one required", async () => {
  const uses = Object.entries<Operation>(OPERATIONS).flatMap(([id, { body, examples }]) => {
    if (!(body instanceof z.ZodObject)) return [];
    const optional = Object.entries(body.shape).filter(([, field]) => z.safeParse(field, undefined).success);
    const names = optional.map(([name]) => JSON.stringify(name)).join(" | ") || "never";
    const sent = examples.flatMap((example) => (example.body === undefined ? [] : [JSON.stringify(example.body)]));
    return [
      `true satisfies Same<OptionalOf<Body<"${id}">>, ${names}>;`,
      ...sent.map((json) => `${json} satisfies Body<"${id}">;`),
    ];
  });
  expect(uses).toContain(
    'true satisfies Same<OptionalOf<Body<"createProject">>, "description" | "filmId" | "elementIds" | "plan" | "aspectRatio">;',
  );
  expect(uses).toContain('{"url":"https://crm.example.com/keyframe"} satisfies Body<"createWebhook">;');

  const folder = await Deno.makeTempDir({ prefix: "keyframe-openapi-types-" });
  onTestFinished(() => Deno.remove(folder, { recursive: true }));
  await Deno.writeTextFile(`${folder}/api.ts`, astToString(await openapiTS(JSON.stringify(openApi))));
  await Deno.writeTextFile(
    `${folder}/uses.ts`,
    [USES, ...uses.map((use) => `void (${use.replace(/;$/, "")});`)].join("\n"),
  );
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--no-config", "uses.ts"],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  expect(success ? "" : new TextDecoder().decode(stderr)).toBe("");
});
