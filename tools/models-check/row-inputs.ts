import { z } from "zod";
import { completeValues } from "../../shared/contract/complete-values.ts";
import { modelControl } from "../../shared/contract/controls.ts";
import { buildInput, modelSettings } from "../../shared/replicate/build-input.ts";
import { step } from "../../shared/contract/fields.ts";

/** The columns of a row of `models` that are compared with the model's schema. */
export const modelRow = modelSettings.extend({
  step,
  model: z.string(),
  is_default: z.boolean(),
  output: z.string().nullish(),
});
export type ModelRow = z.infer<typeof modelRow>;

/** A request that a row allows: the values it names, and the images it has. */
export type Ask = {
  /** In words: "durationSeconds 10". */
  what: string;
  values: Record<string, string | number | boolean>;
  images: { firstFrame: boolean; lastFrame: boolean; references: number };
};

/** What can be asked of a row: its defaults, each value of each control, and each combination of its images. */
export function asksOf({ step, controls }: ModelRow): Ask[] {
  const most = Number(controls.referenceImages?.max ?? 0);
  const least = step === "last-frame" ? Math.min(1, most) : 0; // its first frame
  const images = { firstFrame: step === "video", lastFrame: false, references: least };
  const usual = { what: "the defaults", values: {}, images };
  const values = Object.entries(controls).flatMap(([name, control]) =>
    valuesOf(control).map((value) => ({ ...usual, what: `${name} ${value}`, values: { [name]: value } })),
  );
  const negative = { ...usual, what: "negativePrompt", values: { negativePrompt: "Blurred" } };
  const counts = [...new Set([least, Math.min(1, most), most])];
  const combinations = [false, true].flatMap((lastFrame) =>
    counts.map((references) => ({
      ...usual,
      what: `${references} reference images${lastFrame ? " and a last frame" : ""}`,
      images: { ...images, lastFrame, references },
    })),
  );
  return [
    usual,
    ...values,
    ...(controls.negativePrompt ? [negative] : []),
    ...combinations.filter(({ images }) => !images.lastFrame || controls.lastFrame),
  ];
}

const controlValues = z.array(z.union([z.string(), z.number(), z.boolean()]));

function valuesOf(control: ModelRow["controls"][string] | undefined): Ask["values"][string][] {
  if (!control) return [];
  const { values, min, max } = control;
  if (Array.isArray(values)) return controlValues.parse(values);
  return values ? Object.keys(values) : min === undefined ? [] : controlValues.parse([min, max]);
}

/** The provider's input for an ask whose values are complete. */
export function inputOf({ step, controls, fixed }: ModelRow, { values, images }: Ask): Record<string, unknown> {
  const url = (name: string) => `https://images.test/${name}.png`;
  const own = step === "last-frame" ? Math.min(1, images.references) : 0;
  const files = {
    firstFrame: images.firstFrame || own > 0 ? url("first") : null,
    lastFrame: images.lastFrame ? url("last") : null,
    references: Array.from({ length: images.references - own }, (_, place) => url(`reference-${place}`)),
  };
  return buildInput({ step, input: { prompt: "A pier", ...values }, files }, { controls, fixed });
}

const controlRules = z.record(z.string(), modelControl.pick({ default: true, forces: true, forcesByValue: true }));

/** The image controls that an ask uses. */
export const usedBy = ({ images: { firstFrame, lastFrame, references } }: Pick<Ask, "images">): string[] => [
  ...(firstFrame ? ["firstFrame"] : []),
  ...(lastFrame ? ["lastFrame"] : []),
  ...(references > 0 ? ["referenceImages"] : []),
];

/** An ask with all values that are sent. A start always has the aspect ratio of its project. */
export function completed({ controls }: ModelRow, ask: Ask): Ask {
  const [ratio] = valuesOf(controls.aspectRatio);
  const asked = { ...(ratio === undefined ? {} : { aspectRatio: ratio }), ...ask.values };
  return { ...ask, values: completeValues(controlRules.parse(controls), asked, usedBy(ask)).values };
}
