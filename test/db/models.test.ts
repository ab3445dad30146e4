import { beforeAll, expect, test } from "vitest";
import { checkInput } from "../../local/simulator/check-input.ts";
import { models } from "../../local/simulator/models.ts";
import { buildInput, modelSettings, UnsupportedInput, type Wanted } from "../../shared/replicate/build-input.ts";
import { useDatabase } from "../support/database/clone-database.ts";

// The rows that the migrations ship, against the models' published schemas and the rules beyond them. `npm run models:check` compares
// the schemas with the provider's.

const db = useDatabase();
let rows: Map<string, unknown>;
beforeAll(async () => {
  const all = await db.sql`select step || ' by ' || model as name, to_jsonb(m) as settings from keyframe.models m`;
  rows = new Map(all.map(({ name, settings }) => [name, settings]));
});

const SERVED = Object.entries(models).flatMap(([name, model]) => {
  const steps = model.output === "video" ? (["video"] as const) : (["first-frame", "last-frame"] as const);
  return steps.map((step) => [`${step} by ${name}`, step, model] as const);
});
const [ref, first, last] = ["https://x.test/ref", "https://x.test/first", "https://x.test/last"];

test("every model for every step that it can serve, and no others", () => {
  expect([...rows.keys()].sort()).toEqual(SERVED.map(([name]) => name).sort());
});

test.each(SERVED)("%s → has the model's fields; what it does not refuse, the model accepts", (name, step, model) => {
  const settings = modelSettings.parse(rows.get(name));
  const isVideo = step === "video";
  expect([settings.first_frame_field, settings.last_frame_field]).toEqual([
    isVideo ? model.firstFrame : null,
    (isVideo && model.lastFrame) || null,
  ]);
  expect(settings.reference_field).toBe(model.references ?? null);
  expect(settings.durations.length > 0).toBe(isVideo);
  const accepted: Wanted[] = [];
  for (const reference of [null, ref])
    for (const firstFrame of [null, first])
      for (const lastFrame of [null, last])
        for (const durationSeconds of [null, ...settings.durations]) {
          if (isVideo && firstFrame === null) continue; // there is none without
          const wanted = { step, prompt: "A pier", durationSeconds, reference, firstFrame, lastFrame };
          try {
            expect(checkInput(model, buildInput(wanted, settings)), JSON.stringify(wanted)).toEqual([]);
            accepted.push(wanted);
          } catch (error) {
            if (!(error instanceof UnsupportedInput)) throw error;
          }
        }
  // All that the model can take is offered.
  expect(accepted.some(({ lastFrame }) => isVideo && lastFrame !== null)).toBe(
    isVideo && model.lastFrame !== undefined,
  );
  expect(accepted.some(({ reference }) => reference !== null)).toBe(model.references !== undefined);
  const field = settings.reference_field;
  if (field === null || !settings.reference_is_list) return;
  const filled = (count: number) => checkInput(model, { prompt: "A pier", [field]: Array(count).fill(ref) });
  expect(filled(settings.max_references)).toEqual([]);
  const most = model.rules?.some((rule) => rule.rule === "at most" && rule.field === field);
  expect(filled(settings.max_references + 1).length).toBe(most ? 1 : 0);
});
