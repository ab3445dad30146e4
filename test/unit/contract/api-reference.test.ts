import { expect, test } from "vitest";
import { apiPages } from "../../../site/api-pages.ts";
import { openApi, places } from "../../support/openapi/document.ts";

// What the samples of the reference do: test/api/reference-examples.test.ts.

test("the API reference → each operation and event, with the fields of its body, its samples and its answers", () => {
  const pages = apiPages(openApi);
  expect(pages.map(({ title }) => title)).toEqual(["API reference", ...openApi.tags.map(({ name }) => name)]);
  const parts = new Map(
    pages.flatMap(({ markdown }) =>
      markdown.split(/^## /m).map((part) => [/^`([A-Z]+ \S+)`$/m.exec(part)?.[1] ?? "", part] as const),
    ),
  );
  for (const event of Object.keys(openApi.webhooks)) expect(parts.get(`POST ${event}`)).toContain("Body: ");
  for (const { method, template, described } of places) {
    const part = parts.get(`${method} ${template}`);
    expect(part).toContain(`${described.summary}\n`);
    for (const { summary } of described["x-examples"]) expect(part).toContain(`**${summary}**\n\n\`\`\`sh\ncurl `);
    for (const { name } of (described.parameters ?? []).filter((one) => "name" in one)) expect(part).toContain(name);
    for (const status of Object.keys(described.responses)) expect(part).toContain(`\n- \`${status}\``);
  }
  const startVideo = parts.get("POST /api/projects/generate/video");
  const { StartVideo } = openApi.components.schemas as { StartVideo: { properties: object } }; // of openapi.json
  for (const field of Object.keys(StartVideo.properties)) expect(startVideo).toContain(`\n- \`${field}\``);
  for (const said of ["await keyframe.generate(", "PROJECT_ID", "integer, 1 to 60, or null"])
    expect(startVideo).toContain(said);
});
