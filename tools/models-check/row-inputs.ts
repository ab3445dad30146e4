import { z } from "zod";
import { completeValues } from "../../shared/models/complete-values.ts";
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
type Ask = {
  /** A description such as "durationSeconds 10". */
  what: string;
  values: Record<string, string | number | boolean>;
  images: { firstFrame: boolean; lastFrame: boolean; references: number };
};

/** The possible inputs of a row: its defaults, each value of each control, and each combination of its images. */
export function asksOf(row: ModelRow): Ask[] {
  const { step, controls } = row;
  const most = Number(controls.referenceImages?.max ?? 0);
  const least = step === "last-frame" ? Math.min(1, most) : 0; // the first frame
  const images = {
    firstFrame: step === "video" && controls.firstFrame !== undefined,
    lastFrame: false,
    references: least,
  };
  const usual = { what: "the defaults", values: {}, images };
  const values = Object.entries(controls).flatMap(([name, control]) =>
    valuesOf(control).map((value) => ({ ...usual, what: `${name} ${value}`, values: { [name]: value } })),
  );
  const negative = { ...usual, what: "negativePrompt", values: { negativePrompt: "Blurred" } };
  const combinations = [...new Set([images.firstFrame, false])].flatMap((firstFrame) =>
    [false, true].flatMap((lastFrame) => {
      const frames = controls.referenceImages?.countsFrames ? Number(firstFrame) + Number(lastFrame) : 0;
      return [...new Set([least, Math.min(1, most), most - frames])].map((references) => ({
        ...usual,
        what: `${references} reference images${lastFrame ? " and a last frame" : ""}${images.firstFrame && !firstFrame ? ", without a first frame" : ""}`,
        images: { firstFrame, lastFrame, references },
      }));
    }),
  );
  // With a first frame, a start may leave the ratio to it.
  const ratios = (images.firstFrame ? valuesOf(controls.aspectRatio) : []).map((value) => ({
    what: `aspectRatio ${value}, without a first frame`,
    values: { aspectRatio: value },
    images: { ...images, firstFrame: false },
  }));
  return [usual, ...values, ...(controls.negativePrompt ? [negative] : []), ...combinations, ...ratios].filter((ask) =>
    allows(row, ask),
  );
}

/** Whether a start may use these images together. A video without a frame has the ratio of its project, which the model must take. */
function allows({ step, controls }: ModelRow, { images }: Ask): boolean {
  const used = usedBy({ images });
  const rules = z
    .record(z.string(), modelControl.pick({ required: true, needs: true, excludes: true }))
    .parse(controls);
  return (
    (step !== "video" || images.firstFrame || images.lastFrame || controls.aspectRatio !== undefined) &&
    used.every((name) => controls[name] !== undefined) &&
    Object.entries(rules).every(([name, { required, needs, excludes }]) =>
      used.includes(name)
        ? (needs ?? []).every((one) => used.includes(one)) && !excludes?.some((one) => used.includes(one))
        : !required,
    )
  );
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
  const requested = { ...(ratio === undefined ? {} : { aspectRatio: ratio }), ...ask.values };
  return { ...ask, values: completeValues(controlRules.parse(controls), requested, usedBy(ask)).values };
}
