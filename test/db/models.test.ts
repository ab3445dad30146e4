import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";

const db = useDatabase();

type Video = {
  first: string;
  last: string | null;
  lastNeedsFirst?: true;
  lastExtras?: Record<string, string>;
  excludes?: true;
};
/** How each video model names its frames, and what it demands. */
const VIDEO_MODELS: Record<string, Video> = {
  "kwaivgi/kling-v2.1": { first: "start_image", last: "end_image", lastNeedsFirst: true, lastExtras: { mode: "pro" } },
  "kwaivgi/kling-v2.5-turbo-pro": { first: "start_image", last: "end_image", lastNeedsFirst: true },
  "kwaivgi/kling-v3-video": { first: "start_image", last: "end_image", lastNeedsFirst: true },
  "minimax/hailuo-02": { first: "first_frame_image", last: "last_frame_image" },
  "minimax/hailuo-2.3": { first: "first_frame_image", last: null },
  "google/veo-3.1": { first: "image", last: "last_frame", lastNeedsFirst: true, excludes: true },
  "google/veo-3.1-fast": { first: "image", last: "last_frame", lastNeedsFirst: true },
  "bytedance/seedance-2.0": { first: "image", last: "last_frame_image", lastNeedsFirst: true, excludes: true },
  "bytedance/seedance-2.0-fast": { first: "image", last: "last_frame_image", lastNeedsFirst: true, excludes: true },
};

/** How each image model takes references. */
const IMAGE_MODELS: Record<string, { field: string; list: boolean; most: number }> = {
  "google/nano-banana": { field: "image_input", list: true, most: 10 },
  "google/nano-banana-pro": { field: "image_input", list: true, most: 14 },
  "bytedance/seedream-4": { field: "image_input", list: true, most: 10 },
  "bytedance/seedream-4.5": { field: "image_input", list: true, most: 14 },
  "black-forest-labs/flux-kontext-pro": { field: "input_image", list: false, most: 1 },
  "black-forest-labs/flux-2-pro": { field: "input_images", list: true, most: 8 },
};

test.each(Object.entries(VIDEO_MODELS))(
  "%s → has its exact frame fields and rules",
  async (model, { first, last, lastNeedsFirst, lastExtras, excludes }) => {
    const [row] = await db.sql`select * from keyframe.models where step = 'video' and model = ${model}`;
    expect(row).toMatchObject({
      prompt_field: "prompt",
      first_frame_field: first,
      last_frame_field: last,
      last_frame_needs_first: lastNeedsFirst ?? false,
      last_frame_extras: lastExtras ?? {},
      references_exclude_frames: excludes ?? false,
      duration_field: "duration",
    });
    expect(row?.durations.length).toBeGreaterThan(0);
  },
);

describe.each(["first-frame", "last-frame"])("%s", (step) => {
  test.each(Object.entries(IMAGE_MODELS))(
    "%s → has its exact reference field",
    async (model, { field, list, most }) => {
      const [row] =
        await db.sql`select * from keyframe.models where step = ${step}::keyframe.generation_step and model = ${model}`;
      expect(row).toMatchObject({
        prompt_field: "prompt",
        reference_field: field,
        reference_is_list: list,
        max_references: most,
        duration_field: null,
      });
    },
  );
});

test("the shipped rows → are these models and no others", async () => {
  const rows = await db.sql<{ step: string; model: string }[]>`select step, model from keyframe.models`;
  const images = Object.keys(IMAGE_MODELS);
  const expected = [
    ...images.map((m) => `first-frame ${m}`),
    ...images.map((m) => `last-frame ${m}`),
    ...Object.keys(VIDEO_MODELS).map((m) => `video ${m}`),
  ];
  expect(rows.map(({ step, model }) => `${step} ${model}`).sort()).toEqual(expected.sort());
});

test("a model whose name changes at the provider → predictions keep pointing at its row; one in use cannot be deleted", async () => {
  const owner = await db.addUser();
  const project = crypto.randomUUID();
  await db.sql`insert into keyframe.projects (id, owner_id, title, text_prompt) values (${project}, ${owner}, 't', 'p')`;
  const [prediction] =
    await db.sql`insert into keyframe.predictions (project_id, step) values (${project}, 'first-frame') returning id, model`;
  await db.sql`update keyframe.models set model = 'google/nano-banana-2' where model = ${prediction?.model} and step = 'first-frame'`;
  const [renamed] = await db.sql`select model from keyframe.predictions where id = ${prediction?.id}`;
  expect(renamed?.model).toBe("google/nano-banana-2");
  expect((await refusalOf(db.sql`delete from keyframe.models where model = 'google/nano-banana-2'`)).constraint).toBe(
    "predictions_model_fkey",
  );
});
