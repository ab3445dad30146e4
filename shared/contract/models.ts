import { z } from "zod";
import { modelName } from "./controls.ts";
import { step, time } from "./fields.ts";

const value = z.union([z.string(), z.number(), z.boolean()]);
const names = z.array(z.string()).optional();
const forced = z.record(z.string(), value);

const modelControl = z
  .object({
    values: z.array(value).optional().meta({ description: "The values it takes, in order." }),
    min: z.number().optional(),
    max: z.number().optional().meta({ description: "The largest value; of referenceImages how many." }),
    default: value.optional().meta({ description: "Used when a start leaves it out." }),
    maxLength: z.int().optional().meta({ description: "Of a text, in characters." }),
    required: z.boolean().optional(),
    needs: names.meta({ description: "Controls that must be used too." }),
    excludes: names.meta({ description: "Controls that cannot be used with it." }),
    forces: forced.optional().meta({ description: "The values that others then have." }),
    forcesByValue: z.record(z.string(), forced).optional().meta({ description: "The same, for one of its values." }),
  })
  .meta({ id: "ModelControl" });

const yesNoOrUnknown = z.enum(["yes", "no", "unknown"]);

const modelPrice = z
  .object({
    appliesTo: z
      .record(z.string(), value)
      .meta({ description: "The values for which it holds. Of those that fit, the one with the most values counts." }),
    metric: z
      .enum(["run", "image", "output_second", "input_megapixel", "output_megapixel", "hardware_second"])
      .meta({ description: "What it is the price of one unit of. The metrics of a model add up." }),
    priceUsd: z.number(),
    checkedAt: z.iso.date().meta({ description: "When it was last compared with its source." }),
  })
  .meta({ id: "ModelPrice" });

const model = z
  .object({
    model: modelName,
    label: z.string(),
    vendor: z.string(),
    isDefault: z.boolean().meta({ description: "Used by a start that names no model." }),
    available: z.boolean().meta({ description: "False: its vendor ended it, or the provider does not know it." }),
    acceptsFaces: yesNoOrUnknown.meta({ description: "Whether it takes images that show people's faces." }),
    shutdownAt: time.nullable().meta({ description: "When its vendor ends it, if that is announced." }),
    successor: modelName
      .nullable()
      .meta({ description: "The model that a start without further wishes takes when this one is not available." }),
    promptMaxLength: z.int().meta({ description: "In characters." }),
    notes: z.string().optional(),
    prices: z.array(modelPrice).meta({ description: "Those of today; empty when none is known." }),
    billedWhen: z.object({ failed: yesNoOrUnknown, rejected: yesNoOrUnknown, canceled: yesNoOrUnknown }).meta({
      description: "Whether the provider bills a run that failed, whose content was rejected, or that was canceled.",
    }),
    controls: z.record(z.string(), modelControl).meta({
      description:
        "What it takes, by name: those of a start, and firstFrame, lastFrame and referenceImages. A control that is absent cannot be used.",
    }),
  })
  .meta({ id: "Model" });

export const modelList = z
  .object({ steps: z.array(z.object({ step, models: z.array(model) }).meta({ id: "ModelsOfStep" })) })
  .meta({ id: "ModelList" });
export type ModelList = z.infer<typeof modelList>;
