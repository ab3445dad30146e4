import { expect, test } from "vitest";
import { shorten } from "../../../supabase/functions/keyframe-mcp/shorten.ts";

const MODEL = { model: "a/model", isDefault: true, available: true, prices: [], controls: { seed: {} } };
const listed = (ofLastFrame: object) => ({
  steps: [
    { step: "first-frame", models: [MODEL] },
    { step: "last-frame", models: [{ ...MODEL, ...ofLastFrame }] },
  ],
});

test("list_models with a model that is alike in both steps → one entry with both; that differs → an entry for each", () => {
  const args = { model: "a/model" };
  expect(shorten("listModels", listed({}), args)).toMatchObject({ steps: "first-frame, last-frame", isDefault: true });
  expect(shorten("listModels", listed({ isDefault: false }), args)).toMatchObject({
    models: [
      { steps: "first-frame", isDefault: true },
      { steps: "last-frame", isDefault: false },
    ],
  });
  expect(shorten("listModels", listed({}), { model: "another/model" })).toMatchObject({
    models: [],
    next: expect.stringContaining("no such model"),
  });
});

test("a text of 300 emoji, of one of many → whole; a longer one → cut after 300, with …", () => {
  const descriptionOf = (description: string) =>
    shorten("listFilms", { films: [{ description, elementIds: [], projectIds: [] }], nextCursor: null }, {});
  expect(descriptionOf("🎬".repeat(300))).toMatchObject({ films: [{ description: "🎬".repeat(300) }] });
  expect(descriptionOf("🎬".repeat(301))).toMatchObject({ films: [{ description: `${"🎬".repeat(300)}…` }] });
});
