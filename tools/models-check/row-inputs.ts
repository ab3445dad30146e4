import { z } from "zod";
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
  values: Record<string, unknown>;
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

function valuesOf(control: ModelRow["controls"][string] | undefined): unknown[] {
  if (!control) return [];
  const { values, min, max } = control;
  if (Array.isArray(values)) return values;
  return values ? Object.keys(values) : min === undefined ? [] : [min, max];
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

const json = z.record(z.string(), z.json());
const forcing = z.object({ forces: json.default({}), forcesByValue: z.record(z.string(), json).default({}) });

/** An ask with the defaults of its row and with what its own choices force, as Postgres completes a start. */
export function completed({ controls }: ModelRow, { images, ...ask }: Ask): Ask {
  const used = { ...ask.values, ...Object.fromEntries(Object.entries(images).filter(([, image]) => image)) };
  const forced = Object.entries(used).map(([name, value]) => {
    const { forces, forcesByValue } = forcing.parse(controls[name === "references" ? "referenceImages" : name] ?? {});
    return { ...forces, ...forcesByValue[String(value)] };
  });
  return { ...ask, images, values: Object.assign(defaultsOf(controls), ...forced, ask.values) };
}

/** What is sent of a row when nothing is asked. A start always has the aspect ratio of its project. */
function defaultsOf(controls: ModelRow["controls"]): Record<string, unknown> {
  const usual = Object.entries(controls).map(([name, control]) => [
    name,
    name === "aspectRatio" ? valuesOf(control)[0] : control.default,
  ]);
  return Object.fromEntries(usual.filter(([, value]) => value !== undefined));
}
