import { buildInput } from "../../shared/replicate/build-input.ts";
import { checkRules } from "../../local/simulator/check-input.ts";
import type { InputSchema } from "../../local/simulator/model-schemas.ts";
import { models } from "../../local/simulator/models.ts";
import type { ModelRow } from "./model-row.ts";

const file = "https://example.com/frame.png";

/**
 * Durations that a video model's own documentation rules out with what else would be sent, its defaults included: the
 * schema says nothing of it, so it is a note. Known for the models that the simulator has.
 */
export function noteRules(row: ModelRow, schema: InputSchema): string[] {
  const rules = models[row.model]?.rules ?? [];
  if (row.step !== "video" || rules.length === 0) return [];
  const defaults = Object.fromEntries(Object.entries(schema.fields).map(([name, field]) => [name, field.default]));
  const wanted = { step: row.step, prompt: "A scene", reference: null, firstFrame: file };
  const lastFrame = row.last_frame_field === null ? null : file;
  return row.durations.flatMap((durationSeconds) => {
    const input = buildInput({ ...wanted, lastFrame, durationSeconds }, row);
    return checkRules(rules, { ...defaults, ...input }).map(
      ({ description }) =>
        `offers ${durationSeconds} seconds, but ${description}: set extras so that it takes them, or take ${durationSeconds} out of durations.`,
    );
  });
}
