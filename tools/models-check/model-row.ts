import { z } from "zod";
import { step } from "../../shared/contract/fields.ts";
import { modelSettings } from "../../shared/replicate/build-input.ts";

/** A row of `models`, as far as it is compared with its model's schema. */
export const modelRow = modelSettings.extend({ step, model: z.string(), is_default: z.boolean() });
export type ModelRow = z.infer<typeof modelRow>;

/** The columns that are read, for a query. */
export const modelColumns = Object.keys(modelRow.shape);
